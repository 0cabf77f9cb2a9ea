/*
 * perm.c - who may do what: mode bits, virtual capabilities, sticky
 * directories, protected links, read-only mounts, and policy verdicts.
 * Access lists are asked where the mode's group bits allow anything (acl.c).
 *
 * The order of errors is that of Linux fs/namei.c. An errno that comes from a
 * verdict is noted in ctx->refused_mask and ctx->refused_rule; one that comes
 * from the file system is not.
 */
#include "core.h"

#include <linux/magic.h>

bool cred_in_group(const struct vcred *c, gid_t gid)
{
	if (c->gid == gid)
		return true;
	for (size_t i = 0; i < c->ngroups; i++)
		if (c->groups[i] == gid)
			return true;
	return false;
}

bool perm_owner(const struct vfs_ctx *ctx, const struct inode *inode)
{
	return ctx->cred->uid == inode->uid ||
	       cred_capable(ctx->cred, CAP_FOWNER);
}

static int perm_capable(const struct vcred *c, const struct inode *inode,
			unsigned mask)
{
	bool dir = inode_is_dir(inode);

	if (cred_capable(c, CAP_DAC_READ_SEARCH) &&
	    (dir ? !(mask & W_OK) : mask == R_OK))
		return 0;
	if (cred_capable(c, CAP_DAC_OVERRIDE) &&
	    (dir || !(mask & X_OK) || (inode->mode & 0111)))
		return 0;
	return -EACCES;
}

int perm_mode(struct vfs_ctx *ctx, struct inode *inode, int want)
{
	unsigned mask = (unsigned)want & 7u, bits = inode->mode;
	const struct acl *acl;

	if (inode->uid == ctx->cred->uid)
		bits >>= 6;
	else if ((bits & 070) && (acl = inode_acl(ctx, inode)))
		bits = acl_check(ctx->cred, inode, acl, mask) ? 0 : mask;
	else if (((bits >> 3) ^ bits) & 7u &&
		 cred_in_group(ctx->cred, inode->gid))
		bits >>= 3;
	if (!(mask & ~bits & 7u))
		return 0;
	return perm_capable(ctx->cred, inode, mask);
}

int perm_refuse(struct vfs_ctx *ctx, const struct dentry *d, unsigned mask,
		int err)
{
	ctx->refused_mask = mask;
	ctx->refused_rule = d->rule;
	return err;
}

int perm_missing(struct vfs_ctx *ctx, const struct dentry *d, const char *path)
{
	struct inode *dir = d->parent->inode;

	if (d->mask & VFS_MASK_HIDE)
		return perm_refuse(ctx, d, VFS_MASK_HIDE, -ENOENT);
	if ((d->mask & VFS_MASK_NOLOWER) && dir && dir->ops->withheld &&
	    dir->ops->withheld(dir, path))
		return perm_refuse(ctx, d, VFS_MASK_NOLOWER, -ENOENT);
	return -ENOENT;
}

static bool is_special(const struct inode *i)
{
	return !S_ISREG(i->type) && !S_ISDIR(i->type) && !S_ISLNK(i->type);
}

int perm_policy(struct vfs_ctx *ctx, const struct dentry *d,
		const struct inode *inode, int mask)
{
	unsigned m = d ? d->mask : 0;

	if (mask & W_OK) {
		if ((m & VFS_MASK_RO) && !is_special(inode))
			return perm_refuse(ctx, d, VFS_MASK_RO, -EROFS);
		if ((inode->sb->flags & VFS_MNT_RO) && !is_special(inode))
			return -EROFS;
		if ((m & VFS_MASK_NOWRITE))
			return perm_refuse(ctx, d, VFS_MASK_NOWRITE, -EACCES);
	}
	if ((mask & R_OK) && (m & VFS_MASK_NOREAD))
		return perm_refuse(ctx, d, VFS_MASK_NOREAD, -EACCES);
	if (!(mask & X_OK) || !S_ISREG(inode->type))
		return 0;
	if (m & VFS_MASK_NOEXEC)
		return perm_refuse(ctx, d, VFS_MASK_NOEXEC, -EACCES);
	return inode->sb->noexec ? -EACCES : 0;
}

int perm_check(struct vfs_ctx *ctx, const struct dentry *d, struct inode *inode,
	       int mask)
{
	int err = perm_policy(ctx, d, inode, mask);

	return err ? err : perm_mode(ctx, inode, mask);
}

int vfs_permission(struct vfs_ctx *ctx, const struct vref *ref, int mask)
{
	return perm_check(ctx, ref->dentry, ref->inode, mask);
}

/* A verdict on the name itself. */
static int perm_name(struct vfs_ctx *ctx, const struct dentry *d)
{
	if (d->mask & VFS_MASK_RO)
		return perm_refuse(ctx, d, VFS_MASK_RO, -EROFS);
	if (d->mask & VFS_MASK_HIDE)
		return perm_refuse(ctx, d, VFS_MASK_HIDE, -EACCES);
	if (d->mask & VFS_MASK_NOWRITE)
		return perm_refuse(ctx, d, VFS_MASK_NOWRITE, -EACCES);
	return 0;
}

/* A file system without creation; before the directory's mode, since proc's
 * look-up fails first. */
static int perm_uncreatable(const struct inode *dir)
{
	switch (dir->sb->magic) {
	case PROC_SUPER_MAGIC:
		return -ENOENT;
	case SYSFS_MAGIC:
		return -EPERM;
	}
	return -EROFS;
}

int perm_create(struct vfs_ctx *ctx, const struct dentry *d)
{
	const struct dentry *dir = d->parent;
	int err;

	if (!dir->inode->ops->create)
		return perm_uncreatable(dir->inode);
	err = perm_policy(ctx, dir, dir->inode, W_OK);
	if (!err)
		err = perm_name(ctx, d);
	if (err)
		return err;
	if (dir->deleted)
		return -ENOENT;
	return perm_mode(ctx, dir->inode, W_OK | X_OK);
}

static bool sticky_refuses(const struct vfs_ctx *ctx,
			   const struct dentry *victim)
{
	const struct inode *dir = victim->parent->inode;

	if (!(dir->mode & S_ISVTX))
		return false;
	return victim->inode->uid != ctx->cred->uid &&
	       dir->uid != ctx->cred->uid &&
	       !cred_capable(ctx->cred, CAP_FOWNER);
}

static bool holds_mount(const struct dentry *d)
{
	if (d->mounted || d->stub)
		return true;
	list_for_each (p, &d->children) {
		const struct dentry *c = list_entry(p, struct dentry, child);

		if (c->mounted || c->stub)
			return true;
	}
	return false;
}

int perm_delete(struct vfs_ctx *ctx, const struct dentry *victim, bool isdir)
{
	const struct dentry *dir = victim->parent;
	int err;

	if (!victim->inode)
		return -ENOENT;
	if (!dir)
		return -EBUSY;
	err = perm_policy(ctx, dir, dir->inode, W_OK);
	if (!err)
		err = perm_mode(ctx, dir->inode, W_OK | X_OK);
	if (err)
		return err;
	if (sticky_refuses(ctx, victim))
		return -EPERM;
	if (isdir && !dentry_is_dir(victim))
		return -ENOTDIR;
	if (!isdir && dentry_is_dir(victim))
		return -EISDIR;
	if (dir->deleted)
		return -ENOENT;
	if (holds_mount(victim))
		return -EBUSY;
	err = perm_name(ctx, victim);
	if (!err && (victim->mask & VFS_MASK_ANCHOR))
		err = perm_refuse(ctx, victim, VFS_MASK_ANCHOR, -EACCES);
	return err;
}

/* fs.protected_symlinks: in a sticky world-writable directory a link is
 * followed only if it is the caller's or the directory owner's. */
int perm_follow_link(struct vfs_ctx *ctx, const struct dentry *link)
{
	const struct inode *dir = link->parent ? link->parent->inode : NULL;

	if (!dir || !ctx->vfs->protect_symlinks ||
	    link->inode->uid == ctx->cred->uid)
		return 0;
	if ((dir->mode & (S_ISVTX | S_IWOTH)) != (S_ISVTX | S_IWOTH))
		return 0;
	return dir->uid == link->inode->uid ? 0 : -EACCES;
}

/* fs.protected_fifos, fs.protected_regular: O_CREAT on what another user has
 * put into a sticky directory (may_create_in_sticky of the kernel). */
int perm_create_existing(const struct vfs_ctx *ctx, const struct dentry *d)
{
	const struct inode *dir = d && d->parent ? d->parent->inode : NULL;
	const struct vfs *vfs = ctx->vfs;
	int level = 1;

	if (!dir || !(dir->mode & S_ISVTX))
		return 0;
	if (S_ISREG(d->inode->type))
		level = vfs->protect_regular;
	else if (S_ISFIFO(d->inode->type))
		level = vfs->protect_fifos;
	if (!level || d->inode->uid == dir->uid ||
	    d->inode->uid == ctx->cred->uid)
		return 0;
	if (dir->mode & S_IWOTH)
		return -EACCES;
	return level >= 2 && (dir->mode & S_IWGRP) ? -EACCES : 0;
}

static bool safe_hardlink(struct vfs_ctx *ctx, struct inode *i)
{
	if (!S_ISREG(i->type) || (i->mode & S_ISUID) ||
	    (i->mode & (S_ISGID | S_IXGRP)) == (S_ISGID | S_IXGRP))
		return false;
	return !perm_mode(ctx, i, R_OK | W_OK);
}

/* fs.protected_hardlinks, and policy: a link must not lift a verdict. */
int perm_hardlink(struct vfs_ctx *ctx, const struct vref *from,
		  const struct dentry *to)
{
	if (ctx->vfs->protect_hardlinks && !safe_hardlink(ctx, from->inode) &&
	    !perm_owner(ctx, from->inode))
		return -EPERM;
	if (!from->dentry)
		return 0;
	if (from->dentry->mask & ~to->mask & VFS_MASK_RO)
		return perm_refuse(ctx, from->dentry, VFS_MASK_RO, -EXDEV);
	return perm_move_mask(ctx, from->dentry, to);
}

int perm_move_mask(struct vfs_ctx *ctx, const struct dentry *from,
		   const struct dentry *to)
{
	unsigned lost = from->mask & ~to->mask &
			(VFS_MASK_RO | VFS_MASK_NOWRITE | VFS_MASK_NOREAD |
			 VFS_MASK_NOEXEC);

	return lost ? perm_refuse(ctx, from, lost, -EACCES) : 0;
}
