/*
 * gateway_priv.h - what the gateway's files share. One process, one thread,
 * one epoll loop; sources of connections are edge-triggered, all others
 * level-triggered. What is freed while events are handed out is freed after
 * the round (gw_free), since another event of it may follow.
 */
#ifndef CLOCHE_NET_GATEWAY_PRIV_H
#define CLOCHE_NET_GATEWAY_PRIV_H

#include <sys/epoll.h>

#include "dns.h"
#include "gateway.h"
#include "netmsg.h"
#include "../sentry/base/list.h"

enum {
	GW_CONNS_MAX = 8192,
	GW_LISTENERS_MAX = 512,
	GW_TICK_MS = 250,
	GW_THROTTLE_MS = 10,
	GW_CLAIM_MS = 5000, /* between accept and the sentry's word */
	DNS_PORT = 53,
};

struct gw;

struct source {
	int fd;
	void (*fn)(struct gw *gw, struct source *s, uint32_t events);
};

struct gw {
	struct gateway *cfg;
	int ep;
	uint64_t ms; /* CLOCK_BOOTTIME of this round */
	struct source main;
	struct list reqs, listeners, conns, busy, udp, queries, dns_conns;
	struct list throttled; /* connections that wait for the rate */
	int64_t tokens;	       /* bytes that may move now */
	uint64_t tokens_ms, opened;
	unsigned nconns, nlisteners, nwaiting, nqueries, nflows;
	struct source dns_udp, dns_tcp;
	struct list dead;
	bool ending;
	struct tls *tls; /* NULL: none is opened */
	bool tls_loading;
	struct source http;
	struct list hconns, hbusy, hthrottled, hasks, hqueue;
	unsigned nhasks, nhconns;
	uint64_t http_ids;
};

/* Memory that gw_free may take: allocated with this in front. */
void *gw_alloc(size_t size);
void gw_free(struct gw *gw, void *p);

int MUST_CHECK gw_watch(struct gw *gw, struct source *s, uint32_t events);
void gw_events(struct gw *gw, struct source *s, uint32_t events);
/* Closes the descriptor and sees to it that fn is not called again. */
void gw_unwatch(struct gw *gw, struct source *s);
void gw_tell(struct gw *gw, const struct netmsg *m); /* to the sentry */
/* Says which limit ended or stopped a connection. */
void gw_limited(struct gw *gw, const struct netaddr *addr, uint16_t port,
		const char *name, const char *limit);

/* ---- gateway_limit.c ---- */
/* How many of these bytes may be moved now; and they were. */
size_t rate_left(struct gw *gw, size_t want);
void rate_moved(struct gw *gw, size_t count);
/* May one more connection be opened, where so many are being made? NULL, or
 * the limit that says no. */
const char *limit_open(const struct gw *gw, unsigned pending);
/* Which limit a connection is over: NULL is none. */
const char *limit_of_conn(const struct gw *gw, uint64_t start_ms,
			  uint64_t used_ms);

void gw_refused(struct gw *gw, const struct netaddr *addr, uint16_t port,
		const char *name, const char *why);

/* The decision: may addr:port be reached, and by which rule. */
struct gw_verdict {
	bool allowed, by_name;
	char name[NETHOST_SIZE];
	char rule[96];
};
void gw_decide(struct gw *gw, uint8_t proto, const struct netaddr *addr,
	       uint16_t port, struct gw_verdict *v);
/* Where it really is: the host's loopback for host.internal. */
struct netaddr gw_outside(const struct gw *gw, const struct netaddr *addr);
/* A socket of the outside that connects to addr:port: fd, -errno. */
int MUST_CHECK gw_connect_outside(const struct netaddr *addr, uint16_t port,
				  int type);
/* A socket of the inside bound to addr:port. */
int MUST_CHECK gw_bind_inside(struct gw *gw, const struct netaddr *addr,
			      uint16_t port, int type);

/* ---- gateway_conn.c: bytes between two sockets ---- */
struct conn_info {
	uint64_t id;
	struct netaddr addr;
	uint16_t port;
	char name[NETHOST_SIZE];
	bool check_name; /* a TLS server name must be allowed */
	bool look;	 /* rules about requests exist for this port */
};
/* Takes both descriptors. */
void conn_new(struct gw *gw, int inside, int outside,
	      const struct conn_info *info);
void conn_run_busy(struct gw *gw);
void conn_tick(struct gw *gw);
void conn_close_all(struct gw *gw);
void gw_reset(int fd); /* closes with RST */

/* ---- gateway_ask.c: connects of guests ---- */
void ask_new(struct gw *gw, const struct netmsg *m, int fd);
void ask_tick(struct gw *gw);

/* ---- gateway_udp.c ---- */
/* Something is bound inside at addr:port and carries datagrams out. */
int MUST_CHECK udp_open(struct gw *gw, const struct netmsg *ask);
void udp_tick(struct gw *gw, bool all);

/* ---- gateway_dns.c ---- */
int MUST_CHECK dns_start(struct gw *gw);
void dns_acked(struct gw *gw, uint64_t id);
void dns_tick(struct gw *gw);

/* ---- gateway_look.c ---- */
enum gw_look { LOOK_MORE, LOOK_PASS, LOOK_REFUSE, LOOK_HTTP };
/* host: the server name of TLS; why: of LOOK_REFUSE. */
enum gw_look gw_look_at(struct gw *gw, const struct conn_info *info,
			const uint8_t *p, size_t len, char host[NETHOST_SIZE],
			const char **why);

/* ---- gateway_http.c: requests are looked at ---- */
int MUST_CHECK http_start(struct gw *gw); /* before confining */
int MUST_CHECK http_watch(struct gw *gw); /* after it */
/* Is it a name that was given for the address? */
bool gw_name_of(struct gw *gw, const struct netaddr *addr, const char *name);
/* May the rules about hosts reach this name at that address? */
bool gw_name_allowed(struct gw *gw, const struct conn_info *info,
		     const char *name);
/* Takes both descriptors: TLS with host is opened; or plain HTTP, host "". */
void http_take(struct gw *gw, int inside, int outside,
	       const struct conn_info *info, const char *host);
void http_run_busy(struct gw *gw);
void http_tick(struct gw *gw);
void http_close_all(struct gw *gw);

/* ---- gateway_publish.c ---- */
int MUST_CHECK publish_start(struct gw *gw);

#endif
