/*
 * confine.h - what the sentry takes away from itself before guests start.
 */
#ifndef CLOCHE_CONFINE_H
#define CLOCHE_CONFINE_H

#include "base/base.h"

/* Before any thread is made: an empty network namespace where we may (real
 * root). Elsewhere the filter below refuses every socket but Unix ones: an
 * unprivileged process enters a new network namespace only together with a
 * new user namespace, in which other users' files would all show as owned by
 * the overflow id. Returns true if the namespace stands. */
bool confine_network(void);
/* For every thread: not dumpable; a seccomp filter that refuses sockets to
 * anywhere, programs, mounts, namespaces, modules, bpf, keys. 0 or -errno. */
int MUST_CHECK confine_self(void);

#endif
