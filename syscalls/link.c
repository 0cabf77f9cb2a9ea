/*
 * link.c - calls that make, move and remove names: link, symlink, unlink,
 * rename, mkdir, rmdir, mknod in all their forms, and readlink.
 *
 * Errors come in the order of the kernel's fs/namei.c: flags, then the paths
 * in argument order, then descriptors, then the walk (done by the VFS).
 */
#include <linux/capability.h>
#include <linux/fs.h>

#include "handlers.h"
#include "pathfd.h"

/* ---- link, symlink --------------------------------------------------- */

static int64_t link_at(struct call *c, gfd_t olddir, const char *old,
		       gfd_t newdir, const char *new, int flags)
{
	AUTO_PUT_TARGET struct target t = {.fd = -1};
	unsigned walk = flags & AT_SYMLINK_FOLLOW ? VFS_FOLLOW : 0;
	struct vfs_at at;
	int ret;

	if (flags & ~(AT_SYMLINK_FOLLOW | AT_EMPTY_PATH))
		return -EINVAL;
	if (flags & AT_EMPTY_PATH)
		walk |= VFS_EMPTY;
	ret = call_target(c, olddir, old, walk, &t);
	if (!ret)
		ret = call_at(c, newdir, new, &at);
	if (ret)
		return ret;
	/* An object of another file system than any name's. */
	if (t.foreign)
		return -EXDEV;
	return vfs_link(&c->vfs, &t.ref, &at);
}

int64_t h_link(struct call *c)
{
	return link_at(c, AT_FDCWD, c->str[0], AT_FDCWD, c->str[1], 0);
}

int64_t h_linkat(struct call *c)
{
	return link_at(c, (gfd_t)c->args[0], c->str[1], (gfd_t)c->args[2],
		       c->str[3], (int)c->args[4]);
}

static int64_t symlink_at(struct call *c, const char *target, int target_err,
			  gfd_t dirfd, const char *path)
{
	struct vfs_at at;
	int ret;

	if (!target)
		return target_err;
	if (!*target)
		return -ENOENT;
	ret = call_at(c, dirfd, path, &at);
	return ret ? ret : vfs_symlink(&c->vfs, target, &at);
}

int64_t h_symlink(struct call *c)
{
	return symlink_at(c, c->str[0], c->arg_err[0], AT_FDCWD, c->str[1]);
}

int64_t h_symlinkat(struct call *c)
{
	return symlink_at(c, c->str[0], c->arg_err[0], (gfd_t)c->args[1],
			  c->str[2]);
}

/* ---- unlink, rmdir --------------------------------------------------- */

static int64_t unlink_at(struct call *c, gfd_t dirfd, const char *path,
			 int flags)
{
	struct vfs_at at;
	int ret;

	if (flags & ~AT_REMOVEDIR)
		return -EINVAL;
	ret = call_at(c, dirfd, path, &at);
	if (ret)
		return ret;
	return flags & AT_REMOVEDIR ? vfs_rmdir(&c->vfs, &at)
				    : vfs_unlink(&c->vfs, &at);
}

int64_t h_unlink(struct call *c)
{
	return unlink_at(c, AT_FDCWD, c->str[0], 0);
}

int64_t h_rmdir(struct call *c)
{
	return unlink_at(c, AT_FDCWD, c->str[0], AT_REMOVEDIR);
}

int64_t h_unlinkat(struct call *c)
{
	return unlink_at(c, (gfd_t)c->args[0], c->str[1], (int)c->args[2]);
}

/* ---- rename ---------------------------------------------------------- */

static int64_t rename_at(struct call *c, gfd_t olddir, const char *old,
			 gfd_t newdir, const char *new, unsigned flags)
{
	const unsigned alone = RENAME_NOREPLACE | RENAME_WHITEOUT;
	struct vfs_at from, to;
	int ret;

	if (flags & ~(alone | RENAME_EXCHANGE))
		return -EINVAL;
	if ((flags & alone) && (flags & RENAME_EXCHANGE))
		return -EINVAL;
	ret = call_at(c, olddir, old, &from);
	if (!ret)
		ret = call_at(c, newdir, new, &to);
	if (ret)
		return ret;
	return vfs_rename(&c->vfs, &from, &to, flags);
}

int64_t h_rename(struct call *c)
{
	return rename_at(c, AT_FDCWD, c->str[0], AT_FDCWD, c->str[1], 0);
}

int64_t h_renameat(struct call *c)
{
	return rename_at(c, (gfd_t)c->args[0], c->str[1], (gfd_t)c->args[2],
			 c->str[3], 0);
}

int64_t h_renameat2(struct call *c)
{
	return rename_at(c, (gfd_t)c->args[0], c->str[1], (gfd_t)c->args[2],
			 c->str[3], (unsigned)c->args[4]);
}

/* ---- mkdir, mknod ---------------------------------------------------- */

static int64_t mkdir_at(struct call *c, gfd_t dirfd, const char *path,
			mode_t mode)
{
	struct vfs_at at;
	int ret = call_at(c, dirfd, path, &at);

	return ret ? ret : vfs_mkdir(&c->vfs, &at, mode & 01777);
}

int64_t h_mkdir(struct call *c)
{
	return mkdir_at(c, AT_FDCWD, c->str[0], (mode_t)c->args[1]);
}

int64_t h_mkdirat(struct call *c)
{
	return mkdir_at(c, (gfd_t)c->args[0], c->str[1], (mode_t)c->args[2]);
}

static int mknod_check(mode_t mode)
{
	switch (mode & S_IFMT) {
	case S_IFREG:
	case S_IFCHR:
	case S_IFBLK:
	case S_IFIFO:
	case S_IFSOCK:
		return 0;
	case S_IFDIR:
		return -EPERM;
	default:
		return -EINVAL;
	}
}

/* The 32-bit form in which dev_t comes from programs (new_decode_dev) is
 * glibc's own for majors below 4096. */
static int64_t mknod_at(struct call *c, gfd_t dirfd, const char *path,
			mode_t mode, uint64_t dev)
{
	struct vfs_at at;
	int ret;

	if (!(mode & S_IFMT))
		mode |= S_IFREG;
	ret = mknod_check(mode);
	if (!ret)
		ret = call_at(c, dirfd, path, &at);
	if (ret)
		return ret;
	return vfs_mknod(&c->vfs, &at, mode & (S_IFMT | 07777), (uint32_t)dev,
			 NULL);
}

int64_t h_mknod(struct call *c)
{
	return mknod_at(c, AT_FDCWD, c->str[0], (mode_t)c->args[1], c->args[2]);
}

int64_t h_mknodat(struct call *c)
{
	return mknod_at(c, (gfd_t)c->args[0], c->str[1], (mode_t)c->args[2],
			c->args[3]);
}

/* ---- readlink -------------------------------------------------------- */

static int64_t readlink_at(struct call *c, gfd_t dirfd, const char *path,
			   gaddr_t addr, int size)
{
	AUTO_PUT_TARGET struct target t = {.fd = -1};
	bool empty = path && !*path;
	ssize_t n;
	char *buf;
	int ret;

	if (size <= 0)
		return -EINVAL;
	ret = call_target(c, dirfd, path, VFS_EMPTY, &t);
	if (ret)
		return ret;
	buf = call_room(c, PATH_LEN_MAX);
	if (!buf)
		return -ENOMEM;
	n = t.foreign ? -EINVAL
		      : vfs_readlink(&c->vfs, &t.ref, buf, PATH_LEN_MAX);
	if (n < 0)
		return n == -EINVAL && empty ? -ENOENT : n;
	if (n > size)
		n = size;
	call_keep(c, (size_t)n);
	call_out(c, addr, buf, (size_t)n);
	return n;
}

int64_t h_readlink(struct call *c)
{
	return readlink_at(c, AT_FDCWD, c->str[0], c->args[1], (int)c->args[2]);
}

int64_t h_readlinkat(struct call *c)
{
	return readlink_at(c, (gfd_t)c->args[0], c->str[1], c->args[2],
			   (int)c->args[3]);
}
