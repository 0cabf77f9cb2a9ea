/*
 * outside_priv.h - what the two files of the sentry's side of the gateway
 * share: outside.c (its life, its reports), outside_ask.c (questions).
 */
#ifndef CLOCHE_OUTSIDE_PRIV_H
#define CLOCHE_OUTSIDE_PRIV_H

#include <pthread.h>

#include "outside.h"
#include "audit/audit.h"

enum { OUTSIDE_KNOWN_MAX = 128 };

/* What the gateway said of a place a moment ago. */
struct outside_known {
	struct netaddr addr;
	uint16_t port;
	uint8_t proto; /* 0: empty */
	int pid;       /* of the process that may send; 0: any may connect */
	uint64_t until_ns;
	struct netmsg got; /* VERDICT, allowed */
};

struct outside {
	int sock;
	bool dead, datagrams;
	unsigned limits_said; /* bits */
	struct netaddr guest4, guest6, resolver4;
	uint64_t ids;	      /* atomic */
	pthread_mutex_t lock; /* a leaf: known */
	struct outside_known known[OUTSIDE_KNOWN_MAX];
};

/* What a person reads: the name if there is one. */
void outside_path(const struct netmsg *m, char *out, size_t size);
/* Completes the event by the message, and records it. */
void outside_record(struct sentry *s, const char *call, const struct netmsg *m,
		    struct audit_event *ev);

struct gateway;

/* ---- outside_http.c ---- */
/* Before and after the gateway's fork. */
void outside_http_give(struct sentry *s, struct gateway *g);
void outside_http_given(struct sentry *s, struct gateway *g);
/* There is no gateway: what was read is wiped. */
void outside_http_drop(struct sentry *s);
void outside_http_mounts(struct sentry *s);

#endif
