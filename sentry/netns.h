/*
 * netns.h - the gateway's network namespace and the wire to the guests'.
 *
 * The guests' namespace exists already; this one is made beside it, owned by
 * the same user namespace, and joined to it by a veth pair. On the gateway's
 * side every address is local, so that a socket can listen there on the very
 * address and port that a guest asks for. Guests cannot take such an address:
 * on their side only the loopback and eth0's own exist.
 */
#ifndef CLOCHE_NETNS_H
#define CLOCHE_NETNS_H

#include "base/base.h"

/* The private network, in network order: 10.0.2.100 is the guests', .2 the
 * gateway (host.internal), .3 the resolver; v6 fd00::64, fd00::2. */
#define NETNS_GUEST4	"10.0.2.100"
#define NETNS_GATEWAY4	"10.0.2.2"
#define NETNS_RESOLVER4 "10.0.2.3"
#define NETNS_GUEST6	"fd00::64"
#define NETNS_GATEWAY6	"fd00::2"

/*
 * Makes it by a child that joins the namespaces of the jail's init and stays
 * as the maker of sockets (net/maker.h); *maker is the socket to it. Not a
 * child of ours: the tracer waits for all of those. Called while there is one
 * thread. 0, or -errno with a reason.
 */
int MUST_CHECK netns_build(pid_t init, int *maker, char *reason, size_t size);

#endif
