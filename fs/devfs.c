/*
 * devfs.c - see devfs.h.
 *
 * Inodes are kept for the life of the sandbox: descriptors of devices are
 * found again by the host's (dev, ino), which stay as long.
 */
#include "devfs.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/sysmacros.h>

#include "pseudo.h"

enum {
	TMPFS_MAGIC_NR = 0x01021994,
	PTS_MAX = 4096,	 /* as kernel.pty.max */
	PTS_MAJOR = 136, /* to 143; devpts numbers above 255 stay in 136 */
	TTY_GID = 5,
	PTS_KEY = 1 << 16, /* inode.fs of pts/0 */
	PTS_EARLY = 16,	   /* known before they exist */
	PTS_FIRST_INO = 3, /* devpts's number of pts/0, Linux 2.6 to 6.18 */
};

enum dev_kind { DEV_HOST, DEV_TTY, DEV_PTMX, DEV_LINK, DEV_DIR, DEV_PTS };

struct dev_row {
	const char *name;
	enum dev_kind kind;
	mode_t mode;
	unsigned maj, min;
	const char *target;
};

static const struct dev_row rows[] = {
	{"null", DEV_HOST, 0666, 1, 3, NULL},
	{"zero", DEV_HOST, 0666, 1, 5, NULL},
	{"full", DEV_HOST, 0666, 1, 7, NULL},
	{"random", DEV_HOST, 0666, 1, 8, NULL},
	{"urandom", DEV_HOST, 0666, 1, 9, NULL},
	{"tty", DEV_TTY, 0666, 5, 0, NULL},
	{"ptmx", DEV_PTMX, 0666, 5, 2, NULL},
	{"pts", DEV_PTS, 0755, 0, 0, NULL},
	{"shm", DEV_DIR, 01777, 0, 0, NULL},
	{"fd", DEV_LINK, 0777, 0, 0, "/proc/self/fd"},
	{"stdin", DEV_LINK, 0777, 0, 0, "/proc/self/fd/0"},
	{"stdout", DEV_LINK, 0777, 0, 0, "/proc/self/fd/1"},
	{"stderr", DEV_LINK, 0777, 0, 0, "/proc/self/fd/2"},
};

struct devfs {
	struct devfs_config cfg;
	struct inode *node[ARRAY_SIZE(rows)]; /* counted */
	struct inode *pts[PTS_MAX];	      /* counted; NULL until seen */
	dev_t pts_dev;			      /* of cfg.devpts */
};

/* inode.fs: the row's index, or PTS_KEY + number. */
static size_t node_index(const struct inode *i)
{
	return (size_t)(uintptr_t)i->fs;
}

static struct devfs *devfs_of(const struct inode *i)
{
	return i->sb->fs;
}

static const struct dev_row *node_row(const struct inode *i)
{
	return &rows[node_index(i)];
}

/* ---- devices --------------------------------------------------------- */

static int register_fd(struct inode *inode, struct dentry *dentry, int fd,
		       struct vfs_opened *out, enum vfs_open_kind kind)
{
	struct stat st;
	int err = fstat(fd, &st) < 0 ? -errno : 0;

	if (!err)
		err = vfs_object_add(inode->sb->vfs, st.st_dev, st.st_ino,
				     inode, dentry, false);
	if (err) {
		close(fd);
		return err;
	}
	out->kind = kind;
	out->fd = fd;
	return 0;
}

/* Opens a character device below dirfd if it has the number rdev. */
static int open_device(int dirfd, const char *name, dev_t rdev, int flags,
		       int *fd)
{
	AUTO_CLOSE int f = -1;
	struct stat st;

	if (fstatat(dirfd, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return -errno;
	if (!S_ISCHR(st.st_mode) || st.st_rdev != rdev)
		return -ENXIO;
	f = openat(dirfd, name,
		   (flags & (O_ACCMODE | O_APPEND | O_NONBLOCK | O_NOFOLLOW)) |
			   O_NOCTTY | O_CLOEXEC);
	if (f < 0)
		return -errno;
	if (fstat(f, &st) < 0 || !S_ISCHR(st.st_mode) || st.st_rdev != rdev)
		return -ENXIO;
	*fd = fd_take(&f);
	return 0;
}

static int pts_stat(const struct devfs *d, unsigned nr, struct stat *st)
{
	char name[16];

	if (d->cfg.devpts < 0 || nr >= PTS_MAX)
		return -ENOENT;
	snprintf(name, sizeof(name), "%u", nr);
	if (fstatat(d->cfg.devpts, name, st, AT_SYMLINK_NOFOLLOW) < 0)
		return -errno;
	return S_ISCHR(st->st_mode) ? 0 : -ENOENT;
}

static int open_pts(struct devfs *d, struct inode *inode, struct dentry *dentry,
		    unsigned nr, int flags, struct vfs_opened *out,
		    enum vfs_open_kind kind)
{
	struct stat st;
	char name[16];
	int fd = -1, err = pts_stat(d, nr, &st);

	snprintf(name, sizeof(name), "%u", nr);
	if (!err)
		err = open_device(d->cfg.devpts, name, st.st_rdev, flags, &fd);
	return err ? err : register_fd(inode, dentry, fd, out, kind);
}

static int pts_inode(struct super *sb, unsigned nr, struct inode **out);
static void pts_reset(struct devfs *d, struct inode *pts);

/* The slave of a new master: known from the start, since it may reach the
 * guest without an open (TIOCGPTPEER); and not an earlier one's modes. */
static void pts_fresh(struct super *sb, int master)
{
	struct inode *pts = NULL;
	unsigned nr;

	if (ioctl(master, TIOCGPTN, &nr) || pts_inode(sb, nr, &pts))
		return;
	pts_reset(sb->fs, pts);
	inode_put(pts);
}

/* LIMIT: a descriptor of /dev/tty is one of the terminal itself; fstat and
 * ttyname show /dev/pts/N. */
static int open_tty(struct vfs_ctx *ctx, struct inode *inode, int flags,
		    struct vfs_opened *out)
{
	struct devfs *d = devfs_of(inode);
	struct inode *pts = NULL;
	int nr = d->cfg.ctty ? d->cfg.ctty(d->cfg.arg, ctx) : -ENXIO;
	int err;

	if (nr < 0 || pts_inode(inode->sb, (unsigned)nr, &pts) < 0)
		return -ENXIO;
	err = open_pts(d, pts, NULL, (unsigned)nr, flags, out, VFS_OPENED);
	inode_put(pts);
	return err;
}

static int open_ptmx(struct inode *inode, struct dentry *dentry, int flags,
		     struct vfs_opened *out)
{
	struct devfs *d = devfs_of(inode);
	int fd = -1, err;

	if (d->cfg.devpts < 0)
		return -ENXIO;
	err = open_device(d->cfg.devpts, "ptmx", makedev(5, 2), flags, &fd);
	if (err)
		return err;
	pts_fresh(inode->sb, fd);
	return register_fd(inode, dentry, fd, out, VFS_OPENED);
}

static int dev_open(struct vfs_ctx *ctx, struct inode *inode,
		    struct dentry *dentry, int flags, struct vfs_opened *out)
{
	struct devfs *d = devfs_of(inode);
	size_t i = node_index(inode);
	const struct dev_row *r;
	int fd = -1, err;

	if (i >= PTS_KEY)
		return open_pts(d, inode, dentry, (unsigned)(i - PTS_KEY),
				flags, out, VFS_OPEN_TTY);
	r = &rows[i];
	if (r->kind == DEV_TTY)
		return open_tty(ctx, inode, flags, out);
	if (r->kind == DEV_PTMX)
		return open_ptmx(inode, dentry, flags, out);
	err = open_device(d->cfg.host_dev, r->name, makedev(r->maj, r->min),
			  flags, &fd);
	return err ? err : register_fd(inode, dentry, fd, out, VFS_OPENED);
}

/* LIMIT: fstat of such a descriptor shows the node in /dev. */
static int open_by_number(struct vfs_ctx *ctx, void *arg, dev_t rdev, int flags,
			  struct vfs_opened *out)
{
	struct devfs *d = arg;
	int err;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct dev_row *r = &rows[i];

		if (rdev != makedev(r->maj, r->min) || r->kind > DEV_PTMX)
			continue;
		if (r->kind == DEV_TTY)
			return open_tty(ctx, d->node[i], flags, out);
		if (r->kind == DEV_PTMX)
			return open_ptmx(d->node[i], NULL, flags, out);
		out->kind = VFS_OPENED;
		err = open_device(d->cfg.host_dev, r->name, rdev, flags,
				  &out->fd);
		return err == -ENOENT ? -ENXIO : err;
	}
	return -ENXIO;
}

/* What the kernel shows of any descriptor of the slave, however it was made:
 * ttyname(3) compares a descriptor with the path by these. */
static void pts_getattr(const struct inode *inode, struct statx *out)
{
	const struct devfs *d = devfs_of(inode);
	unsigned nr = (unsigned)(node_index(inode) - PTS_KEY);
	struct stat st;

	out->stx_dev_major = major(d->pts_dev);
	out->stx_dev_minor = minor(d->pts_dev);
	out->stx_rdev_major = PTS_MAJOR;
	out->stx_rdev_minor = nr;
	if (pts_stat(d, nr, &st))
		return;
	out->stx_rdev_major = major(st.st_rdev);
	out->stx_rdev_minor = minor(st.st_rdev);
	out->stx_blksize = (uint32_t)st.st_blksize;
	/* idle times (w, who) are read from these */
	out->stx_atime.tv_sec = st.st_atim.tv_sec;
	out->stx_mtime.tv_sec = st.st_mtim.tv_sec;
	out->stx_ctime.tv_sec = st.st_ctim.tv_sec;
}

static int dev_getattr(struct vfs_ctx *ctx UNUSED, struct inode *inode,
		       struct statx *out)
{
	size_t i = node_index(inode);

	pseudo_getattr(inode, out);
	if (i < PTS_KEY) {
		out->stx_rdev_major = rows[i].maj;
		out->stx_rdev_minor = rows[i].min;
	} else {
		pts_getattr(inode, out);
	}
	return 0;
}

/* Owner and mode of a terminal are its user's to change; others are root's. */
static int dev_setattr(struct vfs_ctx *ctx UNUSED, struct inode *inode,
		       struct vfs_attr *a)
{
	if (node_index(inode) < PTS_KEY)
		return a->valid & (VFS_ATTR_MODE | VFS_ATTR_UID | VFS_ATTR_GID)
			       ? -EPERM
			       : 0;
	if (a->valid & VFS_ATTR_MODE)
		inode->mode = a->mode;
	if (a->valid & VFS_ATTR_UID)
		inode->uid = a->uid;
	if (a->valid & VFS_ATTR_GID)
		inode->gid = a->gid;
	return 0;
}

static const struct inode_ops dev_ops = {
	.getattr = dev_getattr,
	.setattr = dev_setattr,
	.open = dev_open,
};

/* ---- links and directories ------------------------------------------- */

static ssize_t link_readlink(struct vfs_ctx *ctx UNUSED, struct inode *inode,
			     char *buf, size_t size, struct vref *jump UNUSED)
{
	return pseudo_copy_link(node_row(inode)->target, buf, size);
}

static int dir_open(struct vfs_ctx *ctx UNUSED, struct inode *inode,
		    struct dentry *dentry, int flags, struct vfs_opened *out)
{
	return pseudo_open_dir(inode, dentry, flags, out);
}

static int root_lookup(struct vfs_ctx *ctx UNUSED, struct inode *dir,
		       const char *name, struct inode **out)
{
	struct devfs *d = devfs_of(dir);

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		if (strcmp(rows[i].name, name))
			continue;
		*out = inode_get(d->node[i]);
		return 0;
	}
	return -ENOENT;
}

static unsigned char row_dtype(const struct inode *i)
{
	return (unsigned char)(i->type >> 12);
}

static int root_readdir(struct vfs_ctx *ctx UNUSED, struct inode *dir,
			off_t *pos, vfs_dirent_fn fn, void *arg)
{
	struct devfs *d = devfs_of(dir);

	if (*pos < 0)
		return 0;
	for (size_t i = (size_t)*pos; i < ARRAY_SIZE(rows); i++) {
		if (fn(arg, rows[i].name, strlen(rows[i].name), d->node[i]->ino,
		       row_dtype(d->node[i]), (off_t)i + 1))
			break;
		*pos = (off_t)i + 1;
	}
	return 0;
}

static int empty_lookup(struct vfs_ctx *ctx UNUSED, struct inode *dir UNUSED,
			const char *name UNUSED, struct inode **out UNUSED)
{
	return -ENOENT;
}

static int empty_readdir(struct vfs_ctx *ctx UNUSED, struct inode *dir UNUSED,
			 off_t *pos UNUSED, vfs_dirent_fn fn UNUSED,
			 void *arg UNUSED)
{
	return 0;
}

static void pts_reset(struct devfs *d, struct inode *pts)
{
	pts->mode = 0620;
	pts->uid = d->cfg.uid;
	pts->gid = TTY_GID;
}

/* Registered without a name at first: descriptors of it may exist before it
 * is looked up (the relay's own terminal). */
static int pts_register(struct super *sb, unsigned nr, ino_t ino)
{
	struct devfs *d = sb->fs;
	struct inode *i = d->pts[nr];
	int err;

	if (i && i->ino == ino)
		return 0;
	if (i) {
		vfs_object_del(sb->vfs, d->pts_dev, i->ino);
		i->ino = ino;
	} else {
		i = inode_new(sb, &dev_ops, ino, S_IFCHR,
			      (void *)(uintptr_t)(PTS_KEY + nr));
		pts_reset(d, i);
		d->pts[nr] = i;
	}
	err = vfs_object_add(sb->vfs, d->pts_dev, ino, i, NULL, false);
	if (err) {
		d->pts[nr] = NULL;
		inode_put(i);
	}
	return err;
}

static int pts_inode(struct super *sb, unsigned nr, struct inode **out)
{
	struct devfs *d = sb->fs;
	struct stat st;
	int err = pts_stat(d, nr, &st);

	if (!err)
		err = pts_register(sb, nr, st.st_ino);
	if (!err)
		*out = inode_get(d->pts[nr]);
	return err;
}

static int pts_lookup(struct vfs_ctx *ctx UNUSED, struct inode *dir,
		      const char *name, struct inode **out)
{
	long nr = pseudo_parse_number(name, PTS_MAX - 1, true);

	return nr < 0 ? -ENOENT : pts_inode(dir->sb, (unsigned)nr, out);
}

static int pts_readdir(struct vfs_ctx *ctx UNUSED, struct inode *dir,
		       off_t *pos, vfs_dirent_fn fn, void *arg)
{
	struct devfs *d = devfs_of(dir);
	struct stat st;
	char name[16];

	if (d->cfg.devpts < 0 || *pos < 0)
		return 0;
	for (unsigned nr = (unsigned)*pos; nr < PTS_MAX; nr++) {
		int len = snprintf(name, sizeof(name), "%u", nr);

		/* numbers are given lowest first: stop in the first gap that
		 * is longer than any in use is likely to be */
		if (pts_stat(d, nr, &st)) {
			if (nr >= (unsigned)*pos + 256)
				break;
			continue;
		}
		if (fn(arg, name, (size_t)len, st.st_ino, DT_CHR,
		       (off_t)nr + 1))
			break;
		*pos = (off_t)nr + 1;
	}
	return 0;
}

static const struct inode_ops link_ops = {
	.getattr = pseudo_op_getattr,
	.readlink = link_readlink,
};

static const struct inode_ops root_ops = {
	.lookup = root_lookup,
	.getattr = pseudo_op_getattr,
	.open = dir_open,
	.readdir = root_readdir,
};

static const struct inode_ops pts_ops = {
	.lookup = pts_lookup,
	.getattr = pseudo_op_getattr,
	.open = dir_open,
	.readdir = pts_readdir,
};

static const struct inode_ops empty_ops = {
	.lookup = empty_lookup,
	.getattr = pseudo_op_getattr,
	.open = dir_open,
	.readdir = empty_readdir,
};

/* ---- mounting -------------------------------------------------------- */

static const struct {
	const struct inode_ops *ops;
	mode_t type;
} kinds[] = {
	[DEV_HOST] = {&dev_ops, S_IFCHR},  [DEV_TTY] = {&dev_ops, S_IFCHR},
	[DEV_PTMX] = {&dev_ops, S_IFCHR},  [DEV_LINK] = {&link_ops, S_IFLNK},
	[DEV_DIR] = {&empty_ops, S_IFDIR}, [DEV_PTS] = {&pts_ops, S_IFDIR},
};

static struct inode *row_inode(struct super *sb, size_t i)
{
	const struct dev_row *r = &rows[i];
	struct inode *n = inode_new(sb, kinds[r->kind].ops, i + 2,
				    kinds[r->kind].type, (void *)(uintptr_t)i);

	n->mode = r->mode;
	n->uid = 0;
	n->gid = r->kind == DEV_TTY || r->kind == DEV_PTMX ? TTY_GID : 0;
	n->revalidate = r->kind == DEV_PTS;
	n->no_negative = r->kind == DEV_PTS;
	n->link_stable = r->kind == DEV_LINK;
	return n;
}

static void devfs_free(struct super *sb)
{
	struct devfs *d = sb->fs;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		inode_put(d->node[i]);
	for (size_t i = 0; i < PTS_MAX; i++)
		if (d->pts[i])
			inode_put(d->pts[i]);
	close(d->cfg.host_dev);
	if (d->cfg.devpts >= 0)
		close(d->cfg.devpts);
	free(d);
	sb->fs = NULL;
}

/* Descriptors of these may be inherited: known before the first open. */
static void register_host_nodes(struct vfs *vfs, struct devfs *d,
				const char *guest)
{
	static const struct vcred all = {.caps = ~0ULL};
	struct vfs_ctx ctx = {.vfs = vfs,
			      .cred = &all,
			      .root = vfs_root(vfs),
			      .cwd = vfs_root(vfs)};
	char path[NAME_LEN_MAX];
	struct vfs_at at = {NULL, path};
	struct stat st;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct vref ref = {NULL, NULL};

		snprintf(path, sizeof(path), "%s/%s", guest, rows[i].name);
		if (rows[i].kind != DEV_HOST ||
		    fstatat(d->cfg.host_dev, rows[i].name, &st,
			    AT_SYMLINK_NOFOLLOW) < 0 ||
		    !S_ISCHR(st.st_mode) ||
		    st.st_rdev != makedev(rows[i].maj, rows[i].min) ||
		    vfs_lookup(&ctx, &at, 0, &ref) < 0)
			continue;
		if (vfs_object_add(vfs, st.st_dev, st.st_ino, ref.inode,
				   ref.dentry, false))
			log_warn("%s: not registered", path);
		vref_put(&ref);
	}
}

/* The relays' terminals are opened outside of the VFS and later; where a
 * kernel numbers otherwise, the first look at the path puts it right. */
static void register_pts(struct super *sb)
{
	struct devfs *d = sb->fs;
	struct stat st;

	if (d->cfg.devpts < 0 || fstat(d->cfg.devpts, &st) < 0)
		return;
	d->pts_dev = st.st_dev;
	for (unsigned nr = 0; nr < PTS_EARLY; nr++)
		if (pts_register(sb, nr, PTS_FIRST_INO + nr))
			log_warn("pts/%u: not registered", nr);
}

int devfs_mount(struct vfs *vfs, const char *guest,
		const struct devfs_config *cfg)
{
	struct devfs *d = xcalloc(1, sizeof(*d));
	struct super *sb =
		super_new(vfs, "devtmpfs", "udev", TMPFS_MAGIC_NR, 0);
	struct inode *root;
	int err;

	d->cfg = *cfg;
	sb->fs = d;
	sb->free = devfs_free;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		d->node[i] = row_inode(sb, i);
	root = inode_new(sb, &root_ops, 1, S_IFDIR, NULL);
	root->mode = 0755;
	err = vfs_mount_root(vfs, guest, root, "devtmpfs", "udev");
	inode_put(root);
	if (err)
		return err;
	register_host_nodes(vfs, d, guest);
	register_pts(sb);
	vfs->open_device = open_by_number;
	vfs->device_arg = d;
	return 0;
}
