/*
 * gateway.h - the process that holds the sandbox's only way out.
 *
 * Forked before the sentry confines itself; lives in the host's network, has
 * no file and a filter of its own, and gets sockets of the inside from the
 * maker. It decides by its own copy of the rules about everything that the
 * sentry asks it for, is the resolver that guests see, opens the outside
 * connections and carries their bytes. If it dies, connections fail; nothing
 * gets out without it.
 */
#ifndef CLOCHE_NET_GATEWAY_H
#define CLOCHE_NET_GATEWAY_H

#include "allow.h"
#include "httprule.h"
#include "names.h"

enum { GATEWAY_SERVERS_MAX = 3, GATEWAY_PUBLISH_MAX = 64 };

/* --publish [IP:]PORT:GUEST */
struct gateway_publish {
	struct netaddr addr; /* outside; family 0: both loopbacks */
	uint16_t port, guest;
};

struct gateway_limits {		   /* 0: not limited */
	uint64_t rate;		   /* bytes a second, both ways together */
	uint64_t connections;	   /* at once */
	uint64_t opens;		   /* in all */
	uint64_t idle_ms, time_ms; /* of a connection */
};

struct gateway {
	struct gateway_limits limits;
	int main_sock; /* to the sentry */
	int maker;     /* net/maker.h */
	struct allow rules;
	struct names names; /* prefilled from the hosts file */
	struct netaddr servers[GATEWAY_SERVERS_MAX];
	uint16_t server_port;
	size_t nservers;
	/* addresses of the private network */
	struct netaddr guest4, guest6, host4, resolver4;
	/* listening sockets of published ports, and where they lead */
	int publish_fd[2 * GATEWAY_PUBLISH_MAX];
	uint16_t publish_guest[2 * GATEWAY_PUBLISH_MAX];
	size_t npublish;
	/* Rules about requests and secrets; TLS is opened where they say. */
	bool http_on, http_tls;
	struct http_policy http;
	int http_sock;	       /* to the sentry (httpmsg.h) */
	const char *ca_bundle; /* of the host; borrowed; may be NULL */
	const char *net_ca;    /* --net-ca or NULL; borrowed */
	/* Takes away what the process must not have; the last thing before
	 * the loop. 0 or -errno. */
	int (*confine)(void);
};

/* [IP:]PORT:GUEST */
int MUST_CHECK gateway_publish_parse(const char *text,
				     struct gateway_publish *out);
/* In the sentry, before the fork: name servers from resolv.conf and names
 * from hosts, as far as rules allow them. Files that are missing are empty. */
void gateway_read_files(struct gateway *g, const char *resolv_conf,
			const char *hosts);
/* Opens the listening sockets of one rule: 0 or -errno. */
int MUST_CHECK gateway_publish_open(struct gateway *g,
				    const struct gateway_publish *p);

/* The process; never returns. */
NORETURN void gateway_main(struct gateway *g);

#endif
