/*
 * outside.h - the sentry's side of the network gateway (net/gateway.h): it is
 * started where a rule allows something, asked for every connect that leaves
 * the sandbox, and what it reports is recorded.
 *
 * Any thread may ask; events are read by the loop.
 */
#ifndef CLOCHE_OUTSIDE_H
#define CLOCHE_OUTSIDE_H

#include "base/base.h"
#include "../net/allow.h"
#include "../net/netmsg.h"

struct sentry;
struct call;

struct config;

/* Rules about requests, and the values of secrets; dies with a message. Before
 * any other process is made. */
void outside_http_read(struct sentry *s, struct config *cfg);
/* Does the config allow or publish anything? */
bool outside_wanted(const struct config *cfg);
/* Builds the namespaces and starts the gateway, if the config allows or
 * publishes anything; dies with a message where that cannot be done. Before
 * there is a second thread. */
void outside_start(struct sentry *s, pid_t init);
/* Its resolver becomes the guests' (resolv.conf). After the VFS is made. */
void outside_mounts(struct sentry *s);
bool outside_on(const struct sentry *s);
/* Does a rule allow datagrams anywhere? Then sends are watched. */
bool outside_datagrams(const struct sentry *s);

/* -1: none. To be polled for reading; outside_event when it is ready. */
int outside_fd(const struct sentry *s);
void outside_event(struct sentry *s);
/* The same for what is said of requests. */
int outside_http_fd(const struct sentry *s);
void outside_http_event(struct sentry *s);
/* No guest is left: ends the gateway and records what it still has to say. */
void outside_finish(struct sentry *s);

/* Is this an address of the sandbox's own side: reached natively? */
bool outside_is_inside(const struct sentry *s, const struct netaddr *addr,
		       uint16_t port);

/* One question; see netmsg.h. */
struct outside_ask {
	uint8_t proto;
	struct netaddr addr;
	uint16_t port;
	int wait_ms;   /* how long to wait for the outside connection; -1: on */
	bool datagram; /* of a send: the answer is good for others, too */
	bool dialing;  /* the outside connection is being made */
	int pid;       /* the process; 0: gone */
	int chan;      /* -1: closed; to be closed by outside_ask_end */
	struct netmsg got; /* the gateway's last word: name, rule */
};

/* In a worker, without the state lock. 1: something listens at addr:port
 * inside and the guest's socket may be connected to it; 0: refused by policy
 * (the call is marked denied); -errno for the guest; -ETIME: wait_ms are over
 * and the outside connection is still being made. */
int MUST_CHECK outside_open(struct call *c, struct outside_ask *a);
/* Was this process told a moment ago that it may send datagrams there? Never
 * blocks. With the state lock. */
bool outside_sends(struct call *c, struct outside_ask *a);
/* After -ETIME, or -EINTR with a->dialing: 1 as above; 2: the guest's socket,
 * which is bound to that port, may be connected and stays in the making until
 * the outside is; or -errno. */
int MUST_CHECK outside_hold(struct call *c, struct outside_ask *a,
			    uint16_t local_port);
/* The guest's socket was connected from this local port. */
void outside_connected(struct outside_ask *a, uint16_t local_port);
void outside_ask_end(struct outside_ask *a);

#endif
