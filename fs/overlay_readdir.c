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
	bool blocked; /* lies in ov_index.blocks */
	unsigned char len;
	char name[];
};

/* Slots of a first listing, which come in hundreds: they go with the index. */
struct ov_block {
	struct ov_block *next;
	size_t left; /* bytes behind what is used */
	char *at;
};

struct ov_index {
	struct htable names;
	struct ov_slot **slots; /* by cookie; NULL: dead */
	size_t count, cap, dead;
	uint64_t next_cookie;
	uint64_t *cookies; /* of slots[], the dead ones' too */
	struct timespec lower_mtime, lower_ctime;
	bool stale;		 /* the host has told of changes since */
	struct ov_block *blocks; /* the one in use first */
};

static uint64_t slot_hash(const char *name)
{
	return hash_bytes(name, strlen(name), 13);
}

static size_t slot_size(size_t len)
{
	const size_t align = _Alignof(struct ov_slot) - 1;

	return (offsetof(struct ov_slot, name) + len + 1 + align) & ~align;
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

static void block_add(struct ov_index *x, size_t size)
{
	struct ov_block *b = xmalloc(sizeof(*b) + size);

	b->next = x->blocks;
	b->left = size;
	b->at = (char *)(b + 1);
	x->blocks = b;
}

static struct ov_slot *slot_new(struct ov_index *x, size_t len)
{
	size_t size = slot_size(len);
	struct ov_block *b = x->blocks;
	struct ov_slot *s;

	if (!b || b->left < size)
		return xcalloc(1, size);
	s = (struct ov_slot *)b->at;
	b->at += size;
	b->left -= size;
	*s = (struct ov_slot){.blocked = true};
	return s;
}

static void slot_free(struct ov_slot *s)
{
	if (s && !s->blocked)
		free(s);
}

static struct ov_slot *slot_add(struct ov_index *x, const char *name,
				uint64_t ino, unsigned char type)
{
	size_t len = strlen(name);
	struct ov_slot *s;

	if (len > NAME_LEN_MAX)
		return NULL;
	s = slot_new(x, len);
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
	slot_free(s);
	x->slots[i] = NULL;
	x->dead++;
}

void ov_index_free(struct ov_node *dir)
{
	struct ov_index *x = dir->dir->index;

	if (!x)
		return;
	for (size_t i = 0; i < x->count; i++)
		slot_free(x->slots[i]);
	while (x->blocks) {
		struct ov_block *b = x->blocks;

		x->blocks = b->next;
		free(b);
	}
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

enum { LISTING_SIZE = 32 << 10 };

struct listing {
	struct ov_node *dir;
	int fd;
	bool lent; /* fd is the host directory's own */
	size_t len, at;
	char *buf; /* struct dirent64, as the kernel gave them; owned */
};

static void listing_fini(struct listing *l)
{
	if (!l->lent)
		auto_close_fd(&l->fd);
	free(l->buf);
}

/* 0: there is nothing to read. near: for its names no other directory of the
 * host is opened meanwhile. */
static int listing_open(struct listing *l, struct ov_node *dir, bool near)
{
	int ret = 0;

	l->fd = near ? hostdir_fd_list(dir->lhost) : -1;
	l->lent = l->fd >= 0;
	if (!l->lent)
		ret = hostfs_open_list(dir->lhost, &l->fd);

	if (ret == -EACCES && dir->ov->sb->vfs->cfg.standins)
		return 0;
	if (ret < 0)
		return ret == -ENOENT || ret == -ESTALE ? 0 : ret;
	l->dir = dir;
	l->buf = xmalloc(LISTING_SIZE);
	return 1;
}

/* 1: there are more; they are in buf. What cannot be read ends it. */
static int listing_more(struct listing *l)
{
	ssize_t n = getdents64(l->fd, l->buf, LISTING_SIZE);

	l->at = 0;
	l->len = n > 0 ? (size_t)n : 0;
	return n > 0;
}

static unsigned char listed_type(struct ov_node *dir, const struct dirent64 *e)
{
	struct stat st;

	if (e->d_type != DT_UNKNOWN)
		return e->d_type;
	if (hostfs_stat(dir->lhost, e->d_name, &st) < 0)
		return DT_UNKNOWN;
	return (unsigned char)IFTODT(st.st_mode);
}

static bool is_dots(const char *name)
{
	return name[0] == '.' && (!name[1] || (name[1] == '.' && !name[2]));
}

/* The next of what was read that is ever shown, or NULL. */
static const struct dirent64 *listing_next(struct listing *l,
					   unsigned char *type)
{
	while (l->at < l->len) {
		const struct dirent64 *e =
			(const struct dirent64 *)(l->buf + l->at);

		l->at += e->d_reclen;
		if (is_dots(e->d_name))
			continue;
		*type = listed_type(l->dir, e);
		if (*type == DT_REG || *type == DT_DIR || *type == DT_LNK)
			return e;
	}
	return NULL;
}

int ov_lower_list(struct ov_node *dir, ov_lower_fn fn, void *arg)
{
	struct listing l = {.fd = -1};
	const struct dirent64 *e;
	unsigned char type;
	int ret = listing_open(&l, dir, false);

	if (ret <= 0)
		return ret;
	ret = 0;
	while (!ret && listing_more(&l))
		while (!ret && (e = listing_next(&l, &type)))
			ret = fn(arg, e->d_name, e->d_ino, type);
	listing_fini(&l);
	return ret;
}

static void index_lower_one(struct ov_node *dir, const char *name, ino_t ino,
			    unsigned char type)
{
	struct ov_index *x = dir->dir->index;
	struct ov_slot *s;

	if (ov_entry_find(dir, name))
		return;
	s = slot_find(x, name);
	if (s) {
		s->seen = true;
		s->type = type;
		return;
	}
	if (ov_lower_closed(dir, name))
		return;
	s = slot_add(x, name, ov_lower_ino(dir->ov, dir->lst.st_dev, ino),
		     type);
	if (s)
		s->lower = true;
}

/* What was read takes at most so much as slots. */
static size_t listing_slots(const struct listing *l)
{
	size_t size = 0, at;

	for (at = l->at; at < l->len;) {
		const struct dirent64 *e =
			(const struct dirent64 *)(l->buf + at);

		size += slot_size(strlen(e->d_name));
		at += e->d_reclen;
	}
	return size;
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

/* first: few of the names are known. */
static int index_lower(struct ov_node *dir, bool first)
{
	struct ov_index *x = dir->dir->index;
	struct listing l = {.fd = -1};
	const struct dirent64 *e;
	unsigned char type;
	int ret;

	if (!dir->has_lower || dir->dir->opaque)
		return 0;
	x->stale = false;
	x->lower_mtime = dir->lst.st_mtim;
	x->lower_ctime = dir->lst.st_ctim;
	ret = listing_open(&l, dir, true);
	if (ret <= 0)
		return ret;
	while (listing_more(&l)) {
		if (first)
			block_add(x, listing_slots(&l));
		while ((e = listing_next(&l, &type)))
			index_lower_one(dir, e->d_name, e->d_ino, type);
	}
	listing_fini(&l);
	return 0;
}

static int index_make(struct ov_node *dir)
{
	struct ov_index *x = xcalloc(1, sizeof(*x));
	int ret;

	x->next_cookie = 1;
	htable_init(&x->names);
	dir->dir->index = x;
	ret = index_lower(dir, true);
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
	ret = index_lower(dir, false);
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
