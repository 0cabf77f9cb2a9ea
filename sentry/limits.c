/*
 * limits.c - see limits.h.
 *
 * Resident pages count shared ones once per process, so a sum over the limit
 * is looked at again by proportional size, which is exact but a hundred times
 * slower. Pages of the store that are mapped nowhere are bounded by its own
 * size limit.
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

static ssize_t read_proc(pid_t pid, const char *file, char *buf, size_t size)
{
	char path[64];
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%d/%s", pid, file);
	AUTO_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -1;
	n = read(fd, buf, size - 1);
	if (n >= 0)
		buf[n] = '\0';
	return n;
}

static uint64_t resident(pid_t pid)
{
	char buf[TEXT_SIZE];
	unsigned long long total, pages;

	if (read_proc(pid, "statm", buf, sizeof(buf)) <= 0 ||
	    sscanf(buf, "%llu %llu", &total, &pages) != 2)
		return 0;
	return pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

static uint64_t proportional(pid_t pid)
{
	char buf[TEXT_SIZE], *p;

	if (read_proc(pid, "smaps_rollup", buf, sizeof(buf)) <= 0)
		return 0;
	p = strstr(buf, "\nPss:");
	return p ? strtoull(p + 5, NULL, 10) * 1024 : 0;
}

/* User and system time of the process and its reaped children, ms. */
static uint64_t cpu_ms(pid_t pid)
{
	unsigned long long u, k, cu, ck;
	char buf[TEXT_SIZE], *p;

	if (read_proc(pid, "stat", buf, sizeof(buf)) <= 0)
		return 0;
	p = strrchr(buf, ')');
	if (!p || sscanf(p + 1, " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u "
				"%*u %llu %llu %llu %llu", &u, &k, &cu,
			 &ck) != 4)
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

const char *limits_check(struct sentry *s)
{
	const struct limits *l = &s->cfg->limits;
	AUTO_FREE pid_t *pids = xcalloc(LIMITS_PROCS, sizeof(*pids));
	size_t n = all_pids(s, pids);

	if (l->memory && sum(pids, n, resident) > l->memory &&
	    sum(pids, n, proportional) > l->memory)
		return "memory";
	if (l->cpu_time_ms && sum(pids, n, cpu_ms) > l->cpu_time_ms)
		return "CPU time";
	return NULL;
}
