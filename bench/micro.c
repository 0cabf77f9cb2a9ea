/*
 * micro.c - what single calls cost, natively or inside.
 *
 * usage: micro [--ms N] [--list] [NAME...]
 *        micro --calls N NAME      does it so often, and measures nothing
 *        micro --procs N [--ms N]  stats a second, by N processes together
 *
 * The work directory must hold lower.dat (1 MiB or more), link (a symlink),
 * many/ (a directory of 100 files) and names/ (of 512: as many as no block of
 * audit records holds): inside, these are files of the host. The others are
 * made here: inside, these are files of the overlay.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench.h"

enum { BLOCK = 4096, EXTENT = 1 << 20, NAMES = 512, PROCS_MAX = 64 };

static int lower = -1, upper = -1, memory = -1;
static char block[BLOCK];

#define CHECK(cond)                                               \
	do {                                                      \
		if (!(cond)) {                                    \
			fprintf(stderr, "micro: %s: %s\n", #cond, \
				strerror(errno));                 \
			exit(1);                                  \
		}                                                 \
	} while (0)

static void make_files(void)
{
	static char zeros[EXTENT];

	lower = open("lower.dat", O_RDONLY | O_CLOEXEC);
	CHECK(lower >= 0);
	upper = open("upper.dat", O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	CHECK(upper >= 0);
	CHECK(write(upper, zeros, EXTENT) == EXTENT);
	memory = open("/dev/shm", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	CHECK(memory >= 0);
	CHECK(write(memory, zeros, EXTENT) == EXTENT);
}

/* ---- names: the sentry answers --------------------------------------- */

static void do_stat(uint64_t n)
{
	struct stat st;

	while (n--)
		CHECK(stat("lower.dat", &st) == 0);
}

static void do_stat_deep(uint64_t n)
{
	struct stat st;

	while (n--)
		CHECK(stat("/usr/lib/x86_64-linux-gnu/libc.so.6", &st) == 0);
}

/* Each time another name, so that no two calls are alike. */
static void do_stat_names(uint64_t n)
{
	static char name[NAMES][sizeof("names/000")];
	static unsigned at;
	struct stat st;

	for (unsigned i = 0; !name[NAMES - 1][0] && i < NAMES; i++)
		snprintf(name[i], sizeof(name[i]), "names/%03u", i);
	while (n--)
		CHECK(stat(name[at++ % NAMES], &st) == 0);
}

static void do_access_missing(uint64_t n)
{
	while (n--)
		CHECK(access("missing.dat", F_OK) < 0 && errno == ENOENT);
}

static void do_open_missing(uint64_t n)
{
	while (n--)
		CHECK(open("missing.dat", O_RDONLY) < 0 && errno == ENOENT);
}

static void open_close(uint64_t n, const char *name, int flags)
{
	while (n--) {
		int fd = open(name, flags);

		CHECK(fd >= 0);
		close(fd);
	}
}

static void do_open_lower(uint64_t n)
{
	open_close(n, "lower.dat", O_RDONLY);
}

static void do_open_upper(uint64_t n)
{
	open_close(n, "upper.dat", O_RDONLY);
}

static void do_open_upper_rw(uint64_t n)
{
	open_close(n, "upper.dat", O_RDWR);
}

static void do_fstat(uint64_t n)
{
	struct stat st;

	while (n--)
		CHECK(fstat(lower, &st) == 0);
}

static void do_readlink(uint64_t n)
{
	char buf[256];

	while (n--)
		CHECK(readlink("link", buf, sizeof(buf)) > 0);
}

static void do_create_unlink(uint64_t n)
{
	while (n--) {
		int fd = open("new.dat", O_WRONLY | O_CREAT | O_EXCL, 0644);

		CHECK(fd >= 0);
		close(fd);
		CHECK(unlink("new.dat") == 0);
	}
}

static void do_rename(uint64_t n)
{
	while (n--) {
		CHECK(rename("upper.dat", "moved.dat") == 0);
		CHECK(rename("moved.dat", "upper.dat") == 0);
	}
}

static void do_mkdir_rmdir(uint64_t n)
{
	while (n--) {
		CHECK(mkdir("newdir", 0755) == 0);
		CHECK(rmdir("newdir") == 0);
	}
}

static void do_readdir(uint64_t n)
{
	while (n--) {
		DIR *dir = opendir("many");

		CHECK(dir);
		while (readdir(dir))
			;
		closedir(dir);
	}
}

/* ---- data, memory, waiting: native ----------------------------------- */

static void do_getppid(uint64_t n)
{
	while (n--)
		syscall(SYS_getppid);
}

static void read_blocks(uint64_t n, int fd)
{
	CHECK(lseek(fd, 0, SEEK_SET) == 0);
	for (uint64_t i = 0; i < n; i++) {
		if (i % (EXTENT / BLOCK) == 0)
			lseek(fd, 0, SEEK_SET);
		CHECK(read(fd, block, BLOCK) == BLOCK);
	}
}

static void do_read(uint64_t n)
{
	read_blocks(n, lower);
}

static void do_pread(uint64_t n)
{
	while (n--)
		CHECK(pread(lower, block, BLOCK, BLOCK) == BLOCK);
}

static void write_blocks(uint64_t n, int fd)
{
	for (uint64_t i = 0; i < n; i++) {
		if (i % (EXTENT / BLOCK) == 0)
			lseek(fd, 0, SEEK_SET);
		CHECK(write(fd, block, BLOCK) == BLOCK);
	}
}

static void do_write(uint64_t n)
{
	write_blocks(n, upper);
}

static void do_write_shm(uint64_t n)
{
	write_blocks(n, memory);
}

static void do_mmap(uint64_t n)
{
	while (n--) {
		volatile char *at = mmap(NULL, 16 * BLOCK, PROT_READ,
					 MAP_PRIVATE, lower, 0);

		CHECK(at != MAP_FAILED);
		(void)at[0];
		munmap((void *)at, 16 * BLOCK);
	}
}

static void do_poll(uint64_t n)
{
	struct pollfd p = {lower, POLLIN, 0};

	while (n--)
		CHECK(poll(&p, 1, 0) == 1);
}

static void do_futex(uint64_t n)
{
	static int word;

	while (n--)
		syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

/* On one processor: the wake-up of another one costs what the machine
 * pleases. */
static void do_pingpong(uint64_t n)
{
	cpu_set_t old, one;
	int to[2], from[2];
	char c = 0;
	pid_t pid;

	CHECK(sched_getaffinity(0, sizeof(old), &old) == 0);
	CPU_ZERO(&one);
	CPU_SET((size_t)sched_getcpu(), &one);
	CHECK(sched_setaffinity(0, sizeof(one), &one) == 0);
	CHECK(pipe(to) == 0 && pipe(from) == 0);
	pid = fork();
	CHECK(pid >= 0);
	if (pid == 0) {
		close(to[1]);
		while (read(to[0], &c, 1) == 1)
			CHECK(write(from[1], &c, 1) == 1);
		_exit(0);
	}
	while (n--) {
		CHECK(write(to[1], &c, 1) == 1);
		CHECK(read(from[0], &c, 1) == 1);
	}
	close(to[0]);
	close(to[1]);
	close(from[0]);
	close(from[1]);
	waitpid(pid, NULL, 0);
	sched_setaffinity(0, sizeof(old), &old);
}

/* ---- processes: the tracer sees them ---------------------------------- */

static void do_fork_wait(uint64_t n)
{
	while (n--) {
		pid_t pid = fork();

		CHECK(pid >= 0);
		if (pid == 0)
			_exit(0);
		CHECK(waitpid(pid, NULL, 0) == pid);
	}
}

static void do_exec(uint64_t n)
{
	static char name[] = "/bin/true";
	char *argv[] = {name, NULL}, *envp[] = {NULL};
	int status;
	pid_t pid;

	while (n--) {
		CHECK(posix_spawn(&pid, name, NULL, NULL, argv, envp) == 0);
		CHECK(waitpid(pid, &status, 0) == pid && status == 0);
	}
}

static void do_fork_exec(uint64_t n)
{
	static char name[] = "/bin/true";
	char *argv[] = {name, NULL}, *envp[] = {NULL};
	int status;

	while (n--) {
		pid_t pid = fork();

		CHECK(pid >= 0);
		if (pid == 0) {
			execve(name, argv, envp);
			_exit(1);
		}
		CHECK(waitpid(pid, &status, 0) == pid && status == 0);
	}
}

static void *thread_main(void *arg)
{
	return arg;
}

static void do_thread(uint64_t n)
{
	pthread_t t;

	while (n--) {
		CHECK(pthread_create(&t, NULL, thread_main, NULL) == 0);
		CHECK(pthread_join(t, NULL) == 0);
	}
}

static volatile sig_atomic_t seen;

static void on_signal(int sig)
{
	seen = sig;
}

static void do_signal(uint64_t n)
{
	struct sigaction sa = {.sa_handler = on_signal};
	pid_t pid = getpid();

	CHECK(sigaction(SIGUSR1, &sa, NULL) == 0);
	while (n--)
		CHECK(syscall(SYS_tgkill, pid, pid, SIGUSR1) == 0);
	CHECK(seen == SIGUSR1);
}

/* ---- choice ----------------------------------------------------------- */

static const struct {
	const char *name;
	bench_fn run;
} operations[] = {
	{"stat", do_stat},
	{"stat-absolute", do_stat_deep},
	{"stat-512-names", do_stat_names},
	{"access-missing", do_access_missing},
	{"open-missing", do_open_missing},
	{"open-close-host", do_open_lower},
	{"open-close-overlay", do_open_upper},
	{"open-close-overlay-rw", do_open_upper_rw},
	{"fstat", do_fstat},
	{"readlink", do_readlink},
	{"create-unlink", do_create_unlink},
	{"rename-twice", do_rename},
	{"mkdir-rmdir", do_mkdir_rmdir},
	{"readdir-100", do_readdir},
	{"getppid", do_getppid},
	{"read-4k", do_read},
	{"pread-4k", do_pread},
	{"write-4k", do_write},
	{"write-4k-shm", do_write_shm},
	{"mmap-munmap", do_mmap},
	{"poll", do_poll},
	{"futex-wake", do_futex},
	{"pipe-pingpong", do_pingpong},
	{"fork-wait", do_fork_wait},
	{"exec-true", do_exec},
	{"fork-exec-true", do_fork_exec},
	{"thread", do_thread},
	{"signal", do_signal},
};

#define COUNT (sizeof(operations) / sizeof(operations[0]))

static int chosen(const char *name, char **names)
{
	if (!*names)
		return 1;
	for (; *names; names++)
		if (strcmp(*names, name) == 0)
			return 1;
	return 0;
}

/* ---- several at a time ------------------------------------------------ */

struct together {
	unsigned ready;
	uint64_t until; /* 0: not all are ready */
	double rate[PROCS_MAX];
};

static void one_of(struct together *t, unsigned i)
{
	uint64_t n = 0, begin, until;

	do_stat(100);
	__atomic_add_fetch(&t->ready, 1, __ATOMIC_ACQ_REL);
	while (!(until = __atomic_load_n(&t->until, __ATOMIC_ACQUIRE)))
		usleep(200);
	begin = bench_now();
	while (bench_now() < until) {
		do_stat(20);
		n += 20;
	}
	t->rate[i] = (double)n * 1e9 / (double)(bench_now() - begin);
}

/* All run at the same time, so that their rates may be added. */
static void many_stats(unsigned procs, uint64_t ms)
{
	struct together *t = mmap(NULL, sizeof(*t), PROT_READ | PROT_WRITE,
				  MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	double rate = 0;
	int status;

	CHECK(t != MAP_FAILED && procs && procs <= PROCS_MAX);
	for (unsigned i = 0; i < procs; i++) {
		pid_t pid = fork();

		CHECK(pid >= 0);
		if (pid == 0) {
			one_of(t, i);
			_exit(0);
		}
	}
	while (__atomic_load_n(&t->ready, __ATOMIC_ACQUIRE) < procs)
		usleep(1000);
	__atomic_store_n(&t->until, bench_now() + ms * 1000000,
			 __ATOMIC_RELEASE);
	for (unsigned i = 0; i < procs; i++)
		CHECK(wait(&status) > 0 && status == 0);
	for (unsigned i = 0; i < procs; i++)
		rate += t->rate[i];
	printf("%.0f\n", rate);
}

/* ---- options ----------------------------------------------------------- */

/* The number after an option, if it is the next word. */
static int option(char ***argv, const char *name, uint64_t *value)
{
	if (!**argv || strcmp(**argv, name) != 0 || !(*argv)[1])
		return 0;
	*value = strtoull((*argv)[1], NULL, 10);
	*argv += 2;
	return 1;
}

int main(int argc, char **argv)
{
	uint64_t ms = 40, calls = 0, procs = 0;

	argv++;
	if (argc > 1 && strcmp(*argv, "--list") == 0) {
		for (size_t i = 0; i < COUNT; i++)
			puts(operations[i].name);
		return 0;
	}
	while (option(&argv, "--ms", &ms) || option(&argv, "--calls", &calls) ||
	       option(&argv, "--procs", &procs))
		;
	if (procs) {
		many_stats((unsigned)procs, ms);
		return 0;
	}
	make_files();
	for (size_t i = 0; calls && i < COUNT; i++)
		if (chosen(operations[i].name, argv))
			operations[i].run(calls);
	if (calls)
		return 0;
	for (size_t i = 0; i < COUNT; i++)
		if (chosen(operations[i].name, argv))
			bench_measure(operations[i].name, operations[i].run,
				      ms);
	unlink("upper.dat");
	return 0;
}
