/*
 * hostfs.c - see hostfs.h.
 */
#include "hostfs.h"

#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>

#include "../sentry/base/costs.h"

enum { HOSTFS_OPEN_MAX = 256 };

#define HOST_LARGEFILE 0100000 /* O_LARGEFILE is 0 in 64-bit headers */
#define HOSTFS_RESOLVE \
	(RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS | RESOLVE_BENEATH)

#ifndef MQUEUE_MAGIC
#define MQUEUE_MAGIC 0x19800202
#endif
#ifndef CONFIGFS_MAGIC
#define CONFIGFS_MAGIC 0x62656570
#endif
#ifndef FUSECTL_MAGIC
#define FUSECTL_MAGIC 0x65735543
#endif

/* File systems whose files are switches of the kernel, not data. */
static const long kernel_magics[] = {
	PROC_SUPER_MAGIC,   SYSFS_MAGIC,	 DEVPTS_SUPER_MAGIC,
	CGROUP_SUPER_MAGIC, CGROUP2_SUPER_MAGIC, DEBUGFS_MAGIC,
	TRACEFS_MAGIC,	    SECURITYFS_MAGIC,	 BPF_FS_MAGIC,
	PSTOREFS_MAGIC,	    EFIVARFS_MAGIC,	 MQUEUE_MAGIC,
	CONFIGFS_MAGIC,	    FUSECTL_MAGIC,	 BINFMTFS_MAGIC,
	SELINUX_MAGIC,	    NSFS_MAGIC,
};

int hostfs_errno(int err)
{
	switch (err) {
	case EPERM:
	case EACCES:
	case EROFS:
	case ETXTBSY:
		return -EACCES;
	case ELOOP:
	case ENOTDIR:
	case EXDEV:
	case ENXIO:
	case ENODEV:
		return -ENOENT;
	case EMFILE:
		return -ENFILE;
	}
	return -err;
}

void hostfs_init(struct hostfs *fs, bool trusted)
{
	list_init(&fs->lru);
	fs->open_count = 0;
	fs->trusted = trusted;
	fs->euid = geteuid();
}

static int host_openat(int dirfd, const char *name, int flags)
{
	/* What F_GETFL shows is what open(2) without more flags leaves. */
	int more = flags & O_PATH ? O_NOFOLLOW : HOST_LARGEFILE;
	struct open_how how = {
		.flags = (uint64_t)(flags | O_CLOEXEC | more),
		.resolve = HOSTFS_RESOLVE,
	};
	long fd;

	for (int tries = 0; tries < 8; tries++) {
		fd = syscall(SYS_openat2, dirfd, name, &how, sizeof(how));
		if (fd >= 0)
			return (int)fd;
		if (errno != EAGAIN && errno != EINTR)
			return -errno;
	}
	return -errno;
}

static bool host_is_kernel_fs(int fd)
{
	struct statfs fs;

	if (fstatfs(fd, &fs) < 0)
		return true;
	for (size_t i = 0; i < ARRAY_SIZE(kernel_magics); i++)
		if ((long)fs.f_type == kernel_magics[i])
			return true;
	return false;
}

static struct timespec host_time(const struct statx_timestamp *t)
{
	return (struct timespec){.tv_sec = t->tv_sec, .tv_nsec = t->tv_nsec};
}

static bool host_same_time(struct timespec a, struct timespec b)
{
	return a.tv_sec == b.tv_sec && a.tv_nsec == b.tv_nsec;
}

static bool host_reborn(int fd, struct timespec born)
{
	struct statx stx;

	return born.tv_sec &&
	       !statx(fd, "", AT_EMPTY_PATH, STATX_BTIME, &stx) &&
	       (stx.stx_mask & STATX_BTIME) &&
	       !host_same_time(host_time(&stx.stx_btime), born);
}

/* *born: tv_sec 0 where the file system does not tell. */
static int host_statx(int fd, const char *name, int flags, struct stat *st,
		      struct timespec *born)
{
	struct statx stx;

	if (statx(fd, name, flags | AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT,
		  STATX_BASIC_STATS | STATX_BTIME, &stx) < 0)
		return -1;
	*st = (struct stat){
		.st_dev = makedev(stx.stx_dev_major, stx.stx_dev_minor),
		.st_ino = stx.stx_ino,
		.st_mode = stx.stx_mode,
		.st_nlink = stx.stx_nlink,
		.st_uid = stx.stx_uid,
		.st_gid = stx.stx_gid,
		.st_rdev = makedev(stx.stx_rdev_major, stx.stx_rdev_minor),
		.st_size = (off_t)stx.stx_size,
		.st_blksize = stx.stx_blksize,
		.st_blocks = (blkcnt_t)stx.stx_blocks,
		.st_atim = host_time(&stx.stx_atime),
		.st_mtim = host_time(&stx.stx_mtime),
		.st_ctim = host_time(&stx.stx_ctime),
	};
	*born = (struct timespec){0};
	if (stx.stx_mask & STATX_BTIME)
		*born = host_time(&stx.stx_btime);
	return 0;
}

/* ---- directories ----------------------------------------------------- */

static struct hostdir *hostdir_new(struct hostfs *fs, struct hostdir *parent,
				   const char *name, const struct stat *st)
{
	struct hostdir *d = xcalloc(1, sizeof(*d));

	d->fs = fs;
	d->parent = parent ? hostdir_get(parent) : NULL;
	d->changes = parent ? parent->changes : !fs->trusted;
	d->name = xstrdup(name);
	d->refs = 1;
	d->fd = -1;
	d->dev = st->st_dev;
	d->ino = st->st_ino;
	list_init(&d->lru);
	return d;
}

struct hostdir *hostdir_get(struct hostdir *d)
{
	d->refs++;
	return d;
}

static void hostdir_close(struct hostdir *d)
{
	if (d->fd < 0)
		return;
	close(d->fd);
	d->fd = -1;
	if (!list_empty(&d->lru)) {
		list_del(&d->lru);
		d->fs->open_count--;
	}
}

void hostdir_put(struct hostdir *d)
{
	while (d && !--d->refs) {
		struct hostdir *parent = d->parent;

		hostdir_close(d);
		free(d->name);
		free(d);
		d = parent;
	}
}

/* Takes fd. A root's descriptor is never closed by the LRU. */
static void hostdir_keep(struct hostdir *d, int fd)
{
	d->fd = fd;
	if (!d->parent)
		return;
	if (d->fs->open_count >= HOSTFS_OPEN_MAX)
		hostdir_close(list_entry(d->fs->lru.next, struct hostdir, lru));
	list_add_tail(&d->fs->lru, &d->lru);
	d->fs->open_count++;
}

static int hostdir_open(struct hostdir *d, int parent_fd, int flags)
{
	int fd = host_openat(parent_fd, d->name, flags | O_DIRECTORY);
	struct timespec born = {0};
	struct stat st;
	int ret;

	if (fd < 0)
		return hostfs_errno(-fd);
	if (d->born.tv_sec)
		ret = host_statx(fd, "", AT_EMPTY_PATH, &st, &born);
	else
		ret = fstat(fd, &st);
	if (ret < 0 || st.st_dev != d->dev || st.st_ino != d->ino ||
	    (born.tv_sec && !host_same_time(born, d->born))) {
		close(fd);
		return -ESTALE;
	}
	if (st.st_dev != d->parent->dev)
		d->kernel = host_is_kernel_fs(fd);
	else
		d->kernel = d->parent->kernel;
	hostdir_keep(d, fd);
	return 0;
}

/* Opens from the nearest open ancestor down, without recursion. */
int hostdir_fd(struct hostdir *d)
{
	if (d->fd >= 0) {
		if (!list_empty(&d->lru)) {
			list_del(&d->lru);
			list_add_tail(&d->fs->lru, &d->lru);
		}
		return d->fd;
	}
	while (d->fd < 0) {
		struct hostdir *top = d;
		int ret;

		while (top->parent && top->parent->fd < 0)
			top = top->parent;
		if (!top->parent)
			return -ESTALE;
		ret = hostdir_open(top, top->parent->fd, O_PATH);
		if (ret < 0)
			return ret;
	}
	return d->fd;
}

struct hostdir *hostdir_child(struct hostdir *d, const char *name,
			      const struct stat *st)
{
	return hostdir_new(d->fs, d, name, st);
}

void hostdir_moved(struct hostdir *d, struct hostdir *parent, const char *name)
{
	struct hostdir *old = d->parent;

	BUG_ON(!old);
	d->parent = hostdir_get(parent);
	hostdir_put(old);
	free(d->name);
	d->name = xstrdup(name);
}

int hostfs_open_root(struct hostfs *fs, const char *path, struct hostdir **dir,
		     char **name, struct stat *st)
{
	AUTO_FREE char *real = realpath(path, NULL);
	AUTO_CLOSE int fd = -1;
	char *slash;
	struct stat dst;

	*name = NULL;
	if (!real || stat(real, st) < 0)
		return -errno;
	if (S_ISREG(st->st_mode)) {
		slash = strrchr(real, '/');
		*name = xstrdup(slash + 1);
		slash[slash == real] = '\0';
	} else if (!S_ISDIR(st->st_mode)) {
		return -EACCES;
	}
	fd = open(real, O_PATH | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0 || fstat(fd, &dst) < 0) {
		int err = errno;

		free(*name);
		*name = NULL;
		return -err;
	}
	*dir = hostdir_new(fs, NULL, real, &dst);
	(*dir)->kernel = host_is_kernel_fs(fd);
	(*dir)->fd = fd_take(&fd);
	return 0;
}

int hostfs_root_fd(struct hostfs *fs, int fd, struct hostdir **dir)
{
	int own = openat(fd, ".", O_PATH | O_DIRECTORY | O_CLOEXEC);
	struct stat st;

	if (own < 0 || fstat(own, &st) < 0) {
		int ret = -errno;

		auto_close_fd(&own);
		return ret;
	}
	*dir = hostdir_new(fs, NULL, "", &st);
	(*dir)->fd = own;
	return 0;
}

/* ---- names ----------------------------------------------------------- */

static int host_stat_told(struct hostdir *d, int fd, const char *name,
			  struct stat *st)
{
	if (host_statx(fd, name, 0, st, &d->fs->told_born) < 0)
		return -1;
	d->fs->told = *st;
	return 0;
}

int hostfs_stat(struct hostdir *d, const char *name, struct stat *st)
{
	int ret = 0, fd = hostdir_fd(d);
	enum costs_part back;

	if (fd < 0)
		return fd;
	if (d->kernel)
		return -ENOENT;
	back = costs_enter(COSTS_HOST);
	if (d->changes ? host_stat_told(d, fd, name, st) < 0
		       : fstatat(fd, name, st,
				 AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT) < 0)
		ret = errno == ENOTDIR ? -ENOENT : hostfs_errno(errno);
	costs_leave(back);
	if (ret)
		return ret;
	if (S_ISREG(st->st_mode) || S_ISLNK(st->st_mode) ||
	    S_ISDIR(st->st_mode))
		return 0;
	return -ENOENT;
}

/* By its name, where it is not open: opening it would cost twice as much. */
int hostfs_stat_dir(struct hostdir *d, struct stat *st)
{
	int ret;

	if (d->fd >= 0)
		return fstat(d->fd, st) < 0 ? hostfs_errno(errno) : 0;
	ret = d->parent ? hostfs_stat(d->parent, d->name, st) : -ESTALE;
	if (ret)
		return ret;
	if (st->st_dev != d->dev || st->st_ino != d->ino ||
	    (d->changes && d->born.tv_sec && d->fs->told_born.tv_sec &&
	     !host_same_time(d->fs->told_born, d->born)))
		return -ESTALE;
	return 0;
}

bool hostfs_exists(struct hostdir *d, const char *path)
{
	struct open_how how = {
		.flags = O_PATH | O_CLOEXEC | O_NOFOLLOW,
		.resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS |
			   RESOLVE_NO_XDEV,
	};
	int dirfd = hostdir_fd(d);
	AUTO_CLOSE int fd = -1;

	if (dirfd < 0 || d->kernel)
		return false;
	fd = (int)syscall(SYS_openat2, dirfd, path, &how, sizeof(how));
	/* A link or mount point on the way is something, too. */
	return fd >= 0 || errno == EXDEV || errno == ELOOP;
}

bool hostfs_closed(struct hostdir *d, const char *name, const struct stat *st)
{
	mode_t need = S_ISDIR(st->st_mode) ? 0111 : 0444;
	int dirfd;

	if (d->fs->euid == 0 || (st->st_mode & need) == need)
		return false;
	dirfd = hostdir_fd(d);
	return dirfd >= 0 &&
	       faccessat(dirfd, name, S_ISDIR(st->st_mode) ? X_OK : R_OK,
			 AT_EACCESS | AT_SYMLINK_NOFOLLOW) < 0 &&
	       errno == EACCES;
}

/* Is this the very answer that the birth came with? */
static bool host_told(const struct hostfs *fs, const struct stat *want)
{
	return fs->told.st_ino == want->st_ino &&
	       fs->told.st_dev == want->st_dev &&
	       fs->told.st_ctim.tv_sec == want->st_ctim.tv_sec &&
	       fs->told.st_ctim.tv_nsec == want->st_ctim.tv_nsec;
}

int hostfs_birth(struct hostdir *d, const char *name, const struct stat *want,
		 struct timespec *out)
{
	int fd = hostdir_fd(d);
	struct statx stx;

	if (name && d->changes && host_told(d->fs, want)) {
		*out = d->fs->told_born;
		return out->tv_sec ? 0 : -ENODATA;
	}
	if (fd < 0)
		return fd;
	if (statx(fd, name ? name : "", AT_SYMLINK_NOFOLLOW | AT_EMPTY_PATH,
		  STATX_INO | STATX_BTIME, &stx) < 0)
		return hostfs_errno(errno);
	if (stx.stx_ino != want->st_ino || !(stx.stx_mask & STATX_BTIME))
		return -ENODATA;
	out->tv_sec = stx.stx_btime.tv_sec;
	out->tv_nsec = stx.stx_btime.tv_nsec;
	return 0;
}

int hostfs_same(int fd, const struct hostfs_want *want, struct stat *st)
{
	const struct stat *old = want->st;

	if (fstat(fd, st) < 0)
		return -EIO;
	if (st->st_dev != old->st_dev || st->st_ino != old->st_ino ||
	    ((st->st_mode ^ old->st_mode) & S_IFMT))
		return -ESTALE;
	/* Most are as they were, and need no second question. */
	if (st->st_ctim.tv_sec == old->st_ctim.tv_sec &&
	    st->st_ctim.tv_nsec == old->st_ctim.tv_nsec)
		return 0;
	return host_reborn(fd, want->born) ? -ESTALE : 0;
}

/* A tree that may change is opened O_PATH first, so that opening a FIFO or a
 * device that was put there meanwhile has no effect. LIMIT: where inotify has
 * just said that a regular file stands there, what takes its place within the
 * next microseconds is opened (without blocking) and closed again. */
static int host_open_checked(int dirfd, const char *name, int flags,
			     const struct hostfs_want *want)
{
	char path[64];
	AUTO_CLOSE int pfd = host_openat(dirfd, name, O_PATH);
	struct stat st;
	int fd, ret;

	if (pfd < 0)
		return pfd;
	ret = S_ISREG(want->st->st_mode) ? hostfs_same(pfd, want, &st)
					 : -ESTALE;
	if (ret < 0)
		return ret;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", pfd);
	/* LIMIT: O_NOFOLLOW is then missing in F_GETFL. */
	fd = open(path, (flags & ~O_NOFOLLOW) | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

int hostfs_open(struct hostdir *d, const char *name, int flags,
		const struct stat *want, int *fd)
{
	struct hostfs_want w = {.flags = flags, .st = want};
	struct stat st;

	return hostfs_open_stat(d, name, &w, fd, &st);
}

int hostfs_open_stat(struct hostdir *d, const char *name,
		     const struct hostfs_want *want, int *fd, struct stat *st)
{
	int dirfd = hostdir_fd(d), flags = want->flags;
	int ret, got, noatime, keep = flags & (O_APPEND | O_DIRECT);
	bool asked = flags & O_NONBLOCK;

	if (dirfd < 0)
		return dirfd;
	flags |= O_NONBLOCK | O_NOCTTY;
	noatime = d->fs->euid == 0 || d->fs->euid == want->st->st_uid
			  ? O_NOATIME
			  : 0;
	for (;;) {
		got = d->changes && !want->sure
			      ? host_open_checked(dirfd, name, flags | noatime,
						  want)
			      : host_openat(dirfd, name, flags | noatime);
		if (got != -EPERM || !noatime)
			break;
		noatime = 0; /* root of a user namespace is not the owner */
	}
	if (got < 0)
		return hostfs_errno(-got);
	ret = hostfs_same(got, want, st);
	if (!ret && !S_ISREG(st->st_mode))
		ret = -ESTALE;
	if (ret < 0) {
		close(got);
		return ret;
	}
	/* The caller's description is non-blocking only if it asked. */
	if (!asked && fcntl(got, F_SETFL, keep | noatime) < 0)
		log_host(errno, "F_SETFL");
	*fd = got;
	return 0;
}

int hostfs_open_path(struct hostdir *d, const char *name, int *fd)
{
	int dirfd = hostdir_fd(d);
	int got;

	if (dirfd < 0)
		return dirfd;
	got = name ? host_openat(dirfd, name, O_PATH)
		   : openat(dirfd, ".", O_PATH | O_CLOEXEC);
	if (got < 0)
		return name ? hostfs_errno(-got) : hostfs_errno(errno);
	*fd = got;
	return 0;
}

/* What fails for any reason is asked for as ever, and then says why. */
int hostdir_fd_list(struct hostdir *d)
{
	int at = d->fd < 0 && d->parent ? hostdir_fd(d->parent) : -1;

	if (at < 0 || (hostdir_open(d, at, O_RDONLY | O_NOATIME) < 0 &&
		       hostdir_open(d, at, O_RDONLY) < 0))
		return -EAGAIN;
	return d->kernel ? -EAGAIN : d->fd;
}

int hostfs_open_list(struct hostdir *d, int *fd)
{
	int dirfd = hostdir_fd(d);
	int noatime = O_NOATIME;
	int got;

	if (dirfd < 0)
		return dirfd;
	if (d->kernel)
		return -ENOENT;
	got = openat(dirfd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC | noatime);
	if (got < 0 && errno == EPERM)
		got = openat(dirfd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (got < 0)
		return hostfs_errno(errno);
	*fd = got;
	return 0;
}

ssize_t hostfs_readlink(struct hostdir *d, const char *name, char *buf,
			size_t size)
{
	int dirfd = hostdir_fd(d);
	ssize_t n;

	if (dirfd < 0)
		return dirfd;
	n = readlinkat(dirfd, name, buf, size);
	return n < 0 ? hostfs_errno(errno) : n;
}
