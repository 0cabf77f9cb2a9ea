/*
 * vfs_restore.c - the core's part of a restore: cached names and known
 * descriptors go. No guest runs, so nobody can tell.
 *
 * A dentry above a mount must stay. It is asked again afterwards, and gets the
 * inode that is there then, or an empty directory if there is none.
 */
#include "core.h"
#include "snapshot_priv.h"

static bool is_fixed(const struct dentry *d)
{
	return d->mounted || d->stub || !d->parent;
}

static void mark_anchors(struct vfs *vfs)
{
	for (struct dentry *d = vfs->root; d; d = dentry_next(vfs->root, d))
		if (is_fixed(d))
			for (struct dentry *p = d->parent; p && !p->anchor;
			     p = p->parent)
				p->anchor = true;
}

void vfs_names_forget(struct vfs *vfs)
{
	struct dentry *d = vfs->root, *next;

	objects_forget(vfs);
	dentry_drop_origins(vfs);
	mark_anchors(vfs);
	for (; d; d = next) {
		if (is_fixed(d) || d->anchor) {
			next = dentry_next(vfs->root, d);
			continue;
		}
		next = dentry_next_beside(vfs->root, d);
		dentry_delete(d);
	}
	dentry_prune(vfs);
}

static void ask_again(struct vfs *vfs, struct dentry *d)
{
	static const struct vcred all = {.caps = ~0ULL};
	struct vfs_ctx ctx = {
		.vfs = vfs, .cred = &all, .root = vfs->root, .cwd = vfs->root};
	struct inode *dir = d->parent->inode, *inode = NULL;
	int ret = dir->ops->lookup
			  ? dir->ops->lookup(&ctx, dir, d->name, &inode)
			  : -ENOENT;

	if (!ret && S_ISDIR(inode->type)) {
		dentry_instantiate(d, inode);
		return;
	}
	inode_put(inode);
	d->stub = true;
	dentry_get(d);
	dentry_instantiate(d, stub_inode_new(vfs));
}

void vfs_names_again(struct vfs *vfs)
{
	for (struct dentry *d = vfs->root; d; d = dentry_next(vfs->root, d)) {
		if (d->anchor && !is_fixed(d))
			ask_again(vfs, d);
		d->anchor = false;
	}
	dentry_masks_again(vfs->root);
	dentry_prune(vfs);
}
