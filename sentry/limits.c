/*
 * limits.c - see limits.h.
 *
 * Resident pages count shared ones once per process, so a sum over the limit
 * is looked at again by proportional size, which is exact but a hundred times
 * slower. Pages of the store that are mapped nowhere are bounded by its own
 * size limit; those of memory files count by file.
 *
 * LIMIT: a memory file that is on its way in a socket, and a System V segment
 * that nobody has attached, are not seen.
 */
#include "limits.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>

#include "task.h"

enum { LIMITS_PROCS = 4096, TEXT_SIZE = 2048, MEMFDS_MAX = 1024 };

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

static uint64_t rollup(pid_t pid, const char *key)
{
	char buf[TEXT_SIZE], *p;

	if (read_proc(pid, "smaps_rollup", buf, sizeof(buf)) <= 0)
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

/* Memory files, each once: a guest can fill one and map nothing of it. */
struct memfds {
	ino_t seen[MEMFDS_MAX];
	size_t n;
	uint64_t bytes;
};

static void memfds_one(struct memfds *m, int dir, const char *name)
{
	static const char prefix[] = "/memfd:";
	char text[sizeof(prefix)] = "";
	struct stat st;

	if (readlinkat(dir, name, text, sizeof(prefix) - 1) < 0 ||
	    strcmp(text, prefix) != 0 || fstatat(dir, name, &st, 0) < 0)
		return;
	for (size_t i = 0; i < m->n; i++)
		if (m->seen[i] == st.st_ino)
			return;
	if (m->n < MEMFDS_MAX)
		m->seen[m->n++] = st.st_ino;
	m->bytes += (uint64_t)st.st_blocks * 512;
}

static uint64_t memfds(const pid_t *pids, size_t n)
{
	AUTO_FREE struct memfds *m = xcalloc(1, sizeof(*m));

	for (size_t i = 0; i < n; i++) {
		char path[64];
		struct dirent *e;
		DIR *d;

		snprintf(path, sizeof(path), "/proc/%d/fd", pids[i]);
		d = opendir(path);
		while (d && (e = readdir(d)))
			memfds_one(m, dirfd(d), e->d_name);
		if (d)
			closedir(d);
	}
	return m->bytes;
}

/* User and system time of the process and its reaped children, ms. */
static uint64_t cpu_ms(pid_t pid)
{
	unsigned long long u, k, cu, ck;
	char buf[TEXT_SIZE], *p;

	if (read_proc(pid, "stat", buf, sizeof(buf)) <= 0)
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

static bool memory_over(const pid_t *pids, size_t n, uint64_t limit)
{
	uint64_t files = memfds(pids, n), shared;

	if (sum(pids, n, resident) + files <= limit)
		return false;
	shared = sum(pids, n, proportional_shared);
	if (files < shared)
		files = shared; /* mapped by those that hold them */
	return sum(pids, n, proportional) - shared + files > limit;
}

const char *limits_check(struct sentry *s)
{
	const struct limits *l = &s->cfg->limits;
	AUTO_FREE pid_t *pids = xcalloc(LIMITS_PROCS, sizeof(*pids));
	size_t n = all_pids(s, pids);

	if (l->memory && memory_over(pids, n, l->memory))
		return "memory";
	if (l->cpu_time_ms && sum(pids, n, cpu_ms) > l->cpu_time_ms)
		return "CPU time";
	return NULL;
}
