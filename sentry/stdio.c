/*
 * stdio.c - see stdio.h.
 */
#include "stdio.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

enum { RELAY_BUFFER = 64 << 10, MEM_MAJOR = 1 };

static const char *const stdio_name[] = {"stdin", "stdout", "stderr"};

static bool harmless_device(dev_t rdev)
{
	/* null, zero, full, random, urandom */
	static const unsigned minors[] = {3, 5, 7, 8, 9};

	for (size_t i = 0; i < ARRAY_SIZE(minors); i++)
		if (rdev == makedev(MEM_MAJOR, minors[i]))
			return true;
	return false;
}

static void relay_prepare(struct stdio *io, int i)
{
	int sv[2];

	for (int j = 0; j < i; j++) {
		struct stat a, b;

		/* The same socket twice is one socket inside as well. */
		if (io->relay_local[j] < 0 || fstat(i, &a) < 0 ||
		    fstat(j, &b) < 0 || a.st_ino != b.st_ino)
			continue;
		io->fds[i] = io->fds[j];
		return;
	}
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sv) < 0)
		die("cannot relay the socket on %s: %s", stdio_name[i],
		    strerror(errno));
	io->relay_local[i] = sv[0];
	io->relay_remote[i] = i;
	io->fds[i] = sv[1];
}

/* stdout or stderr through a pipe that counts; one pipe where both are the
 * same file, so that their order stays. */
static void count_prepare(struct stdio *io, int i)
{
	struct stat a, b;
	int p[2];

	if (io->fds[i] < 0 || io->relay_local[i] >= 0)
		return;
	if (i == 2 && io->counted[1] && fstat(1, &a) == 0 &&
	    fstat(2, &b) == 0 && a.st_dev == b.st_dev && a.st_ino == b.st_ino) {
		io->fds[2] = io->fds[1];
		return;
	}
	if (pipe2(p, O_CLOEXEC) < 0)
		die("cannot count the output: %s", strerror(errno));
	io->relay_local[i] = p[0];
	io->relay_remote[i] = i;
	io->fds[i] = p[1];
	io->counted[i] = true;
}

static void classify_one(struct stdio *io, int i)
{
	struct stat st;
	int fl = fcntl(i, F_GETFL);

	io->fds[i] = i;
	if (fl < 0 || fstat(i, &st) < 0) {
		io->fds[i] = -1;
		return;
	}
	if (fl & O_PATH || S_ISDIR(st.st_mode) || S_ISBLK(st.st_mode))
		die("%s is a %s; a program in a sandbox gets files, pipes, "
		    "sockets and terminals only: redirect it, for example "
		    "from /dev/null",
		    stdio_name[i],
		    S_ISDIR(st.st_mode) ? "directory"
					: "device or O_PATH "
					  "descriptor");
	if (S_ISCHR(st.st_mode) && isatty(i)) {
		io->fds[i] = -1;
		io->tty[i] = io->want_tty = true;
	} else if (S_ISCHR(st.st_mode) && !harmless_device(st.st_rdev)) {
		die("%s is the device %u:%u, which is not passed into a "
		    "sandbox: redirect it, for example from /dev/null",
		    stdio_name[i], major(st.st_rdev), minor(st.st_rdev));
	} else if (S_ISSOCK(st.st_mode)) {
		relay_prepare(io, i);
	}
}

void stdio_none(struct stdio *io)
{
	memset(io, 0, sizeof(*io));
	pthread_mutex_init(&io->lock, NULL);
	for (int i = 0; i < 3; i++)
		io->fds[i] = io->relay_local[i] = io->relay_remote[i] = -1;
}

const char *stdio_refused(int fd)
{
	struct stat st;
	int fl = fcntl(fd, F_GETFL), domain = 0;
	socklen_t len = sizeof(domain);

	if (fl < 0 || fstat(fd, &st) < 0)
		return "closed";
	if (fl & O_PATH)
		return "an O_PATH descriptor";
	if (S_ISREG(st.st_mode) || S_ISFIFO(st.st_mode) ||
	    (S_ISCHR(st.st_mode) && harmless_device(st.st_rdev)))
		return NULL;
	if (S_ISSOCK(st.st_mode) &&
	    getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &len) == 0 &&
	    domain == AF_UNIX)
		return NULL;
	return S_ISDIR(st.st_mode)    ? "a directory"
	       : S_ISSOCK(st.st_mode) ? "a socket"
				      : "a device";
}

void stdio_classify(struct stdio *io, uint64_t max_output)
{
	stdio_none(io);
	io->output_left = max_output;
	for (int i = 0; i < 3; i++)
		classify_one(io, i);
	for (int i = 1; i < 3 && max_output; i++)
		count_prepare(io, i);
}

int stdio_register(struct stdio *io, struct sentry *s)
{
	for (int i = 0; i < 3; i++) {
		struct stat st;
		int ret;

		if (io->fds[i] < 0 || fstat(io->fds[i], &st) < 0 ||
		    !S_ISREG(st.st_mode))
			continue;
		ret = vfs_register_stdio(s->vfs, io->fds[i], stdio_name[i],
					 &s->stdio[i]);
		if (ret)
			return ret;
	}
	return 0;
}

struct relay_arg {
	struct stdio *io;
	int from, to;
	bool counted;
};

static bool write_all(int fd, const char *p, size_t n)
{
	while (n) {
		ssize_t w = write(fd, p, n); /* SIGPIPE is ignored */

		if (w < 0 && errno == EINTR)
			continue;
		if (w <= 0)
			return false;
		p += w;
		n -= (size_t)w;
	}
	return true;
}

/* How much of n more bytes may still be put out. */
static size_t output_take(struct stdio *io, size_t n)
{
	size_t may;

	pthread_mutex_lock(&io->lock);
	may = n < io->output_left ? n : (size_t)io->output_left;
	io->output_left -= may;
	io->output_cut += n - may;
	pthread_mutex_unlock(&io->lock);
	return may;
}

static void *relay_main(void *arg)
{
	struct relay_arg a = *(struct relay_arg *)arg;
	char *buf = xmalloc(RELAY_BUFFER);
	bool broken = false;
	ssize_t n;

	free(arg);
	while (!broken) {
		n = read(a.from, buf, RELAY_BUFFER);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			break;
		if (a.counted)
			n = (ssize_t)output_take(a.io, (size_t)n);
		broken = !write_all(a.to, buf, (size_t)n);
	}
	/* A reader that left: the guest's next write must fail as well. */
	if (broken && a.counted)
		close(a.from);
	if (!a.counted) {
		shutdown(a.from, SHUT_RD);
		shutdown(a.to, SHUT_WR);
	}
	free(buf);
	return NULL;
}

static int relay_thread(struct stdio *io, int from, int to, bool counted)
{
	struct relay_arg *a = xmalloc(sizeof(*a));

	*a = (struct relay_arg){io, from, to, counted};
	if (pthread_create(&io->relay_thread[io->nrelays], NULL, relay_main,
			   a)) {
		free(a);
		return -EAGAIN;
	}
	io->nrelays++;
	return 0;
}

int stdio_relay_start(struct stdio *io)
{
	for (int i = 0; i < 3; i++) {
		int ret;

		if (io->relay_local[i] < 0)
			continue;
		close(io->fds[i]); /* the guests hold it now */
		ret = relay_thread(io, io->relay_local[i], io->relay_remote[i],
				   io->counted[i]);
		if (ret || io->counted[i]) {
			if (ret)
				return ret;
			continue;
		}
		/* Towards the guest nobody waits for the end. */
		ret = relay_thread(io, io->relay_remote[i], io->relay_local[i],
				   false);
		if (ret)
			return ret;
		pthread_detach(io->relay_thread[--io->nrelays]);
	}
	return 0;
}

void stdio_relay_finish(struct stdio *io)
{
	for (unsigned i = 0; i < io->nrelays; i++)
		pthread_join(io->relay_thread[i], NULL);
	io->nrelays = 0;
	if (io->output_cut)
		log_info("%llu bytes of output over the limit were dropped; "
			 "--max-output sets it",
			 (unsigned long long)io->output_cut);
}
