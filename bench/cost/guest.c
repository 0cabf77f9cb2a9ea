/*
 * guest.c - the load: one operation, again and again, by one or more workers.
 *
 * Each worker runs batches of about a millisecond until its time is used up,
 * and then times single operations for the 99th percentile (less what reading
 * the clock costs). The minimum and the median are of batches. Several workers
 * wait for the last one before they begin, and the rate is that of all from
 * then on.
 */
#include "mech.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>

const char *const cost_op_names[COST_OPS] = {
	"call", "stat", "open", "signal", "fork", "thread",
};

const char cost_path[COST_PATH_SIZE] = "/usr/bin/env";

enum {
	BATCH_NS = 1000000,
	BATCHES = 512,
	SINGLES = 2000,
	SINGLES_BESIDE = 16,
	BATCH_MAX = 1 << 20
};

/* Of all workers, in memory that they share. */
struct start {
	unsigned waiting, workers;
	uint64_t at; /* 0: not all are there yet */
};

#define MEET_PAUSE_NS 200000
#define MEET_MAX_NS   10000000000u

struct worker {
	const struct cost_cell *cell;
	struct start *start;
	uint64_t count, begin, end;
	double batch[BATCHES], single[SINGLES];
	unsigned batches, singles;
};

static uint64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void on_signal(int sig UNUSED)
{
}

static void *nothing(void *arg)
{
	return arg;
}

static void one_fork(void)
{
	pid_t pid = fork();

	if (pid == 0)
		_exit(0);
	while (pid > 0 && waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
}

static void one_thread(void)
{
	pthread_t t;

	if (pthread_create(&t, NULL, nothing, NULL) == 0)
		pthread_join(t, NULL);
}

/* What comes back is not looked at: a mechanism answers what it likes. */
static void operate(const struct cost_cell *c, uint64_t n)
{
	struct stat st;

	while (n--) {
		int64_t fd;

		switch (c->op) {
		case COST_CALL:
			if (c->by_libc)
				(void)getppid();
			else
				(void)cost_site_getppid();
			break;
		case COST_STAT:
			if (c->by_libc)
				(void)fstatat(AT_FDCWD, cost_path, &st, 0);
			else
				(void)cost_site_stat(AT_FDCWD, cost_path, &st,
						     0);
			break;
		case COST_OPEN:
			fd = cost_site_open(AT_FDCWD, cost_path,
					    O_RDONLY | O_CLOEXEC, 0);
			if (fd >= 0)
				close((int)fd);
			break;
		case COST_SIGNAL:
			raise(SIGUSR1);
			break;
		case COST_FORK:
			one_fork();
			break;
		case COST_THREAD:
			one_thread();
			break;
		case COST_OPS:
			break;
		}
	}
}

static uint64_t time_of(const struct cost_cell *c, uint64_t n)
{
	uint64_t begin = now();

	operate(c, n);
	return now() - begin;
}

static double clock_cost(void)
{
	uint64_t low = UINT64_MAX;

	for (int i = 0; i < 100; i++) {
		uint64_t begin = now(), took = now() - begin;

		low = took < low ? took : low;
	}
	return (double)low;
}

/* Returns when all workers are here, or one does not come. */
static uint64_t meet(struct start *s)
{
	const struct timespec pause = {0, MEET_PAUSE_NS};
	uint64_t at, patience = now() + MEET_MAX_NS;

	if (__atomic_add_fetch(&s->waiting, 1, __ATOMIC_ACQ_REL) == s->workers)
		__atomic_store_n(&s->at, now(), __ATOMIC_RELEASE);
	while (!(at = __atomic_load_n(&s->at, __ATOMIC_ACQUIRE))) {
		if (now() > patience)
			return now();
		nanosleep(&pause, NULL);
	}
	return at;
}

/* Some calls one by one, beside the batches: for both the machine is the
 * same. */
static void singles(struct worker *w, double clock)
{
	for (unsigned i = 0; i < SINGLES_BESIDE && w->singles < SINGLES; i++) {
		double t = (double)time_of(w->cell, 1) - clock;

		w->single[w->singles++] = t > 0 ? t : 0;
		w->count++;
	}
}

static void *work(void *arg)
{
	struct worker *w = arg;
	const struct cost_cell *c = w->cell;
	double clock = clock_cost();
	uint64_t n = 1, until;

	while (time_of(c, n) < BATCH_NS && n < BATCH_MAX)
		n *= 2;
	w->begin = meet(w->start);
	until = w->begin + (uint64_t)c->ms * 1000000;
	do {
		double took = (double)time_of(c, n) / (double)n;

		if (w->batches < BATCHES)
			w->batch[w->batches++] = took;
		singles(w, clock);
		w->count += n;
		w->end = now();
	} while (w->batches < 3 || w->end < until);
	return NULL;
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double cpu_of(int who)
{
	struct rusage u;

	if (getrusage(who, &u) < 0)
		return 0;
	return ((double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) * 1e6 +
		(double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec)) *
	       1e3;
}

static double cpu(void)
{
	return cpu_of(RUSAGE_SELF) + cpu_of(RUSAGE_CHILDREN);
}

/* The first worker's figures; all workers' rate. */
static void sum(struct worker *w, unsigned workers, double used,
		struct cost_result *r)
{
	memset(r, 0, sizeof(*r));
	for (unsigned i = 0; i < workers; i++) {
		if (w[i].end > w[i].begin)
			r->per_second += (double)w[i].count * 1e9 /
					 (double)(w[i].end - w[i].begin);
		r->count += w[i].count;
	}
	qsort(w->batch, w->batches, sizeof(double), compare);
	qsort(w->single, w->singles, sizeof(double), compare);
	r->min = w->batch[0];
	r->median = w->batch[w->batches / 2];
	r->p99 = w->single[w->singles * 99 / 100];
	if (r->count)
		r->guest_cpu = used / (double)r->count;
}

static int run_threads(struct worker *w, unsigned n)
{
	pthread_t id[COST_WORKERS_MAX];
	unsigned made = 0;
	int ret = 0;

	while (made < n && !ret) {
		ret = -pthread_create(&id[made], NULL, work, &w[made]);
		made += !ret;
	}
	while (made)
		pthread_join(id[--made], NULL);
	return ret;
}

static int run_procs(struct worker *w, unsigned n)
{
	unsigned made = 0;
	int ret = 0;

	for (; made < n && !ret; made++) {
		pid_t pid = fork();

		if (pid == 0) {
			work(&w[made]);
			_exit(0);
		}
		ret = pid < 0 ? -errno : 0;
	}
	for (;;) {
		int status;

		if (wait(&status) < 0) {
			if (errno == EINTR)
				continue;
			break;
		}
		if (status && !ret)
			ret = -EIO;
	}
	return ret;
}

int cost_guest(const struct cost_cell *c, struct cost_result *r)
{
	struct sigaction act = {.sa_handler = on_signal};
	unsigned n = c->threads > 1 ? c->threads : c->procs;
	size_t size = sizeof(struct worker) * n + sizeof(struct start);
	struct start *start;
	double before;
	struct worker *w;
	int ret = 0;

	if (n < 1 || n > COST_WORKERS_MAX)
		return -EINVAL;
	w = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
		 -1, 0);
	if (w == MAP_FAILED)
		return -errno;
	sigaction(SIGUSR1, &act, NULL);
	start = (struct start *)(w + n);
	start->workers = n;
	for (unsigned i = 0; i < n; i++) {
		w[i].cell = c;
		w[i].start = start;
	}
	before = cpu();
	if (c->threads > 1)
		ret = run_threads(w, n);
	else if (c->procs > 1)
		ret = run_procs(w, n);
	else
		work(w);
	if (!ret)
		sum(w, n, cpu() - before, r);
	munmap(w, size);
	return ret;
}

void cost_guest_spec(const struct cost_cell *c, char *buf, size_t size)
{
	snprintf(buf, size, "%d,%u,%u,%u,%d", (int)c->op, c->threads, c->procs,
		 c->ms, c->by_libc);
}

int cost_guest_main(const char *spec)
{
	struct cost_cell c = {0};
	struct cost_result r;
	int op, libc, ret;

	if (sscanf(spec, "%d,%u,%u,%u,%d", &op, &c.threads, &c.procs, &c.ms,
		   &libc) != 5 ||
	    op < 0 || op >= COST_OPS)
		return 125;
	c.op = (enum cost_op)op;
	c.by_libc = libc != 0;
	ret = cost_guest(&c, &r);
	if (ret) {
		log_host(-ret, "bench: the load");
		return 125;
	}
	return cost_result_write(STDOUT_FILENO, &r) ? 125 : 0;
}

int cost_result_write(int fd, const struct cost_result *r)
{
	if (dprintf(fd, "%.17g %.17g %.17g %.17g %.17g %llu\n", r->min,
		    r->median, r->p99, r->per_second, r->guest_cpu,
		    (unsigned long long)r->count) < 0)
		return -errno;
	return 0;
}

int cost_result_read(int fd, struct cost_result *r)
{
	unsigned long long count;
	char text[512];
	size_t len = 0;
	ssize_t n;

	while (len < sizeof(text) - 1 &&
	       (n = read(fd, text + len, sizeof(text) - 1 - len)) != 0) {
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		len += (size_t)n;
	}
	text[len] = '\0';
	memset(r, 0, sizeof(*r));
	if (sscanf(text, "%lf %lf %lf %lf %lf %llu", &r->min, &r->median,
		   &r->p99, &r->per_second, &r->guest_cpu, &count) != 6)
		return -EPROTO;
	r->count = count;
	return 0;
}
