/*
 * attr.c - mode, owner, times and size: chmod, chown, utime in all their
 * forms, truncate.
 *
 * LIMIT: fchmod on a pipe or terminal, and fchown and futimens on any object
 *   that is not of the VFS, are EPERM: it may be the host's (law 2).
 */
#include <sys/mman.h>
#include <sys/time.h>
#include <utime.h>

#include "handlers.h"
#include "help.h"
#include "pathfd.h"

#define ATTR_FLAGS (AT_SYMLINK_NOFOLLOW | AT_EMPTY_PATH)
#define ATTR_TIMES (VFS_ATTR_ATIME | VFS_ATTR_MTIME)

/* On the kernel's own tmpfs, which no path leads to? */
static bool is_memfd(const struct stat *st)
{
	static dev_t dev;
	struct stat own;

	if (!dev) {
		AUTO_CLOSE int fd = memfd_create("", MFD_CLOEXEC);

		if (fd < 0 || fstat(fd, &own) < 0)
			return false;
		dev = own.st_dev;
	}
	return S_ISREG(st->st_mode) && st->st_dev == dev;
}

/* A memfd or a socket is a guest's own object: the mode is changed on our
 * copy. An anonymous inode has nothing to change. */
static int64_t attr_foreign(const struct target *t, const struct vfs_attr *attr)
{
	if (!(t->st.st_mode & S_IFMT))
		return -EOPNOTSUPP;
	if (attr->valid != VFS_ATTR_MODE ||
	    (!is_memfd(&t->st) && !S_ISSOCK(t->st.st_mode)))
		return -EPERM;
	return fchmod(t->fd, attr->mode) < 0 ? -errno : 0;
}

static int64_t attr_apply(struct call *c, struct target *t,
			  struct vfs_attr *attr)
{
	struct vfs_job *job;
	int ret;

	if (t->foreign)
		return attr_foreign(t, attr);
	target_at_hand(c, t);
	ret = vfs_setattr(&c->vfs, &t->ref, attr);
	if (ret != -EINPROGRESS)
		return ret;
	job = attr->job;
	attr->job = NULL;
	return call_run_job(c, job);
}

static int64_t attr_path(struct call *c, gfd_t dirfd, const char *path,
			 unsigned walk, struct vfs_attr *attr)
{
	AUTO_PUT_TARGET struct target t = {.fd = -1};
	int ret = call_target(c, dirfd, path, walk, &t);

	return ret ? ret : attr_apply(c, &t, attr);
}

static int64_t attr_fd(struct call *c, gfd_t fd, struct vfs_attr *attr)
{
	AUTO_PUT_TARGET struct target t = {.fd = -1};
	int ret = call_fd_data(c, fd, &t);

	return ret ? ret : attr_apply(c, &t, attr);
}

/* ---- mode ------------------------------------------------------------ */

static struct vfs_attr attr_mode(uint64_t mode)
{
	return (struct vfs_attr){.valid = VFS_ATTR_MODE,
				 .mode = (mode_t)mode & 07777};
}

int64_t h_chmod(struct call *c)
{
	struct vfs_attr attr = attr_mode(c->args[1]);

	return attr_path(c, AT_FDCWD, c->str[0], VFS_FOLLOW, &attr);
}

int64_t h_fchmod(struct call *c)
{
	struct vfs_attr attr = attr_mode(c->args[1]);

	return attr_fd(c, (gfd_t)c->args[0], &attr);
}

int64_t h_fchmodat(struct call *c)
{
	struct vfs_attr attr = attr_mode(c->args[2]);

	return attr_path(c, (gfd_t)c->args[0], c->str[1], VFS_FOLLOW, &attr);
}

/* Linux has no mode of a symlink: EOPNOTSUPP (fs/attr.c). */
int64_t h_fchmodat2(struct call *c)
{
	AUTO_PUT_TARGET struct target t = {.fd = -1};
	struct vfs_attr attr = attr_mode(c->args[2]);
	int flags = (int)c->args[3];
	struct statx stx;
	int ret;

	if (flags & ~ATTR_FLAGS)
		return -EINVAL;
	ret = call_target(c, (gfd_t)c->args[0], c->str[1], call_at_flags(flags),
			  &t);
	if (!ret && !t.foreign)
		ret = vfs_getattr(&c->vfs, &t.ref, &stx);
	if (ret)
		return ret;
	if (!t.foreign && S_ISLNK(stx.stx_mode))
		return -EOPNOTSUPP;
	return attr_apply(c, &t, &attr);
}

/* ---- owner ----------------------------------------------------------- */

static struct vfs_attr attr_owner(uint64_t uid, uint64_t gid)
{
	return (struct vfs_attr){.valid = VFS_ATTR_UID | VFS_ATTR_GID,
				 .uid = (uid_t)uid,
				 .gid = (gid_t)gid};
}

int64_t h_chown(struct call *c)
{
	struct vfs_attr attr = attr_owner(c->args[1], c->args[2]);

	return attr_path(c, AT_FDCWD, c->str[0], VFS_FOLLOW, &attr);
}

int64_t h_lchown(struct call *c)
{
	struct vfs_attr attr = attr_owner(c->args[1], c->args[2]);

	return attr_path(c, AT_FDCWD, c->str[0], 0, &attr);
}

int64_t h_fchown(struct call *c)
{
	struct vfs_attr attr = attr_owner(c->args[1], c->args[2]);

	return attr_fd(c, (gfd_t)c->args[0], &attr);
}

int64_t h_fchownat(struct call *c)
{
	struct vfs_attr attr = attr_owner(c->args[2], c->args[3]);
	int flags = (int)c->args[4];

	if (flags & ~ATTR_FLAGS)
		return -EINVAL;
	return attr_path(c, (gfd_t)c->args[0], c->str[1], call_at_flags(flags),
			 &attr);
}

/* ---- times ----------------------------------------------------------- */

static bool nsec_valid(const struct timespec *ts)
{
	return ts->tv_nsec == UTIME_NOW || ts->tv_nsec == UTIME_OMIT ||
	       (ts->tv_nsec >= 0 && ts->tv_nsec < 1000000000);
}

/* ts: two times, or NULL for "now". As vfs_utimes of fs/utimes.c: both "now"
 * is the same as NULL. */
static struct vfs_attr attr_times(const struct timespec *ts)
{
	struct vfs_attr attr = {.valid = ATTR_TIMES};

	if (!ts || (ts[0].tv_nsec == UTIME_NOW && ts[1].tv_nsec == UTIME_NOW)) {
		attr.valid |= VFS_ATTR_TIMES_NULL;
		attr.atime.tv_nsec = attr.mtime.tv_nsec = UTIME_NOW;
		return attr;
	}
	attr.atime = ts[0];
	attr.mtime = ts[1];
	if (ts[0].tv_nsec == UTIME_OMIT)
		attr.valid &= ~VFS_ATTR_ATIME;
	if (ts[1].tv_nsec == UTIME_OMIT)
		attr.valid &= ~VFS_ATTR_MTIME;
	return attr;
}

/* do_utimes: no path and a real descriptor means the descriptor itself. */
static int64_t times_at(struct call *c, gfd_t dirfd, const char *path,
			bool null_path, const struct timespec *ts, int flags)
{
	AUTO_PUT_TARGET struct target t = {.fd = -1};
	struct vfs_attr attr = attr_times(ts);
	int ret;

	if (null_path && dirfd != AT_FDCWD) {
		if (flags)
			return -EINVAL;
		ret = call_fd_data(c, dirfd, &t);
	} else {
		if (flags & ~ATTR_FLAGS)
			return -EINVAL;
		ret = call_target(c, dirfd, path, call_at_flags(flags), &t);
	}
	if (ret)
		return ret;
	if (ts && (!nsec_valid(&ts[0]) || !nsec_valid(&ts[1])))
		return -EINVAL;
	return attr_apply(c, &t, &attr);
}

int64_t h_utimensat(struct call *c)
{
	const struct timespec *ts = c->mem[2];

	if (c->arg_err[2])
		return c->arg_err[2];
	if (ts && ts[0].tv_nsec == UTIME_OMIT && ts[1].tv_nsec == UTIME_OMIT)
		return 0;
	return times_at(c, (gfd_t)c->args[0], c->str[1], !c->args[1], ts,
			(int)c->args[3]);
}

/* do_futimesat: the microseconds are judged before the path. */
static int64_t times_from_timeval(struct call *c, gfd_t dirfd, int path,
				  int times)
{
	const struct timeval *tv = c->mem[times];
	struct timespec ts[2];

	if (c->arg_err[times])
		return c->arg_err[times];
	for (int i = 0; tv && i < 2; i++) {
		if (tv[i].tv_usec < 0 || tv[i].tv_usec >= 1000000)
			return -EINVAL;
		ts[i].tv_sec = tv[i].tv_sec;
		ts[i].tv_nsec = tv[i].tv_usec * 1000;
	}
	return times_at(c, dirfd, c->str[path], !c->args[path], tv ? ts : NULL,
			0);
}

int64_t h_utimes(struct call *c)
{
	return times_from_timeval(c, AT_FDCWD, 0, 1);
}

int64_t h_futimesat(struct call *c)
{
	return times_from_timeval(c, (gfd_t)c->args[0], 1, 2);
}

int64_t h_utime(struct call *c)
{
	const struct utimbuf *ub = c->mem[1];
	struct timespec ts[2] = {0};

	if (c->arg_err[1])
		return c->arg_err[1];
	if (ub) {
		ts[0].tv_sec = ub->actime;
		ts[1].tv_sec = ub->modtime;
	}
	return times_at(c, AT_FDCWD, c->str[0], !c->args[0], ub ? ts : NULL, 0);
}

/* ---- size ------------------------------------------------------------ */

/* 0 as well where truncating will fail anyhow. */
static int size_allowed(struct call *c, const char *path, uint64_t size)
{
	AUTO_PUT_VREF struct vref ref = {0};
	struct vfs_at at;
	struct statx stx;

	if (call_at(c, AT_FDCWD, path, &at) ||
	    vfs_lookup(&c->vfs, &at, VFS_FOLLOW, &ref) ||
	    vfs_getattr(&c->vfs, &ref, &stx) || !S_ISREG(stx.stx_mode))
		return 0;
	return help_file_size(c, stx.stx_size, size);
}

int64_t h_truncate(struct call *c)
{
	struct vfs_attr attr = {.valid = VFS_ATTR_SIZE,
				.size = (off_t)c->args[1]};
	int err;

	if (attr.size < 0)
		return -EINVAL;
	err = size_allowed(c, c->str[0], c->args[1]);
	if (err)
		return err;
	return attr_path(c, AT_FDCWD, c->str[0], VFS_FOLLOW, &attr);
}
