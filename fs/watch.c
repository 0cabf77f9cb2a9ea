/*
 * watch.c - what a guest watches with inotify.
 *
 * Events are the kernel's: a watch rests on the store object that mirrors what
 * is watched. The core only remembers that an inode was once watched
 * (inode->watch), so that the file systems can make the kernel say what
 * happens elsewhere: reads of lower files, listings.
 *
 * A pseudo file has no store object. A watch on it rests on an empty one that
 * is kept, so that it stays in place and stays silent, as natively.
 *
 * LIMIT: the flag stays when the last watch has gone, which costs time only.
 */
#include "core.h"

#include <sys/syscall.h>

enum { KEPT_MAX = 256 };

struct watch_kept {
	struct list list; /* vfs.watch_kept, oldest first */
	const struct super *sb;
	uint64_t ino;
	int fd; /* O_PATH of an object in side/ without a name */
};

static void kept_drop(struct vfs *vfs, struct watch_kept *k)
{
	list_del(&k->list);
	vfs->watch_kept_count--;
	close(k->fd);
	free(k);
}

void watch_fini(struct vfs *vfs)
{
	while (!list_empty(&vfs->watch_kept))
		kept_drop(vfs, list_entry(vfs->watch_kept.next,
					  struct watch_kept, list));
}

static struct watch_kept *kept_find(struct vfs *vfs, const struct inode *i)
{
	list_for_each (p, &vfs->watch_kept) {
		struct watch_kept *k = list_entry(p, struct watch_kept, list);

		if (k->sb == i->sb && k->ino == i->ino)
			return k;
	}
	return NULL;
}

static int kept_object(struct vfs *vfs, bool dir, int *fd)
{
	char name[STORE_NAME_MAX];
	AUTO_CLOSE int made = -1;
	int err = dir ? store_side_dir(vfs->store, name, &made)
		      : store_side_file(vfs->store, name, &made);

	if (err)
		return err;
	*fd = openat(store_side_fd(vfs->store), name,
		     O_PATH | O_NOFOLLOW | O_CLOEXEC);
	if (*fd < 0)
		err = -ENFILE;
	store_side_remove(vfs->store, name, dir);
	return err;
}

static int kept_target(struct vfs *vfs, const struct inode *i, int *opath_fd)
{
	struct watch_kept *k = kept_find(vfs, i);
	int fd, err;

	if (!k) {
		err = kept_object(vfs, S_ISDIR(i->type), &fd);
		if (err)
			return err;
		if (vfs->watch_kept_count >= KEPT_MAX)
			kept_drop(vfs, list_entry(vfs->watch_kept.next,
						  struct watch_kept, list));
		k = xcalloc(1, sizeof(*k));
		k->sb = i->sb;
		k->ino = i->ino;
		k->fd = fd;
		list_add_tail(&vfs->watch_kept, &k->list);
		vfs->watch_kept_count++;
	}
	*opath_fd = fcntl(k->fd, F_DUPFD_CLOEXEC, 3);
	return *opath_fd < 0 ? -ENFILE : 0;
}

int vfs_watch_target(struct vfs_ctx *ctx, const struct vref *ref, bool reads,
		     int *opath_fd)
{
	struct inode *i = ref->inode;
	int err = perm_check(ctx, ref->dentry, i, R_OK);

	if (err)
		return err;
	if (!i->ops->watch_target)
		return kept_target(ctx->vfs, i, opath_fd);
	err = i->ops->watch_target(ctx, i, ref->dentry, opath_fd);
	if (err)
		return err;
	ctx->vfs->watched = true;
	i->watch |= INODE_WATCHED | (reads ? INODE_WATCHED_READS : 0);
	return 0;
}

unsigned vfs_watched(const struct inode *inode, const struct dentry *dentry)
{
	unsigned watch = inode->watch;

	if (dentry && dentry->parent && dentry->parent->inode)
		watch |= dentry->parent->inode->watch;
	return watch;
}

/* A listing that the sentry answers is no access of the mirror: let the
 * kernel see one, with a buffer that no entry fits in. */
void vfs_tell_listing(const struct vref *ref, int fd)
{
	char none[1];

	if (vfs_watched(ref->inode, ref->dentry) & INODE_WATCHED_READS)
		syscall(SYS_getdents64, fd, none, sizeof(none));
}
