/*
 * netmsg.c - see netmsg.h.
 */
#include "netmsg.h"

#include <sys/socket.h>

union control {
	struct cmsghdr h;
	char space[CMSG_SPACE(sizeof(int))];
};

void netmsg_init(struct netmsg *m, enum netmsg_kind kind, uint64_t id)
{
	memset(m, 0, sizeof(*m));
	m->version = NETMSG_VERSION;
	m->kind = kind;
	m->id = id;
}

static bool family_valid(const struct netaddr *a)
{
	return a->family == 0 || a->family == AF_INET || a->family == AF_INET6;
}

bool netmsg_valid(const struct netmsg *m, size_t len)
{
	char canon[NETHOST_SIZE];

	if (len != sizeof(*m) || m->version != NETMSG_VERSION || !m->kind ||
	    m->kind >= NETMSG_KINDS)
		return false;
	if (!memchr(m->name, 0, sizeof(m->name)) ||
	    !memchr(m->rule, 0, sizeof(m->rule)))
		return false;
	if (m->name[0] && (nethost_canon(m->name, strlen(m->name), canon) ||
			   strcmp(canon, m->name)))
		return false;
	return family_valid(&m->addr) && family_valid(&m->local);
}

int netmsg_send(int sock, const struct netmsg *m, int fd, int flags)
{
	union control ctl = {0};
	struct iovec iov = {(void *)(uintptr_t)m, sizeof(*m)};
	struct msghdr mh = {.msg_iov = &iov, .msg_iovlen = 1};

	if (fd >= 0) {
		mh.msg_control = ctl.space;
		mh.msg_controllen = sizeof(ctl.space);
		ctl.h.cmsg_level = SOL_SOCKET;
		ctl.h.cmsg_type = SCM_RIGHTS;
		ctl.h.cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(&ctl.h), &fd, sizeof(int));
	}
	if (sendmsg(sock, &mh, flags | MSG_NOSIGNAL) != (ssize_t)sizeof(*m))
		return -errno;
	return 0;
}

int netmsg_recv(int sock, struct netmsg *m, int *fd, int flags)
{
	union control ctl = {0};
	struct iovec iov = {m, sizeof(*m)};
	struct msghdr mh = {.msg_iov = &iov,
			    .msg_iovlen = 1,
			    .msg_control = ctl.space,
			    /* not the padding: a second one fits there */
			    .msg_controllen = CMSG_LEN(sizeof(int))};
	struct cmsghdr *c;
	int got = -1;
	ssize_t n;

	if (fd)
		*fd = -1;
	n = recvmsg(sock, &mh, flags | MSG_CMSG_CLOEXEC);
	if (n < 0)
		return errno == ECONNRESET ? -EPIPE : -errno;
	c = CMSG_FIRSTHDR(&mh);
	if (c && c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS &&
	    c->cmsg_len == CMSG_LEN(sizeof(int)))
		memcpy(&got, CMSG_DATA(c), sizeof(int));
	if (n == 0 || (mh.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) ||
	    !netmsg_valid(m, (size_t)n) || (got >= 0 && !fd)) {
		if (got >= 0)
			close(got);
		return n == 0 ? -EPIPE : -EPROTO;
	}
	if (fd)
		*fd = got;
	return 0;
}
