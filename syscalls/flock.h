/*
 * flock.h - what fcntl.c, flock.c and posixlock.c share.
 *
 * flock and OFD locks belong to an open file description, so the sentry takes
 * them natively on its own copy of it, and they go with the guest's last
 * copy. A lock never rests on a host inode: such a file is first copied to
 * the store and the guest's descriptor is replaced at its number.
 * LIMIT: other descriptors of the same description (dup, fork) keep the host
 * file's; a lock taken through one of them is another lock.
 */
#ifndef CLOCHE_SYSCALLS_FLOCK_H
#define CLOCHE_SYSCALLS_FLOCK_H

#include <fcntl.h>

#include "help.h"
#include "locks.h"

/* What a lock call works on. ref.inode is NULL for what is not ours. */
struct lock_fd {
	int fd; /* the sentry's copy; borrowed from the call */
	struct vref ref;
	struct stat st;
	int flags;  /* F_GETFL */
	bool opath; /* stand-in: natively EBADF */
};

void lock_fd_fini(struct lock_fd *l);
#define AUTO_LOCK_FD __attribute__((cleanup(lock_fd_fini)))

/* Fetches and identifies the descriptor in argument 0; -EBADF for O_PATH. */
int MUST_CHECK lock_fd_get(struct call *c, struct lock_fd *l);

/* Makes sure that l->fd is not a host file. 0; or -errno; or 1 with *ret the
 * handler's result (the copying went to a worker). */
int MUST_CHECK lock_fd_to_store(struct call *c, struct lock_fd *l,
				int64_t *ret);

/* The range of a struct flock, absolute; -EINVAL, -EOVERFLOW as in Linux
 * fs/locks.c flock_to_posix_lock. */
int MUST_CHECK lock_range(const struct lock_fd *l, const struct flock *fl,
			  int64_t *start, int64_t *end);

/* POSIX record locks: F_GETLK, F_SETLK, F_SETLKW. */
int64_t posixlock_get(struct call *c);
int64_t posixlock_set(struct call *c);
int64_t posixlock_setw(struct call *c);
/* Open file description locks. */
int64_t ofdlock_get(struct call *c);
int64_t ofdlock_set(struct call *c);
int64_t ofdlock_setw(struct call *c);

/* A POSIX lock of any process that excludes this request; stale ones are
 * dropped on the way. With the state lock. */
struct plock *posixlock_conflict(struct sentry *s, const struct lockreq *req);
void lock_fd_key(const struct lock_fd *l, struct lockkey *key);
struct locktable *posixlock_table(struct sentry *s);

#endif
