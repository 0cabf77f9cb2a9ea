/*
 * guest.h - what every guest test is written with.
 *
 * A guest test is a program of named behaviours (TEST). Each runs in a child
 * of its own, in a new directory named after it below the start directory,
 * with an alarm; the parent prints "ok NAME", "not ok NAME" or "skip NAME:
 * why", and ends with 1 if one failed. The program must pass natively: what
 * it asserts is what Linux does. Nothing that it prints may depend on a time,
 * a pid or an address, since the runner compares outputs.
 *
 * Marks for the runner stand in comments at the top of a program:
 *   // modes: bare        also run with --insecure-no-userns
 *   // timeout: SECONDS   of the whole program (default 60)
 *   // inside-only        means nothing natively
 *   // expect-audit: CALL VERDICT   the audit stream must have it
 */
#ifndef CLOCHE_TEST_GUEST_H
#define CLOCHE_TEST_GUEST_H

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/types.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define GUEST_SKIPPED 77
#define GUEST_ALARM_S 40

struct guest_test {
	const char *name;
	void (*run)(void);
	struct guest_test *next;
};

static struct guest_test *guest_first, **guest_last = &guest_first;
static char guest_self[PATH_MAX];  /* absolute path of this program */
static char guest_start[PATH_MAX]; /* the start directory */

#define TEST(fn)                                                      \
	static void fn(void);                                         \
	__attribute__((constructor)) static void guest_add_##fn(void) \
	{                                                             \
		static struct guest_test t = {#fn, fn, NULL};         \
		*guest_last = &t;                                     \
		guest_last = &t.next;                                 \
	}                                                             \
	static void fn(void)

__attribute__((unused, noreturn, format(printf, 3, 4))) static void
guest_fail(const char *file, int line, const char *fmt, ...)
{
	va_list ap;

	printf("# %s:%d: ", file, line);
	va_start(ap, fmt);
	vprintf(fmt, ap);
	va_end(ap);
	printf("\n");
	fflush(stdout);
	_exit(1);
}

#define CHECK(cond)                                                \
	do {                                                       \
		if (!(cond))                                       \
			guest_fail(__FILE__, __LINE__,             \
				   "%s (last "                     \
				   "errno %s)",                    \
				   #cond, strerrorname_np(errno)); \
	} while (0)

/* Value of an expression that must not be -1. */
#define OK(expr)                                                        \
	({                                                              \
		errno = 0;                                              \
		__auto_type guest_v = (expr);                           \
		if ((long)guest_v == -1)                                \
			guest_fail(__FILE__, __LINE__, "%s: %s", #expr, \
				   strerrorname_np(errno));             \
		guest_v;                                                \
	})

#define ERR(expr, want)                                                    \
	do {                                                               \
		errno = 0;                                                 \
		long guest_v = (long)(expr);                               \
		int guest_e = errno;                                       \
		if (guest_v != -1)                                         \
			guest_fail(__FILE__, __LINE__,                     \
				   "%s gave %ld, "                         \
				   "expected %s",                          \
				   #expr, guest_v, strerrorname_np(want)); \
		if (guest_e != (want))                                     \
			guest_fail(__FILE__, __LINE__,                     \
				   "%s: %s, "                              \
				   "expected %s",                          \
				   #expr, strerrorname_np(guest_e),        \
				   strerrorname_np(want));                 \
	} while (0)

#define EQ(a, b)                                              \
	do {                                                  \
		long long guest_a = (long long)(a);           \
		long long guest_b = (long long)(b);           \
		if (guest_a != guest_b)                       \
			guest_fail(__FILE__, __LINE__,        \
				   "%s is %lld, "             \
				   "expected %lld (%s)",      \
				   #a, guest_a, guest_b, #b); \
	} while (0)

#define STREQ(a, b)                                        \
	do {                                               \
		const char *guest_a = (a), *guest_b = (b); \
		if (strcmp(guest_a, guest_b))              \
			guest_fail(__FILE__, __LINE__,     \
				   "%s is '%s', "          \
				   "expected '%s'",        \
				   #a, guest_a, guest_b);  \
	} while (0)

#define SKIP(why)                           \
	do {                                \
		printf("# why: %s\n", why); \
		fflush(stdout);             \
		_exit(GUEST_SKIPPED);       \
	} while (0)

/* ---- small tools ------------------------------------------------------ */

__attribute__((unused)) static void put(const char *path, const char *text)
{
	int fd = OK(open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644));

	EQ(write(fd, text, strlen(text)), strlen(text));
	OK(close(fd));
}

__attribute__((unused)) static const char *get(const char *path)
{
	static char buf[65536];
	int fd = OK(open(path, O_RDONLY));
	ssize_t len = OK(read(fd, buf, sizeof(buf) - 1));

	buf[len] = '\0';
	OK(close(fd));
	return buf;
}

static const char *guest_now; /* the running behaviour's name */

/* Path of a file that the runner made before the start: each behaviour has
 * a set of its own (see make_project in tests/run). */
__attribute__((unused)) static const char *lower(const char *name)
{
	static char buf[4][PATH_MAX + 320];
	static unsigned n;
	char *p = buf[n++ % 4];

	snprintf(p, sizeof(buf[0]), "%s/lower/%s/%s", guest_start, guest_now,
		 name);
	return p;
}

__attribute__((unused)) static ino_t ino_of(const char *path)
{
	struct stat st;

	OK(lstat(path, &st));
	return st.st_ino;
}

__attribute__((unused)) static nlink_t nlink_of(const char *path)
{
	struct stat st;

	OK(lstat(path, &st));
	return st.st_nlink;
}

__attribute__((unused)) static mode_t mode_of(const char *path)
{
	struct stat st;

	OK(lstat(path, &st));
	return st.st_mode & 07777;
}

__attribute__((unused)) static bool exists(const char *path)
{
	struct stat st;

	return lstat(path, &st) == 0;
}

/* Status of a child that exits by itself; -1000-N if signal N killed it. */
__attribute__((unused)) static int wait_for(pid_t pid)
{
	int st;
	pid_t got;

	do
		got = waitpid(pid, &st, 0);
	while (got < 0 && errno == EINTR);
	EQ(got, pid);
	return WIFEXITED(st) ? WEXITSTATUS(st) : -1000 - WTERMSIG(st);
}

#define CHILD(...)                          \
	({                                  \
		fflush(stdout);             \
		pid_t guest_p = OK(fork()); \
		if (guest_p == 0) {         \
			__VA_ARGS__;        \
			fflush(stdout);     \
			_exit(0);           \
		}                           \
		guest_p;                    \
	})

/* Runs a program to its end and returns its status as wait_for. */
__attribute__((unused)) static int run_prog(char *const argv[])
{
	pid_t pid = OK(fork());

	if (pid == 0) {
		execvp(argv[0], argv);
		_exit(127);
	}
	return wait_for(pid);
}

/* ---- the frame -------------------------------------------------------- */

/* A program may run itself as `self --child …`; it then defines this. */
__attribute__((weak)) int guest_child(int argc, char **argv);

static int guest_run_one(const struct guest_test *t)
{
	pid_t pid;
	int st;

	fflush(stdout);
	pid = fork();
	if (pid == 0) {
		mkdir(t->name, 0755);
		if (chdir(t->name))
			guest_fail(__FILE__, __LINE__, "chdir %s", t->name);
		guest_now = t->name;
		alarm(GUEST_ALARM_S);
		t->run();
		fflush(stdout);
		_exit(0);
	}
	while (waitpid(pid, &st, 0) < 0 && errno == EINTR)
		;
	if (WIFEXITED(st) && WEXITSTATUS(st) == GUEST_SKIPPED) {
		printf("skip %s\n", t->name);
		return 0;
	}
	if (WIFSIGNALED(st))
		printf("# killed by signal %d\n", WTERMSIG(st));
	printf("%s %s\n", st ? "not ok" : "ok", t->name);
	return st != 0;
}

int main(int argc, char **argv)
{
	int failed = 0;

	umask(022);
	if (!getcwd(guest_start, sizeof(guest_start)) ||
	    !realpath(argv[0], guest_self))
		return 2;
	if (argc > 1 && !strcmp(argv[1], "--child") && guest_child)
		return guest_child(argc - 1, argv + 1);
	if (argc > 1 && !strcmp(argv[1], "--list")) {
		for (struct guest_test *t = guest_first; t; t = t->next)
			puts(t->name);
		return 0;
	}
	for (struct guest_test *t = guest_first; t; t = t->next)
		if (argc < 2 || !strcmp(argv[1], t->name))
			failed += guest_run_one(t);
	fflush(stdout);
	return failed ? 1 : 0;
}

#endif
