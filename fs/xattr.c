/*
 * xattr.c - the front of extended attributes: names, sizes, and who may use
 * which namespace (Linux fs/xattr.c, security/commoncap.c).
 *
 * user.* is for regular files and directories and needs the right to read or
 * write; trusted.* and security.* are for virtual administrators. LIMIT:
 * system.posix_acl_* is EOPNOTSUPP, as on a file system without ACLs.
 */
#include "core.h"

#include <linux/limits.h>
#include <linux/xattr.h>

static bool has_prefix(const char *name, const char *prefix)
{
	return !strncmp(name, prefix, strlen(prefix));
}

static int xattr_name(const char *name)
{
	static const char *const spaces[] = {"user.", "trusted.", "security."};
	size_t len = strnlen(name, XATTR_NAME_MAX + 1);

	if (!len || len > XATTR_NAME_MAX)
		return -ERANGE;
	for (size_t i = 0; i < ARRAY_SIZE(spaces); i++)
		if (has_prefix(name, spaces[i]))
			return name[strlen(spaces[i])] ? 0 : -EINVAL;
	return -EOPNOTSUPP;
}

static int xattr_user(struct vfs_ctx *ctx, const struct vref *ref, bool write)
{
	const struct inode *i = ref->inode;

	if (!S_ISREG(i->type) && !S_ISDIR(i->type))
		return write ? -EPERM : -ENODATA;
	if (S_ISDIR(i->type) && (i->mode & S_ISVTX) && write &&
	    !perm_owner(ctx, i))
		return -EPERM;
	return perm_check(ctx, ref->dentry, i, write ? W_OK : R_OK);
}

static int xattr_security(const struct vfs_ctx *ctx, const char *name)
{
	int cap = strcmp(name, "security.capability") ? CAP_SYS_ADMIN
						      : CAP_SETFCAP;

	return cred_capable(ctx->cred, cap) ? 0 : -EPERM;
}

static int xattr_permission(struct vfs_ctx *ctx, const struct vref *ref,
			    const char *name, bool write)
{
	int err = xattr_name(name);

	if (err)
		return err;
	if (write) {
		if (ref->inode->sb->flags & VFS_MNT_RO)
			return -EROFS;
		err = perm_policy(ctx, ref->dentry, ref->inode, W_OK);
		if (err)
			return err;
	}
	if (has_prefix(name, "user."))
		err = xattr_user(ctx, ref, write);
	else if (has_prefix(name, "trusted."))
		err = cred_capable(ctx->cred, CAP_SYS_ADMIN) ? 0
		      : write				     ? -EPERM
							     : -ENODATA;
	else if (write)
		err = xattr_security(ctx, name);
	if (!err && !ref->inode->ops->xattr)
		err = -EOPNOTSUPP;
	return err;
}

ssize_t vfs_getxattr(struct vfs_ctx *ctx, const struct vref *ref,
		     const char *name, void *buf, size_t size)
{
	struct inode *i = ref->inode;
	int err = xattr_permission(ctx, ref, name, false);

	if (err)
		return err;
	if (size > XATTR_SIZE_MAX)
		size = XATTR_SIZE_MAX;
	return i->ops->xattr(ctx, i, VFS_XATTR_GET, name, buf, size, 0);
}

int vfs_setxattr(struct vfs_ctx *ctx, const struct vref *ref, const char *name,
		 const void *buf, size_t size, int flags)
{
	struct inode *i = ref->inode;
	int err;

	if (flags & ~(XATTR_CREATE | XATTR_REPLACE))
		return -EINVAL;
	if (size > XATTR_SIZE_MAX)
		return -E2BIG;
	err = xattr_permission(ctx, ref, name, true);
	if (err)
		return err;
	return (int)i->ops->xattr(ctx, i, VFS_XATTR_SET, name, (void *)buf,
				  size, flags);
}

/* Drops trusted.* names from a list for those who may not see them. */
static ssize_t list_filter(const struct vfs_ctx *ctx, char *list, ssize_t len)
{
	char *in = list, *out = list, *end = list + len;

	if (cred_capable(ctx->cred, CAP_SYS_ADMIN))
		return len;
	while (in < end) {
		size_t n = strnlen(in, (size_t)(end - in));

		n += in + n < end;
		if (!has_prefix(in, "trusted.")) {
			memmove(out, in, n);
			out += n;
		}
		in += n;
	}
	return out - list;
}

ssize_t vfs_listxattr(struct vfs_ctx *ctx, const struct vref *ref, char *buf,
		      size_t size)
{
	AUTO_FREE char *all = NULL;
	struct inode *i = ref->inode;
	ssize_t n;

	if (!i->ops->xattr)
		return 0;
	all = malloc(XATTR_LIST_MAX);
	if (!all)
		return -ENOMEM;
	n = i->ops->xattr(ctx, i, VFS_XATTR_LIST, NULL, all, XATTR_LIST_MAX, 0);
	if (n <= 0)
		return n;
	n = list_filter(ctx, all, n);
	if (!size)
		return n;
	if ((size_t)n > size)
		return -ERANGE;
	memcpy(buf, all, (size_t)n);
	return n;
}

int vfs_removexattr(struct vfs_ctx *ctx, const struct vref *ref,
		    const char *name)
{
	struct inode *i = ref->inode;
	int err = xattr_permission(ctx, ref, name, true);

	if (err)
		return err;
	return (int)i->ops->xattr(ctx, i, VFS_XATTR_REMOVE, name, NULL, 0, 0);
}
