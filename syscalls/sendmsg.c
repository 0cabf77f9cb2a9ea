/*
 * sendmsg.c - sendmsg(2) and sendmmsg(2) of the bare column.
 *
 * Without a network namespace and an empty root, a name in a message could be
 * a socket of the host. So the whole message (header, name, data, control) is
 * copied once, the name is resolved as by connect, descriptors in SCM_RIGHTS
 * become the sentry's copies of them, and the sentry sends on its copy of the
 * socket. In the jailed column both are native (filter_args.c).
 *
 * LIMIT: a message is at most SEND_MAX bytes (streams: a short write), its
 * descriptors at most as many as a call may hold, and SCM_CREDENTIALS are
 * dropped: the receiver sees the sentry's.
 */
#include "sockets.h"

#include <limits.h>
#include <sys/uio.h>

#define SEND_MAX    (256u << 10)
#define IOV_MAX_NR  1024 /* UIO_MAXIOV */
#define CONTROL_MAX 4096
#define RIGHTS_MAX  (CALL_FD_MAX - 2)

struct msgop {
	struct sockop op;
	struct msghdr hdr;   /* as the guest gave it: guest pointers */
	unsigned char *data; /* owned */
	size_t len;
	unsigned char control[CONTROL_MAX];
	size_t control_len;
	int flags;
	gaddr_t len_at; /* sendmmsg: where msg_len goes; 0: sendmsg */
};

static void msg_fini(struct msgop *m)
{
	free(m->data);
	m->data = NULL;
	if (m->op.dirfd >= 0)
		close(m->op.dirfd);
	m->op.dirfd = -1;
}

static int msg_name(struct call *c, struct msgop *m)
{
	size_t n = m->hdr.msg_namelen;
	int err;

	if (!m->hdr.msg_name || n == 0)
		return 0;
	if ((int)n < 0)
		return -EINVAL;
	if (n > sizeof(m->op.addr))
		n = sizeof(m->op.addr); /* as the kernel does */
	err = call_read(c, (gaddr_t)(uintptr_t)m->hdr.msg_name, &m->op.addr, n);
	if (err)
		return err;
	m->op.len = (socklen_t)n;
	return sockaddr_resolve(c, &m->op);
}

static int msg_data(struct call *c, struct msgop *m)
{
	size_t count = m->hdr.msg_iovlen, total = 0, at = 0;
	bool stream = m->op.type == SOCK_STREAM;
	struct iovec *iov;
	int err;

	if (count > IOV_MAX_NR)
		return -EMSGSIZE;
	iov = call_alloc(c, (count ? count : 1) * sizeof(*iov));
	if (!iov)
		return -ENOMEM;
	err = count ? call_read(c, (gaddr_t)(uintptr_t)m->hdr.msg_iov, iov,
				count * sizeof(*iov))
		    : 0;
	if (err)
		return err;
	for (size_t i = 0; i < count; i++) {
		if (iov[i].iov_len > SSIZE_MAX)
			return -EINVAL;
		if (iov[i].iov_len > SEND_MAX - total) {
			if (!stream)
				return -EMSGSIZE;
			iov[i].iov_len = SEND_MAX - total;
		}
		total += iov[i].iov_len;
	}
	m->data = malloc(total ? total : 1);
	if (!m->data)
		return -ENOMEM;
	m->len = total;
	for (size_t i = 0; i < count && !err; i++) {
		if (iov[i].iov_len)
			err = call_read(c, (gaddr_t)(uintptr_t)iov[i].iov_base,
					m->data + at, iov[i].iov_len);
		at += iov[i].iov_len;
	}
	return err;
}

/* Appends one SCM_RIGHTS with our copies of the guest's descriptors. */
static int control_rights(struct call *c, struct msgop *m,
			  const struct cmsghdr *from)
{
	size_t n = (from->cmsg_len - CMSG_LEN(0)) / sizeof(int);
	struct cmsghdr *to = (void *)(m->control + m->control_len);
	int fd[RIGHTS_MAX];

	if (n > RIGHTS_MAX || c->nfds + n > CALL_FD_MAX)
		return -ETOOMANYREFS;
	memcpy(fd, CMSG_DATA(from), n * sizeof(int));
	for (size_t i = 0; i < n; i++) {
		fd[i] = call_fd(c, fd[i]);
		if (fd[i] < 0)
			return fd[i];
	}
	to->cmsg_level = SOL_SOCKET;
	to->cmsg_type = SCM_RIGHTS;
	to->cmsg_len = CMSG_LEN(n * sizeof(int));
	memcpy(CMSG_DATA(to), fd, n * sizeof(int));
	m->control_len += CMSG_SPACE(n * sizeof(int));
	return 0;
}

static int msg_control(struct call *c, struct msgop *m)
{
	size_t n = m->hdr.msg_controllen, at = 0;
	unsigned char *raw;
	int err;

	if (!m->hdr.msg_control || n == 0)
		return 0;
	if (n > CONTROL_MAX)
		return -ENOBUFS;
	raw = call_alloc(c, n);
	if (!raw)
		return -ENOMEM;
	err = call_read(c, (gaddr_t)(uintptr_t)m->hdr.msg_control, raw, n);
	while (!err && at + sizeof(struct cmsghdr) <= n) {
		struct cmsghdr h;

		memcpy(&h, raw + at, sizeof(h));
		if (h.cmsg_len < CMSG_LEN(0) || h.cmsg_len > n - at)
			return -EINVAL;
		if (h.cmsg_level == SOL_SOCKET && h.cmsg_type == SCM_RIGHTS)
			err = control_rights(c, m, (void *)(raw + at));
		else if (h.cmsg_level != SOL_SOCKET ||
			 h.cmsg_type != SCM_CREDENTIALS)
			return -EINVAL;
		at += CMSG_ALIGN(h.cmsg_len);
	}
	return err;
}

static int64_t msg_send(struct msgop *m, int more)
{
	struct iovec iov = {m->data, m->len};
	struct msghdr h = {.msg_iov = &iov, .msg_iovlen = 1};
	ssize_t n;

	if (m->op.un_len) {
		h.msg_name = &m->op.un;
		h.msg_namelen = m->op.un_len;
	} else if (m->op.len) {
		h.msg_name = &m->op.addr;
		h.msg_namelen = m->op.len;
	}
	if (m->control_len) {
		h.msg_control = m->control;
		h.msg_controllen = m->control_len;
	}
	n = sendmsg(m->op.fd, &h, m->flags | more | MSG_NOSIGNAL);
	return n < 0 ? -errno : n;
}

/* What the call returns: bytes, or for sendmmsg one message. */
static int64_t msg_result(struct call *c, const struct msgop *m, int64_t ret)
{
	uint32_t *sent;

	if (ret == -EPIPE && !(m->flags & MSG_NOSIGNAL))
		sockets_sigpipe(c);
	if (ret < 0 || !m->len_at)
		return ret;
	sent = call_alloc(c, sizeof(*sent));
	if (!sent)
		return -ENOMEM;
	*sent = (uint32_t)ret;
	call_out(c, m->len_at, sent, sizeof(*sent));
	return 1;
}

static int64_t msg_worker(struct call *c, void *arg)
{
	struct msgop *m = arg;
	int64_t ret = c->cancel ? -EINTR : sockets_enter_dir(m->op.dirfd);

	if (!ret) {
		ret = msg_send(m, 0);
		if (m->op.dirfd >= 0)
			sockets_leave_dir();
	}
	msg_fini(m);
	if (call_lock(c))
		ret = msg_result(c, m, ret);
	call_unlock(c);
	return ret;
}

/* Copies the message whose header is at addr. *m is to be fini'ed. */
static int msg_copy(struct call *c, gaddr_t addr, struct msgop *m)
{
	int err = sockop_fd(c, arg_int(c, 0), &m->op);

	if (!err)
		err = call_read(c, addr, &m->hdr, sizeof(m->hdr));
	if (!err)
		err = msg_name(c, m);
	if (!err)
		err = msg_data(c, m);
	return err ? err : msg_control(c, m);
}

static int64_t msg_run(struct call *c, gaddr_t addr, int flags, gaddr_t len_at)
{
	struct msgop *m = call_alloc(c, sizeof(*m));
	int64_t ret;

	if (!m)
		return -ENOMEM;
	m->op.dirfd = -1;
	m->flags = flags;
	m->len_at = len_at;
	ret = msg_copy(c, addr, m);
	if (!ret && m->op.dirfd < 0) {
		ret = msg_send(m, MSG_DONTWAIT);
		if (ret != -EAGAIN || m->op.nonblock ||
		    (flags & MSG_DONTWAIT)) {
			msg_fini(m);
			return msg_result(c, m, ret);
		}
		ret = 0;
	}
	if (!ret)
		ret = call_block(c, msg_worker, m);
	if (ret != CALL_DEFERRED)
		msg_fini(m);
	return ret;
}

int64_t h_sendmsg(struct call *c)
{
	return msg_run(c, c->args[1], arg_int(c, 2), 0);
}

/* One message a call: sendmmsg may stop early, and programs go on with the
 * rest. */
int64_t h_sendmmsg(struct call *c)
{
	unsigned count = (unsigned)c->args[2];

	if (count == 0)
		return 0;
	return msg_run(c, c->args[1], arg_int(c, 3),
		       c->args[1] + offsetof(struct mmsghdr, msg_len));
}
