/*
 * walk.c - the one walker of paths.
 *
 * Follows Linux fs/namei.c (link_path_walk and its callers), so that the
 * errno of a path with several faults is the kernel's. A path comes from a
 * guest and is hostile: it is bounded by the caller to PATH_LEN_MAX, names by
 * NAME_LEN_MAX, links by SYMLINKS_MAX, and nothing recurses.
 *
 * Pointers to dentries met on the way are not counted: nothing is freed
 * before walk_fini (see core.h).
 */
#include "core.h"

void walk_fini(struct walk *w)
{
	for (unsigned i = 0; i < w->nbufs; i++)
		free(w->bufs[i]);
	w->nbufs = 0;
	inode_put(w->anon);
	w->anon = NULL;
	if (w->ctx)
		dentry_prune(w->ctx->vfs);
	w->ctx = NULL;
}

/* ---- one child ------------------------------------------------------------
 */

static bool same_inode(const struct inode *a, const struct inode *b)
{
	return a == b || (a->ino == b->ino && a->sb == b->sb &&
			  a->type == b->type && a->ops == b->ops && !a->gone);
}

/* Asking may make d stale. */
static bool child_current(struct vfs_ctx *ctx, struct dentry *dir,
			  const struct dentry *d)
{
	const struct inode_ops *ops = dir->inode->ops;

	if (dir->inode->revalidate &&
	    !(ops->current && ops->current(ctx, dir->inode, d->inode)))
		return false;
	return !d->stale;
}

bool walk_absence(struct vfs_ctx *ctx, struct dentry *dir)
{
	const struct inode_ops *ops = dir->inode->ops;

	if (ops->current && ops->current(ctx, dir->inode, NULL))
		return true;
	return !dir->inode->revalidate && !dir->inode->no_negative;
}

/* The file system's answer for d comes to be in the tree. */
static struct dentry *child_settle(struct vfs_ctx *ctx, struct dentry *dir,
				   struct dentry *d, struct inode *found)
{
	char name[NAME_LEN_MAX + 1];

	if (d->inode && found && same_inode(d->inode, found)) {
		inode_put(found);
		d->stale = false;
		return d;
	}
	if (d->inode) {
		memcpy(name, d->name, d->len + 1u);
		dentry_delete(d);
		d = dentry_new(dir, name, strlen(name));
	}
	d->stale = !found && !walk_absence(ctx, dir);
	if (found)
		dentry_instantiate(d, found);
	return d;
}

static int child_slow(struct vfs_ctx *ctx, struct dentry *dir, struct dentry *d,
		      const char *name, size_t len, struct dentry **out)
{
	struct inode *found = NULL;
	int err;

	if (!d)
		d = dentry_new(dir, name, len);
	*out = d;
	if (d->mounted || d->stub || (d->mask & VFS_MASK_HIDE))
		return 0;
	err = dir->inode->ops->lookup(ctx, dir->inode, d->name, &found);
	if (err && dir->inode->gone)
		return err;
	if (err && err != -ENOENT) {
		if (!d->inode)
			d->stale = true;
		return err;
	}
	*out = child_settle(ctx, dir, d, err ? NULL : found);
	return 0;
}

int walk_child(struct vfs_ctx *ctx, struct dentry *dir, const char *name,
	       size_t len, struct dentry **out)
{
	struct dentry *d;

	if (!dir->inode->ops->lookup)
		return -ENOTDIR;
	if (dir->deleted || dir->inode->gone)
		return -ENOENT;
	if (len > NAME_LEN_MAX)
		return -ENAMETOOLONG;
	d = dentry_find(dir, name, len);
	if (d && child_current(ctx, dir, d)) {
		*out = d;
		return 0;
	}
	return child_slow(ctx, dir, d, name, len, out);
}

int walk_last_dentry(struct walk *w, struct dentry **out)
{
	return walk_child(w->ctx, w->d, w->last, w->last_len, out);
}

/* ---- steps -----------------------------------------------------------------
 */

static int walk_xdev(const struct walk *w, const struct dentry *to)
{
	if ((w->flags & VFS_NO_XDEV) && w->d &&
	    to->inode->sb != w->d->inode->sb)
		return -EXDEV;
	return 0;
}

int walk_dots(struct walk *w, enum walk_last type)
{
	struct dentry *up = w->d->parent;

	if (type != WALK_DOTDOT)
		return 0;
	if (w->d == w->root)
		return w->flags & VFS_BENEATH ? -EXDEV : 0;
	if (!up)
		return 0;
	if (walk_xdev(w, up))
		return -EXDEV;
	w->d = up;
	return 0;
}

static int walk_jump(struct walk *w, struct vref *jump)
{
	struct dentry *d = jump->dentry;
	int err = 0;

	if (w->flags & VFS_NO_MAGIC)
		err = -ELOOP;
	else if (w->flags & (VFS_BENEATH | VFS_IN_ROOT))
		err = -EXDEV;
	else if (d && d->inode)
		err = walk_xdev(w, d);
	if (err) {
		vref_put(jump);
		return err;
	}
	inode_put(w->anon);
	w->anon = NULL;
	w->d = d;
	/* A name may stand for another inode by now (a file replaced while it
	 * is open): then only the inode counts. */
	if (!d || d->inode != jump->inode) {
		w->d = NULL;
		w->anon = inode_get(jump->inode);
	}
	vref_put(jump);
	return 0;
}

/* Text of a link into w->link; 2 if it was a magic link and w has jumped. */
static int link_text(struct walk *w, struct inode *i)
{
	struct vref jump = {NULL, NULL};
	char *buf;
	ssize_t n;
	int err;

	if (i->link) {
		w->link = i->link;
		return 0;
	}
	if (!i->ops->readlink)
		return -EINVAL;
	buf = xmalloc(PATH_LEN_MAX);
	n = i->ops->readlink(w->ctx, i, buf, PATH_LEN_MAX - 1, &jump);
	if (n < 0 || jump.inode) {
		free(buf);
		if (n < 0)
			return (int)n;
		err = walk_jump(w, &jump);
		return err ? err : 2;
	}
	buf[n] = '\0';
	w->link = buf;
	if (i->link_stable)
		i->link = buf;
	else
		w->bufs[w->nbufs++] = buf;
	return 0;
}

static int walk_link(struct walk *w, struct dentry *d, bool trailing)
{
	int err;

	if (w->links++ >= SYMLINKS_MAX)
		return -ELOOP;
	if (w->flags & VFS_NO_SYMLINKS)
		return -ELOOP;
	if (trailing) {
		err = perm_follow_link(w->ctx, d);
		if (err)
			return err;
	}
	err = link_text(w, d->inode);
	if (err)
		return err == 2 ? 0 : err;
	inode_accessed(d->inode);
	if (!w->link[0])
		return -ENOENT;
	if (w->link[0] == '/') {
		if (w->flags & VFS_BENEATH)
			return -EXDEV;
		if (walk_xdev(w, w->root))
			return -EXDEV;
		w->d = w->root;
	}
	return 1;
}

int walk_onto(struct walk *w, struct dentry *d, bool follow, bool trailing)
{
	if (walk_xdev(w, d))
		return -EXDEV;
	if (follow && S_ISLNK(d->inode->type))
		return walk_link(w, d, trailing);
	w->d = d;
	return 0;
}

/* A component with more to come, or the last of a link in the middle. */
static int walk_step(struct walk *w)
{
	struct dentry *d;
	int err;

	if (w->type != WALK_NORM)
		return walk_dots(w, w->type);
	err = walk_child(w->ctx, w->d, w->last, w->last_len, &d);
	if (err)
		return err;
	if (!d->inode || (d->mask & VFS_MASK_HIDE))
		return perm_missing(w->ctx, d, w->last);
	return walk_onto(w, d, true, false);
}

/* ---- components
 * -------------------------------------------------------------- */

static const char *skip_slashes(const char *s)
{
	while (*s == '/')
		s++;
	return s;
}

/* Reads one component of name; returns what follows it. */
static const char *next_component(struct walk *w, const char *name)
{
	const char *end = name;

	while (*end && *end != '/')
		end++;
	w->last = name;
	w->last_len = (size_t)(end - name);
	w->type = WALK_NORM;
	if (name[0] == '.') {
		if (w->last_len == 1)
			w->type = WALK_DOT;
		else if (w->last_len == 2 && name[1] == '.')
			w->type = WALK_DOTDOT;
	}
	w->slash = *end == '/';
	return skip_slashes(end);
}

static int walk_may_search(struct walk *w)
{
	if (!w->d || !dentry_is_dir(w->d))
		return -ENOTDIR;
	if ((w->d->inode->mode & 0111) == 0111)
		return 0;
	return perm_mode(w->ctx, w->d->inode, X_OK);
}

/* link_path_walk: all components of name but the last one. */
static int walk_components(struct walk *w, const char *name)
{
	unsigned base = w->depth;
	int err;

	name = skip_slashes(name);
	w->type = WALK_ROOT;
	w->last = name;
	w->last_len = 0;
	w->slash = false;
	if (!*name)
		return 0;
	for (;;) {
		err = walk_may_search(w);
		if (err)
			return err;
		name = next_component(w, name);
		if (!*name) {
			if (w->depth == base)
				return 0;
			name = w->stack[--w->depth];
		}
		err = walk_step(w);
		if (err < 0)
			return err;
		if (err == 1) {
			w->stack[w->depth++] = name;
			name = skip_slashes(w->link);
			/* A link to "/": w->d is there already. */
			if (!*name)
				name = w->stack[--w->depth];
		}
	}
}

static int walk_start(struct walk *w, const struct vfs_at *at)
{
	struct dentry *base = at->base ? at->base : w->ctx->cwd;

	w->root = w->ctx->root;
	if (w->flags & (VFS_BENEATH | VFS_IN_ROOT))
		w->root = base;
	w->d = base;
	if (at->path[0] != '/')
		return 0;
	if (w->flags & VFS_BENEATH)
		return -EXDEV;
	w->d = w->root;
	return 0;
}

static void walk_note(const struct walk *w, const struct vfs_at *at)
{
	struct vfs_trail *t = w->ctx->trail, *end = t + VFS_TRAILS;

	for (; t < end; t++) {
		if (t->path != at->path)
			continue;
		dentry_get(w->d);
		dentry_put(t->dir);
		t->dir = w->d;
	}
}

int walk_parent(struct walk *w, struct vfs_ctx *ctx, const struct vfs_at *at,
		unsigned flags)
{
	int err;

	w->ctx = ctx;
	w->flags = flags;
	w->anon = NULL;
	ctx->host_heard = false;
	ctx->host_told = NULL;
	w->links = w->depth = w->nbufs = 0;
	if (!at->path)
		return -EFAULT; /* a string that could not be copied */
	if (!at->path[0] && !(flags & VFS_EMPTY))
		return -ENOENT;
	if (strnlen(at->path, PATH_LEN_MAX) == PATH_LEN_MAX)
		return -ENAMETOOLONG;
	err = walk_start(w, at);
	if (!err)
		err = walk_components(w, at->path);
	if (!err && ctx->trail)
		walk_note(w, at);
	return err;
}

int walk_again(struct walk *w)
{
	return walk_components(w, w->link);
}

/* Final component: 1 if a link was met and walk_again is to be called. */
static int walk_final(struct walk *w)
{
	struct dentry *d;
	int err;

	if (w->slash)
		w->flags |= VFS_FOLLOW | VFS_DIRECTORY;
	if (w->type != WALK_NORM)
		return walk_dots(w, w->type);
	err = walk_last_dentry(w, &d);
	if (err)
		return err;
	if (!d->inode || (d->mask & VFS_MASK_HIDE))
		return perm_missing(w->ctx, d, w->last);
	return walk_onto(w, d, w->flags & VFS_FOLLOW, true);
}

int walk_full(struct walk *w, struct vfs_ctx *ctx, const struct vfs_at *at,
	      unsigned flags)
{
	int err = walk_parent(w, ctx, at, flags);

	while (!err) {
		err = walk_final(w);
		if (err <= 0)
			break;
		err = walk_again(w);
	}
	if (err)
		return err;
	if ((w->flags & VFS_DIRECTORY) && (!w->d || !dentry_is_dir(w->d)))
		return -ENOTDIR;
	return 0;
}

int vfs_lookup(struct vfs_ctx *ctx, const struct vfs_at *at, unsigned flags,
	       struct vref *out)
{
	AUTO_WALK struct walk w;
	int err = walk_full(&w, ctx, at, flags);

	if (err)
		return err;
	out->dentry = dentry_get(w.d);
	out->inode = inode_get(w.d ? w.d->inode : w.anon);
	return 0;
}
