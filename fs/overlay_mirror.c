/*
 * overlay_mirror.c - the store's side of nodes: mirrored directories and
 * store objects.
 *
 * A directory's mirror is made when it is opened, watched or written into,
 * with all its ancestors. Its O_PATH descriptor is kept in an LRU and found
 * again through the ancestors' names. A chain may be as deep as a guest likes,
 * so nothing here recurses.
 */
#include "overlay_priv.h"

#include <fcntl.h>
#include <stdio.h>

int ov_store_errno(int err, const char *what)
{
	switch (err) {
	case ENOSPC:
	case EDQUOT:
	case ENOMEM:
	case EINTR:
		return -err;
	case EMFILE:
	case ENFILE:
		return -ENFILE;
	}
	log_host(err, "store: %s", what);
	return -EIO;
}

void ov_mirror_close(struct ov_node *dir)
{
	struct ov_dir *d = dir->dir;

	if (d->fd < 0)
		return;
	close(d->fd);
	d->fd = -1;
	list_del(&d->lru);
	dir->ov->mirror_fds--;
}

void ov_mirror_forget(struct ov_node *dir)
{
	ov_mirror_close(dir);
	dir->dir->has_mirror = false;
}

/* The oldest descriptor goes; struct ov_dir has no back pointer, so keep the
 * count here. */
static void ov_mirror_keep(struct ov_node *dir, int fd)
{
	struct ov *ov = dir->ov;

	if (ov->mirror_fds >= OV_MIRROR_FDS) {
		struct ov_dir *old =
			list_entry(ov->mirrors.next, struct ov_dir, lru);

		close(old->fd);
		old->fd = -1;
		list_del(&old->lru);
		ov->mirror_fds--;
	}
	dir->dir->fd = fd;
	list_add_tail(&ov->mirrors, &dir->dir->lru);
	ov->mirror_fds++;
}

/* Makes it if need be. *fd: the caller's. */
static int ov_mirror_open_at(struct ov_node *dir, int parent_fd, int flags,
			     int *out)
{
	AUTO_CLOSE int fd = -1;
	struct stat st;

	if (!dir->dir->has_mirror && mkdirat(parent_fd, dir->name, 0700) < 0 &&
	    errno != EEXIST)
		return ov_store_errno(errno, "mirror directory");
	fd = openat(parent_fd, dir->name, flags | O_CLOEXEC);
	if (fd < 0)
		return ov_store_errno(errno, "mirror directory");
	if (!dir->dir->has_mirror || !dir->sino) {
		if (fstat(fd, &st) < 0 || !S_ISDIR(st.st_mode))
			return -EIO;
		dir->sino = st.st_ino;
	}
	if (!dir->dir->has_mirror) {
		dir->object = true;
		dir->dir->has_mirror = true;
		ov_pin(dir);
		ov_entry_set(dir->parent, dir->name, dir)->mirrored = true;
	}
	*out = fd_take(&fd);
	return 0;
}

static int ov_mirror_open(struct ov_node *dir, int parent_fd)
{
	int fd, ret = ov_mirror_open_at(dir, parent_fd,
					O_PATH | O_DIRECTORY | O_NOFOLLOW, &fd);

	if (!ret)
		ov_mirror_keep(dir, fd);
	return ret;
}

static int ov_mirror_root_fd(struct ov_node *dir)
{
	struct stat st;

	if (!dir->dir->has_mirror) {
		if (fstat(dir->ov->mirror, &st) < 0)
			return -EIO;
		dir->sino = st.st_ino;
		dir->object = dir->dir->has_mirror = true;
	}
	return dir->ov->mirror;
}

int ov_mirror_fd(struct ov_node *dir)
{
	for (;;) {
		struct ov_node *top = dir;
		int fd, ret;

		if (dir == dir->ov->root)
			return ov_mirror_root_fd(dir);
		if (dir->dir->fd >= 0)
			return dir->dir->fd;
		while (top->parent && top->parent != top->ov->root &&
		       top->parent->dir->fd < 0)
			top = top->parent;
		if (!top->parent)
			return -ENOENT; /* below a removed directory */
		fd = top->parent == top->ov->root
			     ? ov_mirror_root_fd(top->parent)
			     : top->parent->dir->fd;
		if (fd < 0)
			return fd;
		ret = ov_mirror_open(top, fd);
		if (ret < 0)
			return ret;
	}
}

/* A leaf of a walk is opened by its name alone: it needs no O_PATH. */
int ov_mirror_open_read(struct ov_node *dir, int flags, int *fd)
{
	struct ov_node *up = dir == dir->ov->root ? NULL : dir->parent;
	int at = ov_mirror_fd(up && dir->dir->fd < 0 ? up : dir);

	if (at < 0)
		return at;
	if (up && dir->dir->fd < 0)
		return ov_mirror_open_at(dir, at, flags, fd);
	*fd = openat(at, ".", flags | O_CLOEXEC);
	return *fd < 0 ? ov_store_errno(errno, "open directory") : 0;
}

/* ---- objects --------------------------------------------------------- */

static int ov_object_create(int dirfd, const char *name, mode_t type,
			    const char *target)
{
	switch (type) {
	case S_IFDIR:
		return mkdirat(dirfd, name, 0700) < 0 ? -errno : 0;
	case S_IFLNK:
		return symlinkat(target ? target : "?", dirfd, name) < 0
			       ? -errno
			       : 0;
	case S_IFIFO:
	case S_IFSOCK:
		return mknodat(dirfd, name, type | 0600, 0) < 0 ? -errno : 0;
	}
	/* Not open(O_CREAT): watchers would see an open and a close. */
	return mknodat(dirfd, name, S_IFREG | 0600, 0) < 0 ? -errno : 0;
}

/* One more mirrored name for an object that exists. */
static int ov_object_add_name(struct ov_node *n, struct ov_node *dir,
			      const char *name)
{
	const char *from_name;
	int from, to, ret;

	ret = ov_object_place(n, &from, &from_name);
	if (ret < 0)
		return ret;
	to = ov_mirror_fd(dir);
	if (to < 0)
		return to;
	/* Making `to` may have closed `from`. */
	ret = ov_object_place(n, &from, &from_name);
	if (ret < 0)
		return ret;
	if (linkat(from, from_name, to, name, 0) < 0)
		return ov_store_errno(errno, "link");
	ov_entry_set(dir, name, n)->mirrored = true;
	return 0;
}

void ov_object_made(struct ov_node *n, struct ov_node *dir, const char *name,
		    const struct stat *st)
{
	n->sino = st->st_ino;
	n->object = true;
	if (dir)
		ov_entry_set(dir, name, n)->mirrored = true;
	else
		snprintf(n->side, sizeof(n->side), "%s", name);
	if (n->nlink)
		ov_pin(n);
	if (S_ISDIR(n->inode->type))
		n->dir->has_mirror = true;
}

int ov_object_make(struct ov_node *n, struct ov_node *dir, const char *name)
{
	struct store *s = n->ov->store;
	char side[STORE_NAME_MAX];
	struct stat st = {0};
	int fd, ret;

	if (n->object)
		return dir ? ov_object_add_name(n, dir, name) : 0;
	if (dir) {
		fd = ov_mirror_fd(dir);
	} else {
		store_side_name(s, side);
		name = side;
		fd = store_side_fd(s);
	}
	if (fd < 0)
		return fd;
	ret = ov_object_create(fd, name, n->inode->type, n->target);
	if (ret < 0)
		return ov_store_errno(-ret, "create");
	/* Of a directory its number is asked when it is opened, of a link
	 * never: nobody has a descriptor before. */
	if (!S_ISDIR(n->inode->type) && !S_ISLNK(n->inode->type) &&
	    fstatat(fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return ov_store_errno(errno, "fstatat");
	ov_object_made(n, dir, name, &st);
	return 0;
}

int ov_object_need(struct ov_node *n)
{
	if (n->object || !n->nlink)
		return 0;
	return ov_object_make(n, NULL, NULL);
}

int ov_object_place(struct ov_node *n, int *dirfd, const char **name)
{
	list_for_each (p, &n->names) {
		struct ov_entry *e = list_entry(p, struct ov_entry, same);

		if (!e->mirrored)
			continue;
		*dirfd = ov_mirror_fd(e->dir);
		*name = e->name;
		return *dirfd < 0 ? *dirfd : 0;
	}
	if (!n->side[0])
		return -ENOENT;
	*dirfd = store_side_fd(n->ov->store);
	*name = n->side;
	return 0;
}

int ov_object_stat(struct ov_node *n, struct stat *st)
{
	const char *name;
	int dirfd, ret = ov_object_place(n, &dirfd, &name);

	if (ret < 0)
		return ret;
	if (fstatat(dirfd, name, st, AT_SYMLINK_NOFOLLOW) < 0)
		return ov_store_errno(errno, "fstatat");
	return 0;
}

static bool ov_has_other_name(const struct ov_node *n, const struct ov_entry *e)
{
	list_for_each (p, &n->names) {
		struct ov_entry *o = list_entry(p, struct ov_entry, same);

		if (o != e && o->mirrored)
			return true;
	}
	return n->side[0] != '\0';
}

/* Could a guest have it? Who never opened it has no descriptor of it. */
static bool ov_was_opened(const struct ov_node *n)
{
	return vfs_object_known(n->ov->sb->vfs, store_dev(n->ov->store),
				n->sino);
}

static bool ov_busy(const struct ov_node *n, int dirfd, const char *name)
{
	return (n->copy || n->quiet || ov_was_opened(n)) &&
	       store_busy(n->ov->store, dirfd, name, n->sino);
}

/* Who has it open keeps it when its name goes: STORE_GONE tells its end. */
static int ov_tell_end(const struct ov_node *n, int dirfd, const char *name)
{
	if (!ov_was_opened(n))
		return 0;
	return store_watch(n->ov->store, dirfd, name, n->sino, false);
}

int ov_object_keep(struct ov_node *n, struct ov_entry *e)
{
	struct store *s = n->ov->store;
	char side[STORE_NAME_MAX];
	bool last = n->nlink <= 1;
	int fd = ov_mirror_fd(e->dir);

	if (fd < 0)
		return fd;
	if (S_ISDIR(n->inode->type))
		return ov_tell_end(n, fd, e->name);
	if (ov_has_other_name(n, e))
		return 0;
	if (last && !S_ISREG(n->inode->type))
		return S_ISFIFO(n->inode->type) ? ov_tell_end(n, fd, e->name)
						: 0;
	/* A watcher must not see us open the file: see below, then. */
	if (last && (!n->upper ||
		     (!e->dir->inode->watch && !ov_busy(n, fd, e->name)))) {
		/* Known to the core by number, perhaps; nobody holds it. */
		vfs_object_del(n->ov->sb->vfs, store_dev(s), n->sino);
		return 0;
	}
	store_side_name(s, side);
	if (linkat(fd, e->name, store_side_fd(s), side, 0) < 0)
		return ov_store_errno(errno, "link");
	memcpy(n->side, side, sizeof(side));
	return 0;
}

int ov_object_open_quiet(struct ov_node *n, int flags, int *fd)
{
	int side_fd = store_side_fd(n->ov->store);
	char side[STORE_NAME_MAX];
	const char *name;
	int dirfd, ret = ov_object_place(n, &dirfd, &name);

	if (ret < 0)
		return ret;
	side[0] = '\0';
	if (dirfd != side_fd) {
		/* Opened by a name elsewhere, watchers of the directory see
		 * nothing of it. */
		store_side_name(n->ov->store, side);
		if (linkat(dirfd, name, side_fd, side, 0) < 0)
			return ov_store_errno(errno, "link");
		dirfd = side_fd;
		name = side;
	}
	*fd = openat(dirfd, name, flags | O_NOFOLLOW | O_CLOEXEC);
	ret = *fd < 0 ? ov_store_errno(errno, "open") : 0;
	if (side[0])
		store_side_remove(n->ov->store, side, false);
	return ret;
}

/* An unlinked file without descriptions is freed; else its closes are watched.
 */
void ov_object_maybe_free(struct ov_node *n)
{
	struct store *s = n->ov->store;
	int fd = store_side_fd(s);

	if (n->nlink || !n->side[0])
		return;
	if (!S_ISREG(n->inode->type)) {
		/* Nobody opens it again; STORE_GONE tells its end. */
		(void)!store_watch(s, fd, n->side, n->sino, false);
		store_side_remove(s, n->side, false);
		n->side[0] = '\0';
		return;
	}
	if (!ov_busy(n, fd, n->side)) {
		store_side_remove(s, n->side, false);
		n->side[0] = '\0';
		if (!n->unlinked_watch) /* else STORE_GONE does it */
			vfs_object_del(n->ov->sb->vfs, store_dev(s), n->sino);
		return;
	}
	if (n->unlinked_watch)
		return;
	n->unlinked_watch = true;
	if (store_watch(s, fd, n->side, n->sino, true) < 0)
		n->unlinked_watch = false;
}

/* ---- population ------------------------------------------------------ */

static int ov_populate_step(void *arg, const char *name, ino_t ino,
			    unsigned char type)
{
	struct ov_node *dir = arg;
	struct inode *inode;
	struct ov_node *n;
	int ret = 0;

	(void)ino;
	(void)type;
	if (ov_entry_find(dir, name) || ov_lower_get(dir, name, &inode) < 0)
		return 0;
	n = ov_node(inode);
	if (n->standin)
		ret = 0; /* has its place by now */
	else if (S_ISDIR(inode->type))
		ret = ov_mirror_fd(n);
	else
		ret = ov_object_make(n, dir, name);
	inode_put(inode);
	return ret < 0 ? ret : 0;
}

int ov_mirror_populate(struct ov_node *dir)
{
	struct ov_dir *d = dir->dir;
	int ret = ov_mirror_fd(dir);

	if (ret < 0 || d->populated)
		return ret < 0 ? ret : 0;
	for (size_t i = 0; i <= d->entries.mask; i++) {
		struct hnode *h = d->entries.buckets[i];

		for (; h; h = h->next) {
			struct ov_entry *e =
				container_of(h, struct ov_entry, node);

			if (!e->child || e->mirrored)
				continue;
			ret = S_ISDIR(e->child->inode->type)
				      ? ov_mirror_fd(e->child)
				      : ov_object_make(e->child, dir, e->name);
			if (ret < 0)
				return ret;
		}
	}
	if (dir->has_lower && !d->opaque) {
		ret = ov_lower_list(dir, ov_populate_step, dir);
		if (ret < 0)
			return ret;
	}
	d->populated = true;
	return 0;
}
