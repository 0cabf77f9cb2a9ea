/*
 * stat.c - stat, lstat, fstat, newfstatat, statx, statfs, fstatfs.
 *
 * An object of the VFS is described by the VFS. What is not (pipe, socket,
 * memfd, terminal) is described by the sentry's own fstat of its copy of the
 * descriptor, with the guests' kernel ids shown as the caller's virtual ones.
 */
#include <sys/sysmacros.h>

#include "handlers.h"
#include "pathfd.h"
#include "refresh.h"

#define STAT_FLAGS                                               \
	(AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT | AT_EMPTY_PATH | \
	 AT_STATX_SYNC_TYPE)

static void statx_time(struct statx_timestamp *out, const struct timespec *ts)
{
	out->tv_sec = ts->tv_sec;
	out->tv_nsec = (uint32_t)ts->tv_nsec;
}

static void statx_from_stat(const struct stat *st, struct statx *out)
{
	memset(out, 0, sizeof(*out));
	out->stx_mask = STATX_BASIC_STATS;
	out->stx_blksize = (uint32_t)st->st_blksize;
	out->stx_nlink = (uint32_t)st->st_nlink;
	out->stx_uid = st->st_uid;
	out->stx_gid = st->st_gid;
	out->stx_mode = (uint16_t)st->st_mode;
	out->stx_ino = st->st_ino;
	out->stx_size = (uint64_t)st->st_size;
	out->stx_blocks = (uint64_t)st->st_blocks;
	statx_time(&out->stx_atime, &st->st_atim);
	statx_time(&out->stx_mtime, &st->st_mtim);
	statx_time(&out->stx_ctime, &st->st_ctim);
	out->stx_rdev_major = major(st->st_rdev);
	out->stx_rdev_minor = minor(st->st_rdev);
	out->stx_dev_major = major(st->st_dev);
	out->stx_dev_minor = minor(st->st_dev);
}

/* What is not ours, as the guest should see it. */
static void stat_foreign(const struct call *c, struct stat *st)
{
	if (st->st_uid == c->s->kuid)
		st->st_uid = c->vcred.uid;
	if (st->st_gid == c->s->kgid)
		st->st_gid = c->vcred.gid;
}

static int64_t stat_reply(struct call *c, struct target *t, gaddr_t addr)
{
	struct stat *st = call_alloc(c, sizeof(*st));
	struct statx stx;
	int ret;

	if (!st)
		return -ENOMEM;
	if (t->foreign) {
		*st = t->st;
		stat_foreign(c, st);
	} else {
		target_at_hand(c, t);
		ret = vfs_getattr(&c->vfs, &t->ref, &stx);
		if (ret)
			return ret;
		vfs_statx_to_stat(&stx, st);
	}
	call_out(c, addr, st, sizeof(*st));
	return 0;
}

static int64_t stat_path(struct call *c, gfd_t dirfd, const char *path,
			 unsigned walk, gaddr_t addr)
{
	AUTO_PUT_TARGET struct target t = {.fd = -1};
	int ret = call_target(c, dirfd, path, walk, &t);

	if (!ret)
		ret = refresh_fd(c, dirfd, &t);
	return ret ? ret : stat_reply(c, &t, addr);
}

int64_t h_stat(struct call *c)
{
	return stat_path(c, AT_FDCWD, c->str[0], VFS_FOLLOW, c->args[1]);
}

int64_t h_lstat(struct call *c)
{
	return stat_path(c, AT_FDCWD, c->str[0], 0, c->args[1]);
}

int64_t h_fstat(struct call *c)
{
	AUTO_PUT_TARGET struct target t = {.fd = -1};
	int ret = call_fd_target(c, (gfd_t)c->args[0], &t);

	if (!ret)
		ret = refresh_fd(c, (gfd_t)c->args[0], &t);
	return ret ? ret : stat_reply(c, &t, c->args[1]);
}

int64_t h_newfstatat(struct call *c)
{
	int flags = (int)c->args[3];

	if (flags & ~STAT_FLAGS)
		return -EINVAL;
	return stat_path(c, (gfd_t)c->args[0], c->str[1],
			 call_at_flags(flags) | CALL_NULL_EMPTY, c->args[2]);
}

int64_t h_statx(struct call *c)
{
	AUTO_PUT_TARGET struct target t = {.fd = -1};
	int flags = (int)c->args[2];
	struct statx *out;
	int ret;

	if ((uint32_t)c->args[3] & STATX__RESERVED)
		return -EINVAL;
	if ((flags & ~STAT_FLAGS) ||
	    (flags & AT_STATX_SYNC_TYPE) == AT_STATX_SYNC_TYPE)
		return -EINVAL;
	ret = call_target(c, (gfd_t)c->args[0], c->str[1],
			  call_at_flags(flags) | CALL_NULL_EMPTY, &t);
	if (!ret)
		ret = refresh_fd(c, (gfd_t)c->args[0], &t);
	if (ret)
		return ret;
	out = call_alloc(c, sizeof(*out));
	if (!out)
		return -ENOMEM;
	target_at_hand(c, &t);
	c->vfs.want_btime = c->args[3] & STATX_BTIME;
	if (t.foreign) {
		stat_foreign(c, &t.st);
		statx_from_stat(&t.st, out);
	} else {
		ret = vfs_getattr(&c->vfs, &t.ref, out);
		if (ret)
			return ret;
	}
	call_out(c, c->args[4], out, sizeof(*out));
	return 0;
}

static int64_t statfs_reply(struct call *c, struct target *t, gaddr_t addr)
{
	struct statfs *out = call_alloc(c, sizeof(*out));
	int ret = 0;

	if (!out)
		return -ENOMEM;
	if (!t->foreign)
		ret = vfs_statfs(&c->vfs, &t->ref, out);
	else if (fstatfs(t->fd, out) < 0)
		ret = -errno;
	if (ret)
		return ret;
	call_out(c, addr, out, sizeof(*out));
	return 0;
}

int64_t h_statfs(struct call *c)
{
	AUTO_PUT_TARGET struct target t = {.fd = -1};
	int ret = call_target(c, AT_FDCWD, c->str[0], VFS_FOLLOW, &t);

	return ret ? ret : statfs_reply(c, &t, c->args[1]);
}

int64_t h_fstatfs(struct call *c)
{
	AUTO_PUT_TARGET struct target t = {.fd = -1};
	int ret = call_fd_target(c, (gfd_t)c->args[0], &t);

	return ret ? ret : statfs_reply(c, &t, c->args[1]);
}
