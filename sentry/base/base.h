/*
 * base.h - the words every other file is written in.
 *
 * Error marks, bug traps, scope cleanup, and the two value types for numbers
 * that belong to a guest: gaddr_t (an address in a guest; never dereferenced
 * here) and gfd_t (a descriptor number in a guest's table).
 *
 * Errors come in three classes and are never mixed: a guest's error is
 * returned as -errno and not logged; a host failure is logged with the name
 * of the call (log_host) and becomes -EIO or -ENOMEM; a bug of ours trips
 * BUG_ON, which is on in release builds too.
 */
#ifndef CLOCHE_BASE_H
#define CLOCHE_BASE_H

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

typedef uint64_t gaddr_t;
typedef int gfd_t;

#define MUST_CHECK    __attribute__((warn_unused_result))
#define PRINTF(a, b)  __attribute__((format(printf, a, b)))
#define NORETURN      __attribute__((noreturn))
#define UNUSED	      __attribute__((unused))
#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))
#define container_of(p, type, member) \
	((type *)((char *)(p)-offsetof(type, member)))

/* Limits of the interface that guests see (limits.h of the kernel). */
#define PATH_LEN_MAX 4096 /* bytes of a path, with its NUL */
#define NAME_LEN_MAX 255  /* bytes of one name, without NUL */
#define SYMLINKS_MAX 40

#define BUG_ON(cond)                                          \
	do {                                                  \
		if (__builtin_expect(!!(cond), 0))            \
			bug_fatal(#cond, __FILE__, __LINE__); \
	} while (0)

/* Prints and ends the sentry by SIGABRT; its guests die with it. */
NORETURN void bug_fatal(const char *cond, const char *file, int line);

/*
 * Ends cloche with status 125 and one message on stderr: what failed, on
 * what, and what to do next. Only before the first guest instruction.
 */
NORETURN void die(const char *fmt, ...) PRINTF(1, 2);

/* Lines on stderr, "cloche: ..."; log_host appends strerror(err). */
void log_warn(const char *fmt, ...) PRINTF(1, 2);
void log_info(const char *fmt, ...) PRINTF(1, 2);
void log_debug(const char *fmt, ...) PRINTF(1, 2); /* with CLOCHE_DEBUG set */
void log_host(int err, const char *fmt, ...) PRINTF(2, 3);

/* Allocation that cannot fail: out of memory is BUG-class for small objects
 * of ours; sizes that a guest chooses must use malloc and return -ENOMEM. */
void *xcalloc(size_t count, size_t size);
void *xmalloc(size_t size);
char *xstrdup(const char *s);
char *xasprintf(const char *fmt, ...) PRINTF(1, 2);

/* Scope cleanup. */
void auto_close_fd(int *fd);
void auto_free_ptr(void *p);
#define AUTO_CLOSE __attribute__((cleanup(auto_close_fd)))
#define AUTO_FREE  __attribute__((cleanup(auto_free_ptr)))

/* Takes the descriptor out of a scope-cleaned variable. */
static inline int fd_take(int *fd)
{
	int v = *fd;

	*fd = -1;
	return v;
}

/* The start of the host's /proc/PID/FILE as a string in buf: its length, or -1.
 * pid may be a thread's. */
ssize_t base_read_proc(pid_t pid, const char *file, char *buf, size_t size);

#endif
