/*
 * open.c - open(2) and openat2(2): precedence of flags and errors as Linux
 * fs/namei.c (open_last_lookups, do_open, may_open, do_tmpfile).
 *
 * Decides whether an object may be opened or made; the file system's open
 * gives the descriptor. A program that runs is never opened for writing
 * (ETXTBSY by inode->textrefs), nor run while it is open for writing: of a
 * store file the kernel knows, and of a host file no guest has it so.
 */
#include "core.h"

#define TMPFILE_BIT (O_TMPFILE & ~O_DIRECTORY)

enum { STALE_TRIES = 4 };
enum { OPEN_PATH_FLAGS = O_DIRECTORY | O_NOFOLLOW | O_PATH | O_CLOEXEC };

void vfs_opened_fini(struct vfs_opened *o)
{
	auto_close_fd(&o->fd);
	auto_close_fd(&o->block_dir);
	o->fd = o->block_dir = -1;
	vref_put(&o->ref);
}

static void opened_init(struct vfs_opened *o)
{
	memset(o, 0, offsetof(struct vfs_opened, block_name));
	o->fd = -1;
	o->block_dir = -1;
	o->block_name[0] = '\0';
}

/* R_OK and W_OK bits that the flags ask for; mode 3 asks for both. */
static int open_access(int flags)
{
	static const int want[4] = {R_OK, W_OK, R_OK | W_OK, R_OK | W_OK};
	int acc = want[flags & O_ACCMODE];

	return flags & O_TRUNC ? acc | W_OK : acc;
}

static bool opens_for_write(int flags)
{
	return open_access(flags) & W_OK;
}

/* may_open of the kernel. acc: R_OK|W_OK, 0 for a file just created. */
static int may_open(struct vfs_ctx *ctx, const struct vref *ref, int flags,
		    int acc)
{
	struct inode *i = ref->inode;
	int err;

	if (S_ISLNK(i->type))
		return -ELOOP;
	if (inode_is_dir(i) && (acc & W_OK))
		return -EISDIR;
	err = perm_check(ctx, ref->dentry, i, acc);
	if (err)
		return err;
	if ((flags & O_NOATIME) && !perm_owner(ctx, i))
		return -EPERM;
	if (S_ISSOCK(i->type))
		return -ENXIO;
	if (acc & W_OK && i->textrefs)
		return -ETXTBSY;
	return 0;
}

static int open_inode(struct vfs_ctx *ctx, struct inode *inode,
		      struct dentry *dentry, int flags, bool created,
		      struct vfs_opened *out)
{
	int err;

	if (!inode->ops->open)
		return -ENXIO;
	if ((flags & O_DIRECT) &&
	    (S_ISDIR(inode->type) || S_ISFIFO(inode->type)))
		return -EINVAL;
	flags &= ~(O_CREAT | O_EXCL | O_CLOEXEC | O_NOCTTY);
	if (created || !S_ISREG(inode->type))
		flags &= ~O_TRUNC;
	err = inode->ops->open(ctx, inode, dentry, flags, out);
	if (!err && (flags & O_TRUNC) && out->kind != VFS_OPEN_JOB)
		err = inode_kill_setid(ctx, inode);
	if (err)
		return err;
	out->created = created;
	out->watched = vfs_watched(inode, dentry) != 0;
	if (!out->ref.inode) {
		out->ref.inode = inode_get(inode);
		out->ref.dentry = dentry_get(dentry);
	}
	return 0;
}

static bool open_has_room(struct vfs_ctx *ctx)
{
	return !ctx->ask_room || ctx->ask_room(ctx->ask_arg);
}

static int open_found(struct vfs_ctx *ctx, const struct vref *ref, int flags,
		      bool created, struct vfs_opened *out)
{
	int acc = created ? 0 : open_access(flags);
	int err;

	if ((flags & O_CREAT) && !created) {
		if (flags & O_EXCL)
			return -EEXIST;
		if (inode_is_dir(ref->inode))
			return -EISDIR;
		err = perm_create_existing(ctx, ref->dentry);
		if (err)
			return err;
	}
	if ((flags & O_DIRECTORY) && !inode_is_dir(ref->inode))
		return -ENOTDIR;
	err = may_open(ctx, ref, flags, acc);
	if (!err && (flags & O_TRUNC) && !created && !open_has_room(ctx))
		err = -EMFILE;
	if (err)
		return err;
	return open_inode(ctx, ref->inode, ref->dentry, flags, created, out);
}

/* ---- the last component -------------------------------------------------- */

static int open_create(struct walk *w, struct dentry *d, mode_t mode)
{
	AUTO_ACL_NEW struct acl_new acl = {NULL, NULL};
	const struct inode *dir = w->d->inode;
	int err = perm_create(w->ctx, d);

	if (!err && (!dir->ops->unmake || dir->watch) && !open_has_room(w->ctx))
		err = -EMFILE;
	if (err)
		return err;
	mode = inode_new_mode(w->ctx, w->d->inode, S_IFREG | (mode & 07777u),
			      &acl);
	return name_make(w->ctx, d, mode, 0, NULL, &acl);
}

/* 0: w->d (or anon) is the object, *created tells; 1: walk_again. */
static int open_last(struct walk *w, int flags, mode_t mode, bool *created)
{
	struct dentry *d;
	int err;

	if (w->type != WALK_NORM) {
		if (w->slash)
			w->flags |= VFS_DIRECTORY;
		return walk_dots(w, w->type);
	}
	if (w->slash) {
		if (flags & O_CREAT)
			return -EISDIR;
		w->flags |= VFS_FOLLOW | VFS_DIRECTORY;
	}
	err = walk_last_dentry(w, &d);
	if (err)
		return err;
	if (d->inode && !(d->mask & VFS_MASK_HIDE))
		return walk_onto(w, d, w->flags & VFS_FOLLOW, true);
	if (!(flags & O_CREAT))
		return perm_missing(w->ctx, d, w->last);
	err = open_create(w, d, mode);
	if (err)
		return err;
	*created = true;
	w->d = d;
	return 0;
}

static struct vref walk_ref(const struct walk *w)
{
	return (struct vref){w->d ? w->d->inode : w->anon, w->d};
}

static int open_walked(struct vfs_ctx *ctx, const struct vfs_at *at, int flags,
		       mode_t mode, unsigned walk_flags, struct vfs_opened *out)
{
	AUTO_WALK struct walk w;
	struct vref ref;
	bool created = false;
	int err = walk_parent(&w, ctx, at, walk_flags);

	while (!err) {
		err = open_last(&w, flags, mode, &created);
		if (err <= 0)
			break;
		err = walk_again(&w);
	}
	if (err)
		return err;
	ref = walk_ref(&w);
	if ((w.flags & VFS_DIRECTORY) && !inode_is_dir(ref.inode))
		flags |= O_DIRECTORY;
	return open_found(ctx, &ref, flags, created, out);
}

static int open_path_once(struct vfs_ctx *ctx, const struct vfs_at *at,
			  int flags, mode_t mode, unsigned walk_flags,
			  struct vfs_opened *out)
{
	struct vfs_making making = {.flags = flags, .fd = -1};
	int err;

	ctx->making = flags & O_CREAT ? &making : NULL;
	err = open_walked(ctx, at, flags, mode, walk_flags, out);
	ctx->making = NULL;
	auto_close_fd(&making.fd);
	out->undo = making.undo;
	return err;
}

static int open_path(struct vfs_ctx *ctx, const struct vfs_at *at, int flags,
		     mode_t mode, unsigned walk_flags, struct vfs_opened *out)
{
	int err = -ESTALE;

	for (int i = 0; err == -ESTALE && i < STALE_TRIES; i++)
		err = open_path_once(ctx, at, flags, mode, walk_flags, out);
	return err == -ESTALE ? -ENOENT : err;
}

/* ---- O_PATH, O_TMPFILE ------------------------------------------------------
 */

static int open_opath(struct vfs_ctx *ctx, const struct vfs_at *at,
		      unsigned walk_flags, struct vfs_opened *out)
{
	AUTO_PUT_VREF struct vref ref = {NULL, NULL};
	int err = vfs_lookup(ctx, at, walk_flags, &ref);

	if (!err)
		err = vfs_opath_standin(ctx->vfs, ref.inode, ref.dentry,
					&out->fd);
	if (err)
		return err;
	out->kind = VFS_OPENED;
	out->ref = ref;
	ref = (struct vref){NULL, NULL};
	return 0;
}

static int open_tmpfile(struct vfs_ctx *ctx, const struct vfs_at *at, int flags,
			mode_t mode, unsigned walk_flags,
			struct vfs_opened *out)
{
	AUTO_PUT_VREF struct vref dir = {NULL, NULL};
	AUTO_ACL_NEW struct acl_new acl = {NULL, NULL};
	int err = vfs_lookup(ctx, at, walk_flags | VFS_DIRECTORY, &dir);

	if (err)
		return err;
	err = perm_check(ctx, dir.dentry, dir.inode, W_OK | X_OK);
	if (err)
		return err;
	if (!dir.inode->ops->tmpfile)
		return -EOPNOTSUPP;
	if (dir.dentry && dentry_deleted(dir.dentry))
		return -ENOENT;
	mode = inode_new_mode(ctx, dir.inode, S_IFREG | (mode & 07777u), &acl);
	err = dir.inode->ops->tmpfile(ctx, dir.inode, flags, mode, out);
	if (!err)
		err = acl_give(ctx, out->ref.inode, &acl);
	out->created = !err;
	return err;
}

/* build_open_flags: what no path can make right. */
static int open_flags_check(int flags)
{
	if (flags & TMPFILE_BIT) {
		if (!(flags & O_DIRECTORY) || (flags & O_CREAT))
			return -EINVAL;
		return opens_for_write(flags & ~O_TRUNC) ? 0 : -EINVAL;
	}
	if ((flags & (O_CREAT | O_DIRECTORY)) == (O_CREAT | O_DIRECTORY))
		return -EINVAL;
	return 0;
}

int vfs_open(struct vfs_ctx *ctx, const struct vfs_at *at, int flags,
	     mode_t mode, unsigned resolve, struct vfs_opened *out)
{
	unsigned walk_flags = resolve;
	int err;

	opened_init(out);
	if (flags & O_PATH)
		flags &= OPEN_PATH_FLAGS;
	err = open_flags_check(flags);
	if (err)
		return err;
	if (!(flags & O_NOFOLLOW) &&
	    (flags & (O_CREAT | O_EXCL)) != (O_CREAT | O_EXCL))
		walk_flags |= VFS_FOLLOW;
	if (flags & O_DIRECTORY)
		walk_flags |= VFS_DIRECTORY;
	if (flags & O_PATH)
		err = open_opath(ctx, at, walk_flags, out);
	else if (flags & TMPFILE_BIT)
		err = open_tmpfile(ctx, at, flags, mode, walk_flags, out);
	else
		err = open_path(ctx, at, flags, mode, walk_flags, out);
	if (err)
		vfs_opened_fini(out);
	return err;
}

void vfs_open_undo(struct vfs_ctx *ctx, const struct vfs_opened *o)
{
	struct dentry *d = o->ref.dentry;
	const struct inode_ops *ops;

	if (!o->created || !d || d->deleted || d->inode != o->ref.inode)
		return;
	ops = d->parent->inode->ops;
	if (ops->unmake)
		ops->unmake(ctx, d, &o->undo);
	else if (ops->unlink(ctx, d, false))
		return;
	dentry_delete(d);
}

int vfs_reopen(struct vfs_ctx *ctx, const struct vref *ref, int flags,
	       struct vfs_opened *out)
{
	int err;

	opened_init(out);
	if (flags & O_PATH) {
		err = vfs_opath_standin(ctx->vfs, ref->inode, ref->dentry,
					&out->fd);
		if (err)
			return err;
		out->ref.inode = inode_get(ref->inode);
		out->ref.dentry = dentry_get(ref->dentry);
		return 0;
	}
	err = open_flags_check(flags);
	if (err)
		return err;
	if (flags & TMPFILE_BIT)
		return -EOPNOTSUPP;
	err = open_found(ctx, ref, flags, false, out);
	if (err)
		vfs_opened_fini(out);
	return err == -ESTALE ? -ENOENT : err;
}

/* ---- programs
 * ----------------------------------------------------------------- */

/* A read lease is refused where the file is open for writing, or mapped so. */
static bool open_for_write(const struct vfs *vfs, int fd)
{
	struct stat st;

	if (fstat(fd, &st) < 0 || st.st_dev != store_dev(vfs->store))
		return false;
	if (fcntl(fd, F_SETLEASE, F_RDLCK) < 0)
		return errno == EAGAIN;
	fcntl(fd, F_SETLEASE, F_UNLCK);
	return false;
}

static int may_exec(struct vfs_ctx *ctx, const struct vref *ref)
{
	if (!S_ISREG(ref->inode->type))
		return S_ISLNK(ref->inode->type) ? -ELOOP : -EACCES;
	return perm_check(ctx, ref->dentry, ref->inode, X_OK);
}

bool vfs_is_fixed(const struct inode *inode, const struct stat *st)
{
	return inode->ops->fixed && inode->ops->fixed(inode, st);
}

int vfs_open_exec_again(struct vfs_ctx *ctx, const struct vref *ref, int fd,
			const struct stat *st)
{
	int err = may_exec(ctx, ref);

	if (err)
		return err;
	/* Who watches for reads is told by a true open. */
	if (!vfs_is_fixed(ref->inode, st) ||
	    vfs_watched(ref->inode, ref->dentry))
		return 1;
	return vfs_object_add_host(ctx->vfs, fd, st, NULL, ref->inode,
				   ref->dentry)
		       ? 1
		       : 0;
}

int vfs_open_exec(struct vfs_ctx *ctx, const struct vref *ref, int *fd)
{
	struct vfs_opened o;
	int err;

	opened_init(&o);
	err = may_exec(ctx, ref);
	if (err)
		return err;
	err = open_inode(ctx, ref->inode, ref->dentry, O_RDONLY, false, &o);
	if (!err && o.kind != VFS_OPENED)
		err = -EACCES;
	if (!err && open_for_write(ctx->vfs, o.fd))
		err = -ETXTBSY;
	if (!err)
		*fd = fd_take(&o.fd);
	vfs_opened_fini(&o);
	return err == -ESTALE ? -ENOENT : err;
}

void vfs_text_get(struct inode *inode)
{
	inode->textrefs++;
	inode_get(inode);
}

void vfs_text_put(struct inode *inode)
{
	BUG_ON(!inode->textrefs);
	inode->textrefs--;
	inode_put(inode);
}

/* ---- locks
 * ----------------------------------------------------------------------- */

bool vfs_may_be_stale(struct vfs *vfs, const struct vref *ref,
		      const struct stat *st)
{
	const struct inode *i = ref->inode;

	return S_ISREG(st->st_mode) && i->ops->moved && i->ops->moved(i) &&
	       vfs_is_host(vfs, st);
}

int vfs_fresh_file(struct vfs_ctx *ctx, const struct vref *ref,
		   const struct stat *st, int flags, int *fd)
{
	struct vfs_job *job = NULL;
	int err;

	if (!vfs_may_be_stale(ctx->vfs, ref, st))
		return 0;
	err = vfs_make_store_file(ctx, ref, flags, fd, &job);
	BUG_ON(err == -EINPROGRESS); /* the data is there */
	return err ? err : 1;
}

int vfs_make_store_file(struct vfs_ctx *ctx, const struct vref *ref, int flags,
			int *fd, struct vfs_job **job)
{
	struct inode *i = ref->inode;
	struct vfs_opened o;
	int err;

	*job = NULL;
	if (i->ops->make_store)
		return i->ops->make_store(ctx, i, ref->dentry, flags, fd, job);
	opened_init(&o);
	err = open_inode(ctx, i, ref->dentry, flags & ~O_TRUNC, false, &o);
	if (!err && (o.kind == VFS_OPENED || o.kind == VFS_OPEN_TTY))
		*fd = fd_take(&o.fd);
	else if (!err)
		err = -EINVAL;
	vfs_opened_fini(&o);
	return err == -ESTALE ? -ENOENT : err;
}
