/*
 * overlay_create.c - names come and go: create, link, unlink, O_TMPFILE and
 * the places of sockets.
 *
 * The store is changed first; when that fails nothing else has changed. What
 * follows in memory cannot fail.
 */
#include "overlay_priv.h"

#include <fcntl.h>
#include <stdio.h>

void ov_dir_link(struct ov_node *dir, int delta)
{
	/* Some host file systems do not count subdirectories: stay at 1. */
	if (dir->nlink >= 2 || delta > 1)
		dir->nlink += (nlink_t)delta;
}

static struct ov_node *ov_node_made(struct vfs_ctx *ctx, struct inode *dir,
				    mode_t mode)
{
	struct ov *ov = ov_node(dir)->ov;
	struct ov_node *n = ov_node_new(ov, mode & S_IFMT, ov->next_ino++);

	n->upper = true;
	ov_wrote(ctx, n);
	n->inode->mode = mode & 07777;
	n->inode->uid = ctx->cred->uid;
	n->inode->gid = dir->mode & S_ISGID ? dir->gid : ctx->cred->gid;
	return n;
}

/* Has the look-up of where found nothing in the lower? Not where something is
 * hidden, by an entry or by rule. */
static bool ov_found_nothing(const struct ov_node *dir,
			     const struct dentry *where)
{
	return !(where->mask & VFS_MASK_NOLOWER) &&
	       !ov_entry_find(dir, where->name);
}

/* The new node n stands at (dir, name) in store and entries. */
static void ov_name_made(struct ov_node *dir, const char *name,
			 struct ov_node *n)
{
	ov_touch_dir(dir);
	ov_index_add(dir, name, n->inode);
	if (!S_ISDIR(n->inode->type))
		return;
	n->dir->populated = true;
	ov_set_parent(n, dir, name);
	ov_dir_link(dir, 1);
}

static int ov_set_id_bits(struct ov_node *n)
{
	const char *name;
	int dirfd, ret;

	if (!S_ISREG(n->inode->type) || !(n->inode->mode & 06000))
		return 0;
	ret = ov_object_place(n, &dirfd, &name);
	if (!ret && fchmodat(dirfd, name, ov_object_mode(n), 0) < 0)
		ret = ov_store_errno(errno, "fchmodat");
	return ret;
}

int ov_create(struct vfs_ctx *ctx, struct dentry *where, mode_t mode, dev_t dev,
	      const char *target, struct inode **out)
{
	struct ov_node *dir = ov_parent_of(where);
	const bool nothing = ov_found_nothing(dir, where);
	struct ov_node *n;
	int ret;

	if (ov_dir_lost(dir))
		return -ENOENT;
	n = ov_node_made(ctx, dir->inode, mode);
	n->rdev = dev;
	if (target)
		n->target = xstrdup(target);
	if (S_ISLNK(mode))
		n->inode->mode = 0777;
	if (ctx->making && S_ISREG(mode))
		ret = ov_object_make_open(n, dir, where->name, ctx->making);
	else
		ret = ov_object_make(n, dir, where->name);
	if (ret < 0) {
		inode_put(n->inode);
		return ret;
	}
	if (nothing)
		ov_absent_note(ctx, dir, ov_entry_find(dir, where->name));
	if (ctx->making)
		ctx->making->undo =
			(struct vfs_undo){dir->mtime, dir->ctime, dir->meta};
	ov_name_made(dir, where->name, n);
	ret = ov_set_id_bits(n);
	if (ret < 0)
		log_host(ret, "set-id bits of a new file");
	*out = n->inode;
	return 0;
}

int ov_link(struct vfs_ctx *ctx, struct inode *inode, struct dentry *where)
{
	struct ov_node *n = ov_node(inode);
	struct ov_node *dir = ov_parent_of(where);
	const bool nothing = ov_found_nothing(dir, where);
	int ret;

	if (n->birthless || ov_dir_lost(dir))
		return -ENOENT;
	if (n->object || dir->dir->populated) {
		ret = ov_object_make(n, dir, where->name);
		if (ret < 0)
			return ret;
		ov_ctime_stamped(n);
	} else {
		ov_entry_set(dir, where->name, n);
		ov_ctime_now(n);
	}
	if (nothing)
		ov_absent_note(ctx, dir, ov_entry_find(dir, where->name));
	ov_pin(n);
	if (!n->nlink++ && n->side[0]) {
		if (n->unlinked_watch)
			store_unwatch(n->ov->store, n->sino);
		n->unlinked_watch = false;
		store_side_remove(n->ov->store, n->side, false);
		n->side[0] = '\0';
	}
	ov_wrote_name(ctx, dir, where->name);
	ov_touch_dir(dir);
	ov_index_add(dir, where->name, inode);
	return 0;
}

int ov_remove_name(const struct vfs_ctx *ctx, struct ov_node *dir,
		   const char *name, struct ov_node *n)
{
	struct ov_entry *e = ov_entry_find(dir, name);
	int fd, ret;

	if (e && e->mirrored) {
		ret = ov_object_keep(n, e);
		if (ret < 0)
			return ret;
		fd = ov_mirror_fd(dir);
		if (fd < 0)
			return fd;
		/* Ours must not be what keeps a watched directory alive. */
		if (S_ISDIR(n->inode->type))
			ov_mirror_close(n);
		if (unlinkat(fd, name,
			     S_ISDIR(n->inode->type) ? AT_REMOVEDIR : 0) < 0)
			return ov_store_errno(errno, "unlink");
		if (S_ISDIR(n->inode->type))
			ov_mirror_forget(n);
	}
	ov_entry_clear(ctx, dir, name);
	ov_index_del(dir, name);
	return 0;
}

static void ov_dir_gone(struct ov_node *n)
{
	n->nlink = 0;
	n->dir->opaque = true;
	n->dir->populated = false;
	ov_lower_unhash(n);
	ov_set_parent(n, NULL, NULL);
}

int ov_unlink(struct vfs_ctx *ctx, struct dentry *victim, bool dir)
{
	struct ov_node *n = ov_node(victim->inode);
	struct ov_node *parent = ov_parent_of(victim);
	const struct ov_entry *was = ov_entry_find(parent, victim->name);
	const bool mirrored = was && was->mirrored;
	int ret;

	if (dir) {
		ret = ov_dir_is_empty(n);
		if (ret <= 0)
			return ret < 0 ? ret : -ENOTEMPTY;
	}
	ret = ov_remove_name(ctx, parent, victim->name, n);
	if (ret < 0)
		return ret;
	ov_touch_dir(parent);
	ov_wrote_name(ctx, parent, victim->name);
	if (dir) {
		struct ov_entry *e = ov_entry_find(parent, victim->name);

		if (e)
			ov_base_gone(e, n);
		ov_dir_gone(n);
		ov_dir_link(parent, -1);
	} else if (n->nlink) {
		n->nlink--;
		ov_pin(n);
	}
	if (mirrored)
		ov_ctime_stamped(n);
	else
		ov_ctime_now(n);
	if (!n->nlink) {
		if (n->src)
			ov_src_unlinked(n);
		ov_object_maybe_free(n);
		ov_unpin(n);
	}
	return 0;
}

void ov_unmake(struct vfs_ctx *ctx, struct dentry *made,
	       const struct vfs_undo *undo)
{
	struct ov_node *dir = ov_parent_of(made);

	if (ov_unlink(ctx, made, false) < 0)
		log_warn("a file that nobody has opened stays");
	dir->mtime = undo->mtime;
	dir->ctime = undo->ctime;
	dir->meta = undo->meta;
}

/* ---- anonymous files ------------------------------------------------- */

int overlay_tmpfile(struct vfs_ctx *ctx, struct inode *dir, int flags,
		    mode_t mode, struct vfs_opened *out)
{
	struct ov_node *n;
	struct store *s;
	int ret;

	if (ov_dir_lost(ov_node(dir)))
		return -ENOENT;
	n = ov_node_made(ctx, dir, mode | S_IFREG);
	s = n->ov->store;
	n->nlink = 0;
	n->birthless = flags & O_EXCL;
	ret = ov_object_make(n, NULL, NULL);
	if (!ret)
		ret = ov_set_id_bits(n);
	if (!ret)
		ret = ov_open_object(ctx, n, NULL, flags, &out->fd);
	if (!ret) {
		n->unlinked_watch = true;
		ret = store_watch(s, store_side_fd(s), n->side, n->sino, true);
	}
	if (ret < 0) {
		inode_put(n->inode);
		return ret;
	}
	out->ref.inode = n->inode;
	out->kind = VFS_OPENED;
	return 0;
}

void overlay_event(struct inode *inode, ino_t ino, enum store_event what)
{
	struct ov_node *n = ov_node(inode);

	if (ino != n->sino)
		return;
	if (what == STORE_CLOSED)
		ov_object_maybe_free(n);
	else
		n->unlinked_watch = false;
}

void ov_event(struct inode *inode, ino_t ino, int what)
{
	overlay_event(inode, ino, (enum store_event)what);
}

/* ---- sockets and FIFOs ----------------------------------------------- */

int overlay_node_place(struct inode *inode, int *dirfd,
		       char name[NAME_LEN_MAX + 1])
{
	struct ov_node *n = ov_node(inode);
	const char *at;
	int fd, ret = ov_object_need(n);

	if (!ret)
		ret = ov_object_place(n, &fd, &at);
	if (ret < 0)
		return ret == -ENOENT ? -ECONNREFUSED : ret;
	snprintf(name, NAME_LEN_MAX + 1, "%s", at);
	*dirfd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	return *dirfd < 0 ? -ENFILE : 0;
}

int overlay_socket_prepare(struct vfs_ctx *ctx, struct inode *dir,
			   const char *name, int *dirfd)
{
	int fd;

	(void)ctx;
	(void)name;
	if (ov_dir_lost(ov_node(dir)))
		return -ENOENT;
	fd = ov_mirror_fd(ov_node(dir));
	if (fd < 0)
		return fd;
	*dirfd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	return *dirfd < 0 ? -ENFILE : 0;
}

int overlay_socket_bound(struct vfs_ctx *ctx, struct inode *inode,
			 const char *name, mode_t mode, struct inode **out)
{
	struct ov_node *dir = ov_node(inode);
	struct ov_node *n;
	struct stat st;
	int fd = ov_mirror_fd(dir);

	if (fd < 0)
		return fd;
	if (fstatat(fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return ov_store_errno(errno, "bound socket");
	if (!S_ISSOCK(st.st_mode))
		return -EIO;
	n = ov_node_made(ctx, inode, S_IFSOCK | (mode & 07777));
	n->object = true;
	n->sino = st.st_ino;
	ov_pin(n);
	ov_entry_set(dir, name, n)->mirrored = true;
	ov_name_made(dir, name, n);
	*out = n->inode;
	return 0;
}
