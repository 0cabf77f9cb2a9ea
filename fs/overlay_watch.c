/*
 * overlay_watch.c - lower trees that the host changes while the guest works.
 *
 * A directory of such a tree is marked (hostwatch.h) once it has been asked
 * some names; from then on its names, found or absent, stay known until the
 * host says otherwise. Its own attributes are known when its parent is marked
 * as well: of its removal only the parent hears while we hold it open. A file
 * has other names and mappings, of which its directory does not hear: it is
 * asked for its attributes each time, until that was often; then it gets a
 * mark of its own. A file with more names than one is looked up each time,
 * since a chmod of it may come by any.
 *
 * What a guest makes where the lower had nothing is marked so (ov_absent), or
 * its removal had to ask the lower again whether something is to be hidden.
 *
 * Within one walk the host's news are taken in once, before the first look-up
 * (ctx->host_heard): an answer is never older than the call's begin.
 *
 * LIMIT: the times of a file that a host program writes through a mapping are
 * seen late, at its close, once the file has a mark; the size never.
 * LIMIT: the time of a directory's last read by the host may be seen late.
 */
#include "overlay_priv.h"

enum {
	OV_ASK_NAMES = 4, /* look-ups that a mark must be worth */
	OV_ASK_FILE = 16, /* a mark costs as much as ten questions */
};

static struct vfs *ov_vfs(const struct ov_node *n)
{
	return n->ov->sb->vfs;
}

static void ov_child_news(struct ov_node *dir, const char *name)
{
	struct dentry *d = dir->inode->dir_dentry;
	struct inode *child = d ? dentry_forget(d, name) : NULL;
	struct ov_entry *e = ov_entry_find(dir, name);

	if (e)
		e->absent = 0;

	if (child && child->sb == dir->inode->sb)
		ov_node(child)->known = false;
}

/* Of no name is it known any more whether the lower has it. */
static void ov_absent_forget(struct ov_node *dir)
{
	if (!++dir->dir->heard)
		dir->dir->heard = 1;
}

/* Told by hostwatch_take: nothing is dropped here. */
static void ov_news(struct hostmark *m, enum hostnews news, const char *name)
{
	struct ov_node *n = m->owner;
	struct dentry *d = n->inode->dir_dentry;

	n->known = false;
	if (!n->dir)
		return;
	if (news == HOST_NAME)
		ov_child_news(n, name);
	if (news == HOST_ALL)
		ov_absent_forget(n);
	if (news == HOST_ALL && d)
		dentry_forget(d, NULL);
	/* Its mode is asked of its parent. */
	if (news == HOST_SELF && d && d->parent)
		dentry_forget(d->parent, d->name);
	ov_index_stale(n);
}

static void ov_hear(struct vfs_ctx *ctx, const struct ov_node *n)
{
	if (ctx->host_heard)
		return;
	hostwatch_take(ov_vfs(n)->hostwatch);
	ctx->host_heard = true;
}

static bool ov_mark(struct ov_node *n, int fd)
{
	struct vfs *vfs = ov_vfs(n);
	int ret;

	if (!vfs->hostwatch)
		vfs->hostwatch = hostwatch_new(ov_news, vfs->cfg.host_watches);
	ret = hostwatch_set(vfs->hostwatch, &n->mark, fd);
	if (ret < 0) {
		n->asked = 0;
		n->deaf = ret != -ENOSPC;
		return false;
	}
	n->known = false;
	if (n->dir)
		ov_absent_forget(n);
	return true;
}

static void ov_mark_dir(struct ov_node *dir)
{
	int fd;

	if (dir->deaf || dir->asked++ < OV_ASK_NAMES)
		return;
	fd = hostdir_fd(dir->lhost);
	if (fd < 0 || dir->lhost->kernel || !ov_mark(dir, fd))
		return;
	if (dir->inode->dir_dentry)
		dentry_forget(dir->inode->dir_dentry, NULL);
	ov_index_stale(dir);
}

void ov_watch_names(struct vfs_ctx *ctx, struct ov_node *dir)
{
	if (!dir->lhost->changes)
		return;
	if (!dir->mark.watch)
		ov_mark_dir(dir);
	/* What comes later makes stale what is found now. */
	if (dir->mark.watch)
		ov_hear(ctx, dir);
}

bool ov_current(struct vfs_ctx *ctx, struct inode *inode,
		const struct inode *child)
{
	struct ov_node *dir = ov_node(inode);
	const struct ov_node *n;

	if (!dir->has_lower || dir->dir->opaque)
		return true;
	if (!dir->mark.watch)
		return !dir->lhost->changes;
	ov_hear(ctx, dir);
	if (!dir->mark.watch)
		return false;
	hostmark_used(&dir->mark);
	if (!child || child->sb != inode->sb || S_ISDIR(child->type))
		return true;
	n = ov_node(child);
	return n->upper || (n->lst.st_nlink <= 1 && !n->astray);
}

static bool ov_hears_names(const struct vfs_ctx *ctx, const struct ov_node *dir)
{
	return ctx->host_heard && dir->mark.watch && dir->has_lower &&
	       !dir->dir->opaque;
}

void ov_absent_note(const struct vfs_ctx *ctx, const struct ov_node *dir,
		    struct ov_entry *e)
{
	if (ov_hears_names(ctx, dir))
		e->absent = dir->dir->heard;
}

bool ov_absent(const struct vfs_ctx *ctx, const struct ov_node *dir,
	       const struct ov_entry *e)
{
	return e && e->absent == dir->dir->heard && ov_hears_names(ctx, dir);
}

bool ov_is_sure(const struct vfs_ctx *ctx, const struct ov_node *n,
		const struct dentry *d)
{
	const struct inode *dir = d && d->parent ? d->parent->inode : NULL;
	const struct ov_node *p;

	if (!ctx->host_heard || !dir || dir->sb != n->inode->sb || d->stale)
		return false;
	p = ov_node(dir);
	return p->mark.watch && p->lhost == n->lhost &&
	       !strcmp(n->lname, d->name);
}

/* ---- attributes -------------------------------------------------------- */

static bool ov_is_known(const struct ov_node *n)
{
	if (!n->known || !n->mark.watch)
		return false;
	return !S_ISDIR(n->inode->type) ||
	       (n->parent && n->parent->mark.watch && list_empty(&n->names) &&
		n->parent->lhost == n->lhost->parent);
}

static void ov_mark_file(struct ov_node *n)
{
	AUTO_CLOSE int fd = -1;

	/* What guests write to the host themselves would be told at each write.
	 */
	if (!S_ISREG(n->inode->type) || n->mark.watch || n->deaf ||
	    n->ov->direct || n->asked++ < OV_ASK_FILE)
		return;
	if (!ov_lower_path(n, &fd))
		(void)!ov_mark(n, fd);
}

static bool ov_from_fd(struct ov_node *n, const struct stat *st)
{
	if (!st || st->st_dev != n->lst.st_dev || st->st_ino != n->lst.st_ino ||
	    (st->st_mode & S_IFMT) != n->inode->type)
		return false;
	ov_take_stat(n, st);
	return true;
}

void ov_attributes(struct vfs_ctx *ctx, struct ov_node *n)
{
	if (!n->has_lower || !n->lhost->changes || ctx->host_told == n->inode ||
	    ov_from_fd(n, ctx->fd_stat))
		return;
	if (ov_is_known(n)) {
		ov_hear(ctx, n);
		if (ov_is_known(n)) {
			hostmark_used(&n->mark);
			return;
		}
	}
	ov_mark_file(n);
	ov_refresh(n);
}

void ov_watch_end(struct ov_node *n)
{
	if (n->mark.watch)
		hostwatch_drop(ov_vfs(n)->hostwatch, &n->mark);
}
