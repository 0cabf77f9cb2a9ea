/*
 * pathfd.c - see pathfd.h.
 *
 * The record of a call shows resolved paths: the object's own where it was
 * found; else its parent's, links resolved, and the last name; else what the
 * guest wrote, made absolute. Where records are wanted the call's own walk says
 * what the parent was (struct vfs_trail), so that the text is of what was
 * decided on; a call that ended before any walk is walked for its text alone.
 */
#include "pathfd.h"

void target_put(struct target *t)
{
	vref_put(&t->ref);
}

void target_at_hand(struct call *c, const struct target *t)
{
	c->vfs.fd_stat = t->fd >= 0 ? &t->st : NULL;
	c->vfs.fd = t->fd;
}

bool ref_is_stdio(const struct call *c, const struct vref *ref)
{
	for (unsigned i = 0; i < ARRAY_SIZE(c->s->stdio); i++)
		if (c->s->stdio[i].inode == ref->inode)
			return true;
	return false;
}

static int path_arg(const struct call *c, const char *path)
{
	for (int i = 0; i < 6; i++)
		if (c->str[i] == path)
			return i;
	return -1;
}

/* Why a path is NULL: the first copy that failed, in argument order. */
static int path_error(const struct call *c)
{
	for (int i = 0; i < 6; i++)
		if (c->arg_err[i] && !c->str[i])
			return c->arg_err[i];
	return -EFAULT;
}

int call_fd_target(struct call *c, gfd_t fd, struct target *t)
{
	int ret;

	memset(t, 0, sizeof(*t));
	t->fd = call_fd(c, fd);
	if (t->fd < 0)
		return t->fd;
	ret = vfs_identify(c->s->vfs, t->fd, &t->ref, &t->st, &t->opath);
	if (ret == -ENOENT) {
		t->foreign = true;
		ret = 0;
	}
	return ret;
}

int call_fd_data(struct call *c, gfd_t fd, struct target *t)
{
	int ret = call_fd_target(c, fd, t);

	if (ret == 0 && t->opath) {
		target_put(t);
		return -EBADF;
	}
	return ret;
}

bool target_is_dir(struct call *c, const struct target *t)
{
	struct statx stx;

	if (t->foreign || !t->ref.dentry)
		return false;
	if (!t->opath) /* else a stand-in, whose type says nothing */
		return S_ISDIR(t->st.st_mode);
	return vfs_getattr(&c->vfs, &t->ref, &stx) == 0 &&
	       S_ISDIR(stx.stx_mode);
}

/* An absolute path has a base where that is to be its root. */
static int at_base(struct call *c, gfd_t dirfd, struct vfs_at *at)
{
	AUTO_PUT_TARGET struct target t = {.fd = -1};
	int ret;

	if ((at->path[0] == '/' && !c->in_root) || dirfd == AT_FDCWD)
		return 0;
	ret = call_fd_target(c, dirfd, &t);
	if (ret)
		return ret;
	if (!target_is_dir(c, &t))
		return -ENOTDIR;
	at->base = t.ref.dentry;
	c->dirs[c->nat] = t.ref;
	memset(&t.ref, 0, sizeof(t.ref));
	return 0;
}

int call_at(struct call *c, gfd_t dirfd, const char *path, struct vfs_at *at)
{
	int ret;

	memset(at, 0, sizeof(*at));
	if (!path)
		return path_error(c);
	if (!*path)
		return -ENOENT;
	BUG_ON(c->nat == ARRAY_SIZE(c->at));
	at->path = path;
	ret = at_base(c, dirfd, at);
	if (ret)
		return ret;
	c->trail[c->nat].path = path;
	c->at[c->nat++] = *at;
	return 0;
}

int call_target(struct call *c, gfd_t dirfd, const char *path, unsigned flags,
		struct target *t)
{
	struct vfs_at at;
	int ret;

	memset(t, 0, sizeof(*t));
	t->fd = -1;
	if ((flags & CALL_NULL_EMPTY) && (flags & VFS_EMPTY) && !path &&
	    path_error(c) == -EFAULT)
		path = "";
	flags &= ~CALL_NULL_EMPTY;
	if (path && !*path && (flags & VFS_EMPTY)) {
		c->by_fd = true;
		if (dirfd != AT_FDCWD)
			return call_fd_target(c, dirfd, t);
		at = (struct vfs_at){.path = ""};
		return vfs_lookup(&c->vfs, &at, flags, &t->ref);
	}
	ret = call_at(c, dirfd, path, &at);
	if (ret)
		return ret;
	ret = vfs_lookup(&c->vfs, &at, flags & ~VFS_EMPTY, &t->ref);
	if (ret == 0)
		call_resolved(c, path, &t->ref);
	return ret;
}

int call_ref(struct call *c, gfd_t dirfd, const char *path, unsigned flags,
	     struct vref *out)
{
	AUTO_PUT_TARGET struct target t;
	int ret = call_target(c, dirfd, path, flags, &t);

	if (ret)
		return ret;
	if (t.foreign)
		return -EACCES;
	*out = t.ref;
	memset(&t.ref, 0, sizeof(t.ref));
	return 0;
}

/* ---- text for the record --------------------------------------------- */

void call_resolved(struct call *c, const char *path, const struct vref *ref)
{
	int arg = c->want_text && ref->dentry ? path_arg(c, path) : -1;
	char *buf = arg < 0 ? NULL : call_room(c, PATH_LEN_MAX);
	ssize_t n;

	if (!buf)
		return;
	n = dentry_path(ref->dentry, c->vfs.root, buf, PATH_LEN_MAX);
	if (n < 0)
		return;
	call_keep(c, (size_t)n + 1);
	c->resolved[arg] = buf;
}

/* Appends the components of path to the absolute buf, "." and ".." done by
 * the letter. Too long: cut at a component. */
static size_t text_join(char *buf, size_t len, size_t size, const char *path)
{
	while (*path) {
		size_t n = strcspn(path, "/");

		if (n == 2 && !memcmp(path, "..", 2)) {
			while (len && buf[len - 1] != '/')
				len--;
			len -= len > 0;
		} else if (n && !(n == 1 && *path == '.')) {
			if (len + n + 2 > size)
				break;
			buf[len++] = '/';
			memcpy(buf + len, path, n);
			len += n;
		}
		path += n + (path[n] == '/');
	}
	return len;
}

/* The directory that the call's own walk of path came to, or NULL. */
static const struct dentry *text_trail(const struct call *c, const char *path)
{
	for (unsigned i = 0; i < c->nat; i++)
		if (c->trail[i].path == path && c->trail[i].dir)
			return c->trail[i].dir;
	return NULL;
}

/* The directory that holds the last name of at, links resolved: the length
 * of its path in buf (0 for "/"), or negative. */
static ssize_t text_parent(struct call *c, const struct vfs_at *at, size_t head,
			   char *buf, size_t size)
{
	const struct dentry *known = text_trail(c, at->path);
	AUTO_PUT_VREF struct vref ref = {0};
	struct vfs_at up = {.base = at->base};
	struct vfs_ctx ctx = c->vfs; /* a refusal here is not the call's */
	char dir[PATH_LEN_MAX];
	int ret;

	if (known)
		return dentry_path(known, c->vfs.root, buf, size);
	ctx.trail = NULL;
	memcpy(dir, at->path, head);
	dir[head] = '\0';
	up.path = head ? dir : ".";
	ret = vfs_lookup(&ctx, &up,
			 VFS_FOLLOW | VFS_DIRECTORY |
				 (c->in_root ? VFS_IN_ROOT : 0),
			 &ref);
	if (ret)
		return ret;
	if (!ref.dentry)
		return -ENOENT;
	return dentry_path(ref.dentry, c->vfs.root, buf, size);
}

/* Where a walk begins, as text. */
static ssize_t text_base(struct call *c, const struct vfs_at *at, char *buf,
			 size_t size)
{
	const struct dentry *d = at->base ? at->base : c->vfs.cwd;

	if (at->path[0] == '/' && !c->in_root)
		return 0;
	return dentry_path(d, c->vfs.root, buf, size);
}

static void text_resolve(struct call *c, const struct vfs_at *at)
{
	int arg = path_arg(c, at->path);
	size_t end = strlen(at->path), head, len;
	const char *tail = at->path;
	char *buf;
	ssize_t n;

	if (arg < 0 || c->resolved[arg])
		return;
	buf = call_room(c, PATH_LEN_MAX);
	if (!buf)
		return;
	while (end > 1 && at->path[end - 1] == '/')
		end--;
	for (head = end; head && at->path[head - 1] != '/';)
		head--;
	n = text_parent(c, at, head, buf, PATH_LEN_MAX);
	if (n >= 0)
		tail = at->path + head;
	else
		n = text_base(c, at, buf, PATH_LEN_MAX);
	if (n < 0)
		return;
	len = (size_t)n;
	if (len == 1 && buf[0] == '/')
		len = 0;
	len = text_join(buf, len, PATH_LEN_MAX, tail);
	if (!len)
		buf[len++] = '/';
	buf[len] = '\0';
	call_keep(c, len + 1);
	c->resolved[arg] = buf;
}

void call_resolve_texts(struct call *c)
{
	for (unsigned i = 0; i < c->nat; i++)
		text_resolve(c, &c->at[i]);
}
