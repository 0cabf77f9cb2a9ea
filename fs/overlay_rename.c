/*
 * overlay_rename.c - rename in the store when a name is there, and in the
 * entries always. No data is copied: a lower file or directory that moves
 * keeps its lower origin in its node.
 *
 * Where one side is not in the mirror it need not be, unless a directory is
 * populated (law 5): then its events must come, so the name is made first.
 */
#include "overlay_priv.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/syscall.h>

#ifndef RENAME_EXCHANGE
#define RENAME_EXCHANGE (1 << 1)
#endif

struct ov_place {
	struct ov_node *dir, *node;
	const char *name;
	bool nothing; /* nor has the lower it, see ov_absent_note */
};

static struct ov_place ov_place_of(struct dentry *d)
{
	return (struct ov_place){
		.dir = ov_parent_of(d),
		.node = d->inode ? ov_node(d->inode) : NULL,
		.name = d->name,
		.nothing = !d->inode && !(d->mask & VFS_MASK_NOLOWER) &&
			   !ov_entry_find(ov_parent_of(d), d->name),
	};
}

static bool ov_mirrored(const struct ov_place *p)
{
	const struct ov_entry *e = ov_entry_find(p->dir, p->name);

	return e && e->mirrored;
}

static int ov_materialize(const struct ov_place *p)
{
	if (ov_mirrored(p))
		return 0;
	if (S_ISDIR(p->node->inode->type))
		return ov_mirror_fd(p->node) < 0 ? -EIO : 0;
	return ov_object_make(p->node, p->dir, p->name);
}

static int ov_rename_store(const struct ov_place *from,
			   const struct ov_place *to, unsigned flags)
{
	AUTO_CLOSE int fd = -1;
	int a = ov_mirror_fd(from->dir), b;

	if (a < 0)
		return a;
	if (from->dir != to->dir) {
		fd = fcntl(a, F_DUPFD_CLOEXEC, 0); /* the LRU may close a */
		if (fd < 0)
			return -ENFILE;
		a = fd;
	}
	b = ov_mirror_fd(to->dir);
	if (b < 0)
		return b;
	if (syscall(SYS_renameat2, a, from->name, b, to->name, flags) < 0)
		return ov_store_errno(errno, "rename");
	return 0;
}

/* Directories know their place. moved: in the store, too. */
static void ov_settle(struct ov_node *n, const struct ov_place *to, bool moved)
{
	if (moved)
		ov_ctime_stamped(n);
	else
		ov_ctime_now(n);
	ov_pin(n);
	if (!S_ISDIR(n->inode->type))
		return;
	ov_lower_unhash(n);
	ov_set_parent(n, to->dir, to->name);
}

static void ov_move_entries(const struct vfs_ctx *ctx,
			    const struct ov_place *from,
			    const struct ov_place *to, bool mirrored)
{
	struct ov_node *n = from->node;

	struct ov_entry *e;

	inode_get(n->inode);
	e = ov_entry_set(to->dir, to->name, n);
	e->mirrored = mirrored;
	if (to->node)
		ov_base_hide(e, to->node, NULL);
	if (to->node && S_ISDIR(n->inode->type))
		ov_base_gone(e, to->node);
	if (to->nothing)
		ov_absent_note(ctx, to->dir, e);
	ov_entry_clear(ctx, from->dir, from->name);
	ov_index_del(from->dir, from->name);
	ov_index_del(to->dir, to->name);
	ov_index_add(to->dir, to->name, n->inode);
	ov_settle(n, to, mirrored);
	inode_put(n->inode);
}

/* What stood at `to` has been replaced. gone: in the store, too. */
static void ov_replaced(struct ov_node *t, bool gone)
{
	if (S_ISDIR(t->inode->type)) {
		t->nlink = 0;
		t->dir->opaque = true;
		t->dir->populated = false;
		ov_lower_unhash(t);
		ov_set_parent(t, NULL, NULL);
	} else if (t->nlink) {
		t->nlink--;
		ov_pin(t);
	}
	if (gone)
		ov_ctime_stamped(t);
	else
		ov_ctime_now(t);
	if (!t->nlink) {
		if (t->src)
			ov_src_unlinked(t);
		ov_object_maybe_free(t);
		ov_unpin(t);
	}
}

static int ov_rename_target(const struct ov_place *to, bool replace)
{
	struct ov_entry *e = ov_entry_find(to->dir, to->name);
	int fd, ret;

	if (!to->node)
		return 0;
	if (S_ISDIR(to->node->inode->type)) {
		ret = ov_dir_is_empty(to->node);
		if (ret <= 0)
			return ret < 0 ? ret : -ENOTEMPTY;
	}
	if (!e || !e->mirrored)
		return 0;
	ret = ov_object_keep(to->node, e);
	if (ret < 0)
		return ret;
	if (!replace) { /* nothing of the store takes its place */
		fd = ov_mirror_fd(to->dir);
		if (fd < 0)
			return fd;
		if (unlinkat(fd, to->name,
			     S_ISDIR(to->node->inode->type) ? AT_REMOVEDIR
							    : 0) < 0)
			return ov_store_errno(errno, "unlink");
		e->mirrored = false;
	}
	return 0;
}

static int ov_rename_plain(const struct vfs_ctx *ctx,
			   const struct ov_place *from,
			   const struct ov_place *to)
{
	bool dir = S_ISDIR(from->node->inode->type);
	bool mirrored, gone;
	int ret;

	if (from->dir->dir->populated || to->dir->dir->populated ||
	    from->node->inode->watch) {
		ret = ov_materialize(from);
		if (ret < 0)
			return ret;
	}
	mirrored = ov_mirrored(from);
	gone = to->node && ov_mirrored(to);
	ret = ov_rename_target(to, mirrored);
	if (!ret && mirrored)
		ret = ov_rename_store(from, to, 0);
	if (ret < 0)
		return ret;
	if (to->node && S_ISDIR(to->node->inode->type)) {
		ov_mirror_forget(to->node);
		ov_dir_link(to->dir, -1);
	}
	if (dir) {
		ov_dir_link(from->dir, -1);
		ov_dir_link(to->dir, 1);
	}
	ov_move_entries(ctx, from, to, mirrored);
	if (to->node)
		ov_replaced(to->node, gone);
	return 0;
}

static int ov_rename_exchange(const struct ov_place *a,
			      const struct ov_place *b)
{
	bool am, bm, adir = S_ISDIR(a->node->inode->type);
	bool bdir = S_ISDIR(b->node->inode->type);
	struct ov_entry *e;
	int ret = 0;

	/* One mirrored side needs the other: the kernel swaps them. */
	if (ov_mirrored(a) || ov_mirrored(b) || a->dir->dir->populated ||
	    b->dir->dir->populated || a->node->inode->watch ||
	    b->node->inode->watch) {
		ret = ov_materialize(a);
		if (!ret)
			ret = ov_materialize(b);
		if (!ret)
			ret = ov_rename_store(a, b, RENAME_EXCHANGE);
	}
	if (ret < 0)
		return ret;
	am = ov_mirrored(a);
	bm = ov_mirrored(b);
	inode_get(a->node->inode);
	inode_get(b->node->inode);
	e = ov_entry_set(a->dir, a->name, b->node);
	e->mirrored = bm;
	ov_base_hide(e, a->node, NULL);
	e = ov_entry_set(b->dir, b->name, a->node);
	e->mirrored = am;
	ov_base_hide(e, b->node, NULL);
	ov_index_del(a->dir, a->name);
	ov_index_del(b->dir, b->name);
	ov_index_add(a->dir, a->name, b->node->inode);
	ov_index_add(b->dir, b->name, a->node->inode);
	ov_settle(a->node, b, am);
	ov_settle(b->node, a, bm);
	ov_dir_link(a->dir, (int)bdir - (int)adir);
	ov_dir_link(b->dir, (int)adir - (int)bdir);
	inode_put(a->node->inode);
	inode_put(b->node->inode);
	return 0;
}

int ov_rename(struct vfs_ctx *ctx, struct dentry *from, struct dentry *to,
	      unsigned flags)
{
	struct ov_place a = ov_place_of(from), b = ov_place_of(to);
	int ret;

	if (a.node == b.node)
		return 0;
	if (ov_dir_lost(b.dir))
		return -ENOENT;
	if (flags & RENAME_EXCHANGE)
		ret = ov_rename_exchange(&a, &b);
	else
		ret = ov_rename_plain(ctx, &a, &b);
	if (ret < 0)
		return ret;
	ov_wrote_name(ctx, a.dir, a.name);
	ov_wrote_name(ctx, b.dir, b.name);
	ov_touch_dir(a.dir);
	if (b.dir != a.dir)
		ov_touch_dir(b.dir);
	return 0;
}
