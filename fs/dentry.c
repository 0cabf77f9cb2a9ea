/*
 * dentry.c - the tree of names, and its cache.
 *
 * A dentry is found by (parent, name). It counts its parent, so only leaves
 * can be unused; unused ones stay on an LRU list up to a bound. Negative
 * entries (inode NULL) cache absence. A deleted name keeps its parent for its
 * path text and for "..", but is in no table.
 *
 * Invariants: hashed implies in parent->children; each dentry's mask is what
 * policy says of its present path (dentry_mask.c); nothing is freed but in
 * dentry_prune. A directory's path text is remembered until any dentry moves,
 * or until it is freed itself: while it lives all above it do. Trees can be
 * deeper than the stack: no recursion here.
 */
#include "core.h"

#include <stdio.h>

static uint64_t dentry_hash(const struct dentry *dir, const char *name,
			    size_t len)
{
	return hash_bytes(name, len, (uint64_t)(uintptr_t)dir);
}

struct dentry *dentry_find(const struct dentry *dir, const char *name,
			   size_t len)
{
	struct hnode *n;

	if (list_empty(&dir->children))
		return NULL;
	n = htable_first(&dir->vfs->dentries, dentry_hash(dir, name, len));
	for (; n; n = htable_next(n)) {
		struct dentry *d = container_of(n, struct dentry, node);

		if (d->parent == dir && d->len == len &&
		    !memcmp(d->name, name, len))
			return d;
	}
	return NULL;
}

/* ---- references and the LRU ------------------------------------------- */

static void dentry_park(struct dentry *d)
{
	if (d->hashed) {
		list_add_tail(&d->vfs->lru, &d->lru);
		d->vfs->lru_count++;
	} else {
		list_add_tail(&d->vfs->dead, &d->lru);
	}
}

static void dentry_unpark(struct dentry *d)
{
	if (d->hashed)
		d->vfs->lru_count--;
	list_del(&d->lru);
}

struct dentry *dentry_get(struct dentry *d)
{
	if (d && !d->refs++)
		dentry_unpark(d);
	return d;
}

void dentry_put(struct dentry *d)
{
	if (!d)
		return;
	BUG_ON(!d->refs);
	if (!--d->refs)
		dentry_park(d);
}

struct inode *dentry_inode(const struct dentry *d)
{
	return d ? d->inode : NULL;
}

bool dentry_deleted(const struct dentry *d)
{
	return d->deleted || (d->inode && d->inode->gone);
}

static void dentry_hash_in(struct dentry *d)
{
	bool parked = !d->refs;

	if (parked)
		dentry_unpark(d);
	htable_add(&d->vfs->dentries, &d->node,
		   dentry_hash(d->parent, d->name, d->len));
	list_add_tail(&d->parent->children, &d->child);
	d->hashed = true;
	if (parked)
		dentry_park(d);
}

static void dentry_unhash(struct dentry *d)
{
	if (!d->hashed)
		return;
	if (!d->refs)
		dentry_unpark(d);
	htable_del(&d->vfs->dentries, &d->node);
	list_del(&d->child);
	d->hashed = false;
	if (!d->refs)
		dentry_park(d);
}

static void dentry_drop_inode(struct dentry *d)
{
	struct inode *inode = d->inode;

	if (!inode)
		return;
	d->inode = NULL;
	if (inode->dir_dentry == d)
		inode->dir_dentry = NULL;
	inode_put(inode);
}

static struct dirtext *dirtext_of(const struct dentry *d)
{
	/* dentries lie some 128 bytes apart or more */
	return &d->vfs->dirtexts[((uintptr_t)d >> 7) % DIRTEXTS];
}

static void dentry_free(struct dentry *d)
{
	struct dentry *parent = d->parent;
	struct dirtext *text = dirtext_of(d);

	BUG_ON(d->refs || !list_empty(&d->children));
	dentry_unhash(d);
	dentry_unpark(d);
	dentry_drop_inode(d);
	if (text->dir == d)
		text->dir = NULL;
	free(d->name);
	free(d);
	dentry_put(parent);
}

void dentry_prune(struct vfs *vfs)
{
	while (!list_empty(&vfs->dead))
		dentry_free(list_entry(vfs->dead.next, struct dentry, lru));
	while (vfs->lru_count > vfs->lru_max)
		dentry_free(list_entry(vfs->lru.next, struct dentry, lru));
}

void dentry_free_all(struct vfs *vfs)
{
	vfs->lru_max = 0;
	do {
		dentry_prune(vfs);
	} while (!list_empty(&vfs->dead) || vfs->lru_count);
}

/* ---- paths --------------------------------------------------- */

char *dentry_path_backwards(const struct dentry *d, const struct dentry *root,
			    char *buf, char *end, bool *outside)
{
	char *p = end;

	for (; d != root && d->parent; d = d->parent) {
		if ((size_t)(p - buf) < d->len + 1u)
			return NULL;
		p -= d->len;
		memcpy(p, d->name, d->len);
		*--p = '/';
	}
	*outside = root && d != root;
	if (p == end) {
		if (p == buf)
			return NULL;
		*--p = '/';
	}
	return p;
}

static ssize_t path_slow(const struct dentry *d, const struct dentry *root,
			 char *buf, size_t size)
{
	static const char deleted[] = " (deleted)";
	static const char unreachable[] = "(unreachable)";
	char *end = buf + size, *p;
	bool outside = false;
	size_t len;

	if (!size)
		return -ENAMETOOLONG;
	*--end = '\0';
	if (dentry_deleted(d)) {
		if ((size_t)(end - buf) < sizeof(deleted) - 1)
			return -ENAMETOOLONG;
		end -= sizeof(deleted) - 1;
		memcpy(end, deleted, sizeof(deleted) - 1);
	}
	p = dentry_path_backwards(d, root, buf, end, &outside);
	if (!p)
		return -ENAMETOOLONG;
	if (outside) {
		if ((size_t)(p - buf) < sizeof(unreachable) - 1)
			return -ENAMETOOLONG;
		p -= sizeof(unreachable) - 1;
		memcpy(p, unreachable, sizeof(unreachable) - 1);
	}
	len = (size_t)(buf + size - 1 - p);
	memmove(buf, p, len + 1);
	return (ssize_t)len;
}

/* The text of dir, if it lies below root and is not too long. That a directory
 * is deleted its path says, but not the path of what is in it. */
static const struct dirtext *dirtext_get(const struct dentry *dir,
					 const struct dentry *root)
{
	struct dirtext *t = dirtext_of(dir);
	char *end = t->text + sizeof(t->text), *p;
	bool outside = false;

	if (t->dir == dir && t->root == root && t->moves == dir->vfs->moves)
		return t;
	t->dir = NULL;
	p = dentry_path_backwards(dir, root, t->text, end, &outside);
	if (!p || outside)
		return NULL;
	t->len = dir == root || !dir->parent ? 0 : (size_t)(end - p);
	memmove(t->text, p, t->len);
	t->dir = dir;
	t->root = root;
	t->moves = dir->vfs->moves;
	return t;
}

ssize_t dentry_path(const struct dentry *d, const struct dentry *root,
		    char *buf, size_t size)
{
	const struct dirtext *t = NULL;

	if (d->parent && d != root && !dentry_deleted(d))
		t = dirtext_get(d->parent, root);
	if (!t || t->len + d->len + 2 > size)
		return path_slow(d, root, buf, size);
	memcpy(buf, t->text, t->len);
	buf[t->len] = '/';
	memcpy(buf + t->len + 1, d->name, d->len + 1u);
	return (ssize_t)(t->len + 1 + d->len);
}

struct dentry *dentry_next_beside(const struct dentry *top, struct dentry *d)
{
	while (d != top && d->child.next == &d->parent->children)
		d = d->parent;
	if (d == top)
		return NULL;
	return list_entry(d->child.next, struct dentry, child);
}

struct dentry *dentry_next(const struct dentry *top, struct dentry *d)
{
	if (!list_empty(&d->children))
		return list_entry(d->children.next, struct dentry, child);
	return dentry_next_beside(top, d);
}

/* ---- making ------------------------------------------------------------ */

static struct dentry *dentry_alloc(struct vfs *vfs, struct dentry *parent,
				   const char *name, size_t len)
{
	struct dentry *d = xcalloc(1, sizeof(*d));

	d->vfs = vfs;
	d->name = xmalloc(len + 1);
	memcpy(d->name, name, len);
	d->name[len] = '\0';
	d->len = (unsigned short)len;
	d->parent = dentry_get(parent);
	list_init(&d->lru);
	list_init(&d->child);
	list_init(&d->children);
	list_add_tail(&vfs->dead, &d->lru);
	return d;
}

struct dentry *dentry_new(struct dentry *dir, const char *name, size_t len)
{
	struct dentry *d = dentry_alloc(dir->vfs, dir, name, len);

	dentry_mask_again(d);
	dentry_hash_in(d);
	return d;
}

struct dentry *dentry_new_root(struct vfs *vfs)
{
	struct dentry *d = dentry_alloc(vfs, NULL, "", 0);
	uint32_t rule = 0;

	if (vfs->cfg.mask)
		d->mask = vfs->cfg.mask(vfs->cfg.mask_arg, "/", 0, &rule) &
			  ~VFS_MASK_RESET;
	d->rule = rule;
	return dentry_get(d);
}

struct dentry *dentry_new_detached(struct dentry *dir, const char *name)
{
	return dentry_get(dentry_alloc(dir->vfs, dir, name, strlen(name)));
}

void dentry_instantiate(struct dentry *d, struct inode *inode)
{
	dentry_drop_inode(d);
	d->inode = inode;
	d->stale = false;
	if (S_ISDIR(inode->type))
		inode->dir_dentry = d;
	if (inode->was)
		dentry_mask_again(d);
	if (d->parent && !d->hashed && !d->deleted)
		dentry_hash_in(d);
}

/* ---- changes of the tree ------------------------------------------------ */

static void dentry_forget_below(struct dentry *d)
{
	while (!list_empty(&d->children)) {
		struct dentry *c =
			list_entry(d->children.next, struct dentry, child);

		while (!list_empty(&c->children))
			c = list_entry(c->children.next, struct dentry, child);
		c->deleted = true;
		dentry_unhash(c);
	}
}

void dentry_delete(struct dentry *d)
{
	dentry_forget_below(d);
	if (d->inode)
		dentry_drop_origin(d->inode);
	d->deleted = true;
	dentry_unhash(d);
}

void dentry_vanish(struct dentry *d)
{
	if (d->refs || !d->hashed || d->mounted || d->stub || d->anchor ||
	    dentry_is_dir(d))
		dentry_delete(d);
	else
		dentry_drop_inode(d);
}

/* Masks of all that is cached below d; names that are absent here may exist
 * there, so they are dropped. */
void dentry_masks_again(struct dentry *d)
{
	struct dentry *c = d, *next;

	for (; c; c = next) {
		next = dentry_next(d, c);
		if (!c->inode && c != d) {
			dentry_unhash(c);
			continue;
		}
		dentry_mask_again(c);
	}
}

/* Takes d out of the table, gives it a new place, and puts it in again. */
static void dentry_place(struct dentry *d, struct dentry *parent, char *name,
			 size_t len)
{
	struct dentry *old = d->parent;

	d->name = name;
	d->len = (unsigned short)len;
	d->parent = dentry_get(parent);
	d->vfs->moves++;
	dentry_put(old);
	dentry_hash_in(d);
	dentry_masks_again(d);
}

static char *name_copy(const struct dentry *d)
{
	char *s = xmalloc(d->len + 1u);

	memcpy(s, d->name, d->len + 1u);
	return s;
}

void dentry_move(struct dentry *from, struct dentry *to)
{
	struct dentry *parent = to->parent;
	char *name = name_copy(to), *old = from->name;
	size_t len = to->len;

	if (to->inode)
		dentry_delete(to);
	else
		dentry_unhash(to);
	dentry_get(from);
	dentry_unhash(from);
	dentry_place(from, parent, name, len);
	free(old);
	dentry_put(from);
}

void dentry_exchange(struct dentry *a, struct dentry *b)
{
	struct dentry *pa = dentry_get(a->parent), *pb = dentry_get(b->parent);
	char *na = a->name, *nb = b->name;
	size_t la = a->len, lb = b->len;

	dentry_get(a);
	dentry_get(b);
	dentry_unhash(a);
	dentry_unhash(b);
	dentry_place(a, pb, nb, lb);
	dentry_place(b, pa, na, la);
	dentry_put(a);
	dentry_put(b);
	dentry_put(pa);
	dentry_put(pb);
}

struct inode *dentry_forget(struct dentry *dir, const char *name)
{
	struct dentry *d;

	if (name) {
		d = dentry_find(dir, name, strlen(name));
		if (d && !d->mounted && !d->stub)
			d->stale = true;
		return d ? d->inode : NULL;
	}
	list_for_each (p, &dir->children) {
		d = list_entry(p, struct dentry, child);
		if (!d->mounted && !d->stub)
			d->stale = true;
	}
	return NULL;
}

bool dentry_below(const struct dentry *d, const struct dentry *ancestor)
{
	for (; d; d = d->parent)
		if (d == ancestor)
			return true;
	return false;
}
