/*
 * sink.c - see sink.h.
 */
#include "sink.h"

#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

int sink_dup(int fd, int *out)
{
	int mode = fcntl(fd, F_GETFL), copy;

	if (mode < 0)
		return -errno;
	if ((mode & O_ACCMODE) == O_RDONLY || (mode & O_PATH))
		return -EINVAL;
	copy = fcntl(fd, F_DUPFD_CLOEXEC, 3);
	if (copy < 0)
		return -errno;
	*out = copy;
	return 0;
}

static int sink_open_fd(const char *number, int *out)
{
	char *end;
	long fd;

	if (number[0] < '0' || number[0] > '9')
		return -EINVAL;
	errno = 0;
	fd = strtol(number, &end, 10);
	if (errno || *end || fd > INT32_MAX)
		return -EINVAL;
	return sink_dup((int)fd, out);
}

static int sink_open_unix(const char *path, int *out)
{
	struct sockaddr_un sun = {.sun_family = AF_UNIX};
	AUTO_CLOSE int fd = -1;

	if (!*path)
		return -EINVAL;
	if (strlen(path) >= sizeof(sun.sun_path))
		return -ENAMETOOLONG;
	memcpy(sun.sun_path, path, strlen(path) + 1);
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	if (connect(fd, (struct sockaddr *)&sun, sizeof(sun)) < 0)
		return -errno;
	*out = fd_take(&fd);
	return 0;
}

/* A stream that was cut short (disk full, power lost) must not swallow the
 * first line of this one. */
static int sink_end_line(int fd, const char *path, off_t size)
{
	AUTO_CLOSE int in = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	char last = '\n';

	if (in < 0)
		return 0; /* may be write-only for this user: leave it */
	if (pread(in, &last, 1, size - 1) == 1 && last != '\n')
		return sink_write(fd, "\n", 1);
	return 0;
}

static int sink_open_file(const char *path, int *out)
{
	struct stat st;
	int err = 0;
	/* O_NONBLOCK: a FIFO without a reader is an error, not a hang */
	AUTO_CLOSE int fd = open(path,
				 O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW |
					 O_CLOEXEC | O_NOCTTY | O_NONBLOCK,
				 0600);

	if (fd < 0)
		return -errno;
	if (fstat(fd, &st) < 0 || fcntl(fd, F_SETFL, O_APPEND) < 0)
		return -errno;
	if (S_ISREG(st.st_mode) && st.st_size > 0)
		err = sink_end_line(fd, path, st.st_size);
	if (err)
		return err;
	*out = fcntl(fd, F_DUPFD_CLOEXEC, 3);
	return *out < 0 ? -errno : 0;
}

int sink_open(const char *name, int *fd)
{
	if (strcmp(name, "-") == 0)
		return sink_dup(STDERR_FILENO, fd);
	if (strncmp(name, "fd:", 3) == 0)
		return sink_open_fd(name + 3, fd);
	if (strncmp(name, "unix:", 5) == 0)
		return sink_open_unix(name + 5, fd);
	return sink_open_file(name, fd);
}

int sink_write(int fd, const void *data, size_t len)
{
	const char *p = data;

	while (len > 0) {
		ssize_t n = write(fd, p, len);

		if (n < 0 && errno == EAGAIN) {
			struct pollfd pfd = {.fd = fd, .events = POLLOUT};

			(void)poll(&pfd, 1, -1);
			continue;
		}
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		p += n;
		len -= (size_t)n;
	}
	return 0;
}
