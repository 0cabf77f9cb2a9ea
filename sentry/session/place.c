/*
 * place.c - see place.h.
 */
#include "place.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

enum { BACKLOG = 64, CONNECT_WAIT_S = 5 };

bool place_name_valid(const char *name)
{
	static const char first[] = "abcdefghijklmnopqrstuvwxyz"
				    "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
	static const char more[] = "abcdefghijklmnopqrstuvwxyz"
				   "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-";
	size_t len = strlen(name);

	return len > 0 && len <= PLACE_NAME_MAX && strspn(name, first) > 0 &&
	       strspn(name, more) == len;
}

/* Opens a directory that must be the user's own and closed to others. */
static int open_own(const char *path)
{
	struct stat st;
	AUTO_CLOSE int fd =
		open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	if (fd < 0)
		return -errno;
	if (fstat(fd, &st) < 0)
		return -errno;
	if (st.st_uid != geteuid() || st.st_mode & 077)
		return -EPERM;
	return fd_take(&fd);
}

static bool is_own_dir(const char *path)
{
	struct stat st;

	return path && *path == '/' && stat(path, &st) == 0 &&
	       S_ISDIR(st.st_mode) && st.st_uid == geteuid();
}

/* XDG_RUNTIME_DIR may be another user's, after su. */
static char *choose_path(void)
{
	const char *xdg = getenv("XDG_RUNTIME_DIR");
	AUTO_FREE char *run = xasprintf("/run/user/%u", geteuid());

	if (is_own_dir(xdg))
		return xasprintf("%s/cloche", xdg);
	if (is_own_dir(run))
		return xasprintf("%s/cloche", run);
	return xasprintf("/tmp/cloche-%u", geteuid());
}

int place_open(char **path)
{
	AUTO_FREE char *p = choose_path();
	int fd;

	if (mkdir(p, 0700) < 0 && errno != EEXIST)
		return -errno;
	fd = open_own(p);
	if (path) {
		*path = p;
		p = NULL;
	}
	return fd;
}

static socklen_t address(int dir, const char *name, struct sockaddr_un *sun)
{
	memset(sun, 0, sizeof(*sun));
	sun->sun_family = AF_UNIX;
	snprintf(sun->sun_path, sizeof(sun->sun_path), "/proc/self/fd/%d/%s",
		 dir, name);
	return (socklen_t)sizeof(*sun);
}

/* Only we and root may answer, and only we and root may ask. */
static int connect_at(int dir, const char *name, int *out)
{
	struct sockaddr_un sun;
	socklen_t len = address(dir, name, &sun);
	struct timeval wait = {.tv_sec = CONNECT_WAIT_S};
	struct ucred peer;
	AUTO_CLOSE int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return -errno;
	/* when the backlog of one that hangs is full */
	if (setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &wait, sizeof(wait)) < 0)
		return -errno;
	if (connect(fd, (struct sockaddr *)&sun, len) < 0)
		return -errno;
	len = sizeof(peer);
	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) < 0 ||
	    peer.uid != geteuid())
		return -EACCES;
	*out = fd_take(&fd);
	return 0;
}

/* Removes a socket that nobody listens on; the lock is held. */
static void remove_leftover(int dir, const char *name)
{
	AUTO_CLOSE int fd = -1;

	if (connect_at(dir, name, &fd) == -ECONNREFUSED)
		unlinkat(dir, name, 0);
}

int place_claim(const char *name, int *listener)
{
	struct sockaddr_un sun;
	socklen_t len;
	int err;
	AUTO_CLOSE int dir = place_open(NULL);
	AUTO_CLOSE int fd = socket(
		AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (dir < 0 || fd < 0)
		return dir < 0 ? dir : -errno;
	len = address(dir, name, &sun);
	if (flock(dir, LOCK_EX) < 0)
		return -errno;
	remove_leftover(dir, name);
	if (bind(fd, (struct sockaddr *)&sun, len) < 0)
		err = errno == EADDRINUSE ? -EEXIST : -errno;
	else if (fchmodat(dir, name, 0600, 0) < 0 || listen(fd, BACKLOG) < 0)
		err = -errno;
	else
		err = 0;
	flock(dir, LOCK_UN);
	if (err)
		return err;
	*listener = fd_take(&fd);
	return 0;
}

void place_release(const char *name)
{
	AUTO_CLOSE int dir = place_open(NULL);

	if (dir >= 0)
		unlinkat(dir, name, 0);
}

int place_connect(const char *name, int *fd)
{
	AUTO_CLOSE int dir = place_open(NULL);
	int err;

	if (dir < 0)
		return dir;
	err = connect_at(dir, name, fd);
	if (err != -ECONNREFUSED)
		return err;
	if (flock(dir, LOCK_EX) < 0)
		return -errno;
	remove_leftover(dir, name);
	flock(dir, LOCK_UN);
	return -ENOENT;
}

static int compare(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

char **place_list(void)
{
	char **v = xcalloc(1, sizeof(*v));
	size_t n = 0;
	int fd = place_open(NULL);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *e;

	if (!d) {
		if (fd >= 0)
			close(fd);
		return v;
	}
	while ((e = readdir(d))) {
		if (e->d_type != DT_SOCK || !place_name_valid(e->d_name))
			continue;
		v = realloc(v, (n + 2) * sizeof(*v));
		BUG_ON(!v);
		v[n++] = xstrdup(e->d_name);
		v[n] = NULL;
	}
	closedir(d);
	qsort(v, n, sizeof(*v), compare);
	return v;
}

void place_list_free(char **names)
{
	for (char **p = names; p && *p; p++)
		free(*p);
	free(names);
}
