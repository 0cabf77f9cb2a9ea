/*
 * overlay_copyup.c - a lower file, or one whose data is in a layer, gets its
 * own data in the store.
 *
 * Small files at once, larger ones by a job that runs without the state lock:
 * the store object stands empty meanwhile and the node still shows the lower
 * file, so nobody sees half a copy. Several openers share one copy: the first
 * job copies, the others wait for it, and all then repeat their call.
 *
 * Laws:
 * 1. A node becomes `upper` only after all data is there, with the state lock
 *    held. [overlay_test: copy_up_big_by_job]
 * 2. A copy that failed leaves an empty object and a lower node.
 * 3. A host file that changed during the copy is copied again.
 *
 * LIMIT: a descriptor that was opened read-only before the copy-up keeps
 * showing the lower file's data, as on Linux's overlayfs.
 * LIMIT: a host file that changes all the time is taken as it is after
 * COPY_TRIES copies.
 */
#include "overlay_priv.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/sendfile.h>

enum { COPY_TRIES = 5, COPY_CHUNK = 1 << 20, COPY_WAIT_NS = 10 * 1000000 };

struct ov_copy {
	pthread_mutex_t mutex; /* guards finished */
	pthread_cond_t cond;
	bool finished;
	unsigned refs; /* under the state lock */
	int src, dst;
	bool quiet;	/* dst is watched: overlay_quiet.c */
	struct stat st; /* of the lower file before the copy */
};

struct vfs_job {
	struct ov_node *node; /* counted through its inode */
	struct ov_copy *copy; /* counted */
	bool owner;
};

static bool copy_same(const struct stat *a, const struct stat *b)
{
	return a->st_size == b->st_size &&
	       a->st_mtim.tv_sec == b->st_mtim.tv_sec &&
	       a->st_mtim.tv_nsec == b->st_mtim.tv_nsec &&
	       a->st_ctim.tv_sec == b->st_ctim.tv_sec &&
	       a->st_ctim.tv_nsec == b->st_ctim.tv_nsec;
}

static int copy_range(int src, int dst, off_t from, off_t to,
		      const volatile int *cancel)
{
	off_t pos = from;

	if (lseek(dst, from, SEEK_SET) < 0)
		return -EIO;
	while (pos < to) {
		size_t want = (size_t)(to - pos);
		ssize_t n;

		if (cancel && *cancel)
			return -EINTR;
		n = sendfile(dst, src, &pos,
			     want < COPY_CHUNK ? want : COPY_CHUNK);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return ov_store_errno(errno, "copy-up");
		if (!n)
			break; /* shorter than it was: seen by copy_same */
	}
	return 0;
}

int ov_copy_file(int src, int dst, off_t size, const volatile int *cancel)
{
	off_t pos = 0;

	if (ftruncate(dst, 0) < 0 || ftruncate(dst, size) < 0)
		return ov_store_errno(errno, "ftruncate");
	while (pos < size) {
		off_t data = lseek(src, pos, SEEK_DATA);
		off_t hole;
		int ret;

		if (data < 0 && errno == ENXIO)
			return 0; /* a hole to the end */
		if (data < 0)
			data = pos; /* file system without SEEK_DATA */
		hole = lseek(src, data, SEEK_HOLE);
		if (hole < 0 || hole > size)
			hole = size;
		ret = copy_range(src, dst, data, hole, cancel);
		if (ret < 0)
			return ret;
		pos = hole;
	}
	return 0;
}

static int copy_data(struct ov_copy *c, const volatile int *cancel)
{
	for (int tries = 0; tries < COPY_TRIES; tries++) {
		struct stat after;
		int ret;

		if (fstat(c->src, &c->st) < 0)
			return -EIO;
		ret = ov_copy_file(c->src, c->dst, c->st.st_size, cancel);
		if (ret < 0)
			return ret;
		if (fstat(c->src, &after) < 0)
			return -EIO;
		if (copy_same(&c->st, &after))
			return 0;
	}
	log_debug("copy-up of a file that keeps changing");
	return 0;
}

/* ---- publishing ------------------------------------------------------ */

static int copy_publish(struct ov_node *n, const struct ov_copy *c)
{
	struct timespec t[2] = {n->atime, n->mtime};
	struct stat st;

	if (c->quiet ? ov_quiet_publish(n, c->dst) < 0
		     : fchmod(c->dst, ov_object_mode(n)) < 0 ||
			       futimens(c->dst, t) < 0)
		return ov_store_errno(errno, "copy-up attributes");
	if (fstat(c->dst, &st) < 0)
		return -EIO;
	n->ctime_mark = st.st_ctim;
	n->upper = n->meta = true;
	if (n->src)
		ov_src_drop(n);
	ov_pin(n);
	return 0;
}

/* O_TRUNC: an empty file of now. */
static int copy_nothing(struct ov_node *n)
{
	struct timespec now[2] = {{0, UTIME_NOW}, {0, UTIME_NOW}};
	AUTO_CLOSE int fd = ov_quiet_take(n);
	bool quiet = fd >= 0;
	int ret = quiet ? 0 : ov_object_open_quiet(n, O_WRONLY, &fd);

	if (ret < 0)
		return ret;
	if (quiet)
		now[0].tv_nsec = UTIME_OMIT;
	if ((!quiet && fchmod(fd, ov_object_mode(n)) < 0) ||
	    futimens(fd, now) < 0)
		return ov_store_errno(errno, "truncating open");
	n->upper = n->meta = true;
	if (n->src)
		ov_src_drop(n);
	ov_pin(n);
	return 0;
}

static void copy_put(struct ov_copy *c)
{
	if (--c->refs)
		return;
	auto_close_fd(&c->src);
	auto_close_fd(&c->dst);
	pthread_mutex_destroy(&c->mutex);
	pthread_cond_destroy(&c->cond);
	free(c);
}

static int copy_open(struct ov_node *n, struct ov_copy *c)
{
	struct stat st;
	int ret = n->src ? ov_src_open(n, O_RDONLY, &c->src, &st)
			 : ov_lower_open(n, O_RDONLY, &c->src, &st);

	if (ret < 0)
		return ret == -ESTALE ? -ENOENT : ret;
	c->dst = ov_quiet_take(n);
	c->quiet = c->dst >= 0;
	return c->quiet ? 0 : ov_object_open_quiet(n, O_RDWR, &c->dst);
}

static struct vfs_job *copy_job(struct ov_node *n, struct ov_copy *c,
				bool owner)
{
	struct vfs_job *job = xcalloc(1, sizeof(*job));

	inode_get(n->inode);
	job->node = n;
	job->copy = c;
	job->owner = owner;
	c->refs++;
	return job;
}

static int copy_start(struct ov_node *n, struct vfs_job **job)
{
	struct ov_copy *c = n->copy;
	int ret;

	if (c) {
		*job = copy_job(n, c, false);
		return -EINPROGRESS;
	}
	c = xcalloc(1, sizeof(*c));
	pthread_mutex_init(&c->mutex, NULL);
	pthread_cond_init(&c->cond, NULL);
	c->src = c->dst = -1;
	c->refs = 1;
	ret = copy_open(n, c);
	if (!ret) {
		n->copy = c;
		*job = copy_job(n, c, true);
		ret = -EINPROGRESS;
	}
	copy_put(c);
	return ret;
}

static int copy_inline(struct ov_node *n)
{
	struct ov_copy c = {.src = -1, .dst = -1};
	int ret = copy_open(n, &c);

	if (!ret)
		ret = copy_data(&c, NULL);
	if (!ret) {
		if (!n->src)
			ov_base_copied(n, &c.st, c.dst);
		ret = copy_publish(n, &c);
	} else if (c.dst >= 0 && ftruncate(c.dst, 0) < 0)
		log_host(errno, "ftruncate");
	auto_close_fd(&c.src);
	auto_close_fd(&c.dst);
	return ret;
}

int ov_copy_up(struct ov_node *n, struct dentry *dentry, bool truncate,
	       struct vfs_job **job)
{
	struct ov_node *dir = NULL;
	const char *name = NULL;
	int ret = 0;
	off_t size;

	if (n->upper && !n->src)
		return 0;
	if (n->src)
		ret = ov_src_load(n);
	else
		ov_refresh(n);
	if (ret < 0)
		return ret;
	size = n->src ? n->src->size : n->lst.st_size;
	if (dentry && dentry->parent && !dentry->deleted &&
	    dentry->parent->inode->sb == n->inode->sb) {
		dir = ov_parent_of(dentry);
		name = dentry->name;
	}
	if (!n->object)
		ret = ov_object_make(n, dir, name);
	if (ret < 0)
		return ret;
	if (truncate || !size)
		return truncate ? copy_nothing(n) : copy_inline(n);
	if (size <= OV_INLINE_COPY && !n->copy)
		return copy_inline(n);
	return copy_start(n, job);
}

/* ---- jobs ------------------------------------------------------------ */

static int copy_wait(struct ov_copy *c, const volatile int *cancel)
{
	int ret = 0;

	pthread_mutex_lock(&c->mutex);
	while (!c->finished && !ret) {
		struct timespec until;

		clock_gettime(CLOCK_REALTIME, &until);
		until.tv_nsec += COPY_WAIT_NS;
		if (until.tv_nsec >= 1000000000) {
			until.tv_nsec -= 1000000000;
			until.tv_sec++;
		}
		pthread_cond_timedwait(&c->cond, &c->mutex, &until);
		if (cancel && *cancel)
			ret = -EINTR;
	}
	pthread_mutex_unlock(&c->mutex);
	return ret;
}

int vfs_job_run(struct vfs_job *job, const volatile int *cancel)
{
	if (!job->owner)
		return copy_wait(job->copy, cancel);
	return copy_data(job->copy, cancel);
}

static int copy_finish(struct ov_node *n, struct ov_copy *c, int result)
{
	n->copy = NULL;
	/* A truncating open may have overtaken us: its file is the newer. */
	if (!n->upper || n->src) {
		if (!result) {
			if (!n->src)
				ov_base_copied(n, &c->st, c->dst);
			result = copy_publish(n, c);
		} else if (ftruncate(c->dst, 0) < 0)
			log_host(errno, "ftruncate");
	}
	pthread_mutex_lock(&c->mutex);
	c->finished = true;
	pthread_cond_broadcast(&c->cond);
	pthread_mutex_unlock(&c->mutex);
	return result;
}

int vfs_job_finish(struct vfs *vfs, struct vfs_job *job, int result)
{
	(void)vfs;
	if (job->owner)
		result = copy_finish(job->node, job->copy, result);
	copy_put(job->copy);
	inode_put(job->node->inode);
	free(job);
	return result;
}
