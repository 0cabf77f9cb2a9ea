/*
 * maker.c - see maker.h. One question, one answer: no state.
 */
#include "maker.h"

#include <linux/filter.h>
#include <sys/socket.h>

enum { DEAFEN = 0 }; /* instead of a family */

struct maker_msg {
	int32_t family, type; /* of an answer: family is 0 or an errno */
	uint32_t count;	      /* DEAFEN: how many ports */
	uint16_t ports[MAKER_PORTS_MAX];
};

union control {
	struct cmsghdr h;
	char space[CMSG_SPACE(sizeof(int))];
};

/* fd -1: none */
static int maker_send(int sock, struct maker_msg *m, int fd)
{
	union control ctl = {0};
	struct iovec iov = {m, sizeof(*m)};
	struct msghdr mh = {.msg_iov = &iov, .msg_iovlen = 1};

	if (fd >= 0) {
		mh.msg_control = ctl.space;
		mh.msg_controllen = sizeof(ctl.space);
		ctl.h.cmsg_level = SOL_SOCKET;
		ctl.h.cmsg_type = SCM_RIGHTS;
		ctl.h.cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(&ctl.h), &fd, sizeof(int));
	}
	return sendmsg(sock, &mh, MSG_NOSIGNAL) < 0 ? -errno : 0;
}

static int maker_recv(int sock, struct maker_msg *m, int *fd)
{
	union control ctl = {0};
	struct iovec iov = {m, sizeof(*m)};
	struct msghdr mh = {.msg_iov = &iov,
			    .msg_iovlen = 1,
			    .msg_control = ctl.space,
			    .msg_controllen = sizeof(ctl.space)};
	ssize_t n;

	*fd = -1;
	do {
		n = recvmsg(sock, &mh, MSG_CMSG_CLOEXEC);
	} while (n < 0 && errno == EINTR);
	if (n != (ssize_t)sizeof(*m))
		return -EPIPE;
	if (mh.msg_controllen >= CMSG_LEN(sizeof(int)) &&
	    ctl.h.cmsg_type == SCM_RIGHTS)
		memcpy(fd, CMSG_DATA(&ctl.h), sizeof(int));
	return 0;
}

/* A program that drops segments by their source port, the first 16 bits. */
static int deafen(int fd, const struct maker_msg *m)
{
	struct sock_filter f[MAKER_PORTS_MAX + 3] = {
		BPF_STMT(BPF_LD | BPF_H | BPF_ABS, 0),
	};
	struct sock_fprog prog = {.filter = f};
	unsigned n = m->count;
	int none = 0, ret;

	if (n > MAKER_PORTS_MAX)
		return -EINVAL;
	for (unsigned i = 1; i <= n; i++)
		f[i] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K,
						    m->ports[i - 1],
						    (uint8_t)(n + 1 - i), 0);
	f[n + 1] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, UINT32_MAX);
	f[n + 2] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, 0);
	prog.len = (unsigned short)(n + 3);
	ret = n ? setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &prog,
			     sizeof(prog))
		: setsockopt(fd, SOL_SOCKET, SO_DETACH_FILTER, &none,
			     sizeof(none));
	return ret < 0 ? -errno : 0;
}

NORETURN void maker_serve(int sock)
{
	for (;;) {
		struct maker_msg m;
		int fd, ret = 0;

		if (maker_recv(sock, &m, &fd))
			_exit(0);
		if (m.family == DEAFEN) {
			ret = deafen(fd, &m);
			if (fd >= 0)
				close(fd);
			fd = -1;
		} else {
			if (fd >= 0)
				close(fd);
			fd = socket(m.family,
				    m.type | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
			ret = fd < 0 ? -errno : 0;
		}
		m.family = -ret;
		if (maker_send(sock, &m, fd))
			_exit(0);
		if (fd >= 0)
			close(fd);
	}
}

static int ask(int sock, struct maker_msg *m, int fd, int *got)
{
	int ret = maker_send(sock, m, fd);

	if (!ret)
		ret = maker_recv(sock, m, got);
	return ret ? ret : -m->family;
}

int maker_socket(int sock, int family, int type)
{
	struct maker_msg m = {.family = family, .type = type};
	int fd, ret = ask(sock, &m, -1, &fd);

	if (ret)
		return ret;
	return fd < 0 ? -EPROTO : fd;
}

int maker_deafen(int sock, int listener, const uint16_t *ports, unsigned count)
{
	struct maker_msg m = {.family = DEAFEN, .count = count};
	int fd, ret;

	BUG_ON(count > MAKER_PORTS_MAX);
	memcpy(m.ports, ports, count * sizeof(*ports));
	ret = ask(sock, &m, listener, &fd);
	if (fd >= 0)
		close(fd);
	return ret;
}
