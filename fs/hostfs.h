/*
 * hostfs.h - the only door to the host's files.
 *
 * A struct hostdir stands for one host directory, found by single components
 * from a root; its descriptor is opened when needed and kept in an LRU.
 * A component is never a symlink, "..", "." or more than one name
 * (openat2 RESOLVE_NO_SYMLINKS|RESOLVE_NO_MAGICLINKS|RESOLVE_BENEATH), and a
 * directory that is no longer the one first seen (dev, ino) is -ESTALE.
 *
 * Only regular files, directories and symlinks are shown. FIFOs, sockets and
 * devices are absent; directories of the kernel's own file systems (proc,
 * sysfs, devtmpfs ...) are there but empty.
 *
 * The sentry's rights are not the guest's: a permission failure of the host
 * becomes -EACCES, and the caller has checked virtual permissions.
 */
#ifndef CLOCHE_HOSTFS_H
#define CLOCHE_HOSTFS_H

#include "../sentry/base/base.h"
#include "../sentry/base/list.h"

#include <sys/stat.h>

struct hostfs {
	struct list lru; /* hostdirs with a descriptor, oldest first */
	unsigned open_count;
	bool trusted; /* host tree is taken as fixed */
	uid_t euid;   /* ours, when it was set up */
	/* What hostfs_stat last said of a tree that may change: the birth comes
	 * with it, and is asked for next. */
	struct stat told;
	struct timespec told_born; /* tv_sec 0: it has none */
};

struct hostdir {
	struct hostfs *fs;
	struct hostdir *parent; /* counted; NULL for a root */
	char *name;		/* a root: absolute host path */
	struct list lru;
	unsigned refs;
	int fd; /* O_PATH, or to be listed; -1 */
	dev_t dev;
	ino_t ino;
	bool kernel;  /* of a kernel file system: shown empty */
	bool changes; /* the host may change it under us; children as well */
	struct timespec born; /* tv_sec 0: not known */
};

/* What is to be found: numbers alone may mean a later file. */
struct hostfs_want {
	int flags; /* of open(2) */
	const struct stat *st;
	struct timespec born; /* tv_sec 0: not known */
	bool sure; /* the host has just told that it is a regular file */
};

void hostfs_init(struct hostfs *fs, bool trusted);

/*
 * The directory at a host path given by the operator (symlinks followed).
 * For a regular file: its parent directory in *dir, name set to the last
 * component (owned). *st is filled. -EACCES: neither.
 */
int MUST_CHECK hostfs_open_root(struct hostfs *fs, const char *path,
				struct hostdir **dir, char **name,
				struct stat *st);
/* A root that is a directory of our own (its descriptor is borrowed). */
int MUST_CHECK hostfs_root_fd(struct hostfs *fs, int fd, struct hostdir **dir);
struct hostdir *hostdir_get(struct hostdir *d);
void hostdir_put(struct hostdir *d);
/* Borrowed descriptor to look up names by, valid until the next hostfs call. */
int MUST_CHECK hostdir_fd(struct hostdir *d);
/* The same, and fresh for getdents; negative where it is open already. Valid
 * until the next call for another directory. */
int MUST_CHECK hostdir_fd_list(struct hostdir *d);
/* A handle for the child directory that stat described; opens nothing. */
struct hostdir *hostdir_child(struct hostdir *d, const char *name,
			      const struct stat *st);
/* The directory was renamed by ourselves. */
void hostdir_moved(struct hostdir *d, struct hostdir *parent, const char *name);

/* lstat of one name; -ENOENT also for what is never shown. */
int MUST_CHECK hostfs_stat(struct hostdir *d, const char *name,
			   struct stat *st);
/* fstat of d itself. */
int MUST_CHECK hostfs_stat_dir(struct hostdir *d, struct stat *st);
/* Is there something at this path below d? Follows no link out of d. */
bool hostfs_exists(struct hostdir *d, const char *path);
/* May we not read the regular file, not search the directory, that name is
 * (as *st)? */
bool hostfs_closed(struct hostdir *d, const char *name, const struct stat *st);
/* When it was made; -ENODATA where the file system does not say. name NULL: d
 * itself. */
int MUST_CHECK hostfs_birth(struct hostdir *d, const char *name,
			    const struct stat *want, struct timespec *out);
/* Opens a regular file that must be the one in *want (dev, ino): -ESTALE. */
int MUST_CHECK hostfs_open(struct hostdir *d, const char *name, int flags,
			   const struct stat *want, int *fd);
/* The same, born then if that is known; *st is what it is now. */
int MUST_CHECK hostfs_open_stat(struct hostdir *d, const char *name,
				const struct hostfs_want *want, int *fd,
				struct stat *st);
/*
 * Is fd the file that *want described? -ESTALE: it has another number, type or
 * birth. The host uses the number of a removed file again at once.
 * LIMIT: two files made within a tick of its clock (4 ms) are born together,
 * and where a file system does not tell births the number counts alone.
 */
int MUST_CHECK hostfs_same(int fd, const struct hostfs_want *want,
			   struct stat *st);
/* O_PATH descriptor of a file (name) or of d itself (name NULL). Owned. */
int MUST_CHECK hostfs_open_path(struct hostdir *d, const char *name, int *fd);
/* A readable descriptor of d, for getdents. Owned. */
int MUST_CHECK hostfs_open_list(struct hostdir *d, int *fd);
ssize_t MUST_CHECK hostfs_readlink(struct hostdir *d, const char *name,
				   char *buf, size_t size);
/* errno of the host as a guest may see it. */
int hostfs_errno(int err);

#endif
