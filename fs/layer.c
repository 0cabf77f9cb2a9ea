/*
 * layer.c - see layer.h.
 */
#include "layer.h"

#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/file.h>

enum { TREE_DEPTH_MAX = 512 };

static int layer_errno(int err)
{
	switch (err) {
	case ENOSPC:
	case EDQUOT:
	case ENOMEM:
	case EMFILE:
	case ENFILE:
		return -err;
	}
	log_host(err, "store: layer");
	return -EIO;
}

/* Takes fd, a readable directory with the lock. */
static int layer_open(struct store *s, int fd, const char *name,
		      struct ov_layer **out)
{
	struct ov_layer *l = xcalloc(1, sizeof(*l));
	int ret;

	hostfs_init(&l->fs, true);
	ret = hostfs_root_fd(&l->fs, fd, &l->root);
	if (ret < 0) {
		close(fd);
		free(l);
		return ret;
	}
	l->fd = fd;
	l->refs = 1;
	snprintf(l->name, sizeof(l->name), "%s", name);
	list_add_tail(store_layers(s), &l->link);
	*out = l;
	return 0;
}

int layer_new(struct store *s, struct ov_layer **out)
{
	int root = store_root_fd(s), fd, ret;
	char name[LAYER_NAME_MAX];

	snprintf(name, sizeof(name), "L%u", store_next_layer(s));
	if (mkdirat(root, name, 0700) < 0)
		return layer_errno(errno);
	fd = openat(root, name,
		    O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 || flock(fd, LOCK_SH | LOCK_NB) < 0) {
		ret = layer_errno(errno);
		auto_close_fd(&fd);
	} else {
		ret = layer_open(s, fd, name, out);
	}
	if (ret < 0)
		unlinkat(root, name, AT_REMOVEDIR);
	return ret;
}

int layer_adopt(struct store *s, int fd, struct ov_layer **out)
{
	struct stat st;
	int ret;

	if (fstat(fd, &st) < 0 || !S_ISDIR(st.st_mode)) {
		close(fd);
		return -EBADMSG;
	}
	ret = layer_open(s, fd, "", out);
	if (!ret)
		(*out)->shared = true;
	return ret;
}

int layer_share(struct ov_layer *l, int *fd)
{
	AUTO_CLOSE int got =
		openat(l->fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (got < 0 || flock(got, LOCK_SH | LOCK_NB) < 0)
		return layer_errno(errno);
	l->shared = true;
	*fd = fd_take(&got);
	return 0;
}

/*
 * Is this process the last one? A shared lock that cannot become exclusive is
 * lost for a moment, so only one at a time may try: who holds the lock of the
 * directory above.
 */
static bool layer_alone(struct ov_layer *l)
{
	AUTO_CLOSE int guard = -1;
	bool alone;

	if (!l->shared)
		return true;
	guard = openat(l->fd, "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (guard < 0 || flock(guard, LOCK_EX | LOCK_NB) < 0)
		return false;
	alone = flock(l->fd, LOCK_EX | LOCK_NB) == 0;
	if (flock(l->fd, LOCK_SH | LOCK_NB) < 0)
		log_host(errno, "store: lock of a layer");
	l->shared = !alone;
	return alone;
}

bool layer_is_ours(struct ov_layer *l)
{
	return !l->snapshots && layer_alone(l);
}

void layer_next_name(struct ov_layer *l, char name[LAYER_NAME_MAX])
{
	snprintf(name, LAYER_NAME_MAX, "%" PRIx64, ++l->next);
}

struct ov_layer *layer_get(struct ov_layer *l)
{
	l->refs++;
	return l;
}

void layer_put(struct ov_layer *l)
{
	if (!l || --l->refs)
		return;
	list_del(&l->link);
	if (layer_alone(l))
		layer_remove_tree(l->fd, "");
	hostdir_put(l->root); /* a descriptor of its own */
	close(l->fd);
	free(l);
}

/* ---- removing -------------------------------------------------------- */

struct removal {
	int dir;    /* owned */
	char *name; /* in dir; "": what is in dir, then dir itself */
	ino_t *keep;
	size_t nkeep;
	bool sweep; /* keeps directories, and files of `keep` */
};

static int by_ino(const void *a, const void *b)
{
	const ino_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

static bool removal_keeps(const struct removal *r, ino_t ino)
{
	return r->sweep &&
	       bsearch(&ino, r->keep, r->nkeep, sizeof(ino), by_ino);
}

/* What is too deep moves to the top, where the next pass finds it. */
static bool move_up(const struct removal *r, int dir, const char *name, int top)
{
	static atomic_uint serial;
	char to[LAYER_NAME_MAX];

	snprintf(to, sizeof(to), ".%x", atomic_fetch_add(&serial, 1));
	return !r->sweep && !renameat(dir, name, top, to);
}

/* Takes fd. True: there is more to do. */
static bool remove_in(const struct removal *r, int fd)
{
	bool more = false;
	DIR *stack[TREE_DEPTH_MAX];
	char *names[TREE_DEPTH_MAX];
	int depth = 0;

	stack[0] = fdopendir(fd);
	if (!stack[0]) {
		close(fd);
		return false;
	}
	while (depth >= 0) {
		DIR *d = stack[depth];
		struct dirent *e = readdir(d);
		int sub;

		if (!e) {
			closedir(d);
			if (depth && !r->sweep)
				unlinkat(dirfd(stack[depth - 1]), names[depth],
					 AT_REMOVEDIR);
			if (depth)
				free(names[depth]);
			depth--;
			continue;
		}
		if (!strcmp(e->d_name, ".") || !strcmp(e->d_name, ".."))
			continue;
		if (e->d_type != DT_DIR) {
			if (!removal_keeps(r, e->d_ino))
				unlinkat(dirfd(d), e->d_name, 0);
			continue;
		}
		if (!r->sweep && !unlinkat(dirfd(d), e->d_name, AT_REMOVEDIR))
			continue;
		if (depth + 1 == TREE_DEPTH_MAX) {
			more |= move_up(r, dirfd(d), e->d_name,
					dirfd(stack[0]));
			continue;
		}
		sub = openat(dirfd(d), e->d_name,
			     O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		stack[depth + 1] = sub < 0 ? NULL : fdopendir(sub);
		if (!stack[depth + 1]) {
			auto_close_fd(&sub);
			continue;
		}
		names[++depth] = xstrdup(e->d_name);
	}
	return more;
}

/* A directory's own name is found from above by its number. */
static void remove_self(int fd)
{
	AUTO_CLOSE int up =
		openat(fd, "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct stat st, got;
	struct dirent *e;
	DIR *d;

	if (up < 0 || fstat(fd, &st) < 0)
		return;
	d = fdopendir(up);
	if (!d)
		return;
	up = -1;
	while ((e = readdir(d))) {
		if (e->d_name[0] != 'L' ||
		    fstatat(dirfd(d), e->d_name, &got, AT_SYMLINK_NOFOLLOW) ||
		    got.st_ino != st.st_ino || got.st_dev != st.st_dev)
			continue;
		unlinkat(dirfd(d), e->d_name, AT_REMOVEDIR);
		break;
	}
	closedir(d);
}

static void removal_do(struct removal *r)
{
	const char *name = r->name[0] ? r->name : ".";
	bool more;

	do {
		int fd =
			openat(r->dir, name,
			       O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

		more = fd >= 0 && remove_in(r, fd);
	} while (more);
	if (!r->sweep && r->name[0])
		unlinkat(r->dir, r->name, AT_REMOVEDIR);
	else if (!r->sweep)
		remove_self(r->dir);
	close(r->dir);
	free(r->name);
	free(r->keep);
	free(r);
}

static void *removal_main(void *arg)
{
	removal_do(arg);
	return NULL;
}

static void removal_start(int dir, const char *name, ino_t *keep, size_t nkeep,
			  bool sweep)
{
	struct removal *r = xcalloc(1, sizeof(*r));
	pthread_t thread;

	r->dir = fcntl(dir, F_DUPFD_CLOEXEC, 3);
	r->name = xstrdup(name);
	r->keep = keep;
	r->nkeep = nkeep;
	r->sweep = sweep;
	if (r->dir < 0 || pthread_create(&thread, NULL, removal_main, r))
		removal_do(r); /* closes -1 at worst */
	else
		pthread_detach(thread);
}

void layer_remove_tree(int dir, const char *name)
{
	/* Often there is nothing in it. */
	if (*name && !unlinkat(dir, name, AT_REMOVEDIR))
		return;
	removal_start(dir, name, NULL, 0, false);
}

void layer_sweep(struct ov_layer *l, ino_t *inos, size_t count)
{
	if (count)
		qsort(inos, count, sizeof(*inos), by_ino);
	removal_start(l->fd, "", inos, count, true);
}

static bool layer_is_needed(int root, const char *name)
{
	AUTO_CLOSE int fd = openat(
		root, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	return fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) < 0;
}

void layer_clear_store(int root)
{
	int fd = openat(root, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *e;

	if (!d) {
		auto_close_fd(&fd);
		return;
	}
	while ((e = readdir(d))) {
		struct removal *r;

		if (!strcmp(e->d_name, ".") || !strcmp(e->d_name, "..") ||
		    (e->d_name[0] == 'L' && layer_is_needed(root, e->d_name)))
			continue;
		r = xcalloc(1, sizeof(*r));
		r->dir = fcntl(root, F_DUPFD_CLOEXEC, 3);
		r->name = xstrdup(e->d_name);
		removal_do(r);
	}
	closedir(d);
}

static bool layer_is_known(struct store *s, const char *name)
{
	list_for_each (p, store_layers(s))
		if (!strcmp(list_entry(p, struct ov_layer, link)->name, name))
			return true;
	return false;
}

void layer_collect(struct store *s)
{
	int root = store_root_fd(s);
	int fd = openat(root, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *e;

	if (!d) {
		auto_close_fd(&fd);
		return;
	}
	while ((e = readdir(d)))
		if (e->d_name[0] == 'L' && !layer_is_known(s, e->d_name) &&
		    !layer_is_needed(root, e->d_name))
			layer_remove_tree(root, e->d_name);
	closedir(d);
}

void layer_let_go(struct store *s)
{
	list_for_each (p, store_layers(s))
		flock(list_entry(p, struct ov_layer, link)->fd, LOCK_UN);
	layer_clear_store(store_root_fd(s));
}
