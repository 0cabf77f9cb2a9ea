/*
 * maker.c - see maker.h. One question, one answer: no state.
 */
#include "maker.h"

#include <sys/socket.h>

struct maker_msg {
	int32_t family, type; /* of an answer: family is 0 or an errno */
};

union control {
	struct cmsghdr h;
	char space[CMSG_SPACE(sizeof(int))];
};

static void answer(int sock, int err, int fd)
{
	struct maker_msg m = {.family = err};
	union control ctl = {0};
	struct iovec iov = {&m, sizeof(m)};
	struct msghdr mh = {.msg_iov = &iov, .msg_iovlen = 1};

	if (fd >= 0) {
		mh.msg_control = ctl.space;
		mh.msg_controllen = sizeof(ctl.space);
		ctl.h.cmsg_level = SOL_SOCKET;
		ctl.h.cmsg_type = SCM_RIGHTS;
		ctl.h.cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(&ctl.h), &fd, sizeof(int));
	}
	if (sendmsg(sock, &mh, MSG_NOSIGNAL) < 0)
		_exit(0);
}

NORETURN void maker_serve(int sock)
{
	for (;;) {
		struct maker_msg m;
		struct iovec iov = {&m, sizeof(m)};
		struct msghdr mh = {.msg_iov = &iov, .msg_iovlen = 1};
		ssize_t n = recvmsg(sock, &mh, 0);
		int fd;

		if (n < 0 && errno == EINTR)
			continue;
		if (n != (ssize_t)sizeof(m))
			_exit(0);
		fd = socket(m.family, m.type | SOCK_NONBLOCK | SOCK_CLOEXEC,
			    0);
		answer(sock, fd < 0 ? errno : 0, fd);
		if (fd >= 0)
			close(fd);
	}
}

int maker_socket(int sock, int family, int type)
{
	struct maker_msg m = {.family = family, .type = type};
	union control ctl = {0};
	struct iovec iov = {&m, sizeof(m)};
	struct msghdr mh = {.msg_iov = &iov, .msg_iovlen = 1};
	int fd;

	if (sendmsg(sock, &mh, MSG_NOSIGNAL) < 0)
		return -errno;
	mh.msg_control = ctl.space;
	mh.msg_controllen = sizeof(ctl.space);
	if (recvmsg(sock, &mh, MSG_CMSG_CLOEXEC) != (ssize_t)sizeof(m))
		return -EPIPE;
	if (m.family)
		return -m.family;
	if (mh.msg_controllen < CMSG_LEN(sizeof(int)) ||
	    ctl.h.cmsg_type != SCM_RIGHTS)
		return -EPROTO;
	memcpy(&fd, CMSG_DATA(&ctl.h), sizeof(int));
	return fd;
}
