/*
 * overlay_readdir.c - the merged index of a directory.
 *
 * Made at the first read: lower names, then our own. Afterwards it only grows
 * at the end; a removed name leaves a dead slot. A slot's cookie is a number
 * that is never given again, so a reader at any position sees each name that
 * stays exactly once, telldir cookies stay valid, and dead slots can be swept
 * at any time without anyone noticing.
 *
 * LIMIT: the index of a directory stays in memory as long as its inode.
 */
#include "overlay_priv.h"

#include <dirent.h>
#include <fcntl.h>

struct ov_slot {
	struct hnode node; /* ov_index.names */
	uint64_t cookie;
	uint64_t ino;
	unsigned char type;
	bool lower, seen;
	unsigned char len;
	char name[];
};

struct ov_index {
	struct htable names;
	struct ov_slot **slots; /* by cookie; NULL: dead */
	size_t count, cap, dead;
	uint64_t next_cookie;
	uint64_t *cookies; /* of slots[], the dead ones' too */
	struct timespec lower_mtime, lower_ctime;
	bool stale; /* the host has told of changes since */
};

static uint64_t slot_hash(const char *name)
{
	return hash_bytes(name, strlen(name), 13);
}

static struct ov_slot *slot_find(struct ov_index *x, const char *name)
{
	struct hnode *h = htable_first(&x->names, slot_hash(name));

	for (; h; h = htable_next(h)) {
		struct ov_slot *s = container_of(h, struct ov_slot, node);

		if (!strcmp(s->name, name))
			return s;
	}
	return NULL;
}

/* Position of the first slot with a cookie above `after`. */
static size_t slot_after(const struct ov_index *x, uint64_t after)
{
	size_t lo = 0, hi = x->count;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (x->cookies[mid] > after)
			hi = mid;
		else
			lo = mid + 1;
	}
	return lo;
}

static void index_grow(struct ov_index *x)
{
	size_t cap = x->cap ? x->cap * 2 : 16;
	struct ov_slot **slots = xcalloc(cap, sizeof(*slots));
	uint64_t *cookies = xcalloc(cap, sizeof(*cookies));

	if (x->count) {
		memcpy(slots, x->slots, x->count * sizeof(*slots));
		memcpy(cookies, x->cookies, x->count * sizeof(*cookies));
	}
	free(x->slots);
	free(x->cookies);
	x->slots = slots;
	x->cookies = cookies;
	x->cap = cap;
}

static struct ov_slot *slot_add(struct ov_index *x, const char *name,
				uint64_t ino, unsigned char type)
{
	size_t len = strlen(name);
	struct ov_slot *s;

	if (len > NAME_LEN_MAX)
		return NULL;
	s = xcalloc(1, sizeof(*s) + len + 1);
	memcpy(s->name, name, len + 1);
	s->len = (unsigned char)len;
	s->ino = ino;
	s->type = type;
	s->seen = true;
	s->cookie = x->next_cookie++;
	if (x->count == x->cap)
		index_grow(x);
	x->cookies[x->count] = s->cookie;
	x->slots[x->count++] = s;
	htable_add(&x->names, &s->node, slot_hash(name));
	return s;
}

static void index_sweep(struct ov_index *x)
{
	size_t to = 0;

	if (x->dead < 64 || x->dead < x->count / 2)
		return;
	for (size_t i = 0; i < x->count; i++) {
		if (!x->slots[i])
			continue;
		x->slots[to] = x->slots[i];
		x->cookies[to++] = x->cookies[i];
	}
	x->count = to;
	x->dead = 0;
}

static void slot_kill(struct ov_index *x, struct ov_slot *s)
{
	size_t i = slot_after(x, s->cookie - 1);

	BUG_ON(i >= x->count || x->slots[i] != s);
	htable_del(&x->names, &s->node);
	free(s);
	x->slots[i] = NULL;
	x->dead++;
}

void ov_index_free(struct ov_node *dir)
{
	struct ov_index *x = dir->dir->index;

	if (!x)
		return;
	for (size_t i = 0; i < x->count; i++)
		free(x->slots[i]);
	free(x->slots);
	free(x->cookies);
	htable_fini(&x->names);
	free(x);
	dir->dir->index = NULL;
}

void ov_index_add(struct ov_node *dir, const char *name,
		  const struct inode *child)
{
	struct ov_index *x = dir->dir->index;

	struct ov_slot *s;

	if (!x || slot_find(x, name))
		return;
	s = slot_add(x, name, child->ino, (unsigned char)IFTODT(child->type));
	if (s)
		s->lower = dir->ov->direct;
}

void ov_index_del(struct ov_node *dir, const char *name)
{
	struct ov_index *x = dir->dir->index;
	struct ov_slot *s = x ? slot_find(x, name) : NULL;

	if (!s)
		return;
	slot_kill(x, s);
	index_sweep(x);
}

void ov_index_stale(struct ov_node *dir)
{
	if (dir->dir->index)
		dir->dir->index->stale = true;
}

/* ---- the lower ------------------------------------------------------- */

static unsigned char lower_type(struct ov_node *dir, const struct dirent *e)
{
	struct stat st;

	if (e->d_type != DT_UNKNOWN)
		return e->d_type;
	if (hostfs_stat(dir->lhost, e->d_name, &st) < 0)
		return DT_UNKNOWN;
	return (unsigned char)IFTODT(st.st_mode);
}

int ov_lower_list(struct ov_node *dir, ov_lower_fn fn, void *arg)
{
	struct dirent *e;
	int fd, ret = hostfs_open_list(dir->lhost, &fd);
	DIR *d;

	if (ret == -EACCES && dir->ov->sb->vfs->cfg.standins)
		return 0;
	if (ret < 0)
		return ret == -ENOENT || ret == -ESTALE ? 0 : ret;
	d = fdopendir(fd);
	if (!d) {
		close(fd);
		return -ENOMEM;
	}
	while (!ret && (e = readdir(d))) {
		unsigned char type = lower_type(dir, e);

		if (!strcmp(e->d_name, ".") || !strcmp(e->d_name, ".."))
			continue;
		if (type == DT_REG || type == DT_DIR || type == DT_LNK)
			ret = fn(arg, e->d_name, e->d_ino, type);
	}
	closedir(d);
	return ret;
}

static int index_lower_step(void *arg, const char *name, ino_t ino,
			    unsigned char type)
{
	struct ov_node *dir = arg;
	struct ov_index *x = dir->dir->index;
	struct ov_slot *s;

	if (ov_entry_find(dir, name))
		return 0;
	s = slot_find(x, name);
	if (s) {
		s->seen = true;
		s->type = type;
		return 0;
	}
	if (ov_lower_closed(dir, name))
		return 0;
	s = slot_add(x, name, ov_lower_ino(dir->ov, dir->lst.st_dev, ino),
		     type);
	if (s)
		s->lower = true;
	return 0;
}

static void index_entries(struct ov_node *dir)
{
	struct ov_dir *d = dir->dir;

	for (size_t i = 0; i <= d->entries.mask; i++) {
		struct hnode *h = d->entries.buckets[i];

		for (; h; h = h->next) {
			struct ov_entry *e =
				container_of(h, struct ov_entry, node);

			if (e->child)
				ov_index_add(dir, e->name, e->child->inode);
		}
	}
}

static int index_lower(struct ov_node *dir)
{
	struct ov_index *x = dir->dir->index;

	if (!dir->has_lower || dir->dir->opaque)
		return 0;
	x->stale = false;
	x->lower_mtime = dir->lst.st_mtim;
	x->lower_ctime = dir->lst.st_ctim;
	return ov_lower_list(dir, index_lower_step, dir);
}

static int index_make(struct ov_node *dir)
{
	struct ov_index *x = xcalloc(1, sizeof(*x));
	int ret;

	x->next_cookie = 1;
	htable_init(&x->names);
	dir->dir->index = x;
	ret = index_lower(dir);
	if (ret < 0) {
		ov_index_free(dir);
		return ret;
	}
	index_entries(dir);
	return 0;
}

static bool ts_differ(struct timespec a, struct timespec b)
{
	return a.tv_sec != b.tv_sec || a.tv_nsec != b.tv_nsec;
}

/* The host's directory changed: new names at the end, lost ones dead. */
static int index_revise(struct vfs_ctx *ctx, struct ov_node *dir)
{
	struct ov_index *x = dir->dir->index;
	int ret;

	ov_attributes(ctx, dir);
	if (!x->stale && !ts_differ(x->lower_mtime, dir->lst.st_mtim) &&
	    !ts_differ(x->lower_ctime, dir->lst.st_ctim))
		return 0;
	for (size_t i = 0; i < x->count; i++)
		if (x->slots[i])
			x->slots[i]->seen = !x->slots[i]->lower;
	ret = index_lower(dir);
	if (ret < 0)
		return ret;
	for (size_t i = 0; i < x->count; i++)
		if (x->slots[i] && !x->slots[i]->seen &&
		    !ov_entry_find(dir, x->slots[i]->name))
			slot_kill(x, x->slots[i]);
	return 0;
}

int ov_readdir(struct vfs_ctx *ctx, struct inode *inode, off_t *pos,
	       vfs_dirent_fn fn, void *arg)
{
	struct ov_node *dir = ov_node(inode);
	struct ov_index *x;
	int ret = 0;

	if (!*pos && ov_dir_lost(dir))
		return -ENOENT;
	if (!dir->dir->index)
		ret = index_make(dir);
	else if (!*pos && dir->has_lower && dir->lhost->changes)
		ret = index_revise(ctx, dir);
	if (ret < 0)
		return ret;
	x = dir->dir->index;
	for (size_t i = slot_after(x, (uint64_t)*pos); i < x->count; i++) {
		struct ov_slot *s = x->slots[i];

		if (!s)
			continue;
		if (fn(arg, s->name, s->len, s->ino, s->type, (off_t)s->cookie))
			break;
		*pos = (off_t)s->cookie;
	}
	return 0;
}
