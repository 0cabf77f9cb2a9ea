/*
 * ticks.h - CLOCK_MONOTONIC for who reads it on the way of every call.
 *
 * A read of the clock takes 20 ns in a loop and 50 between two system calls,
 * the processor's counter some 10. So where the kernel itself keeps its time by
 * that counter, it is read, and turned into nanoseconds by how far both came
 * between ticks_begin and ticks_settle. The result is CLOCK_MONOTONIC at first,
 * and some ten thousandths off in what it counts from then on: good for how
 * long something took, and to be set right from time to time where it says when
 * something was.
 */
#ifndef CLOCHE_TICKS_H
#define CLOCHE_TICKS_H

#include <time.h>

#include "base.h"

struct ticks {
	uint64_t from, from_ns; /* both clocks at the beginning; 0: not used */
	uint64_t scale;		/* ns of a tick, 32 bits of them a fraction; 0:
				 * the kernel's clock is read */
};

void ticks_begin(struct ticks *t);
/* Some milliseconds later, before another thread reads. */
void ticks_settle(struct ticks *t);

uint64_t ticks_clock(clockid_t clock);

static inline uint64_t ticks_ns(const struct ticks *t)
{
	if (!t->scale)
		return ticks_clock(CLOCK_MONOTONIC);
	return t->from_ns +
	       (uint64_t)((unsigned __int128)(__builtin_ia32_rdtsc() -
					      t->from) *
				  t->scale >>
			  32);
}

#endif
