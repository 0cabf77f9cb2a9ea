/*
 * inode.c - inodes, supers, and the front of getattr and setattr.
 *
 * The rules of who may change what are those of Linux fs/attr.c, fs/open.c
 * and fs/utimes.c, with virtual credentials. A file system's setattr gets
 * only what is allowed, with every value resolved.
 */
#include "core.h"

#include <sys/sysmacros.h>
#include <time.h>

struct inode *inode_new(struct super *sb, const struct inode_ops *ops,
			uint64_t ino, mode_t type, void *fs)
{
	struct inode *i = xcalloc(1, sizeof(*i));

	i->ops = ops;
	i->sb = sb;
	i->refs = 1;
	i->ino = ino;
	i->type = type & S_IFMT;
	i->mode = 0755;
	i->fs = fs;
	return i;
}

struct inode *inode_get(struct inode *i)
{
	if (i)
		i->refs++;
	return i;
}

void inode_put(struct inode *i)
{
	if (!i)
		return;
	BUG_ON(!i->refs);
	if (--i->refs)
		return;
	if (i->ops->release)
		i->ops->release(i);
	inode_acl_forget(i);
	i->sb->vfs->freed++;
	free(i->link);
	free(i);
}

struct super *super_new(struct vfs *vfs, const char *fstype, const char *source,
			long magic, unsigned flags)
{
	struct super *sb = xcalloc(1, sizeof(*sb));

	sb->vfs = vfs;
	sb->fstype = fstype;
	sb->source = source;
	sb->magic = magic;
	sb->flags = flags;
	sb->dev = makedev(0, vfs->next_dev++);
	sb->mnt_id = vfs->next_mnt_id++;
	list_add_tail(&vfs->supers, &sb->list);
	return sb;
}

void super_free_all(struct vfs *vfs)
{
	list_for_each_safe (p, &vfs->supers) {
		struct super *sb = list_entry(p, struct super, list);

		if (sb->free)
			sb->free(sb);
		list_del(&sb->list);
		free(sb);
	}
}

/* ---- getattr ------------------------------------------------------------ */

int vfs_getattr(struct vfs_ctx *ctx, const struct vref *ref, struct statx *out)
{
	struct inode *i = ref->inode;
	int err;

	memset(out, 0, sizeof(*out));
	out->stx_mask = STATX_BASIC_STATS | STATX_MNT_ID;
	out->stx_mode = (uint16_t)(i->type | i->mode);
	out->stx_uid = i->uid;
	out->stx_gid = i->gid;
	out->stx_nlink = 1;
	out->stx_ino = i->ino;
	out->stx_blksize = 4096;
	out->stx_dev_major = major(i->sb->dev);
	out->stx_dev_minor = minor(i->sb->dev);
	out->stx_mnt_id = i->sb->mnt_id;
	if (ref->dentry && ref->dentry->mounted) {
		out->stx_attributes |= STATX_ATTR_MOUNT_ROOT;
		out->stx_attributes_mask |= STATX_ATTR_MOUNT_ROOT;
	}
	if (!i->ops->getattr)
		return 0;
	err = i->ops->getattr(ctx, i, out);
	ctx->host_told = NULL; /* once: later it is asked again */
	return err;
}

static struct timespec time_of(const struct statx_timestamp *t)
{
	return (struct timespec){.tv_sec = t->tv_sec, .tv_nsec = t->tv_nsec};
}

void vfs_statx_to_stat(const struct statx *stx, struct stat *st)
{
	memset(st, 0, sizeof(*st));
	st->st_dev = makedev(stx->stx_dev_major, stx->stx_dev_minor);
	st->st_ino = stx->stx_ino;
	st->st_mode = stx->stx_mode;
	st->st_nlink = stx->stx_nlink;
	st->st_uid = stx->stx_uid;
	st->st_gid = stx->stx_gid;
	st->st_rdev = makedev(stx->stx_rdev_major, stx->stx_rdev_minor);
	st->st_size = (off_t)stx->stx_size;
	st->st_blksize = stx->stx_blksize;
	st->st_blocks = (blkcnt_t)stx->stx_blocks;
	st->st_atim = time_of(&stx->stx_atime);
	st->st_mtim = time_of(&stx->stx_mtime);
	st->st_ctim = time_of(&stx->stx_ctime);
}

/* ---- the mode of new files ------------------------------------------------
 */

gid_t vfs_new_gid(const struct vfs_ctx *ctx, const struct dentry *dir)
{
	return dir->inode->mode & S_ISGID ? dir->inode->gid : ctx->cred->gid;
}

/* inode_init_owner and mode_strip_sgid of the kernel. */
static mode_t mode_strip_setgid(const struct vfs_ctx *ctx,
				const struct inode *d, mode_t mode)
{
	if (!(d->mode & S_ISGID))
		return mode;
	if (S_ISDIR(mode))
		return mode | S_ISGID;
	if ((mode & (S_ISGID | S_IXGRP)) == (S_ISGID | S_IXGRP) &&
	    !cred_in_group(ctx->cred, d->gid) &&
	    !cred_capable(ctx->cred, CAP_FSETID))
		mode &= ~(mode_t)S_ISGID;
	return mode;
}

mode_t inode_new_mode(struct vfs_ctx *ctx, struct inode *dir, mode_t mode,
		      struct acl_new *acl)
{
	mode = mode_strip_setgid(ctx, dir, mode);
	if (!acl_inherit(ctx, dir, &mode, acl))
		mode &= ~(ctx->umask & 0777u);
	return mode;
}

/* ---- setattr ----------------------------------------------------------------
 */

static bool group_or_fsetid(const struct vfs_ctx *ctx, gid_t gid)
{
	return cred_in_group(ctx->cred, gid) ||
	       cred_capable(ctx->cred, CAP_FSETID);
}

/* Set-id bits that a change of data or owner takes away. */
static mode_t mode_killed(const struct vfs_ctx *ctx, const struct inode *i)
{
	mode_t mode = i->mode & ~(mode_t)S_ISUID;

	if ((mode & S_ISGID) &&
	    ((mode & S_IXGRP) || !group_or_fsetid(ctx, i->gid)))
		mode &= ~(mode_t)S_ISGID;
	return mode;
}

static void attr_kill(const struct vfs_ctx *ctx, const struct inode *i,
		      struct vfs_attr *a)
{
	mode_t mode = mode_killed(ctx, i);

	if (mode == i->mode || (a->valid & VFS_ATTR_MODE))
		return;
	a->valid |= VFS_ATTR_MODE;
	a->mode = mode;
}

int inode_kill_setid(struct vfs_ctx *ctx, struct inode *i)
{
	struct vfs_attr a = {.valid = 0};

	if (cred_capable(ctx->cred, CAP_FSETID) || !i->ops->setattr)
		return 0;
	attr_kill(ctx, i, &a);
	return a.valid ? i->ops->setattr(ctx, i, &a) : 0;
}

static int attr_chown(const struct vfs_ctx *ctx, const struct inode *i,
		      struct vfs_attr *a)
{
	const struct vcred *c = ctx->cred;
	bool can = cred_capable(c, CAP_CHOWN);

	if (a->uid == (uid_t)-1)
		a->valid &= ~VFS_ATTR_UID;
	if (a->gid == (gid_t)-1)
		a->valid &= ~VFS_ATTR_GID;
	if ((a->valid & VFS_ATTR_UID) && !can &&
	    (c->uid != i->uid || a->uid != i->uid))
		return -EPERM;
	if ((a->valid & VFS_ATTR_GID) && !can &&
	    (c->uid != i->uid ||
	     (a->gid != i->gid && !cred_in_group(c, a->gid))))
		return -EPERM;
	if (!inode_is_dir(i))
		attr_kill(ctx, i, a);
	/* even with both -1, which anybody may say of any file */
	return (a->valid & VFS_ATTR_MODE) && !perm_owner(ctx, i) ? -EPERM : 0;
}

static int attr_chmod(const struct vfs_ctx *ctx, const struct inode *i,
		      struct vfs_attr *a)
{
	gid_t gid = a->valid & VFS_ATTR_GID ? a->gid : i->gid;

	if (S_ISLNK(i->type))
		return -EOPNOTSUPP;
	if (!perm_owner(ctx, i))
		return -EPERM;
	a->mode &= 07777u;
	if (!group_or_fsetid(ctx, gid))
		a->mode &= ~(mode_t)S_ISGID;
	return 0;
}

static int attr_truncate(struct vfs_ctx *ctx, const struct vref *ref,
			 struct vfs_attr *a)
{
	struct inode *i = ref->inode;
	int err;

	if (inode_is_dir(i))
		return -EISDIR;
	if (!S_ISREG(i->type) || a->size < 0)
		return -EINVAL;
	if (!a->fd_writable) {
		err = perm_check(ctx, ref->dentry, i, W_OK);
		if (err)
			return err;
		if (i->textrefs)
			return -ETXTBSY;
	}
	if (!cred_capable(ctx->cred, CAP_FSETID))
		attr_kill(ctx, i, a);
	return 0;
}

static bool nsec_bad(long nsec)
{
	return nsec != UTIME_NOW && nsec != UTIME_OMIT &&
	       (nsec < 0 || nsec > 999999999);
}

static void time_resolve(struct vfs_attr *a, unsigned bit, struct timespec *t,
			 const struct timespec *now)
{
	if (!(a->valid & bit))
		return;
	if (t->tv_nsec == UTIME_OMIT)
		a->valid &= ~bit;
	else if (t->tv_nsec == UTIME_NOW)
		a->now |= bit, *t = *now;
}

/* vfs_utimes: both now needs the right to write, all else the owner. */
static int attr_times(struct vfs_ctx *ctx, const struct vref *ref,
		      struct vfs_attr *a)
{
	struct timespec now;
	int err = 0;

	a->now = 0;
	if (a->valid & VFS_ATTR_TIMES_NULL) {
		a->valid |= VFS_ATTR_ATIME | VFS_ATTR_MTIME;
		a->atime.tv_nsec = a->mtime.tv_nsec = UTIME_NOW;
	}
	if (((a->valid & VFS_ATTR_ATIME) && nsec_bad(a->atime.tv_nsec)) ||
	    ((a->valid & VFS_ATTR_MTIME) && nsec_bad(a->mtime.tv_nsec)))
		return -EINVAL;
	if (!perm_owner(ctx, ref->inode)) {
		if (a->atime.tv_nsec != UTIME_NOW ||
		    a->mtime.tv_nsec != UTIME_NOW)
			return -EPERM;
		if (!a->fd_writable)
			err = perm_check(ctx, ref->dentry, ref->inode, W_OK);
	}
	clock_gettime(CLOCK_REALTIME_COARSE, &now);
	time_resolve(a, VFS_ATTR_ATIME, &a->atime, &now);
	time_resolve(a, VFS_ATTR_MTIME, &a->mtime, &now);
	a->valid &= ~VFS_ATTR_TIMES_NULL;
	return err;
}

enum {
	ATTR_TIMES = VFS_ATTR_ATIME | VFS_ATTR_MTIME | VFS_ATTR_TIMES_NULL,
	ATTR_OWNER = VFS_ATTR_UID | VFS_ATTR_GID
};

/* utimensat with nothing but UTIME_OMIT succeeds on anything. */
static bool attr_nothing(const struct vfs_attr *a)
{
	return a->valid == (VFS_ATTR_ATIME | VFS_ATTR_MTIME) &&
	       a->atime.tv_nsec == UTIME_OMIT && a->mtime.tv_nsec == UTIME_OMIT;
}

static int attr_prepare(struct vfs_ctx *ctx, const struct vref *ref,
			struct vfs_attr *a)
{
	const unsigned asked = a->valid;
	int err = 0;

	if (asked & VFS_ATTR_SIZE)
		err = attr_truncate(ctx, ref, a);
	if (!err && (asked & ATTR_OWNER))
		err = attr_chown(ctx, ref->inode, a);
	if (!err && (asked & VFS_ATTR_MODE))
		err = attr_chmod(ctx, ref->inode, a);
	if (!err && (asked & ATTR_TIMES))
		err = attr_times(ctx, ref, a);
	return err;
}

int vfs_setattr(struct vfs_ctx *ctx, const struct vref *ref,
		struct vfs_attr *attr)
{
	struct inode *i = ref->inode;
	struct vfs_attr a = *attr;
	int err;

	attr->job = a.job = NULL;
	if (attr_nothing(&a))
		return 0;
	if (!(a.fd_writable && (a.valid & VFS_ATTR_SIZE))) {
		if (i->sb->flags & VFS_MNT_RO)
			return -EROFS;
		err = perm_policy(ctx, ref->dentry, i, W_OK);
		if (err)
			return err;
	}
	err = attr_prepare(ctx, ref, &a);
	if (err)
		return err;
	if (!i->ops->setattr)
		return -EPERM;
	/* chown to nobody else is a change nevertheless: of ctime */
	if (!a.valid && !(attr->valid & ATTR_OWNER))
		return 0;
	err = i->ops->setattr(ctx, i, &a);
	attr->job = a.job;
	/* Not for set-id bits that go with a change of owner or data. */
	if (!err && (attr->valid & VFS_ATTR_MODE))
		err = inode_acl_chmod(ctx, i);
	return err;
}

int vfs_statfs_dev(struct vfs_ctx *ctx, dev_t dev, struct statfs *out)
{
	list_for_each (p, &ctx->vfs->supers) {
		struct super *sb = list_entry(p, struct super, list);
		struct vref ref = {.inode = sb->root ? sb->root->inode : NULL};

		if (sb->dev == dev && ref.inode)
			return vfs_statfs(ctx, &ref, out);
	}
	return -EINVAL;
}

int vfs_statfs(struct vfs_ctx *ctx, const struct vref *ref, struct statfs *out)
{
	struct inode *i = ref->inode;
	int err = 0;

	(void)ctx;
	memset(out, 0, sizeof(*out));
	if (i->ops->statfs)
		err = i->ops->statfs(i, out);
	if (err)
		return err;
	out->f_type = i->sb->magic;
	out->f_namelen = NAME_LEN_MAX;
	if (!out->f_bsize)
		out->f_bsize = out->f_frsize = 4096;
	if (!out->f_frsize)
		out->f_frsize = out->f_bsize;
	memcpy(&out->f_fsid, &i->sb->dev, sizeof(out->f_fsid));
	out->f_flags = 0x20; /* ST_VALID */
	if (i->sb->flags & VFS_MNT_RO)
		out->f_flags |= 1; /* ST_RDONLY */
	return 0;
}

ssize_t vfs_readlink(struct vfs_ctx *ctx, const struct vref *ref, char *buf,
		     size_t size)
{
	struct inode *i = ref->inode;
	char text[PATH_LEN_MAX];
	ssize_t n;

	if (!S_ISLNK(i->type) || !i->ops->readlink)
		return -EINVAL;
	if (i->link)
		n = (ssize_t)strlen(i->link);
	else
		n = i->ops->readlink(ctx, i, text, sizeof(text), NULL);
	if (n < 0)
		return n;
	if ((size_t)n > size)
		n = (ssize_t)size;
	memcpy(buf, i->link ? i->link : text, (size_t)n);
	inode_accessed(i);
	return n;
}
