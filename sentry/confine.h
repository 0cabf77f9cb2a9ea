/*
 * confine.h - what the sentry takes away from itself before guests start.
 */
#ifndef CLOCHE_CONFINE_H
#define CLOCHE_CONFINE_H

#include "base/base.h"

/* Before any thread is made: out of the host's network into an empty namespace,
 * where we may (real root). It takes the kernel a millisecond; a thread that
 * makes it meanwhile cannot be, since init is forked by a bare clone. Elsewhere
 * the filter below refuses every socket but Unix ones: an unprivileged process
 * enters a new network namespace only together with a new user namespace, in
 * which other users' files would all show as owned by the overflow id. Returns
 * true if the namespace stands. */
bool confine_network(void);
/* For every thread: not dumpable; a seccomp filter that refuses sockets to
 * anywhere, programs, mounts, namespaces, modules, bpf, keys. 0 or -errno. */
int MUST_CHECK confine_self(void);

#endif
