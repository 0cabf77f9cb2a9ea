#include "costs.h"

#include <stdio.h>
#include <time.h>

static const char *const names[COSTS_PARTS] = {
	"idle",	  "sentry", "policy", "host",  "memory",
	"answer", "audit",  "exec",   "trace",
};

static const char *const event_names[COSTS_EVENTS] = {"calls", "descriptors",
						      "stops"};

bool costs_on;
static uint64_t sums[COSTS_PARTS], counts[COSTS_EVENTS];
static _Thread_local enum costs_part part;
static _Thread_local uint64_t since;

void costs_enable(void)
{
	costs_on = true;
}

enum costs_part costs_change(enum costs_part to)
{
	enum costs_part from = part;
	struct timespec t;
	uint64_t now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	now = (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
	if (since && from != COSTS_IDLE)
		__atomic_fetch_add(&sums[from], now - since, __ATOMIC_RELAXED);
	since = now;
	part = to;
	return from;
}

void costs_happened(enum costs_event what)
{
	__atomic_fetch_add(&counts[what], 1, __ATOMIC_RELAXED);
}

static int write_counts(int fd)
{
	const char *comma = ",\"counts\":{";

	for (int i = 0; i < COSTS_EVENTS; i++) {
		uint64_t n = __atomic_load_n(&counts[i], __ATOMIC_RELAXED);

		if (dprintf(fd, "%s\"%s\":%llu", comma, event_names[i],
			    (unsigned long long)n) < 0)
			return -errno;
		comma = ",";
	}
	return dprintf(fd, "}}\n") < 0 ? -errno : 0;
}

int costs_write(int fd)
{
	const char *comma = "{";

	for (int i = COSTS_SENTRY; i < COSTS_PARTS; i++) {
		double ms =
			(double)__atomic_load_n(&sums[i], __ATOMIC_RELAXED) /
			1e6;

		if (dprintf(fd, "%s\"%s\":%.3f", comma, names[i], ms) < 0)
			return -errno;
		comma = ",";
	}
	return write_counts(fd);
}
