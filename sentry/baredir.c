/*
 * baredir.c - see baredir.h.
 *
 * Between mkdtemp and flock a sweeping sentry may take a new directory for a
 * dead one's: who got the lock looks whether the directory is still there.
 */
#include "baredir.h"

#include <dirent.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#define PREFIX "cloche-bare-"
enum { MAKE_TRIES = 16, WALK_FDS = 16 };

/* Before the removal: every directory can be read and written. */
static int open_up(const char *path, const struct stat *st, int type,
		   struct FTW *ftw)
{
	(void)ftw;
	if (type == FTW_D && (st->st_mode & 0700) != 0700 &&
	    chmod(path, 0700) < 0)
		log_debug("%s stays: %s", path, strerror(errno));
	if (type == FTW_DNR && chmod(path, 0700) == 0)
		nftw(path, open_up, WALK_FDS, FTW_PHYS);
	return 0;
}

static int remove_one(const char *path, const struct stat *st, int type,
		      struct FTW *ftw)
{
	(void)st;
	(void)type;
	(void)ftw;
	if (remove(path) < 0)
		log_debug("%s stays: %s", path, strerror(errno));
	return 0; /* on to the rest in any case */
}

void baredir_remove(const char *path)
{
	nftw(path, open_up, WALK_FDS, FTW_PHYS);
	nftw(path, remove_one, WALK_FDS, FTW_DEPTH | FTW_PHYS);
}

void baredir_end(const char *path, int lock)
{
	if (lock < 0 || flock(lock, LOCK_EX | LOCK_NB) == 0)
		baredir_remove(path);
}

/* ---- other sandboxes' directories that this one needs ---------------- */

/* The path of an open directory, if it is one of ours; owned. */
static char *bare_path(int fd)
{
	char link[64], path[4096];
	const char *name;
	ssize_t n;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	n = readlink(link, path, sizeof(path) - 1);
	if (n <= 0)
		return NULL;
	path[n] = '\0';
	name = strrchr(path, '/');
	return name && !strncmp(name + 1, PREFIX, strlen(PREFIX))
		       ? xstrdup(path)
		       : NULL;
}

/* One for the life of the process, as the lock of its own is. */
static struct held_dir {
	struct held_dir *next;
	int fd; /* with the lock */
	char *path;
} * held_dirs;

void baredir_hold(int layer_fd)
{
	AUTO_CLOSE int fd =
		openat(layer_fd, "../..", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	AUTO_FREE char *path = fd < 0 ? NULL : bare_path(fd);
	struct held_dir *h;

	if (!path)
		return;
	for (h = held_dirs; h; h = h->next)
		if (!strcmp(h->path, path))
			return;
	if (flock(fd, LOCK_SH) < 0)
		return;
	h = xcalloc(1, sizeof(*h));
	h->fd = fd_take(&fd);
	h->path = path;
	path = NULL;
	h->next = held_dirs;
	held_dirs = h;
}

void baredir_let_go(void)
{
	for (struct held_dir *h = held_dirs; h; h = h->next)
		baredir_end(h->path, h->fd);
}

/* A directory of ours that nobody holds the lock of. */
static bool is_left_over(int base, const char *name)
{
	AUTO_CLOSE int fd = openat(
		base, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	struct stat st;

	return fd >= 0 && fstat(fd, &st) == 0 && st.st_uid == geteuid() &&
	       flock(fd, LOCK_EX | LOCK_NB) == 0;
}

static void sweep(const char *base)
{
	DIR *d = opendir(base);
	struct dirent *e;

	if (!d)
		return;
	while ((e = readdir(d))) {
		AUTO_FREE char *path = NULL;

		if (strncmp(e->d_name, PREFIX, strlen(PREFIX)) ||
		    !is_left_over(dirfd(d), e->d_name))
			continue;
		path = xasprintf("%s/%s", base, e->d_name);
		baredir_remove(path);
	}
	closedir(d);
}

/* The lock on a new directory; -ENOENT: it was swept away. */
static int lock_new(const char *dir)
{
	AUTO_CLOSE int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct stat st;

	if (fd < 0 || flock(fd, LOCK_SH) < 0 || fstat(fd, &st) < 0)
		return -errno;
	return st.st_nlink ? fd_take(&fd) : -ENOENT;
}

static int make_in(const char *base, char **path, int *lock)
{
	for (int i = 0; i < MAKE_TRIES; i++) {
		AUTO_FREE char *dir = xasprintf("%s/" PREFIX "XXXXXX", base);

		/* Guests of real root have another id, and need the stub. */
		if (!mkdtemp(dir))
			return -errno;
		*lock = lock_new(dir);
		if (*lock == -ENOENT)
			continue;
		if (*lock < 0 || chmod(dir, 0711) < 0)
			return *lock < 0 ? *lock : -errno;
		*path = dir;
		dir = NULL;
		return 0;
	}
	return -EAGAIN;
}

int baredir_make(char **path, int *lock)
{
	const char *const bases[] = {"/dev/shm", getenv("XDG_RUNTIME_DIR"),
				     "/tmp"};

	for (size_t i = 0; i < ARRAY_SIZE(bases); i++) {
		struct statvfs sv;

		if (!bases[i] || statvfs(bases[i], &sv) < 0 ||
		    sv.f_flag & ST_NOEXEC)
			continue;
		sweep(bases[i]);
		if (make_in(bases[i], path, lock) == 0)
			return 0;
	}
	return -ENOENT;
}
