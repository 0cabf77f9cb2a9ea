/*
 * memfiles.c - see memfiles.h.
 *
 * The bound is made of what the kernel counts for the whole machine: pages of
 * memory files are among its shared memory, or in swap, or huge. Somewhat later
 * than a look it is also what the look found, and what the machine has more
 * since then, and what guests had mapped and have no more: that may have become
 * a file's, so that the machine has no more for it. What others on the machine
 * gave back meanwhile hides as much, so the next look is never further away
 * than MEMFILES_REST times what the last one took, or a second.
 *
 * LIMIT: a memory file that is on its way in a socket, a System V segment that
 * nobody has attached, and what a guest has in shared memory without a name and
 * without mapping it any more (MADV_DONTNEED), are not seen.
 */
#include "memfiles.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>

enum {
	MEMFILES_REST = 20,
	MEMFILES_REST_NS = 1000000000,	/* and no longer than that */
	MEMFILES_FIRST = 256,		/* slots; a power of two */
	MEMFILES_MAX = 1 << 20,		/* files told apart */
	MEMFILES_CPU_SLACK = 512 << 10, /* a processor counts by itself */
	MEMINFO_SIZE = 8192,
};

void memfiles_expect(struct sentry *s, unsigned flags)
{
	if (flags & MFD_HUGETLB)
		__atomic_store_n(&s->huge_files, true, __ATOMIC_RELAXED);
	__atomic_store_n(&s->memory_files, true, __ATOMIC_RELEASE);
}

/* Is it, seen as this entry of a /proc/PID/fd? */
static bool is_memfile(int dir, const char *name)
{
	static const char prefix[] = "/memfd:";
	char text[sizeof(prefix)] = "";

	return readlinkat(dir, name, text, sizeof(prefix) - 1) >= 0 &&
	       strcmp(text, prefix) == 0;
}

void memfiles_expect_fd(struct sentry *s, int fd)
{
	char path[32];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (is_memfile(AT_FDCWD, path))
		memfiles_expect(s, MFD_HUGETLB);
}

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

/* ---- the bound -------------------------------------------------------- */

static bool meminfo_field(const char *text, const char *key, uint64_t *bytes)
{
	const char *p = strstr(text, key);

	if (p)
		*bytes = strtoull(p + strlen(key), NULL, 10) * 1024;
	return p != NULL;
}

/* UINT64_MAX: it is not told. */
static uint64_t machine_bytes(const struct sentry *s)
{
	uint64_t shmem, swap = 0, unswapped = 0, huge = 0;
	AUTO_FREE char *text = xmalloc(MEMINFO_SIZE);
	AUTO_CLOSE int fd = open("/proc/meminfo", O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, text, MEMINFO_SIZE - 1);

	if (n <= 0)
		return UINT64_MAX;
	text[n] = '\0';
	if (!meminfo_field(text, "\nShmem:", &shmem) ||
	    !meminfo_field(text, "\nSwapTotal:", &swap) ||
	    !meminfo_field(text, "\nSwapFree:", &unswapped))
		return UINT64_MAX;
	if (s->huge_files)
		(void)meminfo_field(text, "\nHugetlb:", &huge);
	return shmem + (swap > unswapped ? swap - unswapped : 0) + huge +
	       (uint64_t)sysconf(_SC_NPROCESSORS_ONLN) * MEMFILES_CPU_SLACK;
}

static uint64_t more_than(uint64_t a, uint64_t b)
{
	return a > b ? a - b : 0;
}

uint64_t memfiles_at_most(const struct sentry *s, const struct memfiles *m,
			  uint64_t shared)
{
	uint64_t machine, since;

	if (!__atomic_load_n(&s->memory_files, __ATOMIC_ACQUIRE))
		return 0;
	machine = machine_bytes(s);
	since = now_ns() - m->at_ns;
	if (!m->looked || since > MEMFILES_REST_NS ||
	    since > MEMFILES_REST * m->took_ns)
		return machine;
	since = m->bytes + more_than(machine, m->machine) +
		more_than(m->shared, shared);
	return since < machine ? since : machine;
}

/* ---- looking ---------------------------------------------------------- */

/* Files that were seen, each once. */
struct seen {
	struct seen_file {
		dev_t dev;
		ino_t ino; /* 0: a free slot */
	} * slots;
	size_t size, count;
};

static struct seen_file *seen_slot(const struct seen *t, const struct stat *st)
{
	size_t i = st->st_ino * 0x9e3779b97f4a7c15u >> 20 & (t->size - 1);

	while (t->slots[i].ino &&
	       (t->slots[i].ino != st->st_ino || t->slots[i].dev != st->st_dev))
		i = (i + 1) & (t->size - 1);
	return &t->slots[i];
}

static void seen_grow(struct seen *t)
{
	struct seen old = *t;

	t->size = old.size ? old.size * 2 : MEMFILES_FIRST;
	t->slots = xcalloc(t->size, sizeof(*t->slots));
	for (size_t i = 0; i < old.size; i++) {
		struct stat st = {.st_dev = old.slots[i].dev,
				  .st_ino = old.slots[i].ino};

		if (st.st_ino)
			*seen_slot(t, &st) = old.slots[i];
	}
	free(old.slots);
}

/* True at the first time. */
static bool seen_add(struct seen *t, const struct stat *st)
{
	struct seen_file *f;

	if (t->count * 2 >= t->size && t->size < MEMFILES_MAX * 2)
		seen_grow(t);
	f = seen_slot(t, st);
	if (f->ino)
		return false;
	/* beyond that they count for as often as they are seen */
	if (t->count < MEMFILES_MAX) {
		*f = (struct seen_file){st->st_dev, st->st_ino};
		t->count++;
	}
	return true;
}

static uint64_t look_at(pid_t pid, struct seen *t)
{
	uint64_t bytes = 0;
	char path[64];
	struct dirent *e;
	struct stat st;
	DIR *d;

	snprintf(path, sizeof(path), "/proc/%d/fd", pid);
	d = opendir(path);
	while (d && (e = readdir(d)))
		if (is_memfile(dirfd(d), e->d_name) &&
		    fstatat(dirfd(d), e->d_name, &st, 0) == 0 &&
		    seen_add(t, &st))
			bytes += (uint64_t)st.st_blocks * 512;
	if (d)
		closedir(d);
	return bytes;
}

uint64_t memfiles_count(const struct sentry *s, struct memfiles *m,
			const pid_t *pids, size_t n, uint64_t shared)
{
	struct seen t = {0};

	m->looked = true;
	m->at_ns = now_ns();
	m->machine = machine_bytes(s);
	m->shared = shared;
	m->bytes = 0;
	for (size_t i = 0; i < n; i++)
		m->bytes += look_at(pids[i], &t);
	m->took_ns = now_ns() - m->at_ns;
	free(t.slots);
	return m->bytes;
}
