/*
 * namei.c - making, linking, removing and renaming names.
 *
 * Each function is the path level of one system call; the precedence of
 * errors is that of Linux fs/namei.c. The file system acts first, then the
 * dentry tree follows (law 3 of vfs_fs.h).
 */
#include "core.h"

#include <stdio.h>

/* ---- making -------------------------------------------------------------- */

/* filename_create: walks to a name that can be made. */
static int create_lookup(struct walk *w, struct vfs_ctx *ctx,
			 const struct vfs_at *at, bool dir, struct dentry **out)
{
	int err = walk_parent(w, ctx, at, 0);

	if (err)
		return err;
	if (w->type != WALK_NORM)
		return -EEXIST;
	err = walk_last_dentry(w, out);
	if (err)
		return err;
	if ((*out)->inode && !((*out)->mask & VFS_MASK_HIDE))
		return -EEXIST;
	if (w->slash && !dir)
		return -ENOENT;
	return 0;
}

static int remove_made(struct vfs_ctx *ctx, struct dentry *d, int err)
{
	int ret = d->parent->inode->ops->unlink(ctx, d, dentry_is_dir(d));

	if (!ret)
		dentry_delete(d);
	return err;
}

int name_make(struct vfs_ctx *ctx, struct dentry *d, mode_t mode, dev_t dev,
	      const char *target, struct acl_new *acl)
{
	struct inode *made = NULL;
	int err =
		d->parent->inode->ops->create(ctx, d, mode, dev, target, &made);

	if (err)
		return err;
	dentry_instantiate(d, made);
	err = acl_give(ctx, made, acl);
	return err ? remove_made(ctx, d, err) : 0;
}

/* mode is without the umask. */
static int create_at(struct vfs_ctx *ctx, struct dentry *d, mode_t mode,
		     dev_t dev, const char *target, struct vref *out)
{
	AUTO_ACL_NEW struct acl_new acl = {NULL, NULL};
	int err = perm_create(ctx, d);

	if (err)
		return err;
	if ((S_ISCHR(mode) || S_ISBLK(mode)) && !(S_ISCHR(mode) && !dev) &&
	    !cred_capable(ctx->cred, CAP_MKNOD))
		return -EPERM;
	if (!S_ISLNK(mode))
		mode = inode_new_mode(ctx, d->parent->inode, mode, &acl);
	err = name_make(ctx, d, mode, dev, target, &acl);
	if (!err && out) {
		out->inode = inode_get(d->inode);
		out->dentry = dentry_get(d);
	}
	return err;
}

int vfs_mkdir(struct vfs_ctx *ctx, const struct vfs_at *at, mode_t mode)
{
	AUTO_WALK struct walk w;
	struct dentry *d;
	int err = create_lookup(&w, ctx, at, true, &d);

	if (err)
		return err;
	return create_at(ctx, d, S_IFDIR | (mode & 01777u), 0, NULL, NULL);
}

int vfs_mknod(struct vfs_ctx *ctx, const struct vfs_at *at, mode_t mode,
	      dev_t dev, struct vref *out)
{
	AUTO_WALK struct walk w = {.ctx = NULL};
	struct dentry *d;
	int err;

	if (!(mode & S_IFMT))
		mode |= S_IFREG;
	if (S_ISDIR(mode))
		return -EPERM;
	if (!S_ISREG(mode) && !S_ISFIFO(mode) && !S_ISSOCK(mode) &&
	    !S_ISCHR(mode) && !S_ISBLK(mode))
		return -EINVAL;
	err = create_lookup(&w, ctx, at, false, &d);
	if (err)
		return err;
	mode &= S_IFMT | 07777u;
	return create_at(ctx, d, mode, dev, NULL, out);
}

int vfs_symlink(struct vfs_ctx *ctx, const char *target,
		const struct vfs_at *at)
{
	AUTO_WALK struct walk w = {.ctx = NULL};
	struct dentry *d;
	int err;

	if (!target[0])
		return -ENOENT;
	if (strnlen(target, PATH_LEN_MAX) == PATH_LEN_MAX)
		return -ENAMETOOLONG;
	err = create_lookup(&w, ctx, at, false, &d);
	if (err)
		return err;
	return create_at(ctx, d, S_IFLNK | 0777, 0, target, NULL);
}

int vfs_link(struct vfs_ctx *ctx, const struct vref *from,
	     const struct vfs_at *to)
{
	AUTO_WALK struct walk w;
	struct inode *i = from->inode;
	struct dentry *d;
	int err = create_lookup(&w, ctx, to, false, &d);

	if (err)
		return err;
	if (i->sb != w.d->inode->sb)
		return -EXDEV;
	err = perm_hardlink(ctx, from, d);
	if (!err)
		err = perm_create(ctx, d);
	if (err)
		return err;
	if (inode_is_dir(i) || !w.d->inode->ops->link)
		return -EPERM;
	err = w.d->inode->ops->link(ctx, i, d);
	if (!err)
		dentry_instantiate(d, inode_get(i));
	return err;
}

/* ---- removing --------------------------------------------------------------
 */

/* A change in the directory is refused before its names are looked at, as
 * mnt_want_write does. */
static int want_write(struct vfs_ctx *ctx, const struct dentry *dir)
{
	const struct inode *i = dir->inode;

	if (i->sb->flags & VFS_MNT_RO)
		return -EROFS;
	if (dir->mask & VFS_MASK_RO)
		return perm_refuse(ctx, dir, VFS_MASK_RO, -EROFS);
	return 0;
}

static int existing(struct vfs_ctx *ctx, const struct dentry *d)
{
	return d->inode && !(d->mask & VFS_MASK_HIDE)
		       ? 0
		       : perm_missing(ctx, d, d->name);
}

static int remove_at(struct vfs_ctx *ctx, struct dentry *d, bool dir)
{
	const struct inode_ops *ops = d->parent->inode->ops;
	int err = perm_delete(ctx, d, dir);

	if (err)
		return err;
	if (!ops->unlink)
		return -EPERM;
	err = ops->unlink(ctx, d, dir);
	if (err)
		return err;
	/* Where the next look-up would cost something. */
	if (d->parent->inode->revalidate && walk_absence(ctx, d->parent))
		dentry_vanish(d);
	else
		dentry_delete(d);
	return 0;
}

int vfs_unlink(struct vfs_ctx *ctx, const struct vfs_at *at)
{
	AUTO_WALK struct walk w;
	struct dentry *d;
	int err = walk_parent(&w, ctx, at, 0);

	if (err)
		return err;
	if (w.type != WALK_NORM)
		return -EISDIR;
	err = want_write(ctx, w.d);
	if (!err)
		err = walk_last_dentry(&w, &d);
	if (!err)
		err = existing(ctx, d);
	if (err)
		return err;
	if (w.slash)
		return dentry_is_dir(d) ? -EISDIR : -ENOTDIR;
	return remove_at(ctx, d, false);
}

static int rmdir_dots(enum walk_last type)
{
	switch (type) {
	case WALK_DOTDOT:
		return -ENOTEMPTY;
	case WALK_DOT:
		return -EINVAL;
	case WALK_ROOT:
		return -EBUSY;
	default:
		return 0;
	}
}

int vfs_rmdir(struct vfs_ctx *ctx, const struct vfs_at *at)
{
	AUTO_WALK struct walk w;
	struct dentry *d;
	int err = walk_parent(&w, ctx, at, 0);

	if (!err)
		err = rmdir_dots(w.type);
	if (!err)
		err = want_write(ctx, w.d);
	if (!err)
		err = walk_last_dentry(&w, &d);
	if (!err)
		err = existing(ctx, d);
	return err ? err : remove_at(ctx, d, true);
}

/* ---- rename
 * ------------------------------------------------------------------ */

struct rename {
	struct vfs_ctx *ctx;
	struct walk from, to;
	struct dentry *old, *new;
	unsigned flags;
};

static int rename_flags_check(unsigned flags)
{
	const unsigned known =
		RENAME_NOREPLACE | RENAME_EXCHANGE | RENAME_WHITEOUT;

	if (flags & ~known)
		return -EINVAL;
	return (flags & RENAME_EXCHANGE) && flags != RENAME_EXCHANGE ? -EINVAL
								     : 0;
}

static int rename_parents(struct rename *r)
{
	if (r->from.d->inode->sb != r->to.d->inode->sb)
		return -EXDEV;
	if (r->from.type != WALK_NORM)
		return -EBUSY;
	if (r->to.type != WALK_NORM)
		return r->flags & RENAME_NOREPLACE ? -EEXIST : -EBUSY;
	if ((r->flags & RENAME_WHITEOUT) &&
	    (r->from.d->inode->sb->flags & VFS_MNT_DIRECT))
		return -EINVAL; /* no devices are made on the host */
	return want_write(r->ctx, r->from.d);
}

static int rename_names(struct rename *r)
{
	int err = walk_last_dentry(&r->from, &r->old);

	if (!err)
		err = existing(r->ctx, r->old);
	if (!err)
		err = walk_last_dentry(&r->to, &r->new);
	if (err)
		return err;
	if ((r->flags & RENAME_NOREPLACE) && r->new->inode)
		return -EEXIST;
	if (r->flags & RENAME_EXCHANGE) {
		err = existing(r->ctx, r->new);
		if (err)
			return err;
		if (!dentry_is_dir(r->new) && r->to.slash)
			return -ENOTDIR;
	}
	if (dentry_is_dir(r->old))
		return 0;
	if (r->from.slash || (!(r->flags & RENAME_EXCHANGE) && r->to.slash))
		return -ENOTDIR;
	return 0;
}

/* Neither may lie below the other. */
static int rename_ancestry(const struct rename *r)
{
	if (dentry_below(r->to.d, r->old))
		return -EINVAL;
	if (r->new->inode && dentry_below(r->from.d, r->new))
		return r->flags & RENAME_EXCHANGE ? -EINVAL : -ENOTEMPTY;
	return 0;
}

/* A directory that gets another parent has its ".." written. */
static int rename_dotdot(const struct rename *r, const struct dentry *d)
{
	if (!dentry_is_dir(d) || r->from.d == r->to.d)
		return 0;
	return perm_check(r->ctx, d, d->inode, W_OK);
}

static int rename_permission(const struct rename *r)
{
	bool exchange = r->flags & RENAME_EXCHANGE;
	bool dir = dentry_is_dir(r->old);
	int err = perm_delete(r->ctx, r->old, dir);

	if (err)
		return err;
	if (!r->new->inode)
		err = perm_create(r->ctx, r->new);
	else
		err = perm_delete(r->ctx, r->new,
				  exchange ? dentry_is_dir(r->new) : dir);
	if (!err)
		err = rename_dotdot(r, r->old);
	if (!err && exchange)
		err = rename_dotdot(r, r->new);
	if (!err)
		err = perm_move_mask(r->ctx, r->old, r->new);
	if (!err && exchange)
		err = perm_move_mask(r->ctx, r->new, r->old);
	return err;
}

/* What the move leaves behind: a device 0:0 that nobody can open. Nobody sees
 * the moment without it. Without room for it the move is taken back, unless it
 * replaced something, whose room is there. */
static int rename_whiteout(struct rename *r, bool replaced)
{
	const struct inode_ops *ops = r->from.d->inode->ops;
	struct acl_new none = {NULL, NULL};
	struct dentry *d;
	int err = walk_last_dentry(&r->from, &d);

	if (!err && !d->inode)
		err = name_make(r->ctx, d, S_IFCHR, 0, NULL, &none);
	if (err && !replaced && !ops->rename(r->ctx, r->old, d, 0))
		dentry_move(r->old, d);
	return err;
}

static int rename_act(struct rename *r)
{
	const struct inode_ops *ops = r->from.d->inode->ops;
	unsigned flags = r->flags & RENAME_EXCHANGE;
	bool replaced = r->new->inode;
	int err;

	if (r->old->inode == r->new->inode)
		return 0;
	err = rename_permission(r);
	if (err)
		return err;
	if (!ops->rename)
		return -EPERM;
	err = ops->rename(r->ctx, r->old, r->new, flags);
	if (err)
		return err;
	dentry_note_origin(r->old);
	if (flags)
		dentry_note_origin(r->new);
	if (flags)
		dentry_exchange(r->old, r->new);
	else
		dentry_move(r->old, r->new);
	return r->flags & RENAME_WHITEOUT ? rename_whiteout(r, replaced) : 0;
}

int vfs_rename(struct vfs_ctx *ctx, const struct vfs_at *from,
	       const struct vfs_at *to, unsigned renameat2_flags)
{
	struct rename r = {.ctx = ctx, .flags = renameat2_flags};
	int err = rename_flags_check(renameat2_flags);

	if (err)
		return err;
	err = walk_parent(&r.from, ctx, from, 0);
	if (!err)
		err = walk_parent(&r.to, ctx, to, 0);
	if (!err)
		err = rename_parents(&r);
	if (!err)
		err = rename_names(&r);
	if (!err)
		err = rename_ancestry(&r);
	if (!err)
		err = rename_act(&r);
	walk_fini(&r.from);
	walk_fini(&r.to);
	return err;
}

/* ---- sockets
 * -------------------------------------------------------------------- */

int vfs_socket_prepare(struct vfs_ctx *ctx, const struct vfs_at *at,
		       mode_t mode, int *dirfd, char *name, struct vref *parent)
{
	AUTO_WALK struct walk w;
	struct inode *dir;
	struct dentry *d;
	int err = create_lookup(&w, ctx, at, false, &d);

	(void)mode;
	if (!err)
		err = perm_create(ctx, d);
	if (err)
		return err == -EEXIST ? -EADDRINUSE : err;
	dir = w.d->inode;
	if (!dir->ops->socket_prepare)
		return -EROFS;
	err = dir->ops->socket_prepare(ctx, dir, d->name, dirfd);
	if (err)
		return err;
	memcpy(name, d->name, d->len + 1u);
	if (parent) {
		parent->inode = inode_get(dir);
		parent->dentry = dentry_get(w.d);
	}
	return 0;
}

int vfs_socket_bound(struct vfs_ctx *ctx, const struct vfs_at *at)
{
	AUTO_ACL_NEW struct acl_new acl = {NULL, NULL};
	AUTO_WALK struct walk w;
	mode_t mode;
	struct inode *dir, *made = NULL;
	struct dentry *d;
	int err = create_lookup(&w, ctx, at, false, &d);

	if (err)
		return err == -EEXIST ? -EADDRINUSE : err;
	dir = w.d->inode;
	if (!dir->ops->socket_bound)
		return -EROFS;
	/* unix_bind takes the umask off before a default list is looked at. */
	mode = inode_new_mode(ctx, dir,
			      S_IFSOCK | (0777 & ~(ctx->umask & 0777u)), &acl);
	err = dir->ops->socket_bound(ctx, dir, d->name, mode, &made);
	if (err)
		return err;
	dentry_instantiate(d, made);
	err = acl_give(ctx, made, &acl);
	return err ? remove_made(ctx, d, err) : 0;
}

int vfs_socket_find(struct vfs_ctx *ctx, const struct vref *ref, int *dirfd,
		    char *name)
{
	struct inode *i = ref->inode;
	int err;

	if (!S_ISSOCK(i->type) && !S_ISFIFO(i->type))
		return -ECONNREFUSED;
	err = perm_check(ctx, ref->dentry, i, W_OK);
	if (err)
		return err;
	if (!i->ops->node_place)
		return -ECONNREFUSED;
	return i->ops->node_place(i, dirfd, name);
}
