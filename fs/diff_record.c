/*
 * diff_record.c - one change: its paths, both sides, identities and contents.
 *
 * A record holds its node (counted) and the place of the lower file, so that
 * contents can be opened later, whatever the guest did meanwhile: what is
 * opened is then the newest.
 */
#include "diff_priv.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>

struct change_priv {
	struct vfs *vfs;
	struct inode *inode; /* counted, or NULL */
	struct hostdir *dir; /* counted, or NULL */
	char *name;
	struct stat st;
};

/* ---- paths ----------------------------------------------------------- */

/* The overlay's root + "/" + the names from the root down; owned. */
static char *path_join(const struct ov *ov, const char **names, size_t count,
		       const char *last, bool host)
{
	const char *root =
		host && ov->root->lhost ? ov->root->lhost->name : ov->guest;
	const char *base = strcmp(root, "/") ? root : "";
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

char *diff_node_path(const struct ov_node *dir, const char *last, bool host)
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
	names = xcalloc(count + 1, sizeof(*names));
	count = 0;
	for (const struct ov_node *n = dir; n != ov->root; n = n->parent)
		names[count++] = n->name;
	out = path_join(ov, names, count, last, host);
	free(names);
	return out;
}

char *diff_lower_path(const struct ov *ov, const struct hostdir *h,
		      const char *last, bool host)
{
	const char **names;
	size_t count = 0;
	char *out;

	for (const struct hostdir *p = h; p->parent; p = p->parent)
		count++;
	names = xcalloc(count + 1, sizeof(*names));
	count = 0;
	for (const struct hostdir *p = h; p->parent; p = p->parent)
		names[count++] = p->name;
	out = path_join(ov, names, count, last, host);
	free(names);
	return out;
}

/* ---- comparing ------------------------------------------------------- */

bool diff_at_home(const struct ov_node *n, struct hostdir *dir,
		  const char *name)
{
	struct stat st;

	if (!n->has_lower || !dir || hostfs_stat(dir, name, &st) < 0)
		return false;
	return st.st_dev == n->lst.st_dev && st.st_ino == n->lst.st_ino;
}

static int object_open(struct ov_node *n, int *fd)
{
	const char *name;
	struct stat st;
	int dirfd, ret;

	if (n->src)
		return ov_src_open(n, O_RDONLY, fd, &st);
	if (!n->upper)
		return hostfs_open(n->lhost, n->lname, O_RDONLY, &n->lst, fd);
	ret = ov_object_place(n, &dirfd, &name);
	if (ret < 0)
		return ret;
	*fd = openat(dirfd, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	return *fd < 0 ? -errno : 0;
}

static uint64_t node_size(struct ov_node *n)
{
	struct stat st;

	if (n->src)
		return ov_src_load(n) < 0 ? 0 : (uint64_t)n->src->size;
	if (!n->upper)
		return n->has_lower ? (uint64_t)n->lst.st_size : 0;
	return ov_object_stat(n, &st) < 0 ? 0 : (uint64_t)st.st_size;
}

static bool link_differs(struct ov_node *n, const struct diff_old *old)
{
	char a[PATH_LEN_MAX], b[PATH_LEN_MAX];
	ssize_t x = ov_readlink(NULL, n->inode, a, sizeof(a), NULL);
	ssize_t y = hostfs_readlink(old->dir, old->name, b, sizeof(b));

	return x != y || x < 0 || memcmp(a, b, (size_t)x) != 0;
}

bool diff_content_differs(struct ov_node *n, const struct diff_old *old)
{
	AUTO_CLOSE int a = -1;
	AUTO_CLOSE int b = -1;

	if (S_ISLNK(n->inode->type))
		return link_differs(n, old);
	if (!S_ISREG(n->inode->type))
		return n->inode->type != S_IFDIR && n->upper;
	if (!n->upper && diff_at_home(n, old->dir, old->name))
		return false;
	if ((uint64_t)old->st->st_size != node_size(n))
		return true;
	if (object_open(n, &a) < 0 ||
	    hostfs_open(old->dir, old->name, O_RDONLY, old->st, &b) < 0)
		return true;
	return !changes_same_bytes(a, b);
}

static bool xattrs_differ(struct ov_node *n)
{
	struct ov_node lower = {.has_lower = true,
				.ov = n->ov,
				.lhost = n->lhost,
				.lname = n->lname};
	struct inode inode = {.fs = &lower, .type = n->inode->type};
	AUTO_FREE char *names = NULL;
	AUTO_FREE char *a = NULL;
	AUTO_FREE char *b = NULL;
	ssize_t len, other;

	if (!n->xattr_own)
		return false;
	if (!n->has_lower)
		return n->xattr_size != 0;
	lower.inode = &inode;
	names = xmalloc(XATTR_LIST_MAX);
	a = xmalloc(XATTR_SIZE_MAX);
	b = xmalloc(XATTR_SIZE_MAX);
	other = ov_xattr(NULL, &inode, VFS_XATTR_LIST, NULL, names,
			 XATTR_LIST_MAX, 0);
	len = ov_xattr(NULL, n->inode, VFS_XATTR_LIST, NULL, names,
		       XATTR_LIST_MAX, 0);
	if (len != other || len < 0)
		return true;
	for (char *p = names; p < names + len; p += strlen(p) + 1) {
		ssize_t x = ov_xattr(NULL, n->inode, VFS_XATTR_GET, p, a,
				     XATTR_SIZE_MAX, 0);
		ssize_t y = ov_xattr(NULL, &inode, VFS_XATTR_GET, p, b,
				     XATTR_SIZE_MAX, 0);

		if (x != y || (x > 0 && memcmp(a, b, (size_t)x) != 0))
			return true;
	}
	return false;
}

static bool owner_differs(const struct ov_node *n, const struct stat *st)
{
	return ov_uid(n->ov, st->st_uid) != n->inode->uid ||
	       ov_gid(n->ov, st->st_gid) != n->inode->gid;
}

bool diff_attr_differs(struct ov_node *n, const struct stat *st)
{
	if (S_ISLNK(n->inode->type))
		return owner_differs(n, st);
	return (st->st_mode & 07777) != n->inode->mode ||
	       owner_differs(n, st) || xattrs_differ(n);
}

int diff_kind(struct ov_node *n, const struct diff_old *old)
{
	if ((old->st->st_mode & S_IFMT) != n->inode->type)
		return VFS_TYPE;
	if (diff_content_differs(n, old))
		return VFS_MODIFIED;
	if (diff_attr_differs(n, old->st))
		return VFS_METADATA;
	return 0;
}

/* ---- both sides ------------------------------------------------------ */

static void meta_xattrs(struct change_meta *m, struct ov_node *n)
{
	AUTO_FREE char *names = NULL;
	AUTO_FREE char *value = NULL;
	ssize_t len;

	if (S_ISLNK(n->inode->type) || (n->xattr_own && !n->xattr_size))
		return;
	names = xmalloc(XATTR_LIST_MAX);
	len = ov_xattr(NULL, n->inode, VFS_XATTR_LIST, NULL, names,
		       XATTR_LIST_MAX, 0);
	if (len <= 0)
		return;
	value = xmalloc(XATTR_SIZE_MAX);
	for (char *p = names; p < names + len; p += strlen(p) + 1) {
		ssize_t got = ov_xattr(NULL, n->inode, VFS_XATTR_GET, p, value,
				       XATTR_SIZE_MAX, 0);
		struct change_xattr *x;

		if (got < 0)
			continue;
		m->xattrs = realloc(m->xattrs,
				    (m->nxattrs + 1) * sizeof(*m->xattrs));
		BUG_ON(!m->xattrs);
		x = &m->xattrs[m->nxattrs++];
		x->name = xstrdup(p);
		x->size = (size_t)got;
		x->value = xmalloc(x->size + 1);
		memcpy(x->value, value, x->size);
	}
}

static struct timespec of_statx(struct statx_timestamp t)
{
	return (struct timespec){.tv_sec = t.tv_sec, .tv_nsec = t.tv_nsec};
}

static void meta_new(struct change_meta *m, struct ov_node *n)
{
	char target[PATH_LEN_MAX];
	struct vfs_ctx ctx = {0};
	struct statx x = {0};
	ssize_t len;

	(void)ov_getattr(&ctx, n->inode, &x);
	m->mode = n->inode->type | n->inode->mode;
	m->uid = n->inode->uid;
	m->gid = n->inode->gid;
	m->rdev = n->rdev;
	m->size = S_ISDIR(n->inode->type) ? 0 : x.stx_size;
	m->atime = of_statx(x.stx_atime);
	m->mtime = of_statx(x.stx_mtime);
	if (S_ISLNK(n->inode->type)) {
		len = ov_readlink(NULL, n->inode, target, sizeof(target), NULL);
		m->target = strndup(target, len < 0 ? 0 : (size_t)len);
		BUG_ON(!m->target);
	}
	meta_xattrs(m, n);
}

static void meta_stat(struct diff *d, struct change_meta *m,
		      const struct diff_old *old)
{
	char target[PATH_LEN_MAX];
	ssize_t len;

	m->mode = old->st->st_mode;
	m->uid = ov_uid(d->ov, old->st->st_uid);
	m->gid = ov_gid(d->ov, old->st->st_gid);
	m->size = S_ISDIR(m->mode) ? 0 : (uint64_t)old->st->st_size;
	m->atime = old->st->st_atim;
	m->mtime = old->st->st_mtim;
	if (!S_ISLNK(m->mode))
		return;
	len = hostfs_readlink(old->dir, old->name, target, sizeof(target));
	m->target = strndup(target, len < 0 ? 0 : (size_t)len);
	BUG_ON(!m->target);
}

static void record_sides(struct diff *d, struct change *c, struct ov_node *n,
			 const struct diff_old *old)
{
	struct change_priv *p = xcalloc(1, sizeof(*p));

	c->priv = p;
	p->vfs = d->vfs;
	if (n) {
		p->inode = inode_get(n->inode);
		meta_new(&c->new, n);
	}
	if (!old)
		return;
	p->dir = hostdir_get(old->dir);
	p->name = xstrdup(old->name);
	p->st = *old->st;
	meta_stat(d, &c->old, old);
}

static void record_base(struct change *c, struct ov_node *n,
			const struct diff_old *old, const struct ov_entry *e)
{
	bool own;

	if (e && e->standin) {
		c->has_base = CHANGE_STANDIN;
		return;
	}
	own = n && n->has_lower && n->base.mode && old &&
	      n->base.ino == old->st->st_ino && n->base.dev == old->st->st_dev;

	if (own || (c->kind == VFS_RENAMED && n->base.mode)) {
		c->has_base = CHANGE_SEEN;
		c->base = n->base;
	} else if (e && e->base) {
		c->has_base = CHANGE_SEEN;
		c->base = *e->base;
	} else if (old) {
		c->has_base = CHANGE_UNSEEN;
	}
}

static void record_writer(struct diff *d, struct change *c, struct ov_node *n,
			  const struct ov_entry *e)
{
	uint32_t of_name = e ? e->writer : 0, of_node = n ? n->writer : 0;
	const char *text;

	if (vfs_writer_get(d->vfs, of_node ? of_node : of_name, &c->by_pid,
			   &text))
		c->by = xstrdup(text);
}

struct change *diff_record(struct diff *d, enum vfs_change_kind kind,
			   struct ov_node *dir, const char *name,
			   struct ov_node *n, const struct diff_old *old,
			   const struct ov_entry *e)
{
	char *path = diff_node_path(dir, name, false);
	struct change *c;

	if (!path)
		return NULL;
	c = changes_add(d->out);
	c->kind = kind;
	c->path = path;
	c->host = diff_node_path(dir, name, true);
	if (old) {
		c->lower = diff_lower_path(d->ov, old->dir, old->name, false);
		c->lower_host =
			diff_lower_path(d->ov, old->dir, old->name, true);
	}
	record_sides(d, c, n, old);
	record_base(c, n, old, e);
	record_writer(d, c, n, e);
	c->content = kind == VFS_ADDED || kind == VFS_MODIFIED ||
		     kind == VFS_TYPE || kind == VFS_DELETED;
	if (kind == VFS_RENAMED)
		c->content = diff_content_differs(n, old);
	c->attr = n && old && diff_attr_differs(n, old->st);
	return c;
}

struct change *diff_record_inside(struct diff *d, enum vfs_change_kind kind,
				  size_t parent, struct ov_node *n,
				  const struct diff_old *old)
{
	struct change *c = changes_add(d->out);
	const struct change *up = &d->out->all[parent];

	c->kind = kind;
	c->inside = true;
	c->path = xasprintf("%s/%s", up->path, old->name);
	c->host = xasprintf("%s/%s", up->host, old->name);
	c->lower = xasprintf("%s/%s", up->lower, old->name);
	c->lower_host = xasprintf("%s/%s", up->lower_host, old->name);
	c->by = up->by ? xstrdup(up->by) : NULL;
	c->by_pid = up->by_pid;
	c->content = kind == VFS_DELETED;
	record_sides(d, c, n, old);
	if (kind == VFS_RENAMED && !n)
		meta_stat(d, &c->new, old);
	return c;
}

/* ---- names of one file ----------------------------------------------- */

static int by_inode(const void *a, const void *b)
{
	const struct change *const *x = a, *const *y = b;
	const struct change_priv *p = (*x)->priv, *q = (*y)->priv;

	if (p->inode != q->inode)
		return p->inode < q->inode ? -1 : 1;
	return (*x)->index < (*y)->index ? -1 : 1;
}

void diff_groups(struct change_list *list)
{
	AUTO_FREE struct change **p = xcalloc(list->count + 1, sizeof(*p));
	size_t n = 0;

	for (size_t i = 0; i < list->count; i++) {
		struct change *c = &list->all[i];
		struct change_priv *priv = c->priv;

		if (priv->inode && !S_ISDIR(c->new.mode))
			p[n++] = c;
	}
	qsort(p, n, sizeof(*p), by_inode);
	for (size_t i = 1; i < n; i++) {
		struct change_priv *a = p[i - 1]->priv, *b = p[i]->priv;

		if (a->inode != b->inode)
			continue;
		if (!p[i - 1]->group)
			p[i - 1]->group = p[i - 1]->index + 1;
		p[i]->group = p[i - 1]->group;
	}
}

/* ---- the source ------------------------------------------------------ */

int diff_open_old(struct change_source *src, const struct change *c, int *fd)
{
	struct change_priv *p = c->priv;

	(void)src;
	if (!p->dir || !S_ISREG(p->st.st_mode))
		return -ENOENT;
	return hostfs_open(p->dir, p->name, O_RDONLY, &p->st, fd);
}

int diff_open_new(struct change_source *src, const struct change *c, int *fd)
{
	struct change_priv *p = c->priv;

	if (!p->inode) /* renamed with its directory, and never looked at */
		return diff_open_old(src, c, fd);
	if (!S_ISREG(p->inode->type))
		return -ENOENT;
	return object_open(ov_node(p->inode), fd);
}

void diff_forget(struct change_source *src, struct change *c)
{
	struct change_priv *p = c->priv;

	(void)src;
	if (!p)
		return;
	if (p->inode)
		inode_put(p->inode);
	if (p->dir)
		hostdir_put(p->dir);
	free(p->name);
	free(p);
	c->priv = NULL;
}
