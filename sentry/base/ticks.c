/*
 * ticks.c - see ticks.h.
 */
#include "ticks.h"

#include <fcntl.h>

#define SETTLE_MIN_NS 200000 /* less tells too little */

uint64_t ticks_clock(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

/* The kernel has found it to run evenly, and alike on all processors. */
static bool counter_is_clock(void)
{
	static const char path[] =
		"/sys/devices/system/clocksource/clocksource0/"
		"current_clocksource";
	AUTO_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);
	char text[8] = "";

	return fd >= 0 && read(fd, text, sizeof(text) - 1) > 0 &&
	       strcmp(text, "tsc\n") == 0;
}

void ticks_begin(struct ticks *t)
{
	memset(t, 0, sizeof(*t));
	if (!counter_is_clock())
		return;
	t->from_ns = ticks_clock(CLOCK_MONOTONIC);
	t->from = __builtin_ia32_rdtsc();
}

void ticks_settle(struct ticks *t)
{
	uint64_t ns, ticks;

	if (!t->from)
		return;
	ns = ticks_clock(CLOCK_MONOTONIC) - t->from_ns;
	ticks = __builtin_ia32_rdtsc() - t->from;
	/* a second is less than 2^30 ns: the product fits for four */
	if (ns < SETTLE_MIN_NS || ns >> 32 || !ticks)
		return;
	t->scale = (ns << 32) / ticks;
}
