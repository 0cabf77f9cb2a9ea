/*
 * limits.c - see limits.h.
 *
 * Resident pages count shared ones once per process, so a sum over the limit
 * is looked at again by proportional size, which is exact but a hundred times
 * slower. Pages of the store that are mapped nowhere are bounded by its own
 * size limit; those of memory files count by file (memfiles.c). What is cheap
 * is asked first, and what is dear only if the answer can be "over".
 */
#include "limits.h"

#include <fcntl.h>
#include <stdio.h>

#include "task.h"

enum { LIMITS_PROCS = 4096, TEXT_SIZE = 2048 };

bool limits_sampled(const struct config *cfg)
{
	return cfg->limits.memory || cfg->limits.cpu_time_ms;
}

/* Bytes in memory; shared: of files or of memory that others may map. */
struct resident {
	uint64_t total, shared;
};

static void resident_add(struct resident *r, pid_t pid)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
	unsigned long long size, pages, shared;
	char buf[TEXT_SIZE];

	if (base_read_proc(pid, "statm", buf, sizeof(buf)) <= 0 ||
	    sscanf(buf, "%llu %llu %llu", &size, &pages, &shared) != 3)
		return;
	r->total += pages * page;
	r->shared += shared * page;
}

static uint64_t rollup(pid_t pid, const char *key)
{
	char buf[TEXT_SIZE], *p;

	if (base_read_proc(pid, "smaps_rollup", buf, sizeof(buf)) <= 0)
		return 0;
	p = strstr(buf, key);
	return p ? strtoull(p + strlen(key), NULL, 10) * 1024 : 0;
}

static uint64_t proportional(pid_t pid)
{
	return rollup(pid, "\nPss:");
}

static uint64_t proportional_shared(pid_t pid)
{
	return rollup(pid, "\nPss_Shmem:");
}

/* User and system time of the process and its reaped children, ms. */
static uint64_t cpu_ms(pid_t pid)
{
	unsigned long long u, k, cu, ck;
	char buf[TEXT_SIZE], *p;

	if (base_read_proc(pid, "stat", buf, sizeof(buf)) <= 0)
		return 0;
	p = strrchr(buf, ')');
	if (!p || sscanf(p + 1,
			 " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u "
			 "%*u %llu %llu %llu %llu",
			 &u, &k, &cu, &ck) != 4)
		return 0;
	return (u + k + cu + ck) * 1000 / (uint64_t)sysconf(_SC_CLK_TCK);
}

static size_t all_pids(struct sentry *s, pid_t *pids)
{
	size_t n = 0;

	sentry_lock(s);
	list_for_each (p, &s->tgroups) {
		if (n < LIMITS_PROCS)
			pids[n++] = list_entry(p, struct tgroup, list)->pid;
	}
	sentry_unlock(s);
	return n;
}

static uint64_t sum(const pid_t *pids, size_t n, uint64_t (*of)(pid_t))
{
	uint64_t total = 0;

	for (size_t i = 0; i < n; i++)
		total += of(pids[i]);
	return total;
}

static uint64_t larger(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

static bool memory_over(struct sentry *s, struct memfiles *m, const pid_t *pids,
			size_t n, uint64_t limit)
{
	struct resident r = {0, 0};
	uint64_t files, shared, own;
	bool looked = false;

	for (size_t i = 0; i < n; i++)
		resident_add(&r, pids[i]);
	files = memfiles_at_most(s, m, r.shared);
	if (r.total + files <= limit)
		return false;
	if (r.total <= limit) {
		files = memfiles_count(s, m, pids, n, r.shared);
		looked = true;
		if (r.total + files <= limit)
			return false;
	}
	shared = sum(pids, n, proportional_shared);
	own = sum(pids, n, proportional) - shared;
	/* shared: files that are mapped by those that hold them */
	if (own + larger(files, shared) <= limit)
		return false;
	if (!looked)
		files = memfiles_count(s, m, pids, n, r.shared);
	return own + larger(files, shared) > limit;
}

const char *limits_check(struct sentry *s, struct memfiles *m)
{
	const struct limits *l = &s->cfg->limits;
	AUTO_FREE pid_t *pids = xcalloc(LIMITS_PROCS, sizeof(*pids));
	size_t n = all_pids(s, pids);

	if (l->memory && memory_over(s, m, pids, n, l->memory))
		return "memory";
	if (l->cpu_time_ms && sum(pids, n, cpu_ms) > l->cpu_time_ms)
		return "CPU time";
	return NULL;
}
