/*
 * dentry_mask.c - what policy says of each name: the masks of dentries.
 *
 * A mask is what the rules say of the path, and, below a directory that was
 * renamed, of the path that it had first as well. Most directories give all
 * their names one answer but those that rules tell by name
 * (vfs_config.dir_alike): that is asked once and kept with the directory's
 * dentry until its own mask is computed anew, as it is at each change of its
 * path. Below a renamed directory each name is asked for.
 */
#include "core.h"

/* First path of a directory that was renamed, which holds the inode: what a
 * rule protects must not come out when caches are emptied. */
struct origin {
	struct list list;    /* vfs.origins */
	struct inode *inode; /* counted */
	char *path;
};

static size_t dentry_path_size(const struct dentry *d, size_t more)
{
	size_t size = more + 3;

	for (; d->parent; d = d->parent)
		size += d->len + 1u;
	return size;
}

/* Mask by the rules of one path; *rule is left alone if none is named. */
static unsigned mask_ask(const struct vfs *vfs, const char *path,
			 unsigned inherited, uint32_t *rule)
{
	uint32_t named = 0;
	unsigned got =
		vfs->cfg.mask(vfs->cfg.mask_arg, path, inherited, &named);

	if (named || (got & VFS_MASK_RESET))
		*rule = named;
	if (got & VFS_MASK_RESET)
		return got & ~VFS_MASK_RESET;
	return inherited | got;
}

/* Path of any length, or deep directories would be a way around rules. top:
 * where to stop, its path being prefix. Owned by the caller. */
static char *mask_path(const struct dentry *dir, const struct dentry *top,
		       const char *prefix, const char *name, size_t len)
{
	size_t size = dentry_path_size(dir, len + strlen(prefix));
	char *buf = xmalloc(size), *p = buf + size - 1, *q;
	bool outside;

	*p = '\0';
	p -= len;
	memcpy(p, name, len);
	*--p = '/';
	if (dir != top && dir->parent)
		p = dentry_path_backwards(dir, top, buf, p, &outside);
	len = strlen(prefix);
	q = p - len;
	memcpy(q, prefix, len);
	memmove(buf, q, (size_t)(buf + size - q));
	return buf;
}

/*
 * Where a directory was moved, the host's files below it are those of its old
 * place: the path that (dir, name) had there, or NULL. Owned by the caller.
 */
static char *origin_path(const struct dentry *dir, const char *name, size_t len)
{
	const struct dentry *top = dir;

	if (list_empty(&dir->vfs->origins))
		return NULL;
	while (top && !(top->inode && top->inode->was))
		top = top->parent;
	return top ? mask_path(dir, top, top->inode->was->path, name, len)
		   : NULL;
}

/* Mask of (dir, name): what the rules say of its path and of its origin. */
static unsigned mask_of_path(const struct dentry *dir, const char *name,
			     size_t len, const struct inode *inode,
			     uint32_t *rule)
{
	const struct vfs *vfs = dir->vfs;
	unsigned inherited = dir->mask & ~VFS_MASK_ANCHOR, mask;
	AUTO_FREE char *path = NULL, *origin = NULL;

	*rule = dir->rule;
	path = mask_path(dir, NULL, "", name, len);
	mask = mask_ask(vfs, path, inherited, rule);
	if (inode && inode->was)
		origin = xstrdup(inode->was->path);
	else
		origin = origin_path(dir, name, len);
	if (origin)
		mask |= mask_ask(vfs, origin, mask & ~VFS_MASK_ANCHOR, rule);
	return mask;
}

/* Is dir, or one above it, not where it was first? */
static bool mask_moved(const struct dentry *dir)
{
	if (list_empty(&dir->vfs->origins))
		return false;
	while (dir && !(dir->inode && dir->inode->was))
		dir = dir->parent;
	return dir;
}

static bool mask_dir_alike(const struct dentry *dir)
{
	const struct vfs_config *cfg = &dir->vfs->cfg;
	AUTO_FREE char *path = NULL;

	if (!dir->parent)
		return cfg->dir_alike(cfg->mask_arg, "/");
	path = mask_path(dir->parent, NULL, "", dir->name, dir->len);
	return cfg->dir_alike(cfg->mask_arg, path);
}

static unsigned mask_compute(struct dentry *dir, const char *name, size_t len,
			     const struct inode *inode, uint32_t *rule)
{
	const struct vfs_config *cfg = &dir->vfs->cfg;
	unsigned mask;

	if (!cfg->mask) {
		*rule = dir->rule;
		return dir->mask & ~VFS_MASK_ANCHOR;
	}
	if (!cfg->dir_alike || dir->alike == DENTRY_UNLIKE || mask_moved(dir) ||
	    (inode && inode->was) || cfg->name_told(cfg->mask_arg, name, len))
		return mask_of_path(dir, name, len, inode, rule);
	if (dir->alike == DENTRY_ALIKE) {
		*rule = dir->alike_rule;
		return dir->alike_mask;
	}
	mask = mask_of_path(dir, name, len, inode, rule);
	dir->alike_mask = mask;
	dir->alike_rule = *rule;
	dir->alike = mask_dir_alike(dir) ? DENTRY_ALIKE : DENTRY_UNLIKE;
	return mask;
}

void dentry_note_origin(struct dentry *d)
{
	struct origin *o;

	if (!dentry_is_dir(d) || d->inode->was || !d->vfs->cfg.mask)
		return;
	o = xcalloc(1, sizeof(*o));
	o->path = origin_path(d->parent, d->name, d->len);
	if (!o->path)
		o->path = mask_path(d->parent, NULL, "", d->name, d->len);
	o->inode = inode_get(d->inode);
	d->inode->was = o;
	list_add_tail(&d->vfs->origins, &o->list);
}

const char *dentry_origin(const struct inode *inode)
{
	return inode->was ? inode->was->path : NULL;
}

void dentry_origin_set(struct vfs *vfs, struct inode *inode, const char *path)
{
	struct origin *o;

	if (inode->was || !S_ISDIR(inode->type))
		return;
	o = xcalloc(1, sizeof(*o));
	o->path = xstrdup(path);
	o->inode = inode_get(inode);
	inode->was = o;
	list_add_tail(&vfs->origins, &o->list);
}

static void origin_free(struct origin *o)
{
	list_del(&o->list);
	o->inode->was = NULL;
	inode_put(o->inode);
	free(o->path);
	free(o);
}

void dentry_drop_origin(struct inode *inode)
{
	if (inode->was)
		origin_free(inode->was);
}

void dentry_drop_origins(struct vfs *vfs)
{
	while (!list_empty(&vfs->origins))
		origin_free(list_entry(vfs->origins.next, struct origin, list));
}

unsigned dentry_name_mask(struct dentry *dir, const char *name, size_t len)
{
	uint32_t rule;

	return mask_compute(dir, name, len, NULL, &rule);
}

unsigned dentry_child_mask(struct dentry *dir, const char *name)
{
	size_t len = strlen(name);
	const struct dentry *d = dentry_find(dir, name, len);

	return d ? d->mask : dentry_name_mask(dir, name, len);
}

void dentry_mask_again(struct dentry *d)
{
	d->alike = DENTRY_UNKNOWN;
	if (d->parent)
		d->mask = mask_compute(d->parent, d->name, d->len, d->inode,
				       &d->rule);
}
