/*
 * rtnl.h - the few rtnetlink(7) requests that netns.c needs: links, addresses,
 * routes, neighbours. Synchronous; one thread. All return 0 or -errno.
 */
#ifndef CLOCHE_RTNL_H
#define CLOCHE_RTNL_H

#include "base/base.h"

struct rtnl_ip {
	int family;
	unsigned char b[16];
	unsigned bits; /* of a prefix */
};

/* An address as text, with the bits of the whole. */
struct rtnl_ip rtnl_ip(const char *text);
struct rtnl_ip rtnl_prefix(const char *text, unsigned bits);

int rtnl_open(void); /* in the caller's network namespace; fd or -errno */
int MUST_CHECK rtnl_veth(int nl, const char *name, const unsigned char mac[6],
			 const char *peer, const unsigned char peer_mac[6],
			 int peer_netns);
int MUST_CHECK rtnl_up(int nl, int ifindex);
int MUST_CHECK rtnl_addr(int nl, int ifindex, const struct rtnl_ip *ip);
/* type RTN_LOCAL or RTN_UNICAST; via (or NULL) is taken as on the link. */
int MUST_CHECK rtnl_route(int nl, int ifindex, int type, int table,
			  const struct rtnl_ip *to, const struct rtnl_ip *via);
int MUST_CHECK rtnl_neigh(int nl, int ifindex, const struct rtnl_ip *ip,
			  const unsigned char mac[6]);

#endif
