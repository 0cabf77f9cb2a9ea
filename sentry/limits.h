/*
 * limits.h - memory and CPU time of a whole sandbox, counted by sampling.
 *
 * Processes are counted by the kernel (RLIMIT_NPROC inside the user
 * namespace), the store by its tmpfs size, the wall clock by a timer of the
 * loop. Memory and CPU time have no per-sandbox counter that an unprivileged
 * user may set everywhere, so the loop looks at them every LIMITS_TICK_MS.
 */
#ifndef CLOCHE_LIMITS_H
#define CLOCHE_LIMITS_H

#include "memfiles.h"
#include "sentry.h"

enum { LIMITS_TICK_MS = 100 };

/* Is any limit set that needs the sampling? */
bool limits_sampled(const struct config *cfg);
/* Looks once: NULL, or what was exceeded ("memory", "CPU time"). */
const char *limits_check(struct sentry *s, struct memfiles *m);

#endif
