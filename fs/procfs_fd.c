/*
 * procfs_fd.c - /proc/PID/fd and fdinfo.
 *
 * fd/N is a magic link. If the VFS knows the object, following it gives that
 * object and an open goes through vfs_reopen with all its checks. What it does
 * not know (a pipe, a memfd, a terminal) becomes an inode without a name that
 * holds the sentry's own copy of the descriptor; opening it reopens that copy.
 *
 * LAW: a reopen never gives a guest an access mode that the descriptor it has
 * does not have, memfds aside (theirs are the guest's own, and seals hold).
 */
#include "procfs_impl.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/sysmacros.h>

struct fdobj {
	int copy;  /* owned */
	int flags; /* F_GETFL of the original */
	bool memfd, tty;
	struct stat st;
};

static const struct pent fd_ent = {"",		PENT_FD, 0700, 0,
				   PENT_ACCESS, NULL,	 NULL};
static const struct pent fdinfo_ent = {
	"", PENT_TEXT, 0400, PROC_FDINFO, PENT_ACCESS, NULL, NULL};

static void proc_fd_fini(struct proc_fd *f)
{
	vref_put(&f->ref);
	if (f->copy >= 0)
		close(f->copy);
	f->copy = -1;
}

static int fd_get(struct vfs_ctx *ctx, const struct inode *inode, int fd,
		  struct proc_fd *out)
{
	const struct procfs *p = procfs_of(inode);
	const struct pnode *n = inode->fs;

	memset(out, 0, offsetof(struct proc_fd, text));
	out->copy = -1;
	out->text[0] = '\0';
	return p->src->fd(p->arg, ctx, n->key, fd, out);
}

/* ---- the directories ------------------------------------------------- */

static mode_t link_mode(int flags)
{
	switch (flags & O_ACCMODE) {
	case O_RDONLY:
		return flags & O_PATH ? 0 : 0500;
	case O_WRONLY:
		return 0300;
	case O_RDWR:
		return 0700;
	default:
		return 0;
	}
}

static int fds_lookup(struct vfs_ctx *ctx, struct inode *dir, const char *name,
		      struct inode **out)
{
	const struct procfs *p = procfs_of(dir);
	const struct pnode *n = dir->fs;
	long fd = pseudo_parse_number(name, PROCFS_FD_MAX, true);
	bool info = n->ent->kind == PENT_FDINFOS;
	AUTO_FREE struct proc_fd *f = NULL;
	int err = p->src->may_access(p->arg, ctx, n->key);

	if (err)
		return err;
	if (fd < 0 || p->src->next_fd(p->arg, n->key, (int)fd) != fd)
		return -ENOENT;
	if (info)
		return procfs_inode(dir->sb, &fdinfo_ent, n->key, (int)fd, out);
	f = xmalloc(sizeof(*f));
	err = fd_get(ctx, dir, (int)fd, f);
	if (err)
		return -ENOENT;
	err = procfs_inode(dir->sb, &fd_ent, n->key, (int)fd, out);
	if (!err) {
		(*out)->mode = link_mode(f->flags);
		(*out)->ino += (*out)->mode;
	}
	proc_fd_fini(f);
	return err;
}

static int fds_readdir(struct vfs_ctx *ctx, struct inode *dir, off_t *pos,
		       vfs_dirent_fn fn, void *arg)
{
	const struct procfs *p = procfs_of(dir);
	const struct pnode *n = dir->fs;
	const struct pent *e = n->ent->kind == PENT_FDS ? &fd_ent : &fdinfo_ent;
	int err = p->src->may_access(p->arg, ctx, n->key);
	char name[16];

	if (err)
		return err;
	while (*pos >= 0 && *pos <= PROCFS_FD_MAX) {
		int fd = p->src->next_fd(p->arg, n->key, (int)*pos);
		int len;

		if (fd < 0)
			break;
		len = snprintf(name, sizeof(name), "%d", fd);
		if (fn(arg, name, (size_t)len, procfs_ino(e, n->key, fd),
		       e == &fd_ent ? DT_LNK : DT_REG, (off_t)fd + 1))
			break;
		*pos = (off_t)fd + 1;
	}
	return 0;
}

static int fds_getattr(struct vfs_ctx *ctx UNUSED, struct inode *dir,
		       struct statx *out)
{
	const struct procfs *p = procfs_of(dir);
	const struct pnode *n = dir->fs;
	uint64_t count = 0;

	pseudo_getattr(dir, out);
	out->stx_blksize = 1024;
	out->stx_nlink = 2;
	/* the number of open descriptors, as kernels since 6.2 give it */
	for (int fd = 0; n->ent->kind == PENT_FDS; fd++, count++) {
		fd = p->src->next_fd(p->arg, n->key, fd);
		if (fd < 0)
			break;
	}
	out->stx_size = count;
	return 0;
}

static int fds_open(struct vfs_ctx *ctx, struct inode *inode,
		    struct dentry *dentry, int flags, struct vfs_opened *out)
{
	const struct procfs *p = procfs_of(inode);
	const struct pnode *n = inode->fs;
	int err = p->src->may_access(p->arg, ctx, n->key);

	return err ? err : pseudo_open_dir(inode, dentry, flags, out);
}

static void node_release(struct inode *inode)
{
	free(inode->fs);
}

const struct inode_ops procfs_fds_ops = {
	.lookup = fds_lookup,
	.getattr = fds_getattr,
	.open = fds_open,
	.readdir = fds_readdir,
	.release = node_release,
};

/* ---- the links ------------------------------------------------------- */

static int fdobj_new(struct super *sb, struct proc_fd *f, uid_t uid, gid_t gid,
		     struct inode **out)
{
	struct fdobj *o = xcalloc(1, sizeof(*o));
	struct inode *i;

	o->copy = f->copy;
	f->copy = -1;
	o->flags = f->flags;
	o->st = f->st;
	o->memfd = !strncmp(f->text, "/memfd:", 7);
	o->tty = S_ISCHR(f->st.st_mode) && major(f->st.st_rdev) >= 136 &&
		 major(f->st.st_rdev) <= 143;
	i = inode_new(sb, &procfs_fdobj_ops, f->st.st_ino,
		      f->st.st_mode & S_IFMT, o);
	i->mode = f->st.st_mode & 07777;
	i->uid = uid;
	i->gid = gid;
	*out = i;
	return 0;
}

static ssize_t fd_readlink(struct vfs_ctx *ctx, struct inode *inode, char *buf,
			   size_t size, struct vref *jump)
{
	const struct procfs *p = procfs_of(inode);
	const struct pnode *n = inode->fs;
	AUTO_FREE struct proc_fd *f = NULL;
	int err = p->src->may_access(p->arg, ctx, n->key);
	ssize_t len = 0;

	if (err)
		return err;
	f = xmalloc(sizeof(*f));
	err = fd_get(ctx, inode, n->fd, f);
	if (err)
		return -ENOENT;
	if (!jump) {
		len = pseudo_copy_link(f->text, buf, size);
	} else if (f->ref.inode) {
		*jump = f->ref;
		f->ref = (struct vref){NULL, NULL};
	} else {
		len = fdobj_new(p->anon, f, inode->uid, inode->gid,
				&jump->inode);
	}
	proc_fd_fini(f);
	return len;
}

static int fd_getattr(struct vfs_ctx *ctx UNUSED, struct inode *inode,
		      struct statx *out)
{
	pseudo_getattr(inode, out);
	out->stx_size = 64;
	return 0;
}

const struct inode_ops procfs_fd_ops = {
	.getattr = fd_getattr,
	.readlink = fd_readlink,
	.release = node_release,
};

/* ---- objects without a name ------------------------------------------ */

static int fdobj_getattr(struct vfs_ctx *ctx UNUSED, struct inode *inode,
			 struct statx *out)
{
	const struct fdobj *o = inode->fs;
	struct stat st;

	if (fstat(o->copy, &st) < 0)
		return -errno;
	out->stx_mask |= STATX_BASIC_STATS;
	out->stx_blksize = (uint32_t)st.st_blksize;
	out->stx_nlink = (uint32_t)st.st_nlink;
	out->stx_mode = (uint16_t)st.st_mode;
	out->stx_size = (uint64_t)st.st_size;
	out->stx_blocks = (uint64_t)st.st_blocks;
	out->stx_dev_major = major(st.st_dev);
	out->stx_dev_minor = minor(st.st_dev);
	out->stx_rdev_major = major(st.st_rdev);
	out->stx_rdev_minor = minor(st.st_rdev);
	out->stx_atime.tv_sec = st.st_atim.tv_sec;
	out->stx_atime.tv_nsec = (uint32_t)st.st_atim.tv_nsec;
	out->stx_mtime.tv_sec = st.st_mtim.tv_sec;
	out->stx_mtime.tv_nsec = (uint32_t)st.st_mtim.tv_nsec;
	out->stx_ctime.tv_sec = st.st_ctim.tv_sec;
	out->stx_ctime.tv_nsec = (uint32_t)st.st_ctim.tv_nsec;
	return 0;
}

/* Is access mode `want` within what the descriptor `have` gives? */
static bool within(int want, int have)
{
	want &= O_ACCMODE;
	have &= O_ACCMODE;
	return want == have || (have == O_RDWR && want != O_ACCMODE);
}

static int fdobj_open(struct vfs_ctx *ctx UNUSED, struct inode *inode,
		      struct dentry *dentry UNUSED, int flags,
		      struct vfs_opened *out)
{
	const struct fdobj *o = inode->fs;
	char name[32];
	int fd;

	if (o->flags & O_PATH)
		return -EACCES;
	switch (inode->type) {
	case S_IFREG:
		if (!o->memfd && !within(flags, o->flags))
			return -EACCES;
		break;
	case S_IFIFO:
	case S_IFCHR:
		if (!within(flags, o->flags))
			return -EACCES;
		break;
	default:
		return -ENXIO;
	}
	snprintf(name, sizeof(name), "/proc/self/fd/%d", o->copy);
	/* A pipe's end does not wait for the other one, a terminal is open
	 * already: neither blocks. */
	fd = open(name, (flags & (O_ACCMODE | O_APPEND | O_TRUNC | O_DIRECT)) |
				O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (!(flags & O_NONBLOCK) &&
	    fcntl(fd, F_SETFL, flags & (O_APPEND | O_DIRECT)) < 0) {
		int err = -errno;

		close(fd);
		return err;
	}
	out->kind = o->tty ? VFS_OPEN_TTY : VFS_OPENED;
	out->fd = fd;
	return 0;
}

static void fdobj_release(struct inode *inode)
{
	struct fdobj *o = inode->fs;

	close(o->copy);
	free(o);
}

const struct inode_ops procfs_fdobj_ops = {
	.getattr = fdobj_getattr,
	.open = fdobj_open,
	.release = fdobj_release,
};
