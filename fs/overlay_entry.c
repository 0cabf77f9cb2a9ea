/*
 * overlay_entry.c - names of a directory that are not simply the lower's.
 */
#include "overlay_priv.h"

static uint64_t ov_name_hash(const char *name)
{
	return hash_bytes(name, strlen(name), 11);
}

struct ov_entry *ov_entry_find(const struct ov_node *dir, const char *name)
{
	const struct htable *t = &dir->dir->entries;
	struct hnode *h;

	if (!t->count)
		return NULL;
	h = htable_first(t, ov_name_hash(name));
	for (; h; h = htable_next(h)) {
		struct ov_entry *e = container_of(h, struct ov_entry, node);

		if (!strcmp(e->name, name))
			return e;
	}
	return NULL;
}

static void ov_entry_detach(struct ov_entry *e)
{
	struct ov_node *old = e->child;

	if (!old)
		return;
	e->child = NULL;
	e->mirrored = false;
	list_del(&e->same);
	e->dir->dir->visible--;
	inode_put(old->inode);
}

struct ov_entry *ov_entry_set(struct ov_node *dir, const char *name,
			      struct ov_node *child)
{
	struct ov_entry *e = ov_entry_find(dir, name);
	size_t len = strlen(name) + 1;

	if (child)
		inode_get(child->inode);
	if (!e) {
		e = xcalloc(1, sizeof(*e) + len);
		memcpy(e->name, name, len);
		e->dir = dir;
		list_init(&e->same);
		htable_add(&dir->dir->entries, &e->node, ov_name_hash(name));
		ov_pin(dir);
	}
	ov_entry_detach(e);
	e->child = child;
	if (child) {
		list_add_tail(&child->names, &e->same);
		dir->dir->visible++;
	}
	return e;
}

void ov_entry_drop(struct ov_node *dir, struct ov_entry *e)
{
	htable_del(&dir->dir->entries, &e->node);
	ov_entry_detach(e);
	ov_base_free(e);
	free(e);
}

void ov_entry_clear(const struct vfs_ctx *ctx, struct ov_node *dir,
		    const char *name)
{
	struct ov_entry *e = ov_entry_find(dir, name);
	struct stat st;

	if (!ov_absent(ctx, dir, e) && ov_lower_has(dir, name, &st)) {
		struct ov_node *n = ov_lower_known(dir, name, &st);

		if (n)
			inode_get(n->inode);
		ov_base_hide(ov_entry_set(dir, name, NULL), n, &st);
		if (n)
			inode_put(n->inode);
	} else if (e)
		ov_entry_drop(dir, e);
}

static int ov_empty_step(void *arg, const char *name, ino_t ino,
			 unsigned char type)
{
	(void)ino;
	(void)type;
	return ov_entry_find(arg, name) ? 0 : 1;
}

int ov_dir_is_empty(struct ov_node *dir)
{
	int ret;

	if (dir->dir->visible)
		return 0;
	if (!dir->has_lower || dir->dir->opaque)
		return 1;
	ret = ov_lower_list(dir, ov_empty_step, dir);
	return ret < 0 ? ret : !ret;
}
