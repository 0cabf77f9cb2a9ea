/*
 * help.h - small helpers that handlers of several files share.
 */
#ifndef CLOCHE_SYSCALLS_HELP_H
#define CLOCHE_SYSCALLS_HELP_H

#include <sys/socket.h>

#include "dispatch.h"
#include "handlers.h"
#include "../sentry/sentry.h"

/* Argument i as the kernel's int. */
static inline int arg_int(const struct call *c, int i)
{
	return (int)(uint32_t)c->args[i];
}

/*
 * The structure of `size` bytes that argument i points to: decode.c's copy if
 * it made one, else read now, once, into the arena. NULL pointers are a
 * fault. Returns 0, -EFAULT or -ENOMEM.
 */
int MUST_CHECK help_struct(struct call *c, int i, size_t size,
			   const void **out);

/* Are these bytes, at most a page, all zero? 0, -E2BIG, -EFAULT, -ENOMEM. */
int MUST_CHECK help_zero(struct call *c, gaddr_t addr, size_t len);

/* Queues a copy of data for the guest; -ENOMEM if the arena is full. */
int MUST_CHECK help_out(struct call *c, gaddr_t addr, const void *data,
			size_t len);

/* The socket address in arguments i and i + 1, into *out (zero-filled). */
int MUST_CHECK help_sockaddr(struct call *c, int i,
			     struct sockaddr_storage *out, socklen_t *len);

/* Writes a value-result socket address (getsockname(2)): addr_arg points to
 * the buffer, addr_arg + 1 to its length. */
int MUST_CHECK help_out_sockaddr(struct call *c, int addr_arg, const void *addr,
				 socklen_t len);

/*
 * A call of class `args` that reached its handler though the kernel's own
 * truncation of ints would have let it run (garbage in a high half), or that
 * no rule allows: refuses with err and a record.
 * LIMIT: the former natively works.
 */
int64_t help_refuse_args(struct call *c, int err, const char *what);

/* A file of `size` bytes is to become `new` long: -EFBIG, with SIGXFSZ, above
 * the caller's RLIMIT_FSIZE; else 0. */
int MUST_CHECK help_file_size(struct call *c, uint64_t size, uint64_t new);

/* False for our copy of a stand-in of O_PATH, which only few calls take. */
bool help_fd_usable(int fd);

/* Our copy of a guest's descriptor as call_fd gives it; -EBADF also for such
 * a stand-in. */
int MUST_CHECK help_fd(struct call *c, gfd_t fd);

/* The process that our copy of a pidfd is of, by the host's number; -1: it has
 * ended; 0: not a pidfd. */
pid_t help_pidfd_pid(int fd);

/* FD_CLOEXEC of a guest's descriptor, from /proc/TID/fdinfo. */
bool help_guest_cloexec(struct call *c, gfd_t fd);

/* May the caller use this CAP_* bit, by its virtual credentials? */
static inline bool help_capable(const struct call *c, int cap)
{
	return c->task->cred->cap_effective & (1ull << cap);
}

#endif
