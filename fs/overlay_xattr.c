/*
 * overlay_xattr.c - extended attributes, kept in memory.
 *
 * The lower's are shown until the first change, then taken over as a whole.
 * The kernel never sees them: ACLs are the core's to enforce, and a stored
 * security.capability has no effect. Bounded by node and by overlay, as they
 * are the sentry's memory. trusted.* of the host is not shown: what virtual
 * root finds there it has set itself.
 */
#include "overlay_priv.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <sys/xattr.h>

static struct ov_xattr *xattr_find(struct ov_node *n, const char *name)
{
	list_for_each (p, &n->xattrs) {
		struct ov_xattr *x = list_entry(p, struct ov_xattr, list);

		if (!strcmp(x->name, name))
			return x;
	}
	return NULL;
}

static size_t xattr_cost(const struct ov_xattr *x)
{
	return x->size + strlen(x->name) + sizeof(*x);
}

static void xattr_drop(struct ov_node *n, struct ov_xattr *x)
{
	n->xattr_size -= xattr_cost(x);
	n->ov->xattr_bytes -= xattr_cost(x);
	list_del(&x->list);
	free(x->value);
	free(x);
}

void ov_xattr_free(struct ov_node *n)
{
	while (!list_empty(&n->xattrs))
		xattr_drop(n,
			   list_entry(n->xattrs.next, struct ov_xattr, list));
}

void ov_xattr_restore(struct ov_node *n, const char *name, const void *value,
		      size_t size)
{
	size_t len = strlen(name) + 1;
	struct ov_xattr *x = xcalloc(1, sizeof(*x) + len);

	memcpy(x->name, name, len);
	x->value = xmalloc(size);
	if (size)
		memcpy(x->value, value, size);
	x->size = size;
	list_add_tail(&n->xattrs, &x->list);
	n->xattr_size += xattr_cost(x);
	n->ov->xattr_bytes += xattr_cost(x);
}

static int xattr_put(struct ov_node *n, const char *name, const void *buf,
		     size_t size)
{
	struct ov_xattr *old = xattr_find(n, name);
	size_t len = strlen(name) + 1;
	size_t cost = size + len - 1 + sizeof(*old);
	size_t freed = old ? xattr_cost(old) : 0;

	if (len > XATTR_NAME_MAX + 1)
		return -ERANGE;
	if (size > XATTR_SIZE_MAX)
		return -E2BIG;
	if (n->xattr_size - freed + cost > 2 * OV_XATTR_NODE_MAX ||
	    n->ov->xattr_bytes - freed + cost > OV_XATTR_TOTAL_MAX)
		return -ENOSPC;
	if (old)
		xattr_drop(n, old);
	ov_xattr_restore(n, name, buf, size);
	return 0;
}

/* ---- the lower's ----------------------------------------------------- */

static bool xattr_shown(const char *name)
{
	return strncmp(name, "trusted.", 8) != 0;
}

/* "/proc/self/fd/N" of an O_PATH descriptor; symlinks have none to show. */
static int xattr_lower_path(struct ov_node *n, int *fd, char path[32])
{
	int ret;

	if (!n->has_lower || S_ISLNK(n->inode->type))
		return -ENODATA;
	ret = ov_lower_path(n, fd);
	if (ret < 0)
		return ret;
	snprintf(path, 32, "/proc/self/fd/%d", *fd);
	return 0;
}

static ssize_t xattr_lower_get(struct ov_node *n, const char *name, void *buf,
			       size_t size)
{
	AUTO_CLOSE int fd = -1;
	char path[32];
	ssize_t len;
	int ret;

	if (!xattr_shown(name))
		return -ENODATA;
	ret = xattr_lower_path(n, &fd, path);
	if (ret < 0)
		return ret;
	len = getxattr(path, name, buf, size);
	return len < 0 ? hostfs_errno(errno) : len;
}

static ssize_t xattr_lower_list(struct ov_node *n, char *buf, size_t size)
{
	AUTO_FREE char *all = xmalloc(XATTR_LIST_MAX);
	AUTO_CLOSE int fd = -1;
	char path[32];
	ssize_t len;
	size_t out = 0;
	int ret = xattr_lower_path(n, &fd, path);

	if (ret < 0)
		return ret == -ENODATA ? 0 : ret;
	len = listxattr(path, all, XATTR_LIST_MAX);
	if (len < 0)
		return errno == ENOTSUP ? 0 : hostfs_errno(errno);
	for (char *p = all; p < all + len; p += strlen(p) + 1) {
		size_t l = strlen(p) + 1;

		if (!xattr_shown(p))
			continue;
		if (size && out + l > size)
			return -ERANGE;
		if (size)
			memcpy(buf + out, p, l);
		out += l;
	}
	return (ssize_t)out;
}

static int xattr_take_over(struct ov_node *n)
{
	AUTO_FREE char *names = NULL;
	AUTO_FREE char *value = NULL;
	ssize_t len;
	int ret = 0;

	if (n->xattr_own)
		return 0;
	names = xmalloc(XATTR_LIST_MAX);
	value = xmalloc(XATTR_SIZE_MAX);
	len = xattr_lower_list(n, names, XATTR_LIST_MAX);
	if (len < 0)
		return (int)len;
	for (char *p = names; !ret && p < names + len; p += strlen(p) + 1) {
		ssize_t got = xattr_lower_get(n, p, value, XATTR_SIZE_MAX);

		if (got >= 0)
			ret = xattr_put(n, p, value, (size_t)got);
	}
	n->xattr_own = !ret;
	return ret;
}

/* ---- the operation --------------------------------------------------- */

static ssize_t xattr_get(struct ov_node *n, const char *name, void *buf,
			 size_t size)
{
	struct ov_xattr *x;

	if (!n->xattr_own)
		return xattr_lower_get(n, name, buf, size);
	x = xattr_find(n, name);
	if (!x)
		return -ENODATA;
	if (size && x->size > size)
		return -ERANGE;
	if (size && x->size)
		memcpy(buf, x->value, x->size);
	return (ssize_t)x->size;
}

static ssize_t xattr_list(struct ov_node *n, char *buf, size_t size)
{
	size_t out = 0;

	if (!n->xattr_own)
		return xattr_lower_list(n, buf, size);
	list_for_each (p, &n->xattrs) {
		struct ov_xattr *x = list_entry(p, struct ov_xattr, list);
		size_t l = strlen(x->name) + 1;

		if (size && out + l > size)
			return -ERANGE;
		if (size)
			memcpy(buf + out, x->name, l);
		out += l;
	}
	return (ssize_t)out;
}

static int xattr_set(struct ov_node *n, const char *name, const void *buf,
		     size_t size, int flags)
{
	int ret = xattr_take_over(n);
	struct ov_xattr *x;

	if (ret < 0)
		return ret;
	x = xattr_find(n, name);
	if (x && (flags & XATTR_CREATE))
		return -EEXIST;
	if (!x && (flags & XATTR_REPLACE))
		return -ENODATA;
	return xattr_put(n, name, buf, size);
}

static int xattr_remove(struct ov_node *n, const char *name)
{
	int ret = xattr_take_over(n);
	struct ov_xattr *x = ret < 0 ? NULL : xattr_find(n, name);

	if (ret < 0)
		return ret;
	if (!x)
		return -ENODATA;
	xattr_drop(n, x);
	return 0;
}

ssize_t ov_xattr(struct vfs_ctx *ctx, struct inode *inode, int op,
		 const char *name, void *buf, size_t size, int flags)
{
	struct ov_node *n = ov_node(inode);
	int ret;

	if (op == VFS_XATTR_GET)
		return xattr_get(n, name, buf, size);
	if (op == VFS_XATTR_LIST)
		return xattr_list(n, buf, size);
	ret = op == VFS_XATTR_SET ? xattr_set(n, name, buf, size, flags)
				  : xattr_remove(n, name);
	if (!ret)
		ret = ov_mode_to_object(ctx, n);
	if (ret < 0)
		return ret;
	ov_ctime_stamped(n);
	if (n->nlink)
		ov_pin(n);
	return 0;
}
