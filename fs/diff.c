/*
 * diff.c - which names the overlays changed against their lower trees.
 *
 * Walks the nodes that have state, not the trees. Paths are virtual ones of
 * now; `lower` is where the host has the old version. A deleted or renamed
 * directory is one record, and what follows from it further ones, marked as
 * `inside`; what changed inside a renamed one is told under its new name. A
 * file that was opened for writing and holds the same bytes as before is no
 * change; times alone are none either.
 *
 * LIMIT: a single host file that is a mount of its own is not listed.
 */
#include "diff_priv.h"

#include <fcntl.h>

/* A lower object that stands under another name, by (dev, ino); a directory
 * node by its lower directory. */
struct seen {
	struct hnode node;
	struct ov_node *n;
};

static void diff_later(struct diff *d, const struct change *parent,
		       struct ov_node *n, struct hostdir *lower, bool gone)
{
	struct diff_todo *t;

	if (d->todo_count == d->todo_cap) {
		d->todo_cap = d->todo_cap ? d->todo_cap * 2 : 16;
		d->todo = realloc(d->todo, d->todo_cap * sizeof(*d->todo));
		BUG_ON(!d->todo);
	}
	if (n)
		inode_get(n->inode);
	t = &d->todo[d->todo_count++];
	*t = (struct diff_todo){
		.parent = (size_t)(parent - d->out->all),
		.node = n,
		.lower = hostdir_get(lower),
		.gone = gone,
	};
}

/* ---- what moved ------------------------------------------------------ */

static struct hostdir *lower_parent(const struct ov_node *n)
{
	return S_ISDIR(n->inode->type) ? n->lhost->parent : n->lhost;
}

static const char *lower_name(const struct ov_node *n)
{
	return S_ISDIR(n->inode->type) ? n->lhost->name : n->lname;
}

/* The lower directory at dir's virtual place; counted or NULL. */
static struct hostdir *diff_under(struct diff *d, const struct ov_node *dir)
{
	const struct ov_node *chain[1024];
	struct hostdir *h = d->ov->root->lhost;
	size_t count = 0;

	for (const struct ov_node *n = dir; n != d->ov->root; n = n->parent) {
		if (!n->parent || count == ARRAY_SIZE(chain) || n->standin)
			return NULL;
		chain[count++] = n;
	}
	if (!h || !S_ISDIR(d->ov->root->inode->type))
		return NULL;
	h = hostdir_get(h);
	while (h && count--) {
		struct hostdir *next = NULL;
		struct stat st;

		if (!hostfs_stat(h, chain[count]->name, &st) &&
		    S_ISDIR(st.st_mode))
			next = hostdir_child(h, chain[count]->name, &st);
		hostdir_put(h);
		h = next;
	}
	return h;
}

static struct ov_node *diff_origin(struct diff *d, const struct hostdir *h)
{
	struct hnode *p = htable_first(&d->origin, hash_u64((uintptr_t)h, 3));

	for (; p; p = htable_next(p)) {
		struct seen *s = container_of(p, struct seen, node);

		if (s->n->lhost == h)
			return s->n;
	}
	return NULL;
}

/* A node of the lower that stands somewhere else: is its old name gone? */
static bool diff_moved(struct diff *d, const struct ov_node *n)
{
	struct ov_node *dir = diff_origin(d, lower_parent(n));
	struct ov_entry *e;

	if (!dir)
		return false;
	if (!dir->nlink)
		return true;
	e = ov_entry_find(dir, lower_name(n));
	return e && e->child != n;
}

/* Does the lower's object live on under another name? */
static bool diff_lives(struct diff *d, const struct stat *st)
{
	struct hnode *p =
		htable_first(&d->moved, hash_u64(st->st_ino, st->st_dev));

	for (; p; p = htable_next(p)) {
		struct seen *s = container_of(p, struct seen, node);

		if (s->n->lst.st_ino == st->st_ino &&
		    s->n->lst.st_dev == st->st_dev && diff_moved(d, s->n))
			return true;
	}
	return false;
}

/* ---- one name -------------------------------------------------------- */

static void diff_whiteout(struct diff *d, struct ov_node *dir,
			  const struct diff_old *old, struct ov_entry *e)
{
	struct change *c;

	if (diff_lives(d, old->st))
		return;
	c = diff_record(d, VFS_DELETED, dir, e->name, NULL, old, e);
	if (c && e->gone)
		diff_later(d, c, e->gone, e->gone->lhost, true);
}

/* What the host has at the place to which something was renamed. */
static void diff_replaced(struct diff *d, struct ov_node *dir,
			  const struct diff_old *old, const struct ov_entry *e)
{
	struct change *c;

	if (diff_lives(d, old->st))
		return;
	c = diff_record(d, VFS_DELETED, dir, e->name, NULL, old, e);
	if (!c)
		return;
	c->inside = true;
	if (e->gone)
		diff_later(d, c, e->gone, e->gone->lhost, true);
}

static void diff_rename(struct diff *d, struct ov_node *dir,
			const struct diff_old *at, struct ov_entry *e)
{
	struct ov_node *n = e->child;
	struct diff_old from = {lower_parent(n), lower_name(n), &n->lst};
	struct change *c;

	c = diff_record(d, VFS_RENAMED, dir, e->name, n, &from, e);
	if (!c)
		return;
	if (S_ISDIR(n->inode->type) && (d->flags & CHANGES_IN_RENAMED))
		diff_later(d, c, n, n->lhost, false);
	if (at)
		diff_replaced(d, dir, at, e);
}

/* The lower directory that was removed where dir stands now, or NULL. */
static struct ov_node *diff_gone_of(const struct ov_node *dir)
{
	const struct ov_entry *e;
	struct ov_node *above;

	if (!dir->parent || dir->has_lower)
		return NULL;
	e = ov_entry_find(dir->parent, dir->name);
	if (e && e->gone)
		return e->gone;
	above = diff_gone_of(dir->parent);
	e = above ? ov_entry_find(above, dir->name) : NULL;
	return e ? e->gone : NULL;
}

/* What the guest removed with a directory that it made anew. */
static void diff_seen_before(struct change *c, const struct ov_node *dir,
			     const char *name)
{
	const struct ov_node *gone =
		c->has_base == CHANGE_UNSEEN ? diff_gone_of(dir) : NULL;
	const struct ov_entry *e = gone ? ov_entry_find(gone, name) : NULL;

	if (!e || !e->base)
		return;
	c->has_base = CHANGE_SEEN;
	c->base = *e->base;
}

/* A directory made in the place of a lower one. */
static bool diff_is_opaque(const struct diff *d, const struct ov_node *n)
{
	return (d->flags & CHANGES_OPAQUE) && n->dir && !n->has_lower &&
	       !n->standin;
}

static void diff_added(struct diff *d, struct ov_node *dir, struct ov_entry *e)
{
	struct ov_node *n = e->child;
	struct change *c = diff_record(d, VFS_ADDED, dir, e->name, n, NULL, e);

	if (c && n->has_lower && !n->upper && !S_ISDIR(n->inode->type) &&
	    diff_at_home(n, n->lhost, n->lname))
		c->linked = diff_lower_path(d->ov, n->lhost, n->lname, true);
}

/* After an apply the host has what was ours: the same file at its new place,
 * or the same contents. From now on that is what later changes are against. */
static void diff_settle(struct ov_node *n, struct ov_entry *e,
			const struct diff_old *now)
{
	struct hostdir *old = n->lhost;

	if (!n->has_lower || now->st->st_ino != n->lst.st_ino ||
	    now->st->st_dev != n->lst.st_dev ||
	    (now->dir == lower_parent(n) && !strcmp(now->name, lower_name(n))))
		return;
	if (hostfs_stat(lower_parent(n), lower_name(n), &n->lst) == 0 &&
	    n->lst.st_ino == now->st->st_ino)
		return; /* another hard link of it */
	n->lst = *now->st;
	if (S_ISDIR(n->inode->type)) {
		hostdir_moved(old, now->dir, now->name);
	} else {
		n->lhost = hostdir_get(now->dir);
		hostdir_put(old);
		free(n->lname);
		n->lname = xstrdup(now->name);
	}
	ov_base_again(n, e, now->st);
}

static void diff_entry(struct diff *d, struct ov_node *dir,
		       struct hostdir *under, struct ov_entry *e)
{
	struct ov_node *n = e->child;
	struct diff_old old = {under, e->name, NULL};
	struct change *c;
	struct stat st;
	int kind;

	if (under && !hostfs_stat(under, e->name, &st))
		old.st = &st;
	if (!n) {
		if (old.st)
			diff_whiteout(d, dir, &old, e);
		return;
	}
	if (old.st && ov_standin_untouched(n, e, old.st))
		return;
	if (old.st)
		diff_settle(n, e, &old);
	if (n->has_lower && !diff_at_home(n, under, e->name) &&
	    diff_moved(d, n)) {
		diff_rename(d, dir, old.st ? &old : NULL, e);
		return;
	}
	if (!old.st) {
		diff_added(d, dir, e);
		return;
	}
	kind = diff_kind(n, &old);
	if (diff_is_opaque(d, n) && S_ISDIR(st.st_mode))
		kind = VFS_METADATA;
	c = kind ? diff_record(d, (enum vfs_change_kind)kind, dir, e->name, n,
			       &old, e)
		 : NULL;
	if (c)
		diff_seen_before(c, dir, e->name);
	else if (n->upper)
		ov_base_again(n, e, &st);
	if (c && kind == VFS_METADATA)
		c->opaque = diff_is_opaque(d, n);
	if (c && kind == VFS_TYPE && e->gone)
		diff_later(d, c, e->gone, e->gone->lhost, true);
}

/* A new directory in the place of a lower one: what is missing in it. */
struct missing {
	struct diff *d;
	struct ov_node *dir;
	struct hostdir *under;
	const struct ov_node *gone; /* what stood there, or NULL */
};

static int diff_missing(void *arg, const char *name, ino_t ino,
			unsigned char type)
{
	struct missing *m = arg;
	struct diff_old old = {m->under, name, NULL};
	const struct ov_entry *e = NULL;
	struct change *c;
	struct stat st;

	(void)ino;
	(void)type;
	if (ov_entry_find(m->dir, name) || hostfs_stat(m->under, name, &st) < 0)
		return 0;
	if (diff_lives(m->d, &st))
		return 0;
	old.st = &st;
	if (m->gone)
		e = ov_entry_find(m->gone, name);
	c = diff_record(m->d, VFS_DELETED, m->dir, name, NULL, &old, e);
	if (c && e && e->gone)
		diff_later(m->d, c, e->gone, e->gone->lhost, true);
	return 0;
}

static int diff_unknown_name(void *arg, const char *name, ino_t ino,
			     unsigned char type)
{
	(void)ino;
	(void)type;
	return ov_entry_find(arg, name) ? 0 : 1;
}

/* A directory made here is on the host by now, with nothing in it that we do
 * not have a name for: it becomes the lower of ours. */
static void diff_adopt(struct ov_node *dir)
{
	struct ov_node fake = {.ov = dir->ov};
	struct hostdir *h;
	struct stat st;

	if (!dir->parent || !dir->parent->has_lower ||
	    hostfs_stat(dir->parent->lhost, dir->name, &st) < 0 ||
	    !S_ISDIR(st.st_mode) || ov_lower_find(dir->parent, &st))
		return;
	h = hostdir_child(dir->parent->lhost, dir->name, &st);
	fake.lhost = h;
	if (ov_lower_list(&fake, diff_unknown_name, dir) != 0) {
		hostdir_put(h);
		return;
	}
	dir->lhost = h;
	dir->has_lower = true;
	dir->lst = st;
	dir->dir->opaque = false;
	changes_ident(&dir->base, &st);
	ov_lower_rehash(dir);
}

static int diff_dir(struct diff *d, struct ov_node *dir)
{
	struct hostdir *home = NULL, *under = NULL;
	struct ov_dir *od = dir->dir;
	int ret = 0;

	if (!dir->has_lower && !dir->standin && !(d->flags & CHANGES_OPAQUE))
		diff_adopt(dir);
	/* In a moved directory names are compared with its own origin. */
	home = dir->has_lower ? hostdir_get(dir->lhost) : NULL;
	under = home || diff_is_opaque(d, dir) ? home : diff_under(d, dir);
	for (size_t i = 0; i <= od->entries.mask; i++) {
		struct hnode *h = od->entries.buckets[i];

		for (; h; h = h->next)
			diff_entry(d, dir, under,
				   container_of(h, struct ov_entry, node));
	}
	if (!home && under) {
		struct missing m = {d, dir, under, diff_gone_of(dir)};
		struct ov_node fake = {.lhost = under, .ov = d->ov};

		ret = ov_lower_list(&fake, diff_missing, &m);
	}
	if (under)
		hostdir_put(under);
	return ret;
}

/* A lower object that has changed in its place without an entry. */
static void diff_inplace(struct diff *d, struct ov_node *n)
{
	struct diff_old old;
	struct ov_node *dir;
	struct stat st;
	int kind;

	if (!n->hashed || !n->nlink || !list_empty(&n->names) || !n->meta)
		return;
	old = (struct diff_old){lower_parent(n), lower_name(n), &st};
	if (hostfs_stat(old.dir, old.name, &st) < 0)
		return;
	kind = diff_kind(n, &old);
	if (!kind)
		return;
	dir = S_ISDIR(n->inode->type) ? n->parent : diff_origin(d, n->lhost);
	if (dir)
		diff_record(d, (enum vfs_change_kind)kind, dir,
			    S_ISDIR(n->inode->type) ? n->name : n->lname, n,
			    &old, NULL);
}

/* ---- what follows from a directory's change -------------------------- */

static void diff_inside_gone(struct diff *d, const struct diff_todo *t)
{
	struct ov_dir *od = t->node->dir;

	for (size_t i = 0; i <= od->entries.mask; i++) {
		struct hnode *h = od->entries.buckets[i];

		for (; h; h = h->next) {
			struct ov_entry *e =
				container_of(h, struct ov_entry, node);
			struct stat st;
			struct diff_old old = {t->lower, e->name, &st};
			struct change *c;

			if (!e->base || hostfs_stat(t->lower, e->name, &st) ||
			    diff_lives(d, &st))
				continue;
			c = diff_record_inside(d, VFS_DELETED, t->parent, NULL,
					       &old);
			c->has_base = CHANGE_SEEN;
			c->base = *e->base;
			if (e->gone)
				diff_later(d, c, e->gone, e->gone->lhost, true);
		}
	}
}

struct inside {
	struct diff *d;
	const struct diff_todo t;
};

static int diff_inside_one(void *arg, const char *name, ino_t ino,
			   unsigned char type)
{
	struct inside *in = arg;
	struct ov_node *dir = in->t.node, *n = NULL;
	struct stat st;
	struct diff_old old = {in->t.lower, name, &st};
	struct hostdir *h;
	struct change *c;

	(void)ino;
	(void)type;
	if ((dir && ov_entry_find(dir, name)) ||
	    hostfs_stat(in->t.lower, name, &st) < 0)
		return 0;
	if (dir)
		n = ov_lower_find(dir, &st);
	c = diff_record_inside(in->d, VFS_RENAMED, in->t.parent, n, &old);
	if (!S_ISDIR(st.st_mode))
		return 0;
	h = n ? hostdir_get(n->lhost) : hostdir_child(in->t.lower, name, &st);
	diff_later(in->d, c, n, h, false);
	hostdir_put(h);
	return 0;
}

static int diff_inside(struct diff *d)
{
	int ret = 0;

	for (size_t i = 0; i < d->todo_count; i++) {
		struct inside in = {d, d->todo[i]};
		struct ov_node fake = {.lhost = in.t.lower, .ov = d->ov};

		if (in.t.gone)
			diff_inside_gone(d, &in.t);
		else if (!ret)
			ret = ov_lower_list(&fake, diff_inside_one, &in);
		if (in.t.node)
			inode_put(in.t.node->inode);
		hostdir_put(in.t.lower);
	}
	d->todo_count = 0;
	return ret;
}

/* ---- one overlay ----------------------------------------------------- */

/* Is n a name of its own somewhere that is not its lower place? */
static bool diff_has_moved(const struct ov_node *n)
{
	list_for_each (p, &n->names) {
		struct ov_entry *e = list_entry(p, struct ov_entry, same);

		/* Another lower hard link of it is at home as well. */
		if (!e->dir->has_lower ||
		    !diff_at_home(n, e->dir->lhost, e->name))
			return true;
	}
	return false;
}

static void diff_prepare(struct diff *d)
{
	size_t count = 0;
	struct seen *s;

	list_for_each (p, &d->ov->nodes)
		count += 2;
	d->pool = s = xcalloc(count, sizeof(*s));
	htable_init(&d->moved);
	htable_init(&d->origin);
	list_for_each (q, &d->ov->nodes) {
		struct ov_node *n = list_entry(q, struct ov_node, list);

		if (!n->has_lower)
			continue;
		if (n->dir) {
			s->n = n;
			htable_add(&d->origin, &s++->node,
				   hash_u64((uintptr_t)n->lhost, 3));
		}
		if (n->nlink && n != d->ov->root && diff_has_moved(n)) {
			s->n = n;
			htable_add(&d->moved, &s++->node,
				   hash_u64(n->lst.st_ino, n->lst.st_dev));
		}
	}
}

static int diff_nodes(struct diff *d)
{
	int ret = 0;

	list_for_each (p, &d->ov->nodes) {
		struct ov_node *n = list_entry(p, struct ov_node, list);

		if (n->dir && n->nlink && (n == d->ov->root || n->parent))
			ret = diff_dir(d, n);
		if (n != d->ov->root && n->has_lower)
			diff_inplace(d, n);
		if (ret < 0)
			return ret;
	}
	ret = diff_links(d);
	if (ret < 0)
		return ret;
	return diff_inside(d);
}

static int diff_overlay(struct diff *d)
{
	int ret;

	diff_prepare(d);
	ret = diff_nodes(d);
	htable_fini(&d->moved);
	htable_fini(&d->origin);
	free(d->pool);
	free(d->todo);
	d->todo = NULL;
	d->todo_count = d->todo_cap = 0;
	return ret;
}

/* ---- all ------------------------------------------------------------- */

static bool diff_is_marked(const struct change *c, void *arg)
{
	(void)arg;
	return c->kind != 0;
}

/* What follows from a directory's rename gives way to a record of its own. */
static void diff_drop_twins(struct change_source *src, struct change_list *l)
{
	for (size_t i = 1; i < l->count; i++) {
		struct change *a = &l->all[i - 1], *b = &l->all[i];

		if (strcmp(a->path, b->path) != 0 || a->inside == b->inside ||
		    a->kind == VFS_DELETED || b->kind == VFS_DELETED)
			continue;
		(a->inside ? a : b)->kind = 0;
	}
	changes_filter(src, l, diff_is_marked, NULL);
	changes_sort(l);
}

static int diff_load(struct change_source *src, unsigned flags,
		     struct change_list *out)
{
	struct diff d = {.vfs = src->arg, .flags = flags, .out = out};
	int ret = 0;

	list_for_each (p, store_overlays(vfs_store(d.vfs))) {
		d.ov = list_entry(p, struct ov, list);
		if (!ret && d.ov->has_lower && !d.ov->direct)
			ret = diff_overlay(&d);
	}
	changes_sort(out);
	diff_drop_twins(src, out);
	diff_groups(out);
	return ret;
}

void changes_from_vfs(struct change_source *src, struct vfs *vfs)
{
	*src = (struct change_source){
		.load = diff_load,
		.open_old = diff_open_old,
		.open_new = diff_open_new,
		.forget = diff_forget,
		.arg = vfs,
	};
}

int vfs_diff(struct vfs *vfs, vfs_change_fn fn, void *arg)
{
	struct change_source src;
	struct change_list list;
	int ret;

	changes_from_vfs(&src, vfs);
	ret = changes_load(&src, 0, &list);
	for (size_t i = 0; !ret && i < list.count; i++) {
		const struct change *c = &list.all[i];
		struct vfs_change v = {
			.kind = c->kind,
			.path = c->path,
			.old_path = c->kind == VFS_RENAMED ? c->lower : NULL,
			.mode = c->new.mode,
			.size = c->new.size,
			.old_size = c->old.size,
		};

		if (!c->inside)
			ret = fn(arg, &v);
	}
	changes_free(&src, &list);
	return ret;
}
