/*
 * locks.h - POSIX record locks of the sandbox, as a table of ranges.
 *
 * The kernel would give record locks that the sentry takes to the sentry, so
 * they are kept here: per file a list of ranges, each owned by a process.
 * The table knows no task and no descriptor; an owner is the address of a
 * struct list that strings its locks together (tgroup.posix_locks).
 *
 * Locking: all functions but locktable_wait are called with the state lock.
 */
#ifndef CLOCHE_LOCKS_H
#define CLOCHE_LOCKS_H

#include "../sentry/base/base.h"
#include "../sentry/base/hash.h"
#include "../sentry/base/list.h"

#define LOCK_OFFSET_MAX INT64_MAX
#define LOCKS_MAX	65536 /* ranges in one sandbox; more: ENOLCK */

struct locktable;
struct tgroup;

/* Descriptors of a file that its locker had; any close drops the lock. */
enum { LOCK_FDS_MAX = 16 };
struct lockfds {
	int fd[LOCK_FDS_MAX];
	unsigned n; /* 0: not known */
};

/* A file: its inode in the virtual tree, or (dev, ino) if it is not ours. */
struct lockkey {
	void *inode; /* identity only */
	uint64_t dev, ino;
};

/* A range [start, end] of one owner; type is F_RDLCK or F_WRLCK. seen_* is
 * the kernel's identity of the descriptor that was locked through. */
struct plock {
	struct list in_file, in_owner;
	struct lockfile *file;
	struct list *owner;
	int64_t start, end;
	short type;
	uint64_t seen_dev, seen_ino;
	struct lockfds seen_fds;
};

struct lockreq {
	struct lockkey key;
	struct list *owner;
	short type; /* F_RDLCK, F_WRLCK, F_UNLCK */
	int64_t start, end;
	uint64_t seen_dev, seen_ino;
	struct lockfds seen_fds;
};

/* hold/drop: called when a key's inode gets its first, loses its last lock;
 * may be NULL. */
struct locktable *locktable_new(void (*hold)(void *), void (*drop)(void *));
void locktable_free(struct locktable *t); /* no locks may be left */
size_t locktable_count(const struct locktable *t);

/* First lock of another owner that excludes the request, or NULL. */
struct plock *locktable_conflict(struct locktable *t,
				 const struct lockreq *req);
/* Any lock of this owner on the file, or NULL. */
struct plock *locktable_find(struct locktable *t, const struct lockkey *key,
			     const struct list *owner);
/* Takes or releases the range, merging and splitting the owner's; -EAGAIN if
 * it conflicts, -ENOLCK when the table is full. */
int MUST_CHECK locktable_set(struct locktable *t, const struct lockreq *req);
/* Drops the owner's locks on one file (key), or all of them (NULL). */
void locktable_drop(struct locktable *t, struct list *owner,
		    const struct lockfile *file);

/* A blocked request. Registered while it waits, for deadlock detection. */
struct lockwait {
	struct list link;
	const struct list *owner, *blocker;
};

/* -EDEADLK if waiting for blocker would close a circle; else registers. */
int MUST_CHECK locktable_wait_begin(struct locktable *t, struct lockwait *w,
				    const struct list *owner,
				    const struct list *blocker);
void locktable_wait_end(struct lockwait *w);
/* Changes whenever some lock goes away. */
uint64_t locktable_generation(struct locktable *t);
/* Without the state lock: until the generation differs, or ms passed. */
void locktable_wait(struct locktable *t, uint64_t generation, unsigned ms);

#endif
