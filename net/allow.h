/*
 * allow.h - which hosts, addresses and ports may be reached.
 *
 * A rule is [tcp://|udp://]HOST[:PORTS]:
 *   HOST   example.org, *.example.org (names below it, not itself), *,
 *          1.2.3.4, 10.0.0.0/8, [2001:db8::1], [2001:db8::]/32
 *   PORTS  443 or 80,443 or 8000-8099,9000; without, all ports
 * Without a scheme an allowing rule means TCP, a denying one both.
 *
 * The last rule that matches decides; without one the answer is no. A rule
 * about a name holds for the addresses that the resolver gave for it, and
 * only public ones: private, loopback and link-local addresses need a rule
 * about addresses too (rebinding). The name host.internal stands for the
 * host's own loopback and is covered neither by * nor by a pattern.
 *
 * Built before the first guest runs; read-only afterwards, any thread.
 */
#ifndef CLOCHE_NET_ALLOW_H
#define CLOCHE_NET_ALLOW_H

#include "addr.h"

#define ALLOW_HOST_INTERNAL "host.internal"

enum { ALLOW_TCP = 1, ALLOW_UDP = 2 };
enum { ALLOW_PORTS_MAX = 16, ALLOW_RULES_MAX = 4096 };
enum allow_kind { ALLOW_ANY, ALLOW_NAME, ALLOW_BELOW, ALLOW_NET };

struct allow_rule {
	bool allow;
	uint8_t protos;
	enum allow_kind kind;
	char host[NETHOST_SIZE]; /* NAME, BELOW (without "*.") */
	struct netaddr net;	 /* NET */
	unsigned bits;
	unsigned nports; /* 0: all */
	struct {
		uint16_t low, high;
	} ports[ALLOW_PORTS_MAX];
	char *text;   /* as written; owned */
	char *origin; /* "policy.yaml:4"; owned; NULL: an option */
};

struct allow {
	struct allow_rule *rules;
	size_t count;
};

struct allow_error {
	size_t at; /* byte offset in the text */
	const char *expected;
};

/* Appends a rule; -EINVAL with *err filled, -E2BIG. */
int MUST_CHECK allow_add(struct allow *a, bool allowing, const char *text,
			 struct allow_error *err);
/* Says where the last rule stands. */
void allow_set_origin(struct allow *a, const char *origin);
/* What a person wrote: "--net-allow example.org", "policy.yaml:4". */
void allow_rule_name(const struct allow_rule *r, char *out, size_t size);
void allow_fini(struct allow *a);

/* One question. names are canonical; borrowed. */
struct allow_query {
	uint8_t proto;		    /* ALLOW_TCP or ALLOW_UDP */
	const struct netaddr *addr; /* NULL: only the names count */
	const char *const *names;   /* that the address was given for */
	size_t nnames;
	uint16_t port;
	bool any_port, any_proto; /* for the resolver: could one match? */
};

struct allow_verdict {
	bool allowed;
	bool by_name;		       /* the rule is about a name */
	const struct allow_rule *rule; /* that decided; NULL: none did */
	const char *name;	       /* of the query, if by_name */
};

struct allow_verdict allow_match(const struct allow *a,
				 const struct allow_query *q);
/* May this name be resolved at all: could any port of it be reached? */
struct allow_verdict allow_match_name(const struct allow *a, const char *name);
/* Does a rule about addresses allow this one, on some port? */
bool allow_match_addr(const struct allow *a, const struct netaddr *addr);

#endif
