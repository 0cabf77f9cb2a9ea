/*
 * xattr.c - extended attributes: set, get, list, remove, each by path, by
 * path without following, by descriptor, and by the *at form.
 *
 * Copies come in the order of the kernel's fs/xattr.c: flags, name, value,
 * then the walk. Values are up to 64 KiB: not from the arena. The VFS judges
 * names: the sentry owns the guests' user namespace, so the kernel would let
 * it write trusted.* and security.* (law 8).
 *
 * LIMIT: on an object that is not of the VFS there are no attributes but a
 * socket's protocol.
 */
#include <linux/limits.h>
#include <linux/xattr.h>
#include <sys/xattr.h>

#include "handlers.h"
#include "help.h"
#include "pathfd.h"

/* What one call is about, whichever form it came in. */
struct xattr_op {
	gfd_t dirfd;	  /* or the descriptor */
	const char *path; /* NULL with by_fd */
	bool by_fd;
	unsigned walk;
	int name;      /* argument number of the name */
	gaddr_t value; /* value or list buffer */
	uint64_t size;
	int flags; /* XATTR_CREATE, XATTR_REPLACE */
};

#define XATTR_ARGS_MAX 4096 /* a page */

struct xattr_at_args { /* struct xattr_args of linux/xattr.h, 6.13 */
	uint64_t value;
	uint32_t size;
	uint32_t flags;
};

static struct xattr_op op_path(struct call *c, unsigned walk)
{
	return (struct xattr_op){.dirfd = AT_FDCWD,
				 .path = c->str[0],
				 .walk = walk,
				 .name = 1,
				 .value = c->args[2],
				 .size = c->args[3],
				 .flags = (int)c->args[4]};
}

static struct xattr_op op_fd(struct call *c)
{
	struct xattr_op op = op_path(c, 0);

	op.dirfd = (gfd_t)c->args[0];
	op.by_fd = true;
	return op;
}

static int64_t op_at(struct call *c, struct xattr_op *op)
{
	int flags = (int)c->args[2];

	if (flags & ~(AT_SYMLINK_NOFOLLOW | AT_EMPTY_PATH))
		return -EINVAL;
	*op = (struct xattr_op){.dirfd = (gfd_t)c->args[0],
				.path = c->str[1],
				.walk = call_at_flags(flags) | CALL_NULL_EMPTY,
				.name = 3,
				.value = c->args[3],
				.size = c->args[4]};
	return 0;
}

/* The structure of setxattrat and getxattrat, of one known size so far. */
static int64_t op_at_args(struct call *c, struct xattr_op *op)
{
	const struct xattr_at_args *args = c->mem[4];
	uint64_t usize = c->args[5];
	int64_t ret = 0;

	if (usize < sizeof(*args))
		return -EINVAL;
	if (usize > XATTR_ARGS_MAX)
		return -E2BIG;
	if (!args)
		return c->arg_err[4] ? c->arg_err[4] : -EFAULT;
	/* copy_struct_from_user: what a newer kernel would know must be zero */
	if (usize > sizeof(*args)) {
		ret = help_zero(c, c->args[4] + sizeof(*args),
				usize - sizeof(*args));
		if (ret)
			return ret;
	}
	ret = op_at(c, op);
	if (ret)
		return ret;
	op->value = args->value;
	op->size = args->size;
	op->flags = (int)args->flags;
	return 0;
}

/* import_xattr_name: empty and too long are both ERANGE. */
static int op_name(struct call *c, const struct xattr_op *op, const char **name)
{
	int err = c->arg_err[op->name];

	*name = c->str[op->name];
	if (!*name)
		return err == -ENAMETOOLONG ? -ERANGE : err;
	return **name ? 0 : -ERANGE;
}

static int op_target(struct call *c, const struct xattr_op *op,
		     struct target *t)
{
	int ret;

	if (op->by_fd)
		ret = call_fd_data(c, op->dirfd, t);
	else
		ret = call_target(c, op->dirfd, op->path, op->walk, t);
	if (ret)
		return ret;
	return t->foreign && !S_ISSOCK(t->st.st_mode) ? -EOPNOTSUPP : 0;
}

/* An own socket says its protocol (system.sockprotoname), and no more. */
static ssize_t socket_xattr(const struct target *t, const char *name, char *buf,
			    size_t size)
{
	ssize_t n = name ? fgetxattr(t->fd, name, buf, size)
			 : flistxattr(t->fd, buf, size);

	return n < 0 ? -errno : n;
}

static int64_t xattr_set(struct call *c, const struct xattr_op *op)
{
	AUTO_PUT_TARGET struct target t = {.fd = -1};
	AUTO_FREE char *value = NULL;
	const char *name;
	int ret;

	if (op->flags & ~(XATTR_CREATE | XATTR_REPLACE))
		return -EINVAL;
	ret = op_name(c, op, &name);
	if (ret)
		return ret;
	if (op->size > XATTR_SIZE_MAX)
		return -E2BIG;
	value = malloc(op->size + 1);
	if (!value)
		return -ENOMEM;
	if (op->size)
		ret = call_read(c, op->value, value, op->size);
	if (!ret)
		ret = op_target(c, op, &t);
	if (!ret && t.foreign)
		ret = -EOPNOTSUPP;
	if (ret)
		return ret;
	return vfs_setxattr(&c->vfs, &t.ref, name, value, op->size, op->flags);
}

/* Hands n bytes of buf over; a size of 0 only asked for n. */
static int64_t xattr_give(struct call *c, const struct xattr_op *op,
			  const char *buf, ssize_t n)
{
	int ret;

	if (n <= 0 || !op->size)
		return n;
	ret = call_write(c, op->value, buf, (size_t)n);
	return ret ? ret : n;
}

static int64_t xattr_get(struct call *c, const struct xattr_op *op)
{
	AUTO_PUT_TARGET struct target t = {.fd = -1};
	size_t size = op->size < XATTR_SIZE_MAX ? op->size : XATTR_SIZE_MAX;
	AUTO_FREE char *buf = NULL;
	const char *name;
	int ret = op_name(c, op, &name);

	if (!ret)
		ret = op_target(c, op, &t);
	if (ret)
		return ret;
	buf = malloc(size + 1);
	if (!buf)
		return -ENOMEM;
	return xattr_give(
		c, op, buf,
		t.foreign ? socket_xattr(&t, name, buf, size)
			  : vfs_getxattr(&c->vfs, &t.ref, name, buf, size));
}

static int64_t xattr_list(struct call *c, const struct xattr_op *op)
{
	AUTO_PUT_TARGET struct target t = {.fd = -1};
	size_t size = op->size < XATTR_LIST_MAX ? op->size : XATTR_LIST_MAX;
	AUTO_FREE char *buf = NULL;
	int ret = op_target(c, op, &t);

	if (ret)
		return ret == -EOPNOTSUPP && t.foreign ? 0 : ret;
	buf = malloc(size + 1);
	if (!buf)
		return -ENOMEM;
	return xattr_give(c, op, buf,
			  t.foreign
				  ? socket_xattr(&t, NULL, buf, size)
				  : vfs_listxattr(&c->vfs, &t.ref, buf, size));
}

static int64_t xattr_remove(struct call *c, const struct xattr_op *op)
{
	AUTO_PUT_TARGET struct target t = {.fd = -1};
	const char *name;
	int ret = op_name(c, op, &name);

	if (!ret)
		ret = op_target(c, op, &t);
	if (!ret && t.foreign)
		ret = -EOPNOTSUPP;
	return ret ? ret : vfs_removexattr(&c->vfs, &t.ref, name);
}

/* The list calls have no name: their buffer is where others have it. */
static struct xattr_op op_list(struct call *c, struct xattr_op op)
{
	op.value = c->args[1];
	op.size = c->args[2];
	return op;
}

#define XATTR_CALL(name_, op_expr, act)       \
	int64_t h_##name_(struct call *c)     \
	{                                     \
		struct xattr_op op = op_expr; \
                                              \
		return act(c, &op);           \
	}

XATTR_CALL(setxattr, op_path(c, VFS_FOLLOW), xattr_set)
XATTR_CALL(lsetxattr, op_path(c, 0), xattr_set)
XATTR_CALL(fsetxattr, op_fd(c), xattr_set)
XATTR_CALL(getxattr, op_path(c, VFS_FOLLOW), xattr_get)
XATTR_CALL(lgetxattr, op_path(c, 0), xattr_get)
XATTR_CALL(fgetxattr, op_fd(c), xattr_get)
XATTR_CALL(listxattr, op_list(c, op_path(c, VFS_FOLLOW)), xattr_list)
XATTR_CALL(llistxattr, op_list(c, op_path(c, 0)), xattr_list)
XATTR_CALL(flistxattr, op_list(c, op_fd(c)), xattr_list)
XATTR_CALL(removexattr, op_path(c, VFS_FOLLOW), xattr_remove)
XATTR_CALL(lremovexattr, op_path(c, 0), xattr_remove)
XATTR_CALL(fremovexattr, op_fd(c), xattr_remove)

int64_t h_setxattrat(struct call *c)
{
	struct xattr_op op;
	int64_t ret = op_at_args(c, &op);

	return ret ? ret : xattr_set(c, &op);
}

int64_t h_getxattrat(struct call *c)
{
	struct xattr_op op;
	int64_t ret = op_at_args(c, &op);

	if (ret)
		return ret;
	return op.flags ? -EINVAL : xattr_get(c, &op);
}

int64_t h_listxattrat(struct call *c)
{
	struct xattr_op op;
	int64_t ret = op_at(c, &op);

	return ret ? ret : xattr_list(c, &op);
}

int64_t h_removexattrat(struct call *c)
{
	struct xattr_op op;
	int64_t ret = op_at(c, &op);

	return ret ? ret : xattr_remove(c, &op);
}
