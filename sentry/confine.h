/*
 * confine.h - what the sentry takes away from itself before guests start.
 */
#ifndef CLOCHE_CONFINE_H
#define CLOCHE_CONFINE_H

#include "base/base.h"

/* Before any thread is made: out of the host's network where we may (real
 * root), into that of the guests, which `init` (a pidfd) is in: what it
 * reaches is no more than guests do, and a third namespace would cost every
 * start a millisecond. -1: into an empty one. Elsewhere the filter below
 * refuses every socket but Unix ones: an unprivileged process enters a new
 * network namespace only together with a new user namespace, in which other
 * users' files would all show as owned by the overflow id. Returns true if the
 * namespace stands. */
bool confine_network(int init);
/* For every thread: not dumpable; a seccomp filter that refuses sockets to
 * anywhere, programs, mounts, namespaces, modules, bpf, keys. 0 or -errno. */
int MUST_CHECK confine_self(void);

#endif
