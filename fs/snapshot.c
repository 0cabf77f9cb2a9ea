/*
 * snapshot.c - taking a snapshot and writing its bytes; see snapshot.h.
 *
 * Which nodes: those that have state of their own (in an entry, pinned, or a
 * removed directory that its whiteout knows), and the directories above them,
 * by their place and by where the host has them. Files that have no name any
 * more are no part of it, though they may be open.
 */
#include "snapshot_priv.h"

#include "core.h"

#include <fcntl.h>

struct dirnum {
	struct hnode node;
	const struct hostdir *dir;
	uint32_t number;
	struct ov_node *n; /* in homes: whose it is */
};

struct writer {
	struct snapshot *s;
	struct strbuf out, hostdirs, layerdirs, nodes, entries;
	struct htable numbers;	 /* dirnum, of one overlay */
	struct htable homes;	 /* the host's directories that have nodes */
	struct ov_node **listed; /* in order */
	size_t count, cap;
	const void **chain; /* of a walk upwards; trees are deep */
	size_t chain_cap;
	struct snap_overlay head;
};

static void chain_add(struct writer *w, size_t at, const void *p)
{
	if (at == w->chain_cap) {
		w->chain_cap = at ? 2 * at : 64;
		w->chain = realloc(w->chain, w->chain_cap * sizeof(*w->chain));
		BUG_ON(!w->chain);
	}
	w->chain[at] = p;
}

/* ---- writing --------------------------------------------------------- */

static void put_bytes(struct strbuf *b, const void *data, size_t len)
{
	uint32_t n = (uint32_t)len;

	strbuf_add(b, &n, sizeof(n));
	if (len)
		strbuf_add(b, data, len);
}

static void put_text(struct strbuf *b, const char *s)
{
	put_bytes(b, s, strlen(s));
}

static struct dirnum *dirnum_find(struct htable *t, const struct hostdir *dir)
{
	struct hnode *h = htable_first(t, hash_u64((uintptr_t)dir, 5));

	for (; h; h = htable_next(h)) {
		struct dirnum *d = container_of(h, struct dirnum, node);

		if (d->dir == dir)
			return d;
	}
	return NULL;
}

static struct dirnum *dirnum_add(struct htable *t, const struct hostdir *dir,
				 uint32_t number)
{
	struct dirnum *d = xcalloc(1, sizeof(*d));

	d->dir = dir;
	d->number = number;
	htable_add(t, &d->node, hash_u64((uintptr_t)dir, 5));
	return d;
}

static void dirnums_free(struct htable *t)
{
	for (size_t i = 0; i <= t->mask; i++)
		while (t->buckets[i]) {
			struct dirnum *d = container_of(t->buckets[i],
							struct dirnum, node);

			htable_del(t, &d->node);
			free(d);
		}
	htable_fini(t);
}

/* The directories above that have no number yet, the deepest first. */
static size_t dirs_unknown(struct writer *w, const struct hostdir *dir)
{
	size_t n = 0;

	for (; !dirnum_find(&w->numbers, dir); dir = dir->parent)
		chain_add(w, n++, dir);
	return n;
}

static uint32_t number_of(struct writer *w, const struct hostdir *dir)
{
	return dirnum_find(&w->numbers, dir)->number;
}

static uint32_t put_hostdir(struct writer *w, const struct hostdir *dir)
{
	for (size_t n = dirs_unknown(w, dir); n--;) {
		const struct hostdir *d = w->chain[n];
		struct snap_hostdir r = {
			.dev = d->dev,
			.ino = d->ino,
			.born = d->born,
			.changes = d->changes,
			.parent = number_of(w, d->parent),
		};

		dirnum_add(&w->numbers, d, ++w->head.nhostdirs);
		strbuf_add(&w->hostdirs, &r, sizeof(r));
		put_text(&w->hostdirs, d->name);
	}
	return number_of(w, dir);
}

static uint32_t put_layerdir(struct writer *w, const struct hostdir *dir)
{
	for (size_t n = dirs_unknown(w, dir); n--;) {
		const struct hostdir *d = w->chain[n];
		struct snap_layerdir r = {
			.ino = d->ino,
			.parent = number_of(w, d->parent),
		};

		dirnum_add(&w->numbers, d,
			   (uint32_t)w->s->nlayers + w->head.nlayerdirs++);
		strbuf_add(&w->layerdirs, &r, sizeof(r));
		put_text(&w->layerdirs, d->name);
	}
	return number_of(w, dir);
}

/* ---- which nodes ----------------------------------------------------- */

static void list_one(struct writer *w, struct ov_node *n)
{
	if (w->count == w->cap) {
		w->cap = w->cap ? 2 * w->cap : 256;
		w->listed = realloc(w->listed, w->cap * sizeof(*w->listed));
		BUG_ON(!w->listed);
	}
	w->listed[w->count++] = n;
	n->number = (uint32_t)w->count;
}

static void list_with_parents(struct writer *w, struct ov_node *n)
{
	size_t count = 0;

	for (; n && !n->number; n = n->parent)
		chain_add(w, count++, n);
	while (count--)
		list_one(w, (struct ov_node *)(uintptr_t)w->chain[count]);
}

static bool has_state(const struct ov_node *n)
{
	return n->nlink && (n->pinned || !list_empty(&n->names));
}

/* Of a file that was changed in its place its directory is needed, so that
 * both know the host's directory as one. */
static void list_home(struct writer *w, const struct ov_node *n)
{
	struct dirnum *d = n->lhost ? dirnum_find(&w->homes, n->lhost) : NULL;

	if (d)
		list_with_parents(w, d->n);
}

static void list_gone(struct writer *w, struct ov_node *dir)
{
	struct htable *t = &dir->dir->entries;

	for (size_t i = 0; i <= t->mask; i++)
		for (struct hnode *h = t->buckets[i]; h; h = h->next) {
			struct ov_node *g =
				container_of(h, struct ov_entry, node)->gone;

			if (g && !g->number)
				list_one(w, g);
		}
}

static void list_nodes(struct writer *w, struct ov *ov)
{
	htable_init(&w->homes);
	list_for_each (p, &ov->nodes) {
		struct ov_node *n = list_entry(p, struct ov_node, list);

		n->number = 0;
		if (n->dir && n->has_lower && (n == ov->root || n->parent))
			dirnum_add(&w->homes, n->lhost, 0)->n = n;
	}
	w->count = 0;
	list_one(w, ov->root);
	list_for_each (q, &ov->nodes) {
		struct ov_node *n = list_entry(q, struct ov_node, list);

		if (!has_state(n))
			continue;
		if (!n->dir)
			list_home(w, n);
		list_with_parents(w, n);
	}
	for (size_t i = 0; i < w->count; i++)
		if (w->listed[i]->dir)
			list_gone(w, w->listed[i]);
	dirnums_free(&w->homes);
}

/* ---- one node -------------------------------------------------------- */

static uint32_t node_flags(const struct ov_node *n, const struct ov_src *src)
{
	const struct {
		bool is;
		uint32_t flag;
	} all[] = {
		{n->has_lower, SNAP_HAS_LOWER},
		{n->upper, SNAP_UPPER},
		{n->meta, SNAP_META},
		{n->pinned || n->dir, SNAP_PINNED},
		{n->hashed, SNAP_HASHED},
		{n->setid_armed, SNAP_SETID_ARMED},
		{n->setgid_stranger, SNAP_SETGID_STRANGER},
		{n->xattr_own, SNAP_XATTR_OWN},
		{n->dir && n->dir->opaque, SNAP_OPAQUE},
		{n->standin, SNAP_STANDIN},
		{n->inode->gone, SNAP_GONE},
		{n->target != NULL, SNAP_TARGET},
		{src != NULL, SNAP_SRC},
		{src && src->loaded, SNAP_LOADED},
		{dentry_origin(n->inode) != NULL, SNAP_ORIGIN},
		{n->base.mode != 0, SNAP_NODE_BASE},
	};
	uint32_t flags = 0;

	for (size_t i = 0; i < ARRAY_SIZE(all); i++)
		if (all[i].is)
			flags |= all[i].flag;
	return flags;
}

/* Of what stays where it is the object has the times. */
static void node_times(struct snap_node *r, struct ov_node *n)
{
	struct stat st;

	r->atime = n->atime;
	r->mtime = n->mtime;
	r->ctime = n->ctime;
	r->ctime_mark = n->ctime_mark;
	if (!n->snap || ov_object_stat(n, &st) < 0)
		return;
	r->atime = st.st_atim;
	r->mtime = st.st_mtim;
	r->ctime = ov_ctime(n, st.st_ctim);
}

static void put_xattrs(struct strbuf *b, const struct ov_node *n)
{
	list_for_each (p, &n->xattrs) {
		struct ov_xattr *x = list_entry(p, struct ov_xattr, list);

		put_text(b, x->name);
		put_bytes(b, x->value, x->size);
	}
}

static uint32_t xattr_count(const struct ov_node *n)
{
	uint32_t count = 0;

	list_for_each (p, &n->xattrs)
		count++;
	return count;
}

static void put_src(struct writer *w, const struct ov_src *src)
{
	struct snap_src r = {
		.ino = src->ino,
		.size = src->size,
		.blocks = src->blocks,
		.dir = put_layerdir(w, src->dir),
	};

	strbuf_add(&w->nodes, &r, sizeof(r));
	put_text(&w->nodes, src->name);
}

static void put_node(struct writer *w, struct ov_node *n)
{
	const struct ov_src *src = n->snap ? n->snap : n->src;
	struct snap_node r = {
		.ino = n->inode->ino,
		.nlink = n->nlink,
		.rdev = n->rdev,
		.flags = node_flags(n, src),
		.mode = n->inode->type | n->inode->mode,
		.uid = n->inode->uid,
		.gid = n->inode->gid,
		.writer = n->writer,
		.parent = n->parent ? n->parent->number : 0,
		.nxattrs = xattr_count(n),
		.btime = n->btime,
	};

	if (n->has_lower)
		r.lhost = put_hostdir(w, n->lhost);
	node_times(&r, n);
	strbuf_add(&w->nodes, &r, sizeof(r));
	if (r.parent)
		put_text(&w->nodes, n->name);
	if (n->has_lower) {
		struct snap_lower l = {.lst = n->lst, .born = n->lborn};

		strbuf_add(&w->nodes, &l, sizeof(l));
	}
	if (n->has_lower && !n->dir)
		put_text(&w->nodes, n->lname);
	if (r.flags & SNAP_NODE_BASE)
		strbuf_add(&w->nodes, &n->base, sizeof(n->base));
	if (n->target)
		put_text(&w->nodes, n->target);
	if (src)
		put_src(w, src);
	put_xattrs(&w->nodes, n);
	if (r.flags & SNAP_ORIGIN)
		put_text(&w->nodes, dentry_origin(n->inode));
	w->head.nnodes++;
}

static void put_entry(struct writer *w, const struct ov_entry *e)
{
	struct snap_entry r = {
		.dir = e->dir->number,
		.child = e->child ? e->child->number : 0,
		.gone = e->gone ? e->gone->number : 0,
		.writer = e->writer,
		.flags = (e->wrote ? SNAP_WROTE : 0u) |
			 (e->standin ? SNAP_ENTRY_STANDIN : 0u) |
			 (e->base ? SNAP_BASE : 0u),
	};

	if (e->child && !r.child)
		return; /* a name in a removed directory */
	strbuf_add(&w->entries, &r, sizeof(r));
	if (e->base)
		strbuf_add(&w->entries, e->base, sizeof(*e->base));
	put_text(&w->entries, e->name);
	w->head.nentries++;
}

static void put_entries(struct writer *w, const struct ov_node *dir)
{
	const struct htable *t = &dir->dir->entries;

	for (size_t i = 0; i <= t->mask; i++)
		for (struct hnode *h = t->buckets[i]; h; h = h->next)
			put_entry(w, container_of(h, struct ov_entry, node));
}

/* ---- all of it ------------------------------------------------------- */

static void move_bytes(struct strbuf *to, struct strbuf *from)
{
	if (from->len)
		strbuf_add(to, from->data, from->len);
	strbuf_reset(from);
}

static void put_overlay(struct writer *w, struct ov *ov)
{
	htable_init(&w->numbers);
	w->head = (struct snap_overlay){
		.next_ino = ov->next_ino,
		.has_lower = ov->has_lower,
		.dev = ov->root->lst.st_dev,
		.ino = ov->root->lst.st_ino,
	};
	if (ov->has_lower)
		dirnum_add(&w->numbers, ov->root->lhost, 0);
	for (size_t i = 0; i < w->s->nlayers; i++)
		dirnum_add(&w->numbers, w->s->layers[i]->root, (uint32_t)i);
	list_nodes(w, ov);
	for (size_t i = 0; i < w->count; i++)
		put_node(w, w->listed[i]);
	for (size_t i = 0; i < w->count; i++)
		if (w->listed[i]->dir)
			put_entries(w, w->listed[i]);
	put_text(&w->out, ov->guest);
	strbuf_add(&w->out, &w->head, sizeof(w->head));
	move_bytes(&w->out, &w->hostdirs);
	move_bytes(&w->out, &w->layerdirs);
	move_bytes(&w->out, &w->nodes);
	move_bytes(&w->out, &w->entries);
	w->s->names += w->head.nentries;
	dirnums_free(&w->numbers);
}

static void put_writers(struct writer *w, struct vfs *vfs)
{
	for (uint32_t i = 1; i <= vfs->nwriters; i++) {
		const char *text = "";
		pid_t pid = 0;

		vfs_writer_get(vfs, i, &pid, &text);
		strbuf_add(&w->out, &pid, sizeof(pid));
		put_text(&w->out, text);
	}
}

/* The layers that something is in now. */
static void hold_layers(struct snapshot *s)
{
	struct list *all = store_layers(vfs_store(s->vfs));
	size_t n = 0;

	list_for_each (p, all)
		n++;
	s->layers = xcalloc(n + 1, sizeof(struct ov_layer *));
	list_for_each (q, all) {
		struct ov_layer *l = list_entry(q, struct ov_layer, link);

		if (l->refs == l->snapshots)
			continue; /* an older snapshot's alone */
		s->layers[s->nlayers++] = layer_get(l);
		l->snapshots++;
	}
}

static bool write_all(struct snapshot *s)
{
	struct writer w = {.s = s};
	struct snap_head head = {
		.magic = SNAP_MAGIC,
		.node_size = sizeof(struct snap_node),
		.nlayers = (uint32_t)s->nlayers,
		.nwriters = s->vfs->nwriters,
	};
	struct strbuf *bufs[] = {&w.out, &w.hostdirs, &w.layerdirs, &w.nodes,
				 &w.entries};
	bool ok = true;

	for (size_t i = 0; i < ARRAY_SIZE(bufs); i++)
		strbuf_init(bufs[i], SNAP_BYTES_MAX);
	list_for_each (p, store_overlays(vfs_store(s->vfs)))
		head.noverlays += !list_entry(p, struct ov, list)->direct;
	strbuf_add(&w.out, &head, sizeof(head));
	put_writers(&w, s->vfs);
	list_for_each (q, store_overlays(vfs_store(s->vfs))) {
		struct ov *ov = list_entry(q, struct ov, list);

		if (!ov->direct)
			put_overlay(&w, ov);
	}
	for (size_t i = 0; i < ARRAY_SIZE(bufs); i++)
		ok = ok && !bufs[i]->truncated;
	s->data = w.out.data;
	s->len = w.out.len;
	w.out.data = NULL;
	for (size_t i = 0; i < ARRAY_SIZE(bufs); i++)
		strbuf_fini(bufs[i]);
	free(w.listed);
	free(w.chain);
	return ok;
}

int snapshot_take(struct vfs *vfs, bool idle, struct snapshot **out)
{
	struct snapshot *s = xcalloc(1, sizeof(*s));
	struct store *store = vfs_store(vfs);
	struct ov_layer *layer = NULL;
	int ret = ov_freeze(store, idle, &layer);

	s->vfs = vfs;
	if (!ret && idle)
		objects_forget(vfs);
	if (!ret) {
		hold_layers(s);
		if (!write_all(s))
			ret = -EFBIG;
		ov_freeze_end(store);
		layer_put(layer);
	}
	if (ret < 0) {
		snapshot_free(s);
		return ret;
	}
	*out = s;
	return 0;
}

void snapshot_free(struct snapshot *s)
{
	if (!s)
		return;
	for (size_t i = 0; i < s->nlayers; i++) {
		s->layers[i]->snapshots--;
		layer_put(s->layers[i]);
	}
	free(s->layers);
	free(s->data);
	free(s);
}

int snapshot_share(const struct snapshot *s, int *fds)
{
	for (size_t i = 0; i < s->nlayers; i++) {
		int ret = layer_share(s->layers[i], &fds[i]);

		if (ret < 0) {
			while (i--)
				close(fds[i]);
			return ret;
		}
	}
	return 0;
}

bool snapshot_is_shared(struct vfs *vfs)
{
	list_for_each (p, store_layers(vfs_store(vfs)))
		if (list_entry(p, struct ov_layer, link)->shared)
			return true;
	return false;
}

/* ---- what nobody needs any more -------------------------------------- */

static void sweep_one(struct vfs *vfs, struct ov_layer *l)
{
	size_t count = 0;
	ino_t *inos = xcalloc(l->refs + 1, sizeof(*inos));

	list_for_each (p, store_overlays(vfs_store(vfs)))
		list_for_each (q, &list_entry(p, struct ov, list)->nodes) {
			struct ov_node *n = list_entry(q, struct ov_node, list);

			if (n->src && n->src->layer == l)
				inos[count++] = n->src->ino;
		}
	layer_sweep(l, inos, count);
}

void snapshot_sweep(struct vfs *vfs)
{
	layer_collect(vfs_store(vfs));
	list_for_each (p, store_layers(vfs_store(vfs))) {
		struct ov_layer *l = list_entry(p, struct ov_layer, link);

		if (layer_is_ours(l))
			sweep_one(vfs, l);
	}
}
