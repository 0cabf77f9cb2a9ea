/*
 * memfs.h - a small file system in memory for the tests of the VFS core.
 *
 * It keeps what tmpfs keeps of names, modes, owners and link counts, and no
 * data: files open as /dev/null. Included by one .c file per program.
 */
#ifndef CLOCHE_TEST_MEMFS_H
#define CLOCHE_TEST_MEMFS_H

#include <fcntl.h>
#include <stdio.h>

#include "../../fs/vfs_fs.h"

struct memnode;

struct mement {
	struct mement *next;
	char *name;
	struct memnode *node;
	off_t cookie;
};

struct memnode {
	struct memnode *all; /* chain of all nodes */
	struct inode *inode; /* while it lives; borrowed */
	struct mement *ents;
	off_t next_cookie;
	mode_t mode; /* with type */
	uid_t uid;
	gid_t gid;
	unsigned nlink;
	uint64_t ino;
	off_t size;
	char *target;
};

static struct memnode *memfs_nodes;
static char memfs_dir[64]; /* of the store */
static uint64_t memfs_ino;
static const struct inode_ops memfs_ops;

static struct memnode *memnode_new(mode_t mode, uid_t uid, gid_t gid)
{
	struct memnode *n = xcalloc(1, sizeof(*n));

	n->mode = mode;
	n->uid = uid;
	n->gid = gid;
	n->nlink = S_ISDIR(mode) ? 2 : 1;
	n->ino = ++memfs_ino;
	n->all = memfs_nodes;
	memfs_nodes = n;
	return n;
}

static void memfs_free_nodes(void)
{
	while (memfs_nodes) {
		struct memnode *n = memfs_nodes;

		memfs_nodes = n->all;
		while (n->ents) {
			struct mement *e = n->ents;

			n->ents = e->next;
			free(e->name);
			free(e);
		}
		free(n->target);
		free(n);
	}
}

static struct inode *memnode_inode(struct super *sb, struct memnode *n)
{
	struct inode *i = n->inode;

	if (i)
		return inode_get(i);
	i = inode_new(sb, &memfs_ops, n->ino, n->mode & S_IFMT, n);
	i->mode = n->mode & 07777;
	i->uid = n->uid;
	i->gid = n->gid;
	i->link_stable = true;
	n->inode = i;
	return i;
}

static struct mement **ment_find(struct memnode *dir, const char *name)
{
	struct mement **p = &dir->ents;

	while (*p && strcmp((*p)->name, name))
		p = &(*p)->next;
	return p;
}

static void ment_add(struct memnode *dir, const char *name, struct memnode *n)
{
	struct mement *e = xcalloc(1, sizeof(*e));
	struct mement **p = &dir->ents;

	e->name = xstrdup(name);
	e->node = n;
	e->cookie = ++dir->next_cookie;
	while (*p)
		p = &(*p)->next;
	*p = e;
	dir->nlink += S_ISDIR(n->mode) ? 1 : 0;
}

static void ment_del(struct memnode *dir, const char *name)
{
	struct mement **p = ment_find(dir, name), *e = *p;

	*p = e->next;
	dir->nlink -= S_ISDIR(e->node->mode) ? 1 : 0;
	free(e->name);
	free(e);
}

static int memfs_lookup(struct vfs_ctx *ctx, struct inode *dir,
			const char *name, struct inode **out)
{
	struct mement *e = *ment_find(dir->fs, name);

	(void)ctx;
	if (!S_ISDIR(dir->type))
		return -ENOTDIR;
	if (!e)
		return -ENOENT;
	*out = memnode_inode(dir->sb, e->node);
	return 0;
}

static int memfs_getattr(struct vfs_ctx *ctx, struct inode *inode,
			 struct statx *out)
{
	struct memnode *n = inode->fs;

	(void)ctx;
	out->stx_nlink = n->nlink;
	out->stx_size = (uint64_t)n->size;
	return 0;
}

static int memfs_setattr(struct vfs_ctx *ctx, struct inode *inode,
			 struct vfs_attr *a)
{
	struct memnode *n = inode->fs;

	(void)ctx;
	if (a->valid & VFS_ATTR_MODE)
		n->mode = (n->mode & S_IFMT) | a->mode;
	if (a->valid & VFS_ATTR_UID)
		n->uid = a->uid;
	if (a->valid & VFS_ATTR_GID)
		n->gid = a->gid;
	if (a->valid & VFS_ATTR_SIZE)
		n->size = a->size;
	inode->mode = n->mode & 07777;
	inode->uid = n->uid;
	inode->gid = n->gid;
	return 0;
}

static int memfs_create(struct vfs_ctx *ctx, struct dentry *where, mode_t mode,
			dev_t dev, const char *target, struct inode **out)
{
	struct memnode *dir = where->parent->inode->fs;
	struct memnode *n = memnode_new(mode, ctx->cred->uid,
					vfs_new_gid(ctx, where->parent));

	(void)dev;
	if (target) {
		n->target = xstrdup(target);
		n->size = (off_t)strlen(target);
	}
	ment_add(dir, where->name, n);
	*out = memnode_inode(where->parent->inode->sb, n);
	return 0;
}

static int memfs_link(struct vfs_ctx *ctx, struct inode *inode,
		      struct dentry *where)
{
	struct memnode *n = inode->fs;

	(void)ctx;
	ment_add(where->parent->inode->fs, where->name, n);
	n->nlink++;
	return 0;
}

static int memfs_unlink(struct vfs_ctx *ctx, struct dentry *victim, bool dir)
{
	struct memnode *n = victim->inode->fs;

	(void)ctx;
	if (dir && n->ents)
		return -ENOTEMPTY;
	ment_del(victim->parent->inode->fs, victim->name);
	n->nlink -= dir ? 2 : 1;
	return 0;
}

static int memfs_rename(struct vfs_ctx *ctx, struct dentry *from,
			struct dentry *to, unsigned flags)
{
	struct memnode *a = from->inode->fs;
	struct memnode *b = to->inode ? to->inode->fs : NULL;
	int err;

	if (!flags && b) {
		err = memfs_unlink(ctx, to, S_ISDIR(b->mode));
		if (err)
			return err;
	} else if (flags) {
		ment_del(to->parent->inode->fs, to->name);
	}
	ment_del(from->parent->inode->fs, from->name);
	ment_add(to->parent->inode->fs, to->name, a);
	if (flags)
		ment_add(from->parent->inode->fs, from->name, b);
	return 0;
}

static ssize_t memfs_readlink(struct vfs_ctx *ctx, struct inode *inode,
			      char *buf, size_t size, struct vref *jump)
{
	struct memnode *n = inode->fs;
	size_t len = strlen(n->target);

	(void)ctx;
	(void)jump;
	if (len > size)
		len = size;
	memcpy(buf, n->target, len);
	return (ssize_t)len;
}

static int memfs_open(struct vfs_ctx *ctx, struct inode *inode,
		      struct dentry *dentry, int flags, struct vfs_opened *out)
{
	struct memnode *n = inode->fs;

	(void)ctx;
	(void)dentry;
	if (S_ISFIFO(n->mode) && (flags & O_ACCMODE) == O_WRONLY)
		return -ENXIO;
	if (flags & O_TRUNC)
		n->size = 0;
	out->kind = VFS_OPENED;
	out->fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	return 0;
}

static int memfs_readdir(struct vfs_ctx *ctx, struct inode *dir, off_t *pos,
			 vfs_dirent_fn fn, void *arg)
{
	struct memnode *n = dir->fs;

	(void)ctx;
	for (struct mement *e = n->ents; e; e = e->next) {
		if (e->cookie <= *pos)
			continue;
		if (fn(arg, e->name, strlen(e->name), e->node->ino,
		       (unsigned char)((e->node->mode & S_IFMT) >> 12),
		       e->cookie))
			break;
		*pos = e->cookie;
	}
	return 0;
}

static void memfs_release(struct inode *inode)
{
	((struct memnode *)inode->fs)->inode = NULL;
}

static const struct inode_ops memfs_ops = {
	.lookup = memfs_lookup,
	.getattr = memfs_getattr,
	.setattr = memfs_setattr,
	.create = memfs_create,
	.link = memfs_link,
	.unlink = memfs_unlink,
	.rename = memfs_rename,
	.readlink = memfs_readlink,
	.open = memfs_open,
	.readdir = memfs_readdir,
	.release = memfs_release,
};

static const struct vcred memfs_root_cred = {.caps = ~0ULL};

/* A VFS with one memfs at "/", and a root caller. */
static inline struct vfs *memfs_vfs(struct vfs_ctx *ctx, vfs_mask_fn mask,
				    void *arg)
{
	struct vfs_config cfg = {
		.mask = mask, .mask_arg = arg, .store_emulated = true};
	struct vfs *vfs = NULL;
	struct super *sb;
	struct inode *root;

	strcpy(memfs_dir, "/dev/shm/memfs-XXXXXX");
	if (!mkdtemp(memfs_dir))
		die("%s: %s", memfs_dir, strerror(errno));
	cfg.store_fd = open(memfs_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (vfs_new(&cfg, &vfs))
		die("vfs_new failed");
	sb = super_new(vfs, "memfs", "memfs", 0x4d454d, 0);
	root = memnode_inode(sb, memnode_new(S_IFDIR | 0755, 0, 0));
	if (vfs_mount_root(vfs, "/", root, NULL, NULL))
		die("cannot mount");
	inode_put(root);
	*ctx = (struct vfs_ctx){.vfs = vfs,
				.cred = &memfs_root_cred,
				.root = vfs_root(vfs),
				.cwd = vfs_root(vfs),
				.umask = 022};
	return vfs;
}

static inline void memfs_end(struct vfs *vfs)
{
	vfs_free(vfs);
	memfs_free_nodes();
	rmdir(memfs_dir);
}

#endif
