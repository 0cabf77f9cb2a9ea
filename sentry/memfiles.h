/*
 * memfiles.h - memory that guests hold by descriptors of memory files, mapped
 * or not.
 *
 * What such files hold is told only by looking through the descriptor tables of
 * all processes, which takes some microseconds a descriptor. So that is done
 * where it can decide something: not before a guest could have such a file, and
 * not while what the whole machine has in memory files leaves room enough.
 */
#ifndef CLOCHE_MEMFILES_H
#define CLOCHE_MEMFILES_H

#include "sentry.h"

/* What the last look through all tables found. The loop's own. */
struct memfiles {
	bool looked;
	uint64_t at_ns, took_ns; /* when it began; how long it took */
	uint64_t bytes;		 /* in memory files */
	uint64_t machine;	 /* in those of the whole machine then */
	uint64_t shared; /* resident and shared, of all processes then */
};

/* A guest may have a memory file from now on, made with these flags of
 * memfd_create. Any thread. */
void memfiles_expect(struct sentry *s, unsigned flags);
/* The same, if that is what fd is. */
void memfiles_expect_fd(struct sentry *s, int fd);

/* A number that is not less than what they hold, without looking. shared: pages
 * of the guests, resident and shared, in bytes. */
uint64_t memfiles_at_most(const struct sentry *s, const struct memfiles *m,
			  uint64_t shared);
/* Looks. */
uint64_t memfiles_count(const struct sentry *s, struct memfiles *m,
			const pid_t *pids, size_t n, uint64_t shared);

#endif
