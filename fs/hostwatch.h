/*
 * hostwatch.h - the host says by inotify what it changes.
 *
 * One instance per vfs, opened when first needed. A mark is one object of ours
 * (a directory or a file of an overlay) that follows one host inode; marks of
 * the same inode share a watch. The kernel queues an event before the call that
 * made the change returns, and wakes whoever waits: so once hostwatch_take()
 * has run, whatever had happened before it has been told, and what is known of
 * a marked object needs no call to the host. Asking whether there is anything
 * costs one epoll_wait (a fifth of an fstatat).
 *
 * Laws:
 * 1. A mark is set before what it guards is looked up; what was known before
 *    counts as unknown. [hostchange_test: random_changes_are_never_seen_late]
 * 2. Whatever cannot be told makes the mark go, or is told as HOST_ALL: a
 *    directory without mark is asked for each time.
 *    [hostchange_test: overflow_of_the_queue_makes_all_stale]
 * 3. The instance is the sentry's alone: no guest has a descriptor of it.
 *
 * Watches are refused (the caller asks each time, as without inotify) for file
 * systems where others than this kernel change files or names are not compared
 * byte by byte, for what we may not read, and beyond a bound: a share of
 * the user's own limit. At the bound the least used goes.
 *
 * LIMIT: XFS made without regard to case is not told from other XFS.
 */
#ifndef CLOCHE_HOSTWATCH_H
#define CLOCHE_HOSTWATCH_H

#include "../sentry/base/base.h"
#include "../sentry/base/list.h"

struct hostwatch;
struct watched;

struct hostmark {
	struct list same;      /* of one watch */
	struct watched *watch; /* NULL: the host is not heard about it */
	void *owner;
	bool file; /* contents and attributes; else names of a directory */
};

enum hostnews {
	HOST_NAME, /* the directory's entry `name` is not what it was */
	HOST_SELF, /* attributes (of a file: contents) changed */
	HOST_ALL,  /* anything may have changed */
};

/* May neither set nor drop marks. name: HOST_NAME only. */
typedef void (*hostwatch_fn)(struct hostmark *m, enum hostnews news,
			     const char *name);

/* Opens nothing yet. limit 0: as the host allows; SIZE_MAX: none. */
struct hostwatch *hostwatch_new(hostwatch_fn fn, size_t limit);
void hostwatch_free(struct hostwatch *hw); /* no mark is set any more */

void hostmark_init(struct hostmark *m, void *owner, bool file);
/* fd: O_PATH of the object. -errno, and no mark, where it cannot be heard. */
int MUST_CHECK hostwatch_set(struct hostwatch *hw, struct hostmark *m, int fd);
void hostwatch_drop(struct hostwatch *hw, struct hostmark *m);

/* Takes in all that the host has done up to now; calls fn. */
void hostwatch_take(struct hostwatch *hw);

/* How many watches there are. */
size_t hostwatch_count(const struct hostwatch *hw);

/* The mark is of use: at the bound others go first. */
void hostmark_used(struct hostmark *m);

#endif
