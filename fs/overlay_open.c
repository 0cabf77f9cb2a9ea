/*
 * overlay_open.c - descriptors of overlay objects, and watch targets.
 *
 * Reads of a lower file happen on the host's. Where a guest watches for them,
 * its object in the store is opened and closed in its stead.
 * LIMIT: a watcher sees one IN_ACCESS and the close as soon as a lower file is
 * opened for reading.
 */
#include "overlay_priv.h"

#include <fcntl.h>

#define OV_OPEN_FLAGS                                                      \
	(O_ACCMODE | O_TRUNC | O_APPEND | O_NONBLOCK | O_DIRECT | O_SYNC | \
	 O_DSYNC | O_NOATIME | O_NOFOLLOW)

static int ov_register(struct ov_node *n, struct dentry *dentry)
{
	return vfs_object_add(n->ov->sb->vfs, store_dev(n->ov->store), n->sino,
			      n->inode, dentry, false);
}

static bool ov_writes(int flags)
{
	return (flags & O_ACCMODE) != O_RDONLY || (flags & O_TRUNC);
}

/* The object at (dir, name), made and opened in one. Not for O_DIRECT, which
 * may be refused, nor for mode 3. */
int ov_object_make_open(struct ov_node *n, struct ov_node *dir,
			const char *name, struct vfs_making *m)
{
	int flags = m->flags & OV_OPEN_FLAGS & ~O_TRUNC;
	AUTO_CLOSE int fd = -1;
	struct stat st;
	int at;

	if ((flags & O_DIRECT) || (flags & O_ACCMODE) == O_ACCMODE)
		return ov_object_make(n, dir, name);
	at = ov_mirror_fd(dir);
	if (at < 0)
		return at;
	fd = openat(at, name, flags | O_CREAT | O_EXCL | O_NOCTTY | O_CLOEXEC,
		    0600);
	if (fd < 0)
		return ov_store_errno(errno, "create");
	if (fstat(fd, &st) < 0)
		return ov_store_errno(errno, "fstat");
	ov_object_made(n, dir, name, &st);
	m->fd = fd_take(&fd);
	m->inode = n->inode;
	return 0;
}

static int ov_take_made(struct vfs_ctx *ctx, const struct ov_node *n)
{
	struct vfs_making *m = ctx->making;

	return m && m->fd >= 0 && m->inode == n->inode ? fd_take(&m->fd) : -1;
}

/* Of a truncation the core tells ov_setattr which set-id bits go. */
int ov_open_object(struct vfs_ctx *ctx, struct ov_node *n,
		   struct dentry *dentry, int flags, int *out)
{
	AUTO_CLOSE int fd = -1;
	const char *name;
	int dirfd, ret = 0;

	if (S_ISREG(n->inode->type) && ov_writes(flags))
		ret = ov_arm_setid(ctx, n);
	else if (!S_ISREG(n->inode->type))
		ret = ov_object_need(n);
	if (!ret)
		ret = ov_object_place(n, &dirfd, &name);
	if (ret < 0)
		return ret;
	/* No link stands there, and O_NOFOLLOW would show in F_GETFL. */
	flags = (flags & OV_OPEN_FLAGS) | O_NOCTTY | O_CLOEXEC;
	fd = ov_take_made(ctx, n);
	if (fd < 0)
		fd = openat(dirfd, name, flags);
	if (fd < 0 && errno == EINVAL && (flags & O_DIRECT))
		fd = openat(dirfd, name, flags & ~O_DIRECT);
	if (fd < 0)
		return errno == ENXIO ? -ENXIO : ov_store_errno(errno, "open");
	ret = ov_register(n, dentry);
	if (!ret)
		*out = fd_take(&fd);
	return ret;
}

/* The mode that was judged by may have been changed by another name. */
static bool ov_judged_by(const struct ov_node *n, const struct stat *st)
{
	return n->meta || n->src || !n->lhost->changes ||
	       (st->st_mode == n->lst.st_mode && st->st_uid == n->lst.st_uid &&
		st->st_gid == n->lst.st_gid);
}

static int ov_open_lower(struct vfs_ctx *ctx, struct ov_node *n,
			 struct dentry *dentry, int flags, int *out)
{
	AUTO_CLOSE int fd = -1;
	bool judged;
	struct stat st;
	int ret;

	flags &= OV_OPEN_FLAGS & ~O_NOATIME;
	ret = n->src ? ov_src_open(n, flags, &fd, &st)
		     : ov_lower_open_walked(ctx, n, dentry, flags, &fd, &st);

	if (ret < 0)
		return ret;
	judged = ov_judged_by(n, &st);
	if (!n->src && n->lhost->changes)
		ov_take_stat(n, &st);
	if (!judged)
		return -ESTALE; /* to be judged again */
	ret = vfs_object_add_host(n->ov->sb->vfs, fd, &st,
				  n->src ? NULL : &n->lborn, n->inode, dentry);
	if (!ret)
		*out = fd_take(&fd);
	return ret;
}

/* Best effort: a read is no change of the overlay, and never fails for this. */
static void ov_tell_read(struct ov_node *n, const struct dentry *dentry)
{
	const struct timespec t[2] = {{0, UTIME_NOW}, {0, UTIME_OMIT}};
	const char *name;
	int dirfd, fd;

	if (!(vfs_watched(n->inode, dentry) & INODE_WATCHED_READS) ||
	    !n->object || n->upper || ov_object_place(n, &dirfd, &name) < 0)
		return;
	fd = openat(dirfd, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return;
	/* The access time alone: IN_ACCESS. */
	if (futimens(fd, t) < 0)
		log_host(errno, "futimens");
	close(fd);
}

static int ov_open_reg(struct vfs_ctx *ctx, struct ov_node *n,
		       struct dentry *dentry, int flags, struct vfs_opened *out)
{
	bool writes = ov_writes(flags);
	int ret;

	if (!writes && (!n->upper || n->src)) {
		ret = ov_open_lower(ctx, n, dentry, flags, &out->fd);
		if (!ret)
			ov_tell_read(n, dentry);
		return ret;
	}
	if (writes) {
		ret = ov_copy_up(n, dentry, flags & O_TRUNC, &out->job);
		if (ret == -EINPROGRESS) {
			out->kind = VFS_OPEN_JOB;
			return 0;
		}
		if (ret < 0)
			return ret;
	}
	return ov_open_object(ctx, n, dentry, flags, &out->fd);
}

static int ov_open_dir(struct ov_node *n, struct dentry *dentry, int flags,
		       int *out)
{
	AUTO_CLOSE int fd = -1;
	int ret;

	if (!n->nlink)
		return vfs_dir_standin(n->ov->sb->vfs, n->inode, dentry, out);
	ret = ov_mirror_open_read(
		n, flags & (O_DIRECTORY | O_NOFOLLOW | O_NONBLOCK), &fd);
	if (ret < 0)
		return ret;
	ret = ov_register(n, dentry);
	if (!ret)
		*out = fd_take(&fd);
	return ret;
}

static int ov_open_fifo(struct vfs_ctx *ctx, struct ov_node *n,
			struct dentry *dentry, int flags,
			struct vfs_opened *out)
{
	int ret;

	if ((flags & O_ACCMODE) == O_ACCMODE)
		return -EINVAL;
	if ((flags & O_NONBLOCK) || (flags & O_ACCMODE) == O_RDWR)
		return ov_open_object(ctx, n, dentry, flags, &out->fd);
	ret = overlay_node_place(n->inode, &out->block_dir, out->block_name);
	if (ret < 0)
		return -ENXIO;
	ret = ov_register(n, dentry);
	if (ret < 0)
		return ret;
	out->kind = VFS_OPEN_BLOCKS;
	out->block_flags =
		(flags & OV_OPEN_FLAGS) | O_NOFOLLOW | O_NOCTTY | O_CLOEXEC;
	return 0;
}

/* A node that a virtual root made: one of /dev's, or without a driver. */
static int ov_open_device(struct vfs_ctx *ctx, struct ov_node *n, int flags,
			  struct vfs_opened *out)
{
	struct vfs *vfs = n->ov->sb->vfs;

	if (!vfs->open_device)
		return -ENXIO;
	return vfs->open_device(ctx, vfs->device_arg, n->rdev, flags, out);
}

int ov_open(struct vfs_ctx *ctx, struct inode *inode, struct dentry *dentry,
	    int flags, struct vfs_opened *out)
{
	struct ov_node *n = ov_node(inode);

	if ((flags & O_ACCMODE) != O_RDONLY || (flags & O_TRUNC))
		ov_wrote(ctx, n);
	out->kind = VFS_OPENED;
	switch (inode->type) {
	case S_IFREG:
		out->as_asked = true;
		return ov_open_reg(ctx, n, dentry, flags, out);
	case S_IFDIR:
		out->as_asked = n->nlink; /* a stand-in has no flags */
		return ov_open_dir(n, dentry, flags, &out->fd);
	case S_IFIFO:
		return ov_open_fifo(ctx, n, dentry, flags, out);
	case S_IFLNK:
		return -ELOOP;
	case S_IFCHR:
		return ov_open_device(ctx, n, flags, out);
	}
	return -ENXIO;
}

int overlay_make_store(struct vfs_ctx *ctx, struct inode *inode,
		       struct dentry *dentry, int flags, int *fd,
		       struct vfs_job **job)
{
	struct ov_node *n = ov_node(inode);
	int ret;

	if (!S_ISREG(inode->type))
		return S_ISDIR(inode->type) ? ov_open_dir(n, dentry, flags, fd)
					    : -EINVAL;
	ret = ov_copy_up(n, dentry, false, job);
	return ret < 0 ? ret : ov_open_object(ctx, n, dentry, flags, fd);
}

bool overlay_moved(const struct inode *inode)
{
	const struct ov_node *n = ov_node((struct inode *)inode);

	return S_ISREG(inode->type) && n->upper && !n->src;
}

bool overlay_fixed(const struct inode *inode, const struct stat *st)
{
	const struct ov_node *n = ov_node((struct inode *)inode);

	return S_ISREG(inode->type) && !n->upper && !n->src && n->lhost &&
	       !n->lhost->changes && n->lst.st_dev == st->st_dev &&
	       n->lst.st_ino == st->st_ino;
}

int overlay_watch_target(struct vfs_ctx *ctx, struct inode *inode,
			 struct dentry *dentry, int *opath_fd)
{
	struct ov_node *n = ov_node(inode);
	const char *name;
	int dirfd, ret;

	(void)ctx;
	n->watched = true;
	if (S_ISDIR(inode->type)) {
		ret = ov_mirror_populate(n);
		if (ret < 0)
			return ret;
		*opath_fd = openat(ov_mirror_fd(n), ".", O_PATH | O_CLOEXEC);
		return *opath_fd < 0 ? ov_store_errno(errno, "watch") : 0;
	}
	if (!n->object) {
		/* At its first place; other names join when they are used. */
		bool named = dentry && dentry->parent && !dentry->deleted &&
			     dentry->parent->inode->sb == inode->sb;

		ret = ov_object_make(n, named ? ov_parent_of(dentry) : NULL,
				     named ? dentry->name : NULL);
		if (ret < 0)
			return ret;
	}
	if (S_ISREG(inode->type))
		ov_quiet_prepare(n);
	ret = ov_object_place(n, &dirfd, &name);
	if (ret < 0)
		return ret;
	*opath_fd = openat(dirfd, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	return *opath_fd < 0 ? ov_store_errno(errno, "watch") : 0;
}
