/*
 * overlay_src.c - a file whose data is in a layer (layer.h): a snapshot's, a
 * fork's, and after one was taken our own.
 *
 * The layer's file is shared and never changed, so its size and times are
 * asked once and then are the node's. The first change of the data copies it
 * as a copy-up does (overlay_copyup.c); all else is metadata of the node.
 *
 * Laws:
 * 1. A layer's file is opened read-only, with O_NOATIME where we may.
 *    [snapshot_test: fork_is_apart]
 * 2. It is removed only when no snapshot and no other process can need it.
 *    [snapshot_test: space_comes_back]
 *
 * LIMIT: a descriptor that was opened for reading after a snapshot does not
 * show what is written later, as with files of the host.
 */
#include "overlay_priv.h"

#include <fcntl.h>
#include <sched.h>

enum { OPEN_TRIES = 10000 };

struct ov_src *ov_src_new(struct ov_layer *layer, struct hostdir *dir,
			  const char *name, ino_t ino)
{
	struct ov_src *src = xcalloc(1, sizeof(*src));

	src->layer = layer_get(layer);
	src->dir = hostdir_get(dir);
	src->name = xstrdup(name);
	src->ino = ino;
	return src;
}

void ov_src_free(struct ov_src *src, bool ours)
{
	int fd;

	if (!src)
		return;
	if (ours && src->layer->refs > 1 && layer_is_ours(src->layer)) {
		fd = hostdir_fd(src->dir);
		if (fd >= 0 && unlinkat(fd, src->name, 0) < 0)
			log_host(errno, "store: layer file");
	}
	hostdir_put(src->dir);
	layer_put(src->layer);
	free(src->name);
	free(src);
}

/* If no guest has it open its number means nothing any more. */
static void src_forget(struct ov_node *n)
{
	struct ov_src *src = n->src;
	struct vfs *vfs = n->ov->sb->vfs;
	struct vref known = {0};
	int fd;

	if (vfs_object_find(vfs, src->dir->dev, src->ino, &known) < 0)
		return;
	vref_put(&known);
	fd = hostdir_fd(src->dir);
	if (fd >= 0 && !store_busy(n->ov->store, fd, src->name, src->ino))
		vfs_object_del(vfs, src->dir->dev, src->ino);
}

void ov_src_drop(struct ov_node *n)
{
	struct ov_src *src = n->src;

	if (!n->ov->dead)
		src_forget(n);
	n->src = NULL;
	ov_src_free(src, !n->ov->dead);
}

static int src_stat(const struct ov_src *src, struct stat *st)
{
	int fd = hostdir_fd(src->dir);

	if (fd < 0)
		return fd;
	if (fstatat(fd, src->name, st, AT_SYMLINK_NOFOLLOW) < 0)
		return ov_store_errno(errno, "layer file");
	if (!S_ISREG(st->st_mode) || st->st_ino != src->ino) {
		log_warn("store: a layer's file is another one");
		return -EIO;
	}
	return 0;
}

int ov_src_load(struct ov_node *n)
{
	struct ov_src *src = n->src;
	struct stat st;
	int ret;

	if (!src || src->loaded)
		return 0;
	ret = src_stat(src, &st);
	if (ret < 0)
		return ret;
	src->size = st.st_size;
	src->blocks = st.st_blocks;
	src->loaded = true;
	ov_read_back(n, &st);
	n->atime = st.st_atim;
	n->mtime = st.st_mtim;
	n->ctime = ov_ctime(n, st.st_ctim);
	return 0;
}

int ov_src_open(struct ov_node *n, int flags, int *fd, struct stat *st)
{
	struct ov_src *src = n->src;
	struct stat want = {
		.st_dev = src->dir->dev,
		.st_ino = src->ino,
		.st_mode = S_IFREG,
		.st_uid = geteuid(),
	};
	struct hostfs_want w = {.flags = flags, .st = &want};
	int ret, tries = 0;

	BUG_ON((flags & O_ACCMODE) != O_RDONLY || (flags & O_TRUNC));
	do {
		/* Another sentry asks whether it is open: store_busy(). */
		ret = hostfs_open_stat(src->dir, src->name, &w, fd, st);
	} while (ret == -EAGAIN && !sched_yield() && ++tries < OPEN_TRIES);
	if (ret == -EINVAL && (flags & O_DIRECT)) { /* tmpfs before 6.6 */
		w.flags &= ~O_DIRECT;
		ret = hostfs_open_stat(src->dir, src->name, &w, fd, st);
	}
	return ret == -ESTALE ? -EIO : ret;
}

void ov_src_unlinked(struct ov_node *n)
{
	/* LIMIT: of one that is open the space comes back at the end, or when
	 * the layer goes. */
	src_forget(n);
}
