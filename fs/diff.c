/*
 * diff.c - what the overlays changed against their lower trees.
 *
 * Walks the nodes that have state, not the trees. Paths are virtual ones of
 * now; old_path of a rename is where the lower has it. A deleted or renamed
 * directory is one line; what changed inside a renamed one is told under its
 * new name. A file that was opened for writing and holds the same bytes as
 * before is no change; times alone are none either.
 */
#include "overlay_priv.h"

#include <fcntl.h>

struct change {
	struct vfs_change c;
	char *path, *old;
};

/* A lower object that stands under another name, by (dev, ino); a directory
 * node by its lower directory. */
struct seen {
	struct hnode node;
	struct ov_node *n;
};

struct diff {
	struct ov *ov;
	struct seen *pool;
	struct htable moved, origin;
	struct change *list;
	size_t count, cap;
};

static void diff_add(struct diff *d, enum vfs_change_kind kind, char *path,
		     char *old, const struct vfs_change *sizes)
{
	struct change *c;

	if (d->count == d->cap) {
		d->cap = d->cap ? d->cap * 2 : 64;
		d->list = realloc(d->list, d->cap * sizeof(*d->list));
		BUG_ON(!d->list);
	}
	c = &d->list[d->count++];
	c->c = *sizes;
	c->c.kind = kind;
	c->path = path;
	c->old = old;
}

/* guest + "/" + the names from the root down; owned. NULL: not below it. */
static char *path_join(const struct ov *ov, const char **names, size_t count,
		       const char *last)
{
	const char *base = strcmp(ov->guest, "/") ? ov->guest : "";
	size_t len = strlen(base) + 2 + (last ? strlen(last) + 1 : 0);
	char *p, *out;

	for (size_t i = 0; i < count; i++)
		len += strlen(names[i]) + 1;
	out = xmalloc(len);
	p = stpcpy(out, base);
	while (count--) {
		*p++ = '/';
		p = stpcpy(p, names[count]);
	}
	if (last) {
		*p++ = '/';
		p = stpcpy(p, last);
	}
	if (p == out)
		p = stpcpy(p, "/");
	return out;
}

static char *node_path(const struct ov_node *dir, const char *last)
{
	const struct ov *ov = dir->ov;
	const char **names;
	size_t count = 0;
	char *out;

	for (const struct ov_node *n = dir; n != ov->root; n = n->parent) {
		if (!n->parent)
			return NULL; /* removed */
		count++;
	}
	names = xcalloc(count, sizeof(*names));
	count = 0;
	for (const struct ov_node *n = dir; n != ov->root; n = n->parent)
		names[count++] = n->name;
	out = path_join(ov, names, count, last);
	free(names);
	return out;
}

static char *lower_path(const struct ov *ov, const struct hostdir *h,
			const char *last)
{
	const char **names;
	size_t count = 0;
	char *out;

	for (const struct hostdir *p = h; p->parent; p = p->parent)
		count++;
	names = xcalloc(count, sizeof(*names));
	count = 0;
	for (const struct hostdir *p = h; p->parent; p = p->parent)
		names[count++] = p->name;
	out = path_join(ov, names, count, last);
	free(names);
	return out;
}

/* ---- the lower's side ------------------------------------------------ */

static struct hostdir *lower_parent(const struct ov_node *n)
{
	return S_ISDIR(n->inode->type) ? n->lhost->parent : n->lhost;
}

static const char *lower_name(const struct ov_node *n)
{
	return S_ISDIR(n->inode->type) ? n->lhost->name : n->lname;
}

/* Does the lower have this node's data at just this place? */
static bool at_home(const struct ov_node *n, const struct hostdir *under,
		    const char *name)
{
	struct stat st;

	if (!n->has_lower || !under)
		return false;
	if (hostfs_stat((struct hostdir *)under, name, &st) < 0)
		return false;
	return st.st_dev == n->lst.st_dev && st.st_ino == n->lst.st_ino;
}

/* The lower directory at dir's virtual place; counted or NULL. */
static struct hostdir *diff_under(struct diff *d, const struct ov_node *dir)
{
	const struct ov_node *chain[1024];
	struct hostdir *h = d->ov->root->lhost;
	size_t count = 0;

	for (const struct ov_node *n = dir; n != d->ov->root; n = n->parent) {
		if (!n->parent || count == ARRAY_SIZE(chain))
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

static bool same_bytes(int a, int b)
{
	enum { BLOCK = 32768 };
	AUTO_FREE char *x = xmalloc(BLOCK), *y = xmalloc(BLOCK);
	off_t pos = 0;

	for (;;) {
		ssize_t n = pread(a, x, BLOCK, pos);
		ssize_t m = pread(b, y, BLOCK, pos);

		if (n != m || n < 0)
			return false;
		if (!n)
			return true;
		if (memcmp(x, y, (size_t)n) != 0)
			return false;
		pos += n;
	}
}

static int object_open(struct ov_node *n)
{
	const char *name;
	int dirfd;

	if (ov_object_place(n, &dirfd, &name) < 0)
		return -1;
	return openat(dirfd, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
}

/* The file's content against the lower's st at (under, name). */
static bool content_differs(struct ov_node *n, struct hostdir *under,
			    const char *name, const struct stat *st,
			    uint64_t size)
{
	AUTO_CLOSE int a = -1;
	AUTO_CLOSE int b = -1;

	if ((uint64_t)st->st_size != size)
		return true;
	a = object_open(n);
	if (a < 0 || hostfs_open(under, name, O_RDONLY, st, &b) < 0)
		return true;
	return !same_bytes(a, b);
}

static bool link_differs(struct ov_node *n, struct hostdir *under,
			 const char *name)
{
	char a[PATH_LEN_MAX], b[PATH_LEN_MAX];
	ssize_t x = ov_readlink(NULL, n->inode, a, sizeof(a), NULL);
	ssize_t y = hostfs_readlink(under, name, b, sizeof(b));

	return x != y || x < 0 || memcmp(a, b, (size_t)x) != 0;
}

/* ---- one name -------------------------------------------------------- */

static struct vfs_change diff_sizes(struct ov_node *n, const struct stat *old)
{
	struct vfs_change c = {0};
	struct stat st;

	if (n) {
		c.mode = n->inode->type | n->inode->mode;
		if (n->has_lower && !n->upper)
			c.size = (uint64_t)n->lst.st_size;
		else if (n->target)
			c.size = strlen(n->target);
		else if (S_ISREG(n->inode->type) && !ov_object_stat(n, &st))
			c.size = (uint64_t)st.st_size;
	}
	if (old && !S_ISDIR(old->st_mode))
		c.old_size = (uint64_t)old->st_size;
	return c;
}

static bool attr_differs(const struct ov_node *n, const struct stat *st)
{
	return (st->st_mode & 07777) != n->inode->mode ||
	       st->st_uid != n->inode->uid || st->st_gid != n->inode->gid;
}

/* The kind of change of n at (under, name), where the lower has *st. */
static int diff_kind(struct ov_node *n, struct hostdir *under,
		     const char *name, const struct stat *st, uint64_t size)
{
	mode_t type = n->inode->type;

	if ((st->st_mode & S_IFMT) != type)
		return VFS_TYPE;
	if (S_ISREG(type) && (n->upper || !at_home(n, under, name)) &&
	    content_differs(n, under, name, st, size))
		return VFS_MODIFIED;
	if (S_ISLNK(type) && link_differs(n, under, name))
		return VFS_MODIFIED;
	if (!S_ISLNK(type) && attr_differs(n, st))
		return VFS_METADATA;
	return 0;
}

static struct ov_node *diff_origin(struct diff *d, const struct hostdir *h)
{
	struct hnode *p = htable_first(&d->origin,
				       hash_u64((uintptr_t)h, 3));

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

static void diff_entry(struct diff *d, struct ov_node *dir,
		       struct hostdir *under, struct ov_entry *e)
{
	struct ov_node *n = e->child;
	struct vfs_change c;
	struct stat st;
	bool old = under && !hostfs_stat(under, e->name, &st);
	int kind;

	c = diff_sizes(n, old ? &st : NULL);
	if (!n) {
		if (old && !diff_lives(d, &st))
			diff_add(d, VFS_DELETED, node_path(dir, e->name), NULL,
				 &c);
		return;
	}
	if (n->has_lower && !at_home(n, under, e->name) && diff_moved(d, n)) {
		struct vfs_change r = diff_sizes(n, &n->lst);

		diff_add(d, VFS_RENAMED, node_path(dir, e->name),
			 lower_path(d->ov, lower_parent(n), lower_name(n)),
			 &r);
		return;
	}
	kind = old ? diff_kind(n, under, e->name, &st, c.size) : VFS_ADDED;
	if (kind)
		diff_add(d, (enum vfs_change_kind)kind,
			 node_path(dir, e->name), NULL, &c);
}

/* A new directory in the place of a lower one: what is missing in it. */
struct missing {
	struct diff *d;
	struct ov_node *dir;
	struct hostdir *under;
};

static int diff_missing(void *arg, const char *name, ino_t ino,
			unsigned char type)
{
	struct missing *m = arg;
	struct vfs_change c;
	struct stat st;

	(void)ino;
	(void)type;
	if (ov_entry_find(m->dir, name) ||
	    hostfs_stat(m->under, name, &st) < 0)
		return 0;
	c = diff_sizes(NULL, &st);
	diff_add(m->d, VFS_DELETED, node_path(m->dir, name), NULL, &c);
	return 0;
}

static int diff_dir(struct diff *d, struct ov_node *dir)
{
	struct hostdir *home = NULL, *under = NULL;
	struct ov_dir *od = dir->dir;
	int ret = 0;

	/* In a moved directory names are compared with its own origin. */
	home = dir->has_lower ? hostdir_get(dir->lhost) : NULL;
	under = home ? home : diff_under(d, dir);
	for (size_t i = 0; i <= od->entries.mask; i++) {
		struct hnode *h = od->entries.buckets[i];

		for (; h; h = h->next)
			diff_entry(d, dir, under,
				   container_of(h, struct ov_entry, node));
	}
	if (!home && under) {
		struct missing m = {d, dir, under};
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
	struct vfs_change c;
	char *path;
	int kind;

	if (!n->hashed || !n->nlink || !list_empty(&n->names) || !n->meta)
		return;
	c = diff_sizes(n, &n->lst);
	kind = diff_kind(n, lower_parent(n), lower_name(n), &n->lst, c.size);
	if (!kind)
		return;
	if (S_ISDIR(n->inode->type))
		path = node_path(n, NULL);
	else
		path = lower_path(d->ov, n->lhost, n->lname);
	diff_add(d, (enum vfs_change_kind)kind, path, NULL, &c);
}

/* Is n a name of its own somewhere that is not its lower place? */
static bool diff_has_moved(const struct ov_node *n)
{
	list_for_each(p, &n->names) {
		struct ov_entry *e = list_entry(p, struct ov_entry, same);

		/* Another lower hard link of it is at home as well. */
		if (!e->dir->has_lower || !at_home(n, e->dir->lhost, e->name))
			return true;
	}
	return false;
}

static void diff_prepare(struct diff *d)
{
	size_t count = 0;
	struct seen *s;

	list_for_each(p, &d->ov->nodes)
		count += 2;
	d->pool = s = xcalloc(count, sizeof(*s));
	htable_init(&d->moved);
	htable_init(&d->origin);
	list_for_each(q, &d->ov->nodes) {
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

	list_for_each(p, &d->ov->nodes) {
		struct ov_node *n = list_entry(p, struct ov_node, list);

		if (n->dir && n->nlink && (n == d->ov->root || n->parent))
			ret = diff_dir(d, n);
		if (n != d->ov->root && n->has_lower)
			diff_inplace(d, n);
		if (ret < 0)
			return ret;
	}
	return 0;
}

static int diff_overlay(struct diff *d)
{
	int ret;

	diff_prepare(d);
	ret = diff_nodes(d);
	htable_fini(&d->moved);
	htable_fini(&d->origin);
	free(d->pool);
	return ret;
}

/* ---- all ------------------------------------------------------------- */

static int change_compare(const void *a, const void *b)
{
	return strcmp(((const struct change *)a)->path,
		      ((const struct change *)b)->path);
}

int vfs_diff(struct vfs *vfs, vfs_change_fn fn, void *arg)
{
	struct diff d = {0};
	size_t kept = 0;
	int ret = 0;

	list_for_each(p, store_overlays(vfs_store(vfs))) {
		d.ov = list_entry(p, struct ov, list);
		if (!ret && d.ov->has_lower && !d.ov->direct)
			ret = diff_overlay(&d);
	}
	for (size_t i = 0; i < d.count; i++)
		if (d.list[i].path)
			d.list[kept++] = d.list[i];
		else
			free(d.list[i].old);
	if (kept)
		qsort(d.list, kept, sizeof(*d.list), change_compare);
	for (size_t i = 0; i < kept; i++) {
		d.list[i].c.path = d.list[i].path;
		d.list[i].c.old_path = d.list[i].old;
		if (!ret)
			ret = fn(arg, &d.list[i].c);
		free(d.list[i].path);
		free(d.list[i].old);
	}
	free(d.list);
	return ret;
}
