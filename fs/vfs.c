/*
 * vfs.c - the instance: set-up, mounts, polling.
 *
 * The tree begins with one empty directory of a file system of its own
 * ("rootfs"), which also holds the stub directories of mount points that do
 * not exist in the file system below them. A mount point is a dentry that
 * has another file system's root inode and is held for good.
 */
#include "core.h"

#include <fcntl.h>
#include <linux/magic.h>

#include "hostwatch.h"
#include "overlay.h"
#include "store.h"

/* ---- rootfs
 * ------------------------------------------------------------------ */

static int stub_lookup(struct vfs_ctx *ctx, struct inode *dir, const char *name,
		       struct inode **out)
{
	(void)ctx;
	(void)dir;
	(void)name;
	(void)out;
	return -ENOENT;
}

static int stub_getattr(struct vfs_ctx *ctx, struct inode *inode,
			struct statx *out)
{
	(void)ctx;
	out->stx_nlink = 2;
	if (inode->dir_dentry)
		list_for_each (p, &inode->dir_dentry->children)
			out->stx_nlink++;
	return 0;
}

static int stub_readdir(struct vfs_ctx *ctx, struct inode *dir, off_t *pos,
			vfs_dirent_fn fn, void *arg)
{
	(void)ctx;
	(void)dir;
	(void)pos;
	(void)fn;
	(void)arg;
	return 0;
}

static int stub_open(struct vfs_ctx *ctx, struct inode *inode,
		     struct dentry *dentry, int flags, struct vfs_opened *out)
{
	(void)flags;
	out->kind = VFS_OPENED;
	return vfs_dir_standin(ctx->vfs, inode, dentry, &out->fd);
}

static const struct inode_ops stub_ops = {
	.lookup = stub_lookup,
	.getattr = stub_getattr,
	.readdir = stub_readdir,
	.open = stub_open,
};

struct inode *stub_inode_new(struct vfs *vfs)
{
	struct super *sb = list_entry(vfs->supers.next, struct super, list);
	uint64_t next = (uint64_t)(uintptr_t)sb->fs + 1;

	sb->fs = (void *)(uintptr_t)next;
	return inode_new(sb, &stub_ops, next, S_IFDIR, NULL);
}

/* A switch of the host's kernel; what it is by default where the user may not
 * read it. */
static int host_switch(const char *path, int otherwise)
{
	AUTO_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);
	char c;

	if (fd < 0 || read(fd, &c, 1) != 1 || c < '0' || c > '9')
		return otherwise;
	return c - '0';
}

static void vfs_read_switches(struct vfs *vfs)
{
	vfs->protect_symlinks =
		host_switch("/proc/sys/fs/protected_symlinks", 1);
	vfs->protect_hardlinks =
		host_switch("/proc/sys/fs/protected_hardlinks", 1);
	vfs->protect_fifos = host_switch("/proc/sys/fs/protected_fifos", 0);
	vfs->protect_regular = host_switch("/proc/sys/fs/protected_regular", 0);
}

/* ---- the instance
 * --------------------------------------------------------------- */

int vfs_new(const struct vfs_config *cfg, struct vfs **out)
{
	struct vfs *vfs = xcalloc(1, sizeof(*vfs));
	int err;

	vfs->cfg = *cfg;
	vfs->next_dev = 0x30;
	vfs->next_mnt_id = 0x20;
	vfs->lru_max = DENTRY_LRU_MAX;
	list_init(&vfs->lru);
	list_init(&vfs->dead);
	list_init(&vfs->supers);
	list_init(&vfs->origins);
	list_init(&vfs->watch_kept);
	err = store_new(cfg->store_fd, cfg->store_emulated, &vfs->store);
	if (err) {
		free(vfs);
		return err;
	}
	vfs_read_switches(vfs);
	htable_init(&vfs->dentries);
	htable_init(&vfs->objects);
	store_on_event(vfs->store, objects_store_event, vfs);
	super_new(vfs, "rootfs", "rootfs", TMPFS_MAGIC, VFS_MNT_RO);
	vfs->root = dentry_new_root(vfs);
	dentry_instantiate(vfs->root, stub_inode_new(vfs));
	*out = vfs;
	return 0;
}

/* Mount points are held for good; at the end they are let go. */
static void unpin_mounts(struct vfs *vfs)
{
	struct dentry *d;

	for (size_t i = 0; i <= vfs->dentries.mask; i++)
		for (struct hnode *n = vfs->dentries.buckets[i]; n;
		     n = n->next) {
			d = container_of(n, struct dentry, node);
			if (d->mounted || d->stub)
				dentry_put(d);
		}
	dentry_put(vfs->root);
}

void vfs_free(struct vfs *vfs)
{
	if (!vfs)
		return;
	watch_fini(vfs);
	objects_fini(vfs);
	dentry_drop_origins(vfs);
	unpin_mounts(vfs);
	dentry_free_all(vfs);
	hostwatch_free(vfs->hostwatch);
	vfs->hostwatch = NULL;
	overlay_free_all(vfs);
	super_free_all(vfs);
	store_free(vfs->store);
	htable_fini(&vfs->objects);
	htable_fini(&vfs->dentries);
	vfs_writers_free(vfs);
	free(vfs);
}

void vfs_leave(struct vfs *vfs)
{
	hostwatch_free(vfs->hostwatch);
	vfs->hostwatch = NULL;
	store_leave(vfs->store);
}

struct dentry *vfs_root(struct vfs *vfs)
{
	return vfs->root;
}

struct store *vfs_store(struct vfs *vfs)
{
	return vfs->store;
}

int vfs_poll_fd(struct vfs *vfs)
{
	return store_poll_fd(vfs->store);
}

void vfs_poll(struct vfs *vfs)
{
	store_poll(vfs->store);
	dentry_prune(vfs);
}

bool vfs_trim_due(struct vfs *vfs)
{
	enum { TRIM_AFTER = 8000 }; /* inodes */
	bool quiet = vfs->freed == vfs->freed_seen;

	vfs->freed_seen = vfs->freed;
	if (!quiet || vfs->freed < TRIM_AFTER)
		return false;
	vfs->freed = vfs->freed_seen = 0;
	return true;
}

/* ---- mounts
 * ----------------------------------------------------------------------- */

static const struct vcred mount_cred = {.caps = ~0ULL};

/* Where the link (dir, name) leads. */
static int mount_follow(struct vfs_ctx *ctx, struct dentry *dir,
			struct dentry *link, struct dentry **out)
{
	struct vfs_at at = {dir, link->name};
	AUTO_PUT_VREF struct vref ref = {NULL, NULL};
	int err = vfs_lookup(ctx, &at, VFS_FOLLOW, &ref);

	if (!err && !ref.dentry)
		err = -EINVAL;
	if (!err)
		*out = ref.dentry;
	return err;
}

/* One component of a mount path; made as a stub if it is missing. */
static int mount_step(struct vfs_ctx *ctx, struct dentry *dir, const char *name,
		      size_t len, struct dentry **out)
{
	struct dentry *d = NULL;
	int err = walk_child(ctx, dir, name, len, &d);

	if (err)
		return err;
	if (!d->inode) {
		d->stub = true;
		dentry_get(d);
		dentry_instantiate(d, stub_inode_new(ctx->vfs));
	}
	err = -ENOENT;
	if (S_ISLNK(d->inode->type) && !d->mounted)
		err = mount_follow(ctx, dir, d, out);
	/* What leads nowhere (a resolv.conf in the host's /run) is itself the
	 * place. */
	if (err == -ENOENT) {
		*out = d;
		err = 0;
	}
	return err;
}

/* The dentry at guest, stubs made on the way, links followed. Counted. */
static int mount_point(struct vfs *vfs, const char *guest, struct dentry **out)
{
	struct vfs_ctx ctx = {.vfs = vfs,
			      .cred = &mount_cred,
			      .root = vfs->root,
			      .cwd = vfs->root};
	struct dentry *d = vfs->root;
	size_t len;
	int err;

	if (guest[0] != '/')
		return -EINVAL;
	for (;;) {
		while (*guest == '/')
			guest++;
		if (!*guest)
			break;
		len = strcspn(guest, "/");
		if (guest[0] == '.' &&
		    (len == 1 || (len == 2 && guest[1] == '.')))
			return -EINVAL;
		if (!dentry_is_dir(d))
			return -ENOTDIR;
		err = mount_step(&ctx, d, guest, len, &d);
		if (err)
			return err;
		guest += len;
	}
	*out = dentry_get(d);
	return 0;
}

static void mount_clear_below(struct dentry *d)
{
	list_for_each_safe (p, &d->children) {
		struct dentry *c = list_entry(p, struct dentry, child);

		if (!c->mounted && !c->stub)
			dentry_delete(c);
	}
}

/* Consumes root. */
static int mount_inode(struct vfs *vfs, const char *guest, struct inode *root)
{
	struct dentry *d = NULL;
	int err = mount_point(vfs, guest, &d);

	if (err) {
		inode_put(root);
		return err;
	}
	mount_clear_below(d);
	/* The first pin of a stub, a mount or "/" stays; ours goes. */
	if (d->mounted || d->stub || !d->parent)
		dentry_put(d);
	d->mounted = true;
	root->sb->root = d;
	dentry_instantiate(d, root);
	dentry_prune(vfs);
	return 0;
}

int vfs_mount_root(struct vfs *vfs, const char *guest, struct inode *root,
		   const char *fstype, const char *source)
{
	if (fstype)
		root->sb->fstype = fstype;
	if (source)
		root->sb->source = source;
	return mount_inode(vfs, guest, inode_get(root));
}

int vfs_mount_host(struct vfs *vfs, const char *host, const char *guest,
		   unsigned flags)
{
	struct inode *root = NULL;
	int err = overlay_new_host(vfs, host, guest, flags, &root);

	return err ? err : mount_inode(vfs, guest, root);
}

int vfs_host_changes(struct vfs *vfs, const char *guest)
{
	struct vfs_ctx ctx = {.vfs = vfs,
			      .cred = &mount_cred,
			      .root = vfs->root,
			      .cwd = vfs->root};
	struct vfs_at at = {.path = guest};
	AUTO_PUT_VREF struct vref ref = {NULL, NULL};
	int err = vfs_lookup(&ctx, &at, VFS_FOLLOW | VFS_DIRECTORY, &ref);

	if (!err && overlay_is(ref.inode))
		overlay_host_changes(ref.inode);
	return err;
}

int vfs_mount_tmpfs(struct vfs *vfs, const char *guest, mode_t mode,
		    unsigned flags)
{
	struct inode *root = NULL;
	int err = overlay_new_tmpfs(vfs, guest, mode, flags, &root);

	return err ? err : mount_inode(vfs, guest, root);
}
