/*
 * overlay_lookup.c - from a name to a node: entries first, then the lower.
 *
 * Lower files are found again by (dev, ino), so that hard links are one inode;
 * lower directories by (dev, ino, parent), because a bind mount of the host
 * may show one directory at two places and ours has one name only.
 */
#include "overlay_priv.h"

#include <fcntl.h>

uint64_t ov_lower_ino(const struct ov *ov, dev_t dev, ino_t ino)
{
	uint64_t v = ino;

	/* Keep clear of our own numbers, and other file systems of the host
	 * clear of the root's. */
	if (ov->root && dev != ov->root->lst.st_dev)
		v = (hash_u64(dev, 7) >> 24 << 40 | (ino & 0xffffffffff)) &
		    INT64_MAX;
	if (v >= OV_INO_FIRST)
		v |= (uint64_t)1 << 62;
	return v;
}

uint64_t ov_lower_hash(const struct ov_node *dir, const struct stat *st)
{
	uint64_t salt = S_ISDIR(st->st_mode) ? (uintptr_t)dir : 0;

	return hash_u64(st->st_ino ^ salt, st->st_dev);
}

struct ov_node *ov_lower_find(struct ov_node *dir, const struct stat *st)
{
	struct hnode *h = htable_first(&dir->ov->lower, ov_lower_hash(dir, st));

	for (; h; h = htable_next(h)) {
		struct ov_node *n = container_of(h, struct ov_node, by_lower);

		if (n->lst.st_ino != st->st_ino ||
		    n->lst.st_dev != st->st_dev ||
		    (n->lst.st_mode & S_IFMT) != (st->st_mode & S_IFMT))
			continue;
		if (!S_ISDIR(st->st_mode) || n->parent == dir)
			return n;
	}
	return NULL;
}

void ov_lower_unhash(struct ov_node *n)
{
	if (!n->hashed)
		return;
	htable_del(&n->ov->lower, &n->by_lower);
	n->hashed = false;
}

/* A name that the guest removed, and then the host as well, is one name: after
 * an apply. So what has a name has at least one. */
static nlink_t links_now(const struct ov_node *n, const struct stat *st)
{
	nlink_t gone = n->lst.st_nlink > st->st_nlink
			       ? n->lst.st_nlink - st->st_nlink
			       : 0;

	if (n->nlink && gone >= n->nlink)
		return st->st_nlink ? 1 : 0;
	return n->nlink + st->st_nlink - n->lst.st_nlink;
}

void ov_take_stat(struct ov_node *n, const struct stat *st)
{
	if (n->has_lower)
		n->nlink = links_now(n, st);
	else
		n->nlink = st->st_nlink;
	if (!n->has_lower)
		n->btime.tv_sec = 0;
	if (n->has_lower && !n->xattr_own &&
	    !ts_equal(n->lst.st_ctim, st->st_ctim))
		inode_acl_forget(n->inode);
	if (n->ltext && !ts_equal(n->lst.st_ctim, st->st_ctim)) {
		free(n->ltext);
		n->ltext = NULL;
	}
	n->has_lower = true;
	n->known = n->mark.watch;
	n->lst = *st;
	ov_base_seen(n, st);
	if (n->meta || n->upper)
		return;
	n->inode->mode = st->st_mode & 07777;
	n->inode->uid = ov_uid(n->ov, st->st_uid);
	n->inode->gid = ov_gid(n->ov, st->st_gid);
	n->atime = st->st_atim;
	n->mtime = st->st_mtim;
	n->ctime = st->st_ctim;
}

/* A name by which the host's file is surely found now. */
void ov_lower_placed(struct ov_node *n, struct ov_node *dir, const char *name)
{
	struct hostdir *old = n->lhost;

	n->astray = false;
	if (S_ISDIR(n->inode->type) ||
	    (old == dir->lhost && !strcmp(n->lname, name)))
		return;
	n->lhost = hostdir_get(dir->lhost);
	hostdir_put(old);
	free(n->lname);
	n->lname = xstrdup(name);
}

void ov_lower_rehash(struct ov_node *n)
{
	ov_lower_unhash(n);
	htable_add(&n->ov->lower, &n->by_lower,
		   ov_lower_hash(n->parent, &n->lst));
	n->hashed = true;
}

/* ---- numbers that the host uses again -------------------------------- */

void ov_lower_ask_birth(struct ov_node *n, struct hostdir *dir,
			const char *name)
{
	if (hostfs_birth(dir, name, &n->lst, &n->lborn))
		n->lborn.tv_sec = 0;
	if (S_ISDIR(n->inode->type))
		n->lhost->born = n->lborn;
}

/* What n was is gone from the host; what the guest has of its own stays. */
static void ov_lower_lost(struct ov_node *n)
{
	ov_lower_unhash(n);
	ov_watch_end(n);
	if (n->upper || !list_empty(&n->names))
		return;
	n->inode->gone = true;
	n->nlink = 0;
}

/* Not every file system counts a directory's links: the name has a say, too. */
static bool ov_dir_dead(const struct hostdir *d, int fd)
{
	struct stat st;

	if (fstat(fd, &st) < 0 || st.st_nlink)
		return false;
	return hostfs_stat(d->parent, d->name, &st) < 0 ||
	       st.st_dev != d->dev || st.st_ino != d->ino;
}

bool ov_dir_lost(struct ov_node *dir)
{
	int fd;

	if (!dir->has_lower || !dir->lhost->changes || !dir->lhost->parent ||
	    dir->upper || !list_empty(&dir->names))
		return false;
	fd = hostdir_fd(dir->lhost);
	if (fd >= 0 ? !ov_dir_dead(dir->lhost, fd)
		    : fd != -ENOENT && fd != -ESTALE)
		return false;
	ov_lower_lost(dir);
	return true;
}

static bool ov_reborn(const struct ov_node *n, struct hostdir *dir,
		      const char *name, const struct stat *st)
{
	struct timespec born;

	if (!n->lborn.tv_sec || (st->st_ctim.tv_sec == n->lst.st_ctim.tv_sec &&
				 st->st_ctim.tv_nsec == n->lst.st_ctim.tv_nsec))
		return false;
	return !hostfs_birth(dir, name, st, &born) &&
	       (born.tv_sec != n->lborn.tv_sec ||
		born.tv_nsec != n->lborn.tv_nsec);
}

struct ov_node *ov_lower_known(struct ov_node *dir, const char *name,
			       const struct stat *st)
{
	struct ov_node *n = ov_lower_find(dir, st);

	if (!n || !dir->lhost->changes || !ov_reborn(n, dir->lhost, name, st))
		return n;
	ov_lower_lost(n);
	return NULL;
}

static struct hostfs_want ov_want(const struct ov_node *n, int flags)
{
	return (struct hostfs_want){
		.flags = flags,
		.st = &n->lst,
		.born = n->lborn,
	};
}

int ov_lower_open(struct ov_node *n, int flags, int *fd, struct stat *st)
{
	struct hostfs_want want = ov_want(n, flags);

	return hostfs_open_stat(n->lhost, n->lname, &want, fd, st);
}

int ov_lower_open_walked(struct vfs_ctx *ctx, struct ov_node *n,
			 const struct dentry *d, int flags, int *fd,
			 struct stat *st)
{
	struct hostfs_want want = ov_want(n, flags);

	want.sure = (flags & (O_ACCMODE | O_TRUNC)) == O_RDONLY &&
		    ov_is_sure(ctx, n, d);
	return hostfs_open_stat(n->lhost, n->lname, &want, fd, st);
}

int ov_lower_path(struct ov_node *n, int *fd)
{
	struct hostfs_want want = ov_want(n, O_PATH);
	AUTO_CLOSE int got = -1;
	struct stat st;
	int ret = hostfs_open_path(n->lhost, n->lname, &got);

	if (!ret && n->lhost->changes)
		ret = hostfs_same(got, &want, &st);
	if (!ret)
		*fd = fd_take(&got);
	return ret;
}

/* The text of a link never changes, and whether its name leads to another one
 * by now is the look-up's affair: which would not tell two that were made
 * within a tick of the clock from each other. */
static void ov_keep_text(struct ov_node *n, const char *text, ssize_t len)
{
	time_t age = ov_now(n->ov).tv_sec - n->lst.st_ctim.tv_sec;

	if (age <= 1)
		return;
	n->ltext = xmalloc((size_t)len + 1);
	memcpy(n->ltext, text, (size_t)len);
	n->ltext[len] = '\0';
}

ssize_t ov_lower_readlink(struct ov_node *n, char *buf, size_t size)
{
	AUTO_CLOSE int fd = -1;
	ssize_t len;
	int ret;

	if (!n->lhost->changes)
		return hostfs_readlink(n->lhost, n->lname, buf, size);
	if (n->ltext) {
		len = (ssize_t)strnlen(n->ltext, size);
		memcpy(buf, n->ltext, (size_t)len);
		return len;
	}
	ret = ov_lower_path(n, &fd);
	if (ret < 0)
		return ret;
	len = readlinkat(fd, "", buf, size);
	if (len < 0)
		return hostfs_errno(errno);
	if ((size_t)len < size)
		ov_keep_text(n, buf, len);
	return len;
}

struct inode *ov_lower_node(struct ov_node *dir, const char *name,
			    const struct stat *st)
{
	struct ov_node *n = ov_lower_known(dir, name, st);
	struct ov *ov = dir->ov;

	if (n) {
		if (dir->lhost->changes) {
			ov_take_stat(n, st);
			ov_lower_placed(n, dir, name);
		}
		return inode_get(n->inode);
	}
	n = ov_node_new(ov, st->st_mode & S_IFMT,
			ov_lower_ino(ov, st->st_dev, st->st_ino));
	ov_take_stat(n, st);
	if (S_ISDIR(st->st_mode)) {
		n->lhost = hostdir_child(dir->lhost, name, st);
		ov_set_parent(n, dir, name);
	} else {
		n->lhost = hostdir_get(dir->lhost);
		n->lname = xstrdup(name);
	}
	if (dir->lhost->changes) {
		ov_host_changes(n);
		ov_lower_ask_birth(n, dir->lhost, name);
	}
	htable_add(&ov->lower, &n->by_lower, ov_lower_hash(dir, st));
	n->hashed = true;
	return n->inode;
}

bool ov_lower_has(struct ov_node *dir, const char *name, struct stat *st)
{
	if (!dir->has_lower || dir->dir->opaque)
		return false;
	return hostfs_stat(dir->lhost, name, st) == 0;
}

bool ov_lower_closed(struct ov_node *dir, const char *name)
{
	struct dentry *d = dir->inode->dir_dentry;

	unsigned mask = d ? dentry_child_mask(d, name) : 0;

	if (!(mask & VFS_MASK_NOLOWER))
		return false;
	return !(mask & VFS_MASK_STANDIN) || dir->ov->direct;
}

int ov_lower_get(struct ov_node *dir, const char *name, struct inode **out)
{
	struct stat st;
	int ret;

	if (!dir->has_lower || dir->dir->opaque || ov_lower_closed(dir, name))
		return -ENOENT;
	ret = hostfs_stat(dir->lhost, name, &st);
	if (ret == -ENOENT || ret == -ESTALE) {
		ov_dir_lost(dir);
		return -ENOENT;
	}
	if (ret < 0)
		return ret;
	if (ov_standin_wanted(dir, name, &st))
		return ov_standin_make(dir, name, &st, out);
	*out = ov_lower_node(dir, name, &st);
	return 0;
}

int ov_lookup(struct vfs_ctx *ctx, struct inode *inode, const char *name,
	      struct inode **out)
{
	struct ov_node *dir = ov_node(inode);
	struct ov_entry *e = ov_entry_find(dir, name);
	int ret;

	if (e && !e->child)
		return -ENOENT;
	if (e) {
		*out = inode_get(e->child->inode);
		return 0;
	}
	if (dir->has_lower && !dir->dir->opaque)
		ov_watch_names(ctx, dir);
	ret = ov_lower_get(dir, name, out);
	if (!ret && !ov_entry_find(dir, name))
		ctx->host_told = *out;
	return ret;
}

bool ov_withheld(struct inode *inode, const char *path)
{
	struct ov_node *dir = ov_node(inode);
	size_t len = strcspn(path, "/");
	char name[NAME_LEN_MAX + 1];

	if (!dir->has_lower || dir->dir->opaque || len > NAME_LEN_MAX)
		return false;
	memcpy(name, path, len);
	name[len] = '\0';
	return !ov_entry_find(dir, name) && hostfs_exists(dir->lhost, path);
}

/* The host's side of a node whose tree may change. */
void ov_refresh(struct ov_node *n)
{
	struct stat st;

	if (!n->has_lower || !n->lhost->changes)
		return;
	if (S_ISDIR(n->inode->type)) {
		if (hostfs_stat_dir(n->lhost, &st) < 0)
			return;
	} else if (hostfs_stat(n->lhost, n->lname, &st) < 0 ||
		   ov_reborn(n, n->lhost, n->lname, &st)) {
		return;
	}
	if (st.st_dev == n->lst.st_dev && st.st_ino == n->lst.st_ino)
		ov_take_stat(n, &st);
}
