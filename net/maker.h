/*
 * maker.h - sockets of the gateway's side of the private network.
 *
 * The gateway lives in the host's network and owns nothing in the guests'
 * user namespace; a process in there, the maker, makes unbound sockets and
 * passes them on, and sets which SYNs a listener leaves unanswered (some
 * kernels ask for a capability there). It does nothing else, and its filter
 * allows nothing else.
 */
#ifndef CLOCHE_NET_MAKER_H
#define CLOCHE_NET_MAKER_H

#include "addr.h"

/* Serves until the other end closes; never returns. */
NORETURN void maker_serve(int sock);
/* A new socket of the inside, non-blocking and close-on-exec, or -errno.
 * family AF_INET or AF_INET6, type SOCK_STREAM or SOCK_DGRAM. */
int MUST_CHECK maker_socket(int sock, int family, int type);

enum { MAKER_PORTS_MAX = 64 };
/* The listener drops what comes from these ports. 0 or -errno. */
int MUST_CHECK maker_deafen(int sock, int listener, const uint16_t *ports,
			    unsigned count);

/* The descriptors of its sockets for errors, before and while it serves. */
enum { MAKER_ICMP4 = 1, MAKER_ICMP6 = 2 };
/* Makes them, in the namespace that it is to serve: 0 or -errno. *six may be
 * -1. */
int MUST_CHECK maker_icmp(int *four, int *six);
/* Tells a guest's socket that nothing listens where it sent a datagram. */
int MUST_CHECK maker_unreachable(int sock, const struct netaddr *guest,
				 uint16_t guest_port,
				 const struct netaddr *place, uint16_t port);

#endif
