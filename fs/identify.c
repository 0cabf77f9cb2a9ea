/*
 * identify.c - which virtual object a descriptor is.
 *
 * Every descriptor that a guest gets from the VFS is of a store object or of
 * a host file, and (st_dev, st_ino) of it is registered here. Numbers in the
 * store are never used twice while the sandbox lives; an entry whose object
 * has lost name and descriptors goes when the store reports STORE_GONE. Host
 * numbers can be used again by the host: an entry for one also knows the
 * change and birth time, and what no longer fits is ESTALE.
 *
 * LIMIT: of several names of one file, a descriptor has that of the latest
 * open. Entries of host files stay for the life of the sandbox.
 */
#include "core.h"

#include <fcntl.h>
#include <stdio.h>

#include "store.h"

struct object {
	struct hnode node;
	dev_t dev;
	ino_t ino;
	struct inode *inode;   /* counted */
	struct dentry *dentry; /* counted, or NULL */
	bool opath, host, stdio;
	struct timespec ctime;	      /* host */
	struct statx_timestamp btime; /* host; 0 if it has none */
};

static struct object *object_find(const struct vfs *vfs, dev_t dev, ino_t ino)
{
	struct hnode *n;

	if (!vfs->objects.buckets) /* the vfs is being freed */
		return NULL;
	n = htable_first(&vfs->objects, hash_u64(dev, ino));

	for (; n; n = htable_next(n)) {
		struct object *o = container_of(n, struct object, node);

		if (o->dev == dev && o->ino == ino)
			return o;
	}
	return NULL;
}

static void object_set(struct object *o, struct inode *inode,
		       struct dentry *dentry)
{
	struct inode *old_inode = o->inode;
	struct dentry *old_dentry = o->dentry;

	o->inode = inode_get(inode);
	o->dentry = dentry_get(dentry);
	inode_put(old_inode);
	dentry_put(old_dentry);
}

static void object_free(struct vfs *vfs, struct object *o)
{
	htable_del(&vfs->objects, &o->node);
	inode_put(o->inode);
	dentry_put(o->dentry);
	free(o);
}

static struct object *object_add(struct vfs *vfs, dev_t dev, ino_t ino,
				 struct inode *inode, struct dentry *dentry)
{
	struct object *o = object_find(vfs, dev, ino);

	if (!o) {
		o = xcalloc(1, sizeof(*o));
		o->dev = dev;
		o->ino = ino;
		htable_add(&vfs->objects, &o->node, hash_u64(dev, ino));
	}
	if (!o->stdio)
		object_set(o, inode, dentry);
	return o;
}

int vfs_object_add(struct vfs *vfs, dev_t dev, ino_t ino, struct inode *inode,
		   struct dentry *dentry, bool opath)
{
	struct object *o = object_add(vfs, dev, ino, inode, dentry);

	o->opath = opath;
	return 0;
}

static int birth_time(int fd, struct statx_timestamp *t)
{
	struct statx stx;

	memset(t, 0, sizeof(*t));
	if (statx(fd, "", AT_EMPTY_PATH, STATX_BTIME, &stx) < 0)
		return -errno;
	if (stx.stx_mask & STATX_BTIME)
		*t = stx.stx_btime;
	return 0;
}

static int object_stamp(struct object *o, int fd, const struct stat *st,
			const struct timespec *born)
{
	o->host = true;
	o->ctime = st->st_ctim;
	if (!born || !born->tv_sec)
		return birth_time(fd, &o->btime);
	o->btime = (struct statx_timestamp){
		.tv_sec = born->tv_sec,
		.tv_nsec = (uint32_t)born->tv_nsec,
	};
	return 0;
}

int vfs_object_add_host(struct vfs *vfs, int fd, const struct stat *st,
			const struct timespec *born, struct inode *inode,
			struct dentry *dentry)
{
	struct object *o = object_find(vfs, st->st_dev, st->st_ino);

	if (o && o->inode == inode && o->host &&
	    !memcmp(&o->ctime, &st->st_ctim, sizeof(o->ctime))) {
		object_set(o, inode, dentry);
		return 0;
	}
	o = object_add(vfs, st->st_dev, st->st_ino, inode, dentry);
	return object_stamp(o, fd, st, born);
}

bool vfs_object_known(const struct vfs *vfs, dev_t dev, ino_t ino)
{
	return object_find(vfs, dev, ino);
}

void vfs_object_del(struct vfs *vfs, dev_t dev, ino_t ino)
{
	struct object *o = object_find(vfs, dev, ino);

	if (o)
		object_free(vfs, o);
}

/* Who releases an inode may ask for objects: the table itself stays. */
void objects_fini(struct vfs *vfs)
{
	for (size_t i = 0; i <= vfs->objects.mask; i++)
		while (vfs->objects.buckets[i])
			object_free(vfs, container_of(vfs->objects.buckets[i],
						      struct object, node));
}

static struct object *first_but_stdio(struct hnode *n)
{
	for (; n; n = n->next) {
		struct object *o = container_of(n, struct object, node);

		if (!o->stdio)
			return o;
	}
	return NULL;
}

/* From the bucket's start each time: an inode that goes with its object may
 * take other objects along. */
void objects_forget(struct vfs *vfs)
{
	for (size_t i = 0; i <= vfs->objects.mask; i++) {
		struct object *o;

		while ((o = first_but_stdio(vfs->objects.buckets[i])))
			object_free(vfs, o);
	}
}

void objects_store_event(void *arg, dev_t dev, ino_t ino, enum store_event what)
{
	struct vfs *vfs = arg;
	struct object *o = object_find(vfs, dev, ino);
	struct inode *inode;

	if (!o)
		return;
	inode = inode_get(o->inode);
	if (inode->ops->event)
		inode->ops->event(inode, ino, (int)what);
	if (what == STORE_GONE)
		vfs_object_del(vfs, dev, ino);
	inode_put(inode);
}

/* ---- asking -----------------------------------------------------------------
 */

/* A host file that was changed keeps its birth; another one has its own. */
static bool object_fits(struct object *o, int fd, const struct stat *st)
{
	struct statx_timestamp born;

	if (!o->host || (o->ctime.tv_sec == st->st_ctim.tv_sec &&
			 o->ctime.tv_nsec == st->st_ctim.tv_nsec))
		return true;
	if (!o->btime.tv_sec || birth_time(fd, &born) ||
	    born.tv_sec != o->btime.tv_sec || born.tv_nsec != o->btime.tv_nsec)
		return false;
	o->ctime = st->st_ctim;
	return true;
}

int vfs_identify(struct vfs *vfs, int fd, struct vref *out, struct stat *st,
		 bool *opath)
{
	struct object *o;

	if (fstat(fd, st) < 0)
		return -errno;
	o = object_find(vfs, st->st_dev, st->st_ino);
	if (!o)
		return -ENOENT;
	if (!object_fits(o, fd, st))
		return -ESTALE;
	out->inode = inode_get(o->inode);
	out->dentry = dentry_get(o->inode->dir_dentry ? o->inode->dir_dentry
						      : o->dentry);
	*opath = o->opath;
	return 0;
}

bool vfs_is_host(struct vfs *vfs, const struct stat *st)
{
	const struct object *o = object_find(vfs, st->st_dev, st->st_ino);

	return o && o->host;
}

int vfs_shown_flags(struct vfs *vfs, const struct stat *st, int flags)
{
	const struct object *o = object_find(vfs, st->st_dev, st->st_ino);

	return o && o->host && !o->stdio ? flags & ~O_NOATIME : flags;
}

int vfs_object_find(struct vfs *vfs, dev_t dev, ino_t ino, struct vref *out)
{
	struct object *o = object_find(vfs, dev, ino);

	if (!o)
		return -ENOENT;
	out->inode = inode_get(o->inode);
	out->dentry = dentry_get(o->inode->dir_dentry ? o->inode->dir_dentry
						      : o->dentry);
	return 0;
}

/* ---- stand-ins
 * ---------------------------------------------------------------- */

int vfs_snapshot(struct vfs *vfs, struct inode *inode, struct dentry *dentry,
		 const void *data, size_t len, int *fd)
{
	struct stat st;
	int err = store_standin_file(vfs->store, data, len, O_RDONLY, fd, &st);

	if (err)
		return err;
	return vfs_object_add(vfs, st.st_dev, st.st_ino, inode, dentry, false);
}

int vfs_dir_standin(struct vfs *vfs, struct inode *inode, struct dentry *dentry,
		    int *fd)
{
	struct stat st;
	int err = store_standin_dir(vfs->store, fd, &st);

	if (err)
		return err;
	return vfs_object_add(vfs, st.st_dev, st.st_ino, inode, dentry, false);
}

/* Access mode 3: no read, no write, no mmap. LIMIT: mmap(2) says EACCES,
 * ftruncate(2) EINVAL and getsockname(2) ENOTSOCK where O_PATH gives EBADF. */
int vfs_opath_standin(struct vfs *vfs, struct inode *inode,
		      struct dentry *dentry, int *fd)
{
	struct stat st;
	int err = store_standin_file(vfs->store, NULL, 0, 3, fd, &st);

	if (err)
		return err;
	return vfs_object_add(vfs, st.st_dev, st.st_ino, inode, dentry, true);
}

/* ---- inherited descriptors
 * ------------------------------------------------------ */

/* Reopening gives the inherited description itself: its access mode, offset
 * and O_APPEND, and never a truncation. */
static int stdio_open(struct vfs_ctx *ctx, struct inode *inode,
		      struct dentry *dentry, int flags, struct vfs_opened *out)
{
	int own = (int)(intptr_t)inode->fs, have, want = flags & O_ACCMODE;

	(void)ctx;
	(void)dentry;
	have = fcntl(own, F_GETFL);
	if (have < 0)
		return -EIO;
	have &= O_ACCMODE;
	if (have != O_RDWR && have != want)
		return -EACCES;
	out->fd = fcntl(own, F_DUPFD_CLOEXEC, 3);
	if (out->fd < 0)
		return -EMFILE;
	out->kind = VFS_OPENED;
	return 0;
}

static int stdio_getattr(struct vfs_ctx *ctx, struct inode *inode,
			 struct statx *out)
{
	struct statx stx;

	(void)ctx;
	if (statx((int)(intptr_t)inode->fs, "", AT_EMPTY_PATH,
		  STATX_BASIC_STATS, &stx) < 0)
		return -EIO;
	stx.stx_mnt_id = out->stx_mnt_id;
	stx.stx_mask |= out->stx_mask & STATX_MNT_ID;
	*out = stx;
	return 0;
}

static void stdio_release(struct inode *inode)
{
	close((int)(intptr_t)inode->fs);
}

static const struct inode_ops stdio_ops = {
	.open = stdio_open,
	.getattr = stdio_getattr,
	.release = stdio_release,
};

static int stdio_new(struct vfs *vfs, int fd, const struct stat *st,
		     const char *name, struct vref *out)
{
	int own = fcntl(fd, F_DUPFD_CLOEXEC, 3);
	struct inode *i;
	struct object *o;

	if (own < 0)
		return -errno;
	i = inode_new(vfs->root->inode->sb, &stdio_ops, st->st_ino, S_IFREG,
		      (void *)(intptr_t)own);
	i->mode = st->st_mode & 07777;
	i->uid = st->st_uid;
	i->gid = st->st_gid;
	out->inode = i;
	out->dentry = dentry_new_detached(vfs->root,
					  name[0] == '/' ? name + 1 : name);
	dentry_instantiate(out->dentry, inode_get(i));
	o = object_add(vfs, st->st_dev, st->st_ino, i, out->dentry);
	o->stdio = true;
	return 0;
}

int vfs_register_stdio(struct vfs *vfs, int fd, const char *name,
		       struct vref *out)
{
	struct object *o;
	struct stat st;

	if (fstat(fd, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode))
		return -EINVAL;
	o = object_find(vfs, st.st_dev, st.st_ino);
	if (!o || !o->stdio)
		return stdio_new(vfs, fd, &st, name, out);
	out->inode = inode_get(o->inode);
	out->dentry = dentry_get(o->dentry);
	return 0;
}
