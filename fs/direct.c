/*
 * direct.c - mounts whose changes go to the host (--rw).
 *
 * The same nodes as the overlay's, with no upper layer: each operation is one
 * host call on a directory descriptor and a single component, as the user who
 * started the sandbox. Nothing is cached but the nodes' identity; dentries are
 * revalidated, since the host's programs work in the same tree.
 *
 * LIMIT: no sockets, FIFOs, devices or O_TMPFILE in direct mounts.
 * LIMIT: new files belong to the user on the host, whatever id the guest sees.
 */
#include "overlay_priv.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <sys/xattr.h>

static int direct_errno(int err)
{
	return err == EMFILE ? -ENFILE : -err;
}

/* Bits that would lend the user's rights to others, of a file whose content is
 * a guest's, are not for the host. */
static mode_t direct_mode(mode_t type, mode_t mode)
{
	return mode & (S_ISDIR(type) ? 03777 : 01777);
}

/* The directory that was just made, never what a link leads to: another
 * program may have put one there. */
static int direct_make_dir(struct hostdir *dir, int fd, const char *name,
			   mode_t mode)
{
	AUTO_CLOSE int made = -1;
	char path[32];
	struct stat st;

	if (mkdirat(fd, name, mode) < 0)
		return direct_errno(errno);
	if (hostfs_open_path(dir, name, &made) < 0 || fstat(made, &st) < 0 ||
	    !S_ISDIR(st.st_mode))
		return -ENOENT;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", made);
	return chmod(path, mode) < 0 ? direct_errno(errno) : 0;
}

static int direct_make(struct hostdir *dir, int fd, const char *name,
		       mode_t mode, const char *target)
{
	int f;

	switch (mode & S_IFMT) {
	case S_IFDIR:
		return direct_make_dir(dir, fd, name, direct_mode(mode, mode));
	case S_IFLNK:
		return symlinkat(target, fd, name) < 0 ? direct_errno(errno)
						       : 0;
	case S_IFREG:
		f = openat(fd, name,
			   O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
			   0600);
		if (f < 0)
			return direct_errno(errno);
		if (fchmod(f, direct_mode(mode, mode)) < 0)
			log_host(errno, "fchmod");
		close(f);
		return 0;
	}
	return -EPERM;
}

static int direct_create(struct vfs_ctx *ctx, struct dentry *where, mode_t mode,
			 dev_t dev, const char *target, struct inode **out)
{
	struct ov_node *dir = ov_parent_of(where);
	struct stat st;
	int fd = hostdir_fd(dir->lhost), ret;

	(void)ctx;
	(void)dev;
	if (fd < 0)
		return fd;
	ret = direct_make(dir->lhost, fd, where->name, mode, target);
	if (!ret)
		ret = hostfs_stat(dir->lhost, where->name, &st);
	if (ret < 0)
		return ret;
	*out = ov_lower_node(dir, where->name, &st);
	ov_index_add(dir, where->name, *out);
	return 0;
}

static int direct_path(struct ov_node *n, int *fd, char path[32])
{
	int ret = ov_lower_path(n, fd);

	if (ret < 0)
		return ret;
	snprintf(path, 32, "/proc/self/fd/%d", *fd);
	return 0;
}

static int direct_link(struct vfs_ctx *ctx, struct inode *inode,
		       struct dentry *where)
{
	struct ov_node *n = ov_node(inode), *dir = ov_parent_of(where);
	AUTO_CLOSE int fd = -1;
	char path[32];
	int to, ret = direct_path(n, &fd, path);

	(void)ctx;
	if (ret < 0)
		return ret;
	to = hostdir_fd(dir->lhost);
	if (to < 0)
		return to;
	if (linkat(AT_FDCWD, path, to, where->name, AT_SYMLINK_FOLLOW) < 0)
		return direct_errno(errno);
	ov_index_add(dir, where->name, inode);
	ov_refresh(n);
	return 0;
}

/* One name less; the one we know it by may be that, so stat cannot tell. */
static void direct_lost_name(struct ov_node *n)
{
	if (S_ISDIR(n->inode->type) || n->nlink <= 1) {
		n->nlink = 0;
		ov_lower_unhash(n);
		return;
	}
	n->nlink--;
	n->lst.st_nlink--;
	n->astray = true;
}

static int direct_unlink(struct vfs_ctx *ctx, struct dentry *victim, bool dir)
{
	struct ov_node *parent = ov_parent_of(victim);
	int fd = hostdir_fd(parent->lhost);

	(void)ctx;
	if (fd < 0)
		return fd;
	if (unlinkat(fd, victim->name, dir ? AT_REMOVEDIR : 0) < 0)
		return direct_errno(errno);
	ov_index_del(parent, victim->name);
	direct_lost_name(ov_node(victim->inode));
	return 0;
}

static void direct_placed(struct ov_node *n, struct ov_node *dir,
			  const char *name)
{
	ov_index_add(dir, name, n->inode);
	if (!S_ISDIR(n->inode->type)) {
		ov_lower_placed(n, dir, name);
		return;
	}
	hostdir_moved(n->lhost, dir->lhost, name);
	ov_set_parent(n, dir, name);
	ov_lower_rehash(n);
}

static int direct_rename(struct vfs_ctx *ctx, struct dentry *from,
			 struct dentry *to, unsigned flags)
{
	struct ov_node *a = ov_parent_of(from), *b = ov_parent_of(to);
	AUTO_CLOSE int fd = -1;
	int src, dst;

	(void)ctx;
	if (from->inode == to->inode)
		return 0;
	/* What is hidden there is not the guest's to replace. */
	if (!to->inode && (to->mask & VFS_MASK_NOLOWER))
		flags |= RENAME_NOREPLACE;
	src = hostdir_fd(a->lhost);
	if (src < 0)
		return src;
	fd = fcntl(src, F_DUPFD_CLOEXEC, 0);
	dst = hostdir_fd(b->lhost);
	if (fd < 0 || dst < 0)
		return dst < 0 ? dst : -ENFILE;
	if (syscall(SYS_renameat2, fd, from->name, dst, to->name, flags) < 0)
		return direct_errno(errno);
	ov_index_del(a, from->name);
	ov_index_del(b, to->name);
	if (to->inode && (flags & RENAME_EXCHANGE))
		direct_placed(ov_node(to->inode), a, from->name);
	else if (to->inode)
		direct_lost_name(ov_node(to->inode));
	direct_placed(ov_node(from->inode), b, to->name);
	return 0;
}

static int direct_open(struct vfs_ctx *ctx, struct inode *inode,
		       struct dentry *dentry, int flags, struct vfs_opened *out)
{
	struct ov_node *n = ov_node(inode);
	struct vfs *vfs = n->ov->sb->vfs;
	AUTO_CLOSE int fd = -1;
	struct stat st;
	int ret;

	out->kind = VFS_OPENED;
	if (S_ISDIR(inode->type))
		return vfs_dir_standin(vfs, inode, dentry, &out->fd);
	if (!S_ISREG(inode->type))
		return S_ISLNK(inode->type) ? -ELOOP : -ENXIO;
	ret = ov_lower_open_walked(ctx, n, dentry,
				   flags & (O_ACCMODE | O_TRUNC | O_APPEND |
					    O_DIRECT | O_SYNC | O_DSYNC |
					    O_NONBLOCK | O_NOFOLLOW),
				   &fd, &st);
	if (!ret)
		ret = vfs_object_add_host(vfs, fd, &st, NULL, inode, dentry);
	if (!ret)
		out->fd = fd_take(&fd);
	return ret;
}

static int direct_make_store(struct vfs_ctx *ctx, struct inode *inode,
			     struct dentry *dentry, int flags, int *fd,
			     struct vfs_job **job)
{
	struct vfs_opened o = {.fd = -1, .block_dir = -1};
	int ret = direct_open(ctx, inode, dentry, flags, &o);

	(void)job;
	if (!ret)
		*fd = o.fd;
	return ret;
}

/* ---- attributes ------------------------------------------------------ */

/* The virtual ids give no right over the host's: a user may do what that user
 * may, and real root gives no file away for a guest (law 8). */
static int direct_chown(struct ov_node *n, int fd, const struct vfs_attr *attr)
{
	const struct vfs_config *c = &n->ov->sb->vfs->cfg;
	uid_t uid = (uid_t)-1;
	gid_t gid = (gid_t)-1;
	struct stat st;

	if (fstat(fd, &st) < 0)
		return direct_errno(errno);
	if ((attr->valid & VFS_ATTR_UID) &&
	    attr->uid != ov_uid(n->ov, st.st_uid))
		uid = c->map_owner && attr->uid == c->owner_uid ? c->host_uid
								: attr->uid;
	if ((attr->valid & VFS_ATTR_GID) &&
	    attr->gid != ov_gid(n->ov, st.st_gid))
		gid = c->map_owner && attr->gid == c->owner_gid ? c->host_gid
								: attr->gid;
	if (uid == (uid_t)-1 && gid == (gid_t)-1)
		return 0;
	if (n->ov->host.euid == 0)
		return -EPERM;
	return fchownat(fd, "", uid, gid, AT_EMPTY_PATH) < 0
		       ? direct_errno(errno)
		       : 0;
}

static int direct_apply(struct ov_node *n, const char *path, int fd,
			const struct vfs_attr *attr)
{
	struct timespec t[2] = {{0, UTIME_OMIT}, {0, UTIME_OMIT}};
	int ret = 0;

	if ((attr->valid & VFS_ATTR_SIZE) && truncate(path, attr->size) < 0)
		return direct_errno(errno);
	if ((attr->valid & (VFS_ATTR_UID | VFS_ATTR_GID)))
		ret = direct_chown(n, fd, attr);
	if (ret)
		return ret;
	if ((attr->valid & VFS_ATTR_MODE) && !S_ISLNK(n->inode->type) &&
	    chmod(path, direct_mode(n->inode->type, attr->mode)) < 0)
		return direct_errno(errno);
	if (attr->valid & VFS_ATTR_ATIME)
		t[0] = attr->atime;
	if (attr->valid & VFS_ATTR_MTIME)
		t[1] = attr->mtime;
	if ((attr->valid & (VFS_ATTR_ATIME | VFS_ATTR_MTIME)) &&
	    utimensat(fd, "", t, AT_EMPTY_PATH) < 0)
		return direct_errno(errno);
	return 0;
}

static int direct_setattr(struct vfs_ctx *ctx, struct inode *inode,
			  struct vfs_attr *attr)
{
	struct ov_node *n = ov_node(inode);
	AUTO_CLOSE int fd = -1;
	char path[32];
	int ret = direct_path(n, &fd, path);

	(void)ctx;
	if (!ret)
		ret = direct_apply(n, path, fd, attr);
	inode_acl_forget(inode); /* the kernel made it follow the mode */
	ov_refresh(n);
	return ret;
}

static ssize_t direct_xattr(struct vfs_ctx *ctx, struct inode *inode, int op,
			    const char *name, void *buf, size_t size, int flags)
{
	AUTO_CLOSE int fd = -1;
	char path[32];
	ssize_t ret = direct_path(ov_node(inode), &fd, path);

	(void)ctx;
	if (ret < 0)
		return ret;
	if (S_ISLNK(inode->type))
		return op == VFS_XATTR_LIST ? 0 : -ENODATA;
	/* security.* and trusted.* of the host are not the guest's to set. */
	if ((op == VFS_XATTR_SET || op == VFS_XATTR_REMOVE) &&
	    strncmp(name, "user.", 5) != 0 &&
	    strncmp(name, "system.posix_acl_", 17) != 0)
		return -EPERM;
	switch (op) {
	case VFS_XATTR_GET:
		ret = getxattr(path, name, buf, size);
		break;
	case VFS_XATTR_LIST:
		ret = listxattr(path, buf, size);
		break;
	case VFS_XATTR_SET:
		ret = setxattr(path, name, buf, size, flags);
		break;
	default:
		ret = removexattr(path, name);
	}
	return ret < 0 ? direct_errno(errno) : ret;
}

static int direct_watch(struct vfs_ctx *ctx, struct inode *inode,
			struct dentry *dentry, int *opath_fd)
{
	struct ov_node *n = ov_node(inode);

	(void)ctx;
	(void)dentry;
	return ov_lower_path(n, opath_fd);
}

const struct inode_ops direct_ops = {
	.lookup = ov_lookup,
	.current = ov_current,
	.getattr = ov_getattr,
	.setattr = direct_setattr,
	.create = direct_create,
	.link = direct_link,
	.unlink = direct_unlink,
	.rename = direct_rename,
	.readlink = ov_readlink,
	.open = direct_open,
	.readdir = ov_readdir,
	.xattr = direct_xattr,
	.release = ov_release,
	.watch_target = direct_watch,
	.make_store = direct_make_store,
	.withheld = ov_withheld,
	.statfs = overlay_statfs,
};
