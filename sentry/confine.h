/*
 * confine.h - what the sentry takes away from itself before guests start.
 */
#ifndef CLOCHE_CONFINE_H
#define CLOCHE_CONFINE_H

#include <pthread.h>

#include "base/base.h"

/* An empty network namespace in the making, by a thread of its own: it takes
 * the kernel a millisecond, in which the jail is built. */
struct confine_net {
	pthread_t thread;
	bool started;
	int fd;
};

/* Real root only; does nothing else. */
void confine_network_begin(struct confine_net *n);
/* Before any other thread is made: into that namespace. Elsewhere the filter
 * below refuses every socket but Unix ones: an unprivileged process enters a
 * new network namespace only together with a new user namespace, in which other
 * users' files would all show as owned by the overflow id. Returns true if the
 * namespace stands. */
bool confine_network(struct confine_net *n);
/* For every thread: not dumpable; a seccomp filter that refuses sockets to
 * anywhere, programs, mounts, namespaces, modules, bpf, keys. 0 or -errno. */
int MUST_CHECK confine_self(void);

#endif
