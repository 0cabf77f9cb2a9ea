/*
 * confine.h - what the sentry takes away from itself before guests start.
 */
#ifndef CLOCHE_CONFINE_H
#define CLOCHE_CONFINE_H

#include "base/base.h"

/* Before any thread is made: out of the host's network into an empty namespace,
 * where we may (real root). It takes a third of a millisecond, so it is done
 * while the jail's child works, where nobody needs the host's any more.
 * Elsewhere the filter below refuses every socket but Unix ones: an
 * unprivileged process enters a new network namespace only together with a new
 * user namespace, in which other users' files would all show as owned by the
 * overflow id. Returns the host's namespace, owned, for confine_undo; -1: it
 * could not be left. */
int confine_network(void);
/* Back into the host's, for a run that cannot have a jail: its guests are to
 * see there what they always do, if we may. host is taken; -1: nothing. */
void confine_undo(int host);
/* For every thread: not dumpable; a seccomp filter that refuses sockets to
 * anywhere, programs, mounts, namespaces, modules, bpf, keys. 0 or -errno. */
int MUST_CHECK confine_self(void);

#endif
