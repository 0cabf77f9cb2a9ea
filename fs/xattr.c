/*
 * xattr.c - the front of extended attributes: names, sizes, and who may use
 * which namespace (Linux fs/xattr.c, security/commoncap.c).
 *
 * user.* is for regular files and directories and needs the right to read or
 * write; trusted.* and security.* are for virtual administrators; POSIX ACLs
 * are acl.c's. The order of errors is the kernel's: rights before names.
 */
#include "core.h"

#include <linux/limits.h>
#include <linux/xattr.h>

static bool has_prefix(const char *name, const char *prefix)
{
	return !strncmp(name, prefix, strlen(prefix));
}

/* The name alone, once all else has been judged: what a file system says that
 * has these spaces. */
static int xattr_space(const struct inode *i, const char *name)
{
	static const char *const spaces[] = {"user.", "trusted.", "security."};

	if (!i->ops->xattr)
		return -EOPNOTSUPP;
	for (size_t n = 0; n < ARRAY_SIZE(spaces); n++)
		if (has_prefix(name, spaces[n]))
			return name[strlen(spaces[n])] ? 0 : -EINVAL;
	return -EOPNOTSUPP;
}

/* user.* is for files and directories; all else that has no space of its own
 * is judged alike before it is said that there is no such space. */
static int xattr_user(struct vfs_ctx *ctx, const struct vref *ref,
		      const char *name, bool write)
{
	struct inode *i = ref->inode;

	if (has_prefix(name, "user.")) {
		if (!S_ISREG(i->type) && !S_ISDIR(i->type))
			return write ? -EPERM : -ENODATA;
		if (S_ISDIR(i->type) && (i->mode & S_ISVTX) && write &&
		    !perm_owner(ctx, i))
			return -EPERM;
	}
	return perm_check(ctx, ref->dentry, i, write ? W_OK : R_OK);
}

static int xattr_security(const struct vfs_ctx *ctx, const char *name)
{
	int cap = strcmp(name, "security.capability") ? CAP_SYS_ADMIN
						      : CAP_SETFCAP;

	return cred_capable(ctx->cred, cap) ? 0 : -EPERM;
}

static int xattr_want_write(struct vfs_ctx *ctx, const struct vref *ref)
{
	if (ref->inode->sb->flags & VFS_MNT_RO)
		return -EROFS;
	return perm_policy(ctx, ref->dentry, ref->inode, W_OK);
}

static int xattr_permission(struct vfs_ctx *ctx, const struct vref *ref,
			    const char *name, bool write)
{
	size_t len = strnlen(name, XATTR_NAME_MAX + 1);
	int err = 0;

	if (!len || len > XATTR_NAME_MAX)
		return -ERANGE;
	if (write)
		err = xattr_want_write(ctx, ref);
	if (err)
		return err;
	if (has_prefix(name, "trusted."))
		err = cred_capable(ctx->cred, CAP_SYS_ADMIN) ? 0
		      : write				     ? -EPERM
							     : -ENODATA;
	else if (has_prefix(name, "security."))
		err = write ? xattr_security(ctx, name) : 0;
	else if (!has_prefix(name, "system."))
		err = xattr_user(ctx, ref, name, write);
	return err ? err : xattr_space(ref->inode, name);
}

ssize_t vfs_getxattr(struct vfs_ctx *ctx, const struct vref *ref,
		     const char *name, void *buf, size_t size)
{
	struct inode *i = ref->inode;
	bool def;
	int err;

	if (size > XATTR_SIZE_MAX)
		size = XATTR_SIZE_MAX;
	if (acl_name(name, &def))
		return inode_acl_get(ctx, i, def, buf, size);
	err = xattr_permission(ctx, ref, name, false);
	if (err)
		return err;
	return i->ops->xattr(ctx, i, VFS_XATTR_GET, name, buf, size, 0);
}

int vfs_setxattr(struct vfs_ctx *ctx, const struct vref *ref, const char *name,
		 const void *buf, size_t size, int flags)
{
	struct inode *i = ref->inode;
	bool def;
	int err;

	if (flags & ~(XATTR_CREATE | XATTR_REPLACE))
		return -EINVAL;
	if (size > XATTR_SIZE_MAX)
		return -E2BIG;
	if (acl_name(name, &def)) {
		err = xattr_want_write(ctx, ref);
		return err ? err : inode_acl_set(ctx, i, def, buf, size);
	}
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
	bool def;
	int err;

	if (acl_name(name, &def)) {
		err = xattr_want_write(ctx, ref);
		return err ? err : inode_acl_set(ctx, i, def, NULL, 0);
	}
	err = xattr_permission(ctx, ref, name, true);
	if (err)
		return err;
	return (int)i->ops->xattr(ctx, i, VFS_XATTR_REMOVE, name, NULL, 0, 0);
}
