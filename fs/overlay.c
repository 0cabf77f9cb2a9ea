/*
 * overlay.c - instances and nodes of the overlay; see overlay_priv.h.
 */
#include "overlay_priv.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <sys/statfs.h>

const struct inode_ops overlay_ops = {
	.lookup = ov_lookup,
	.current = ov_current,
	.getattr = ov_getattr,
	.setattr = ov_setattr,
	.create = ov_create,
	.link = ov_link,
	.unlink = ov_unlink,
	.unmake = ov_unmake,
	.rename = ov_rename,
	.readlink = ov_readlink,
	.accessed = ov_accessed,
	.open = ov_open,
	.readdir = ov_readdir,
	.xattr = ov_xattr,
	.release = ov_release,
	.tmpfile = overlay_tmpfile,
	.node_place = overlay_node_place,
	.socket_prepare = overlay_socket_prepare,
	.socket_bound = overlay_socket_bound,
	.watch_target = overlay_watch_target,
	.make_store = overlay_make_store,
	.moved = overlay_moved,
	.fixed = overlay_fixed,
	.withheld = ov_withheld,
	.statfs = overlay_statfs,
	.event = ov_event,
};

bool overlay_is(const struct inode *inode)
{
	return inode->ops == &overlay_ops || inode->ops == &direct_ops;
}

/* ---- nodes ----------------------------------------------------------- */

static struct ov_dir *ov_dir_new(void)
{
	struct ov_dir *d = xcalloc(1, sizeof(*d));

	htable_init(&d->entries);
	d->fd = -1;
	d->heard = 1;
	list_init(&d->lru);
	return d;
}

struct ov_node *ov_node_new(struct ov *ov, mode_t type, uint64_t ino)
{
	struct ov_node *n = xcalloc(1, sizeof(*n));

	n->ov = ov;
	n->nlink = type == S_IFDIR ? 2 : 1;
	list_init(&n->names);
	hostmark_init(&n->mark, n, type != S_IFDIR);
	list_init(&n->xattrs);
	list_add_tail(&ov->nodes, &n->list);
	if (type == S_IFDIR)
		n->dir = ov_dir_new();
	n->atime = n->mtime = n->ctime = n->btime = ov_now(ov);
	n->inode = inode_new(ov->sb, ov->direct ? &direct_ops : &overlay_ops,
			     ino, type, n);
	n->inode->link_stable = type == S_IFLNK;
	if (ov->watch || ov->direct)
		ov_host_changes(n);
	return n;
}

void ov_host_changes(struct ov_node *n)
{
	n->inode->link_stable = false;
	n->inode->revalidate = S_ISDIR(n->inode->type);
	n->inode->no_negative = n->inode->revalidate;
}

/* Is n the lower directory top, or below it? */
static bool ov_lower_below(const struct ov_node *n, const struct hostdir *top)
{
	const struct hostdir *h = n->lhost;

	while (h && h != top)
		h = h->parent;
	return h;
}

void overlay_host_changes(struct inode *dir)
{
	struct ov_node *top = ov_node(dir);

	if (!top->has_lower || !S_ISDIR(dir->type))
		return;
	list_for_each (p, &top->ov->nodes) {
		struct ov_node *n = list_entry(p, struct ov_node, list);

		if (!ov_lower_below(n, top->lhost))
			continue;
		n->lhost->changes = true;
		ov_host_changes(n);
		if (n->has_lower && n->parent && n->lhost->parent &&
		    S_ISDIR(n->inode->type))
			ov_lower_ask_birth(n, n->lhost->parent, n->lhost->name);
		else if (n->lname)
			ov_lower_ask_birth(n, n->lhost, n->lname);
	}
}

void ov_set_parent(struct ov_node *n, struct ov_node *parent, const char *name)
{
	struct ov_node *old = n->parent;

	if (parent)
		inode_get(parent->inode);
	n->parent = parent;
	free(n->name);
	n->name = name ? xstrdup(name) : NULL;
	if (old)
		inode_put(old->inode);
}

static void ov_dir_free(struct ov_node *n)
{
	struct ov_dir *d = n->dir;

	if (!d)
		return;
	ov_index_free(n);
	for (size_t i = 0; i <= d->entries.mask; i++)
		while (d->entries.buckets[i])
			ov_entry_drop(n, container_of(d->entries.buckets[i],
						      struct ov_entry, node));
	htable_fini(&d->entries);
	ov_mirror_forget(n);
	free(d);
	n->dir = NULL;
}

void ov_release(struct inode *inode)
{
	struct ov_node *n = ov_node(inode);

	ov_lower_unhash(n);
	ov_watch_end(n);
	list_del(&n->list);
	ov_dir_free(n);
	if (n->unlinked_watch && !n->ov->dead)
		store_unwatch(n->ov->store, n->sino);
	if (n->side[0] && !n->ov->dead)
		store_side_remove(n->ov->store, n->side, false);
	if (n->src)
		ov_src_drop(n);
	ov_xattr_free(n);
	if (n->quiet)
		close(ov_quiet_take(n));
	if (n->lhost)
		hostdir_put(n->lhost);
	ov_set_parent(n, NULL, NULL);
	free(n->lname);
	free(n->target);
	free(n->ltext);
	free(n);
}

void ov_pin(struct ov_node *n)
{
	if (n->pinned)
		return;
	n->pinned = true;
	inode_get(n->inode);
}

void ov_unpin(struct ov_node *n)
{
	if (!n->pinned)
		return;
	n->pinned = false;
	inode_put(n->inode);
}

void ov_touch_dir(struct ov_node *dir)
{
	dir->mtime = dir->ctime = ov_now_for(dir);
	dir->meta = true;
	ov_pin(dir);
}

/* ---- instances ------------------------------------------------------- */

static int ov_mirror_root(struct ov *ov)
{
	int root = store_root_fd(ov->store);

	snprintf(ov->mirror_name, sizeof(ov->mirror_name), "m%u",
		 store_next_mirror(ov->store));
	if (mkdirat(root, ov->mirror_name, 0700) < 0)
		return ov_store_errno(errno, "mirror");
	ov->mirror = openat(root, ov->mirror_name,
			    O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return ov->mirror < 0 ? ov_store_errno(errno, "mirror") : 0;
}

static void ov_super_free(struct super *sb)
{
	struct ov *ov = sb->fs;

	sb->fs = NULL;
	auto_close_fd(&ov->mirror);
	auto_close_fd(&ov->clock);
	htable_fini(&ov->lower);
	free(ov->guest);
	free(ov);
}

static struct ov *ov_new(struct vfs *vfs, const char *guest)
{
	struct ov *ov = xcalloc(1, sizeof(*ov));

	ov->store = vfs_store(vfs);
	ov->guest = xstrdup(guest);
	ov->mirror = ov->clock = -1;
	ov->next_ino = OV_INO_FIRST;
	htable_init(&ov->lower);
	list_init(&ov->nodes);
	list_init(&ov->mirrors);
	list_init(&ov->list);
	return ov;
}

static void ov_discard(struct ov *ov)
{
	auto_close_fd(&ov->mirror);
	auto_close_fd(&ov->clock);
	htable_fini(&ov->lower);
	free(ov->guest);
	free(ov);
}

static void ov_attach(struct ov *ov, struct super *sb, struct ov_node *root,
		      struct inode **out)
{
	(void)sb;
	ov->root = root;
	inode_get(root->inode);
	list_add_tail(store_overlays(ov->store), &ov->list);
	*out = root->inode;
}

static struct super *ov_super(struct ov *ov, struct vfs *vfs, const char *type,
			      const char *source, long magic, unsigned flags)
{
	struct super *sb = super_new(vfs, type, source, magic, flags);

	sb->fs = ov;
	sb->free = ov_super_free;
	ov->sb = sb;
	return sb;
}

static struct ov_node *ov_host_root(struct ov *ov, struct hostdir *host,
				    char *name, const struct stat *st)
{
	struct ov_node *n =
		ov_node_new(ov, st->st_mode & S_IFMT,
			    ov_lower_ino(ov, st->st_dev, st->st_ino));

	n->lhost = host;
	n->lname = name;
	n->has_lower = true;
	n->lst = *st;
	n->nlink = st->st_nlink;
	n->inode->mode = st->st_mode & 07777;
	n->inode->uid = ov_uid(ov, st->st_uid);
	n->inode->gid = ov_gid(ov, st->st_gid);
	n->atime = st->st_atim;
	n->mtime = st->st_mtim;
	n->ctime = st->st_ctim;
	n->btime.tv_sec = 0;
	return n;
}

int overlay_new_host(struct vfs *vfs, const char *host, const char *guest,
		     unsigned flags, struct inode **root)
{
	struct ov *ov = ov_new(vfs, guest);
	struct hostdir *dir;
	struct super *sb;
	struct stat st;
	char *name;
	int ret;

	ov->has_lower = true;
	ov->direct = flags & VFS_MNT_DIRECT;
	ov->watch = flags & VFS_MNT_WATCH;
	hostfs_init(&ov->host, !ov->direct && !ov->watch);
	ret = hostfs_open_root(&ov->host, host, &dir, &name, &st);
	if (!ret && !ov->direct) {
		ret = ov_mirror_root(ov);
		if (ret < 0) {
			hostdir_put(dir);
			free(name);
		}
	}
	if (ret < 0) {
		ov_discard(ov);
		return ret;
	}
	sb = ov_super(ov, vfs, "overlay", "overlay", OVERLAYFS_SUPER_MAGIC,
		      flags);
	ov_attach(ov, sb, ov_host_root(ov, dir, name, &st), root);
	return 0;
}

int overlay_new_tmpfs(struct vfs *vfs, const char *guest, mode_t mode,
		      unsigned flags, struct inode **root)
{
	struct ov *ov = ov_new(vfs, guest);
	struct ov_node *n;
	struct super *sb;
	int ret = ov_mirror_root(ov);

	if (ret < 0) {
		ov_discard(ov);
		return ret;
	}
	hostfs_init(&ov->host, true);
	sb = ov_super(ov, vfs, "tmpfs", "tmpfs", TMPFS_MAGIC, flags);
	n = ov_node_new(ov, S_IFDIR, ov->next_ino++);
	n->upper = true;
	n->inode->mode = mode & 07777;
	n->inode->uid = vfs->cfg.owner_uid;
	n->inode->gid = vfs->cfg.owner_gid;
	ov_attach(ov, sb, n, root);
	return 0;
}

/* Drops what an overlay holds of its own nodes; those still used by dentries
 * go with them. */
static void ov_shutdown(struct ov *ov)
{
	ov->dead = true;
	list_del(&ov->list);
	for (struct list *p = ov->nodes.next; p != &ov->nodes; p = p->next)
		inode_get(list_entry(p, struct ov_node, list)->inode);
	/* Every node has a reference of ours: none goes within this loop. */
	for (struct list *p = ov->nodes.next; p != &ov->nodes; p = p->next) {
		struct ov_node *n = list_entry(p, struct ov_node, list);

		for (size_t i = 0; n->dir && i <= n->dir->entries.mask; i++)
			while (n->dir->entries.buckets[i])
				ov_entry_drop(
					n,
					container_of(n->dir->entries.buckets[i],
						     struct ov_entry, node));
		if (n->pinned)
			inode_put(n->inode);
		n->pinned = false;
		ov_set_parent(n, NULL, NULL);
	}
	inode_put(ov->root->inode);
	list_for_each_safe (q, &ov->nodes)
		inode_put(list_entry(q, struct ov_node, list)->inode);
}

void overlay_free_all(struct vfs *vfs)
{
	struct list *all = store_overlays(vfs_store(vfs));

	while (!list_empty(all))
		ov_shutdown(list_entry(all->next, struct ov, list));
}

int overlay_statfs(struct inode *inode, struct statfs *out)
{
	struct ov *ov = ov_node(inode)->ov;
	int fd = store_root_fd(ov->store);

	if (ov->direct) {
		fd = hostdir_fd(ov->root->lhost);
		if (fd < 0)
			return fd;
	}
	if (fstatfs(fd, out) < 0)
		return -EIO;
	/* No disk is ever empty, and programs divide by what is used. */
	if (out->f_blocks && out->f_bfree == out->f_blocks)
		out->f_bavail = --out->f_bfree;
	return 0;
}
