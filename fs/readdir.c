/*
 * readdir.c - the front of directory reading: "." and "..", names that only
 * mounts made, and names that policy hides.
 *
 * Cookies: 0 and 1 stand before "." and "..", 2 + N is the file system's own
 * cookie N, and from STUBS on they count the mount names.
 */
#include "core.h"

#include <dirent.h>

enum { DOTS = 2 };
static const off_t STUBS = (off_t)1 << 62;

struct readdir {
	struct dentry *dir;
	vfs_dirent_fn fn;
	void *arg;
	off_t *pos;
	bool full;
};

static int emit(struct readdir *r, const char *name, size_t len, uint64_t ino,
		unsigned char type, off_t next)
{
	if (r->fn(r->arg, name, len, ino, type, next)) {
		r->full = true;
		return 1;
	}
	*r->pos = next;
	return 0;
}

static bool name_hidden(struct dentry *dir, const char *name, size_t len)
{
	const struct dentry *d = dentry_find(dir, name, len);
	char copy[NAME_LEN_MAX + 1];

	if (d)
		return d->stub || (d->mask & VFS_MASK_HIDE);
	if (!dir->vfs->cfg.mask)
		return false;
	memcpy(copy, name, len);
	copy[len] = '\0';
	return dentry_name_mask(dir, copy, len) & VFS_MASK_HIDE;
}

static int from_fs(void *arg, const char *name, size_t len, uint64_t ino,
		   unsigned char type, off_t off)
{
	struct readdir *r = arg;

	BUG_ON(len > NAME_LEN_MAX || off < 0 || off > VFS_COOKIE_MAX);
	if (r->dir && name_hidden(r->dir, name, len)) {
		*r->pos = off + DOTS;
		return 0;
	}
	return emit(r, name, len, ino, type, off + DOTS);
}

static int read_dots(struct readdir *r, const struct inode *dir)
{
	const struct inode *up = dir;

	if (*r->pos == 0 && emit(r, ".", 1, dir->ino, DT_DIR, 1))
		return 1;
	if (*r->pos != 1)
		return 0;
	if (r->dir && r->dir->parent && r->dir->parent->inode)
		up = r->dir->parent->inode;
	return emit(r, "..", 2, up->ino, DT_DIR, DOTS);
}

static void read_stubs(struct readdir *r)
{
	off_t n = STUBS;

	if (*r->pos < STUBS)
		*r->pos = STUBS;
	if (!r->dir)
		return;
	list_for_each (p, &r->dir->children) {
		const struct dentry *d = list_entry(p, struct dentry, child);

		if (!d->stub || !d->inode || (d->mask & VFS_MASK_HIDE))
			continue;
		if (n++ < *r->pos)
			continue;
		if (emit(r, d->name, d->len, d->inode->ino,
			 (unsigned char)IFTODT(d->inode->type), n))
			return;
	}
}

int vfs_readdir(struct vfs_ctx *ctx, const struct vref *dir, off_t *pos,
		vfs_dirent_fn fn, void *arg)
{
	struct inode *i = dir->inode;
	struct readdir r = {.fn = fn, .arg = arg, .pos = pos};
	off_t fs_pos;
	int err;

	r.dir = i->dir_dentry ? i->dir_dentry : dir->dentry;
	if (!i->ops->readdir)
		return -ENOTDIR;
	if (i->gone || (r.dir && r.dir->deleted))
		return -ENOENT;
	if (*pos < 0)
		return -EINVAL;
	inode_accessed(i);
	if (read_dots(&r, i))
		return 0;
	if (*pos < STUBS) {
		fs_pos = *pos - DOTS;
		err = i->ops->readdir(ctx, i, &fs_pos, from_fs, &r);
		if (err || r.full)
			return err;
	}
	read_stubs(&r);
	return 0;
}
