/*
 * store.c - see store.h.
 *
 * Host failures are logged and become -EIO; running out of space or inodes
 * (ENOSPC, EDQUOT, ENOMEM) is the guest's to know.
 */
#include "store_priv.h"

#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/epoll.h>

static int store_open_side(struct store *s)
{
	struct stat st;

	if (mkdirat(s->root, "side", 0700) < 0 && errno != EEXIST)
		return -errno;
	s->side = openat(s->root, "side",
			 O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (s->side < 0 || fstat(s->side, &st) < 0)
		return -errno;
	s->dev = st.st_dev;
	s->epoll = epoll_create1(EPOLL_CLOEXEC);
	return s->epoll < 0 ? -errno : 0;
}

int store_new(int root_fd, bool emulated, struct store **out)
{
	struct store *s = xcalloc(1, sizeof(*s));
	int ret;

	s->root = root_fd;
	s->side = s->epoll = s->inotify = s->timer = -1;
	s->emulated = emulated;
	htable_init(&s->by_wd);
	htable_init(&s->by_ino);
	list_init(&s->unheard);
	list_init(&s->overlays);
	list_init(&s->layers);
	ret = store_open_side(s);
	if (ret < 0) {
		log_host(ret, "store: cannot set up");
		s->emulated = false;
		store_free(s);
		return ret;
	}
	*out = s;
	return 0;
}

/* Empties the directory fd (taken): what is a full directory moves to the top,
 * so that depth costs no stack and few descriptors. */
static void store_empty(struct store *s, int fd)
{
	DIR *d = fdopendir(fd);
	struct dirent *e;

	if (!d) {
		close(fd);
		return;
	}
	while ((e = readdir(d))) {
		char name[STORE_NAME_MAX + 2];

		if (!strcmp(e->d_name, ".") || !strcmp(e->d_name, "..") ||
		    !unlinkat(fd, e->d_name, 0) ||
		    !unlinkat(fd, e->d_name, AT_REMOVEDIR))
			continue;
		snprintf(name, sizeof(name), ".%" PRIx64, ++s->serial);
		if (renameat(fd, e->d_name, s->root, name) < 0)
			log_host(errno, "store: cannot empty");
	}
	closedir(d);
}

/* One pass over the root; true if it found anything. */
static bool store_clear_pass(struct store *s)
{
	int fd = openat(s->root, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	bool found = false;
	struct dirent *e;

	if (!d) {
		auto_close_fd(&fd);
		return false;
	}
	while ((e = readdir(d))) {
		int sub;

		if (!strcmp(e->d_name, ".") || !strcmp(e->d_name, ".."))
			continue;
		found = true;
		sub = openat(fd, e->d_name,
			     O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (sub >= 0)
			store_empty(s, sub);
		unlinkat(fd, e->d_name, sub >= 0 ? AT_REMOVEDIR : 0);
	}
	closedir(d);
	return found;
}

static void store_clear_all(struct store *s)
{
	enum { PASSES = 1 << 20 }; /* a bound, should removing fail for ever */

	for (int i = 0; i < PASSES && store_clear_pass(s); i++)
		;
}

void store_free(struct store *s)
{
	if (!s)
		return;
	store_watches_free(s);
	if (s->emulated)
		store_clear_all(s);
	auto_close_fd(&s->epoll);
	auto_close_fd(&s->side);
	auto_close_fd(&s->root);
	free(s);
}

void store_on_event(struct store *s, store_event_fn fn, void *arg)
{
	s->fn = fn;
	s->arg = arg;
}

int store_root_fd(const struct store *s)
{
	return s->root;
}

int store_side_fd(const struct store *s)
{
	return s->side;
}

dev_t store_dev(const struct store *s)
{
	return s->dev;
}

int store_poll_fd(const struct store *s)
{
	return s->epoll;
}

struct list *store_overlays(struct store *s)
{
	return &s->overlays;
}

unsigned store_next_mirror(struct store *s)
{
	return s->mirrors++;
}

struct list *store_layers(struct store *s)
{
	return &s->layers;
}

unsigned store_next_layer(struct store *s)
{
	return s->nlayers++;
}

/* ---- the side pool --------------------------------------------------- */

/* The store's errno as a guest may see it. */
static int store_errno(int err, const char *what)
{
	switch (err) {
	case ENOSPC:
	case EDQUOT:
	case ENOMEM:
		return -err;
	case EMFILE:
	case ENFILE:
		return -ENFILE;
	}
	log_host(err, "store: %s", what);
	return -EIO;
}

void store_side_name(struct store *s, char name[STORE_NAME_MAX])
{
	snprintf(name, STORE_NAME_MAX, "%" PRIx64, ++s->serial);
}

int store_side_file(struct store *s, char name[STORE_NAME_MAX], int *fd)
{
	store_side_name(s, name);
	*fd = openat(s->side, name,
		     O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	return *fd < 0 ? store_errno(errno, "side file") : 0;
}

int store_side_dir(struct store *s, char name[STORE_NAME_MAX], int *fd)
{
	store_side_name(s, name);
	if (mkdirat(s->side, name, 0700) < 0)
		return store_errno(errno, "side directory");
	*fd = openat(s->side, name,
		     O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return *fd < 0 ? store_errno(errno, "side directory") : 0;
}

void store_side_remove(struct store *s, const char *name, bool dir)
{
	if (unlinkat(s->side, name, dir ? AT_REMOVEDIR : 0) < 0)
		log_host(errno, "store: cannot remove side/%s", name);
}

static int store_write_all(int fd, const void *data, size_t len)
{
	size_t done = 0;

	while (done < len) {
		ssize_t n = pwrite(fd, (const char *)data + done, len - done,
				   (off_t)done);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return store_errno(n < 0 ? errno : EIO, "write");
		done += (size_t)n;
	}
	return 0;
}

int store_standin_file(struct store *s, const void *data, size_t len, int flags,
		       int *fd, struct stat *st)
{
	char name[STORE_NAME_MAX];
	AUTO_CLOSE int made = -1;
	AUTO_CLOSE int got = -1;
	int ret = store_side_file(s, name, &made);

	if (ret < 0)
		return ret;
	ret = store_write_all(made, data, len);
	if (!ret && fstat(made, st) < 0)
		ret = store_errno(errno, "fstat");
	if (!ret) {
		got = openat(s->side, name, flags | O_NOCTTY | O_CLOEXEC);
		if (got < 0)
			ret = store_errno(errno, "stand-in");
	}
	if (!ret)
		ret = store_watch(s, s->side, name, st->st_ino, false);
	store_side_remove(s, name, false);
	if (!ret)
		*fd = fd_take(&got);
	return ret;
}

int store_standin_dir(struct store *s, int *fd, struct stat *st)
{
	char name[STORE_NAME_MAX];
	AUTO_CLOSE int made = -1;
	int ret = store_side_dir(s, name, &made);

	if (ret < 0)
		return ret;
	if (fstat(made, st) < 0)
		ret = store_errno(errno, "fstat");
	if (!ret)
		ret = store_watch(s, s->side, name, st->st_ino, false);
	store_side_remove(s, name, true);
	if (!ret)
		*fd = fd_take(&made);
	return ret;
}

/*
 * Our own close would be reported as STORE_CLOSED, and asked about again for
 * ever, so the watch is deaf to closes meanwhile.
 * LIMIT: a guest's last close within those microseconds is not noticed; the
 * file's space is then kept until the sandbox ends.
 */
static void store_close_quietly(struct store *s, int dirfd, const char *name,
				ino_t ino, int fd)
{
	struct store_watch *w = store_watch_of_ino(s, ino);

	if (w && w->closes)
		store_watch_mask(s, dirfd, name, false);
	close(fd);
	if (w && w->closes)
		store_watch_mask(s, dirfd, name, true);
}

bool store_busy(struct store *s, int dirfd, const char *name, ino_t ino)
{
	/* Read-only: who watches the file must not take this for a change. */
	int fd = openat(dirfd, name,
			O_RDONLY | O_NOFOLLOW | O_NOCTTY | O_CLOEXEC);
	bool busy;

	if (fd < 0)
		return true;
	busy = fcntl(fd, F_SETLEASE, F_WRLCK) < 0; /* until the close */
	store_close_quietly(s, dirfd, name, ino, fd);
	return busy;
}
