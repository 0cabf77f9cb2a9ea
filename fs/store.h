/*
 * store.h - the real directory tree behind everything that is written.
 *
 * A private detached tmpfs given as a directory descriptor (bare mode: a plain
 * directory that the caller made in /dev/shm). It has three parts:
 *
 *   mN/    the mirror of overlay N: upper files under their virtual names, so
 *          that create, rename, link, unlink and inotify events happen in the
 *          kernel. Owned by overlay_*.c.
 *   LN/    frozen parts of mirrors, shared by snapshots: layer.h.
 *   side/  files and directories without a virtual name: stand-ins,
 *          snapshots, O_TMPFILE files, unlinked files that are still open.
 *
 * Every object is owned by the sentry with mode 0600 (directories 0700);
 * what the guest sees of owner and mode is kept by the file systems above.
 * Nothing here knows inodes or dentries; objects are known by ino_t, which is
 * unique in the store while the object lives.
 *
 * Locking: the sentry's state lock, as all of fs/.
 */
#ifndef CLOCHE_STORE_H
#define CLOCHE_STORE_H

#include "../sentry/base/base.h"
#include "../sentry/base/hash.h"
#include "../sentry/base/list.h"

#include <sys/stat.h>

struct vfs;
struct store;

enum { STORE_NAME_MAX = 24 }; /* of a name in side/, with NUL */

enum store_event {
	STORE_GONE,   /* the object's last descriptor is gone; it is freed */
	STORE_CLOSED, /* one description of it was closed */
};
/* Called from store_poll. Several calls for one object end with STORE_GONE. */
typedef void (*store_event_fn)(void *arg, dev_t dev, ino_t ino,
			       enum store_event what);

/* Takes root_fd, also on failure. */
int MUST_CHECK store_new(int root_fd, bool emulated, struct store **out);
/* Bare mode: removes everything below the root directory. */
void store_free(struct store *s);
/* Nothing is asked of it any more, and no event is waited for. */
void store_leave(struct store *s);
void store_on_event(struct store *s, store_event_fn fn, void *arg);

int store_root_fd(const struct store *s); /* borrowed */
int store_side_fd(const struct store *s); /* borrowed */
dev_t store_dev(const struct store *s);
/* The store of a vfs; defined by the VFS core. Borrowed. */
struct store *vfs_store(struct vfs *vfs);

/* A descriptor (epoll's), and the work to do when it is readable. */
int store_poll_fd(const struct store *s);
void store_poll(struct store *s);

/*
 * An empty regular file (0600) or directory (0700) in side/: its name there,
 * and for a file a read-write descriptor (directory: read-only). Owned.
 */
int MUST_CHECK store_side_file(struct store *s, char name[STORE_NAME_MAX],
			       int *fd);
int MUST_CHECK store_side_dir(struct store *s, char name[STORE_NAME_MAX],
			      int *fd);
void store_side_name(struct store *s, char name[STORE_NAME_MAX]);
void store_side_remove(struct store *s, const char *name, bool dir);

/*
 * A description of a fresh object that has no name any more and vanishes with
 * its last descriptor, when STORE_GONE is reported. A file is opened with
 * `flags` (access mode 3: an O_PATH stand-in); *st is its fstat.
 */
int MUST_CHECK store_standin_file(struct store *s, const void *data, size_t len,
				  int flags, int *fd, struct stat *st);
int MUST_CHECK store_standin_dir(struct store *s, int *fd, struct stat *st);

/*
 * From now on report STORE_GONE for the object (dirfd, name), which is about
 * to be unlinked or removed; with `closes`, of what is in side/, STORE_CLOSED
 * as well. Where inotify is not to be had both come late, or (without `closes`)
 * never.
 */
int MUST_CHECK store_watch(struct store *s, int dirfd, const char *name,
			   ino_t ino, bool closes);
void store_unwatch(struct store *s, ino_t ino);

/*
 * Is the regular file (with number ino) open in any description or mapping?
 * Asked of the kernel by a write lease that ends at once.
 */
bool store_busy(struct store *s, int dirfd, const char *name, ino_t ino);

/* Registered by overlays: their list and the number of the next mirror. */
struct list *store_overlays(struct store *s);
unsigned store_next_mirror(struct store *s);
/* Of layer.c: every layer that is known, and the number of the next. */
struct list *store_layers(struct store *s);
unsigned store_next_layer(struct store *s);

#endif
