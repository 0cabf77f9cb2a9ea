/*
 * leave.c - see leave.h.
 *
 * The descriptor travels in a message of a socket that itself travels in that
 * message, so when we close both ends nobody can receive it any more. Such a
 * socket the kernel finds and frees by a thread of its own (the collector of
 * AF_UNIX; before Linux 6.9 the one who closes does that, and waits). Closing
 * the sockets calls it; nothing of ours stays behind.
 */
#include "leave.h"

#include <sys/socket.h>

#include "base.h"

static int send_into_itself(const int sock[2], int fd)
{
	union {
		struct cmsghdr h;
		char space[CMSG_SPACE(2 * sizeof(int))];
	} ctl = {0};
	const int fds[2] = {fd, sock[1]};
	char byte = 0;
	struct iovec iov = {&byte, 1};
	struct msghdr m = {
		.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = &ctl,
		.msg_controllen = sizeof(ctl.space),
	};

	ctl.h.cmsg_level = SOL_SOCKET;
	ctl.h.cmsg_type = SCM_RIGHTS;
	ctl.h.cmsg_len = CMSG_LEN(sizeof(fds));
	memcpy(CMSG_DATA(&ctl.h), fds, sizeof(fds));
	return sendmsg(sock[0], &m, MSG_NOSIGNAL | MSG_DONTWAIT) < 0 ? -errno
								     : 0;
}

void leave_fd(int *fd)
{
	int sock[2];

	if (*fd < 0)
		return;
	if (!socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0, sock)) {
		/* If it fails we wait. */
		(void)!send_into_itself(sock, *fd);
		close(*fd);
		close(sock[0]);
		close(sock[1]);
	} else {
		close(*fd);
	}
	*fd = -1;
}
