/*
 * costs.h - where the sentry's time goes, for those who ask (`--costs`).
 *
 * Each thread is always in one part; costs_enter changes it, and gives back
 * the part to return to. Off, as it is by default, that is one test of a flag
 * that never changes. On, a change reads the thread's processor time, which
 * tells the sentry's work from the guest's on the same processor, and adds to a
 * shared sum: some 200 ns, by which sums of short parts are too high.
 *
 * The one state of a file's own in the sentry: what is measured lies on both
 * sides of every wall, and owes nothing to a sandbox.
 */
#ifndef CLOCHE_COSTS_H
#define CLOCHE_COSTS_H

#include "base.h"

enum costs_part {
	COSTS_IDLE,   /* waits for a call or a stop */
	COSTS_SENTRY, /* a call: look-up, decision, its file system's work */
	COSTS_POLICY, /* which rules hold for a path */
	COSTS_HOST,   /* calls to the host's file system */
	COSTS_MEMORY, /* copies from and to a guest's memory */
	COSTS_ANSWER, /* the reply: SEND, ADDFD */
	COSTS_AUDIT,  /* making a record; the writer's thread is not in it */
	COSTS_EXEC,   /* stops of the tracer at an exec */
	COSTS_TRACE,  /* its other stops: forks, signals, ends */
	COSTS_PARTS
};

/* What happened how often: what the kernel's side of it costs is a floor. */
enum costs_event {
	COSTS_CALLS,	   /* notified calls */
	COSTS_DESCRIPTORS, /* given to guests */
	COSTS_STOPS,	   /* of the tracer */
	COSTS_EVENTS
};

extern bool costs_on;

/* Before there are threads. */
void costs_enable(void);
enum costs_part costs_change(enum costs_part to);
void costs_happened(enum costs_event what);

static inline enum costs_part costs_enter(enum costs_part part)
{
	return __builtin_expect(costs_on, 0) ? costs_change(part) : COSTS_IDLE;
}

static inline void costs_leave(enum costs_part back)
{
	if (__builtin_expect(costs_on, 0))
		costs_change(back);
}

static inline void costs_count(enum costs_event what)
{
	if (__builtin_expect(costs_on, 0))
		costs_happened(what);
}

/* One JSON object: milliseconds by part, idle aside, and how often things
 * happened, in "counts". 0 or -errno. */
int MUST_CHECK costs_write(int fd);

#endif
