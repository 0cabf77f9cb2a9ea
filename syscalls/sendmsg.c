/*
 * sendmsg.c - sendmsg(2) and sendmmsg(2) of the bare column.
 *
 * Without a network namespace and an empty root, a name in a message could be
 * a socket of the host. So the whole message (header, name, data, control) is
 * copied once, the name is resolved as by connect, descriptors in SCM_RIGHTS
 * become the sentry's copies of them, and the sentry sends on its copy of the
 * socket. In the jailed column both are native (filter_args.c), or watched
 * (netsend.c).
 *
 * LIMIT: a message is at most SEND_MAX bytes (streams: a short write), and
 * SCM_CREDENTIALS are dropped: the receiver sees the sentry's.
 */
#include "sockets.h"

#include <limits.h>
#include <sys/uio.h>

#define SEND_MAX    (256u << 10)
#define IOV_MAX_NR  1024 /* UIO_MAXIOV */
#define CONTROL_MAX 4096
#define RIGHTS_MAX  253 /* SCM_MAX_FD of the kernel */

/* A sendmsg, or a sendmmsg with where it is; in the heap. */
struct msgop {
	gaddr_t at;	/* header of the current message */
	unsigned count; /* messages in all; sendmsg: 1 */
	unsigned sent;	/* messages */
	bool many;	/* sendmmsg: lengths are written behind headers */
	bool copied;	/* the current message is in here */
	int64_t last;	/* bytes of the last message */
	struct sockop op;
	struct msghdr hdr;   /* as the guest gave it: guest pointers */
	unsigned char *data; /* owned */
	size_t len;
	unsigned char control[CONTROL_MAX];
	size_t control_len;
	int rights[RIGHTS_MAX]; /* owned */
	size_t nrights;
	int flags;
};

/* Lets go of the current message. */
static void msg_fini(struct msgop *m)
{
	free(m->data);
	m->data = NULL;
	m->len = m->control_len = 0;
	while (m->nrights)
		close(m->rights[--m->nrights]);
	if (m->op.dirfd >= 0)
		close(m->op.dirfd);
	m->op.dirfd = -1;
	m->op.len = m->op.un_len = 0;
	m->copied = false;
}

static void msg_free(struct msgop *m)
{
	msg_fini(m);
	free(m);
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

static int iov_read(struct call *c, const struct msgop *m, struct iovec *iov,
		    size_t *total)
{
	size_t count = m->hdr.msg_iovlen;
	bool stream = m->op.type == SOCK_STREAM;
	int err = count ? call_read(c, (gaddr_t)(uintptr_t)m->hdr.msg_iov, iov,
				    count * sizeof(*iov))
			: 0;

	*total = 0;
	for (size_t i = 0; i < count && !err; i++) {
		if (iov[i].iov_len > SSIZE_MAX)
			return -EINVAL;
		if (iov[i].iov_len > SEND_MAX - *total) {
			if (!stream)
				return -EMSGSIZE;
			iov[i].iov_len = SEND_MAX - *total;
		}
		*total += iov[i].iov_len;
	}
	return err;
}

static int msg_data(struct call *c, struct msgop *m)
{
	size_t count = m->hdr.msg_iovlen, at = 0;
	struct iovec *iov;
	int err;

	if (count > IOV_MAX_NR)
		return -EMSGSIZE;
	iov = malloc((count ? count : 1) * sizeof(*iov));
	if (!iov)
		return -ENOMEM;
	err = iov_read(c, m, iov, &m->len);
	if (!err && !(m->data = malloc(m->len ? m->len : 1)))
		err = -ENOMEM;
	for (size_t i = 0; i < count && !err; i++) {
		if (iov[i].iov_len)
			err = call_read(c, (gaddr_t)(uintptr_t)iov[i].iov_base,
					m->data + at, iov[i].iov_len);
		at += iov[i].iov_len;
	}
	free(iov);
	return err;
}

/* A copy of a guest's descriptor that outlives the call's own list. */
static int take_fd(struct call *c, gfd_t gfd)
{
	int fd = call_fd(c, gfd);

	if (fd >= 0)
		c->nfds--; /* ours now */
	return fd;
}

/* Appends one SCM_RIGHTS with our copies of the guest's descriptors. */
static int control_rights(struct call *c, struct msgop *m, const void *raw,
			  size_t len)
{
	size_t n = (len - CMSG_LEN(0)) / sizeof(int), first = m->nrights;
	struct cmsghdr *to = (void *)(m->control + m->control_len);
	const unsigned char *data = (const unsigned char *)raw + CMSG_LEN(0);

	if (n > RIGHTS_MAX - first)
		return -EINVAL;
	for (size_t i = 0; i < n; i++) {
		gfd_t gfd;
		int fd;

		memcpy(&gfd, data + i * sizeof(gfd), sizeof(gfd));
		fd = take_fd(c, gfd);
		if (fd < 0)
			return fd;
		m->rights[m->nrights++] = fd;
	}
	to->cmsg_level = SOL_SOCKET;
	to->cmsg_type = SCM_RIGHTS;
	to->cmsg_len = CMSG_LEN(n * sizeof(int));
	memcpy(CMSG_DATA(to), m->rights + first, n * sizeof(int));
	m->control_len += CMSG_SPACE(n * sizeof(int));
	return 0;
}

static int control_each(struct call *c, struct msgop *m,
			const unsigned char *raw, size_t n)
{
	size_t at = 0;
	int err = 0;

	while (!err && at + sizeof(struct cmsghdr) <= n) {
		struct cmsghdr h;

		memcpy(&h, raw + at, sizeof(h));
		if (h.cmsg_len < CMSG_LEN(0) || h.cmsg_len > n - at)
			return -EINVAL;
		if (h.cmsg_level == SOL_SOCKET && h.cmsg_type == SCM_RIGHTS)
			err = control_rights(c, m, raw + at, h.cmsg_len);
		else if (h.cmsg_level != SOL_SOCKET ||
			 h.cmsg_type != SCM_CREDENTIALS)
			return -EINVAL;
		at += CMSG_ALIGN(h.cmsg_len);
	}
	return err;
}

static int msg_control(struct call *c, struct msgop *m)
{
	size_t n = m->hdr.msg_controllen;
	unsigned char raw[CONTROL_MAX];
	int err;

	if (!m->hdr.msg_control || n == 0)
		return 0;
	if (n > sizeof(raw))
		return -ENOBUFS;
	err = call_read(c, (gaddr_t)(uintptr_t)m->hdr.msg_control, raw, n);
	return err ? err : control_each(c, m, raw, n);
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
	n = sendmsg(m->op.fd, &h,
		    (m->flags & ~MSG_ZEROCOPY) | more | MSG_NOSIGNAL);
	return n < 0 ? -errno : n;
}

/* Copies the current message; with the state lock. */
static int msg_copy(struct call *c, struct msgop *m)
{
	unsigned kept = c->nfds;
	int err = call_read(c, m->at, &m->hdr, sizeof(m->hdr));

	m->copied = true;
	if (!err)
		err = msg_name(c, m);
	if (!err)
		err = msg_data(c, m);
	if (!err)
		err = msg_control(c, m);
	BUG_ON(c->nfds != kept);
	return err;
}

/* After a message was sent: its length, and on to the next. */
static int msg_sent(struct call *c, struct msgop *m, int64_t bytes)
{
	uint32_t n = (uint32_t)bytes;
	gaddr_t len_at = m->at + offsetof(struct mmsghdr, msg_len);

	msg_fini(m);
	m->last = bytes;
	if (m->many && call_write(c, len_at, &n, sizeof(n)))
		return -EFAULT;
	m->sent++;
	m->at += sizeof(struct mmsghdr);
	return 0;
}

/* What the call returns: an error only if nothing was sent. */
static int64_t msg_result(struct call *c, const struct msgop *m, int64_t err)
{
	if (err == -EPIPE && !(m->flags & MSG_NOSIGNAL))
		sockets_sigpipe(c);
	if (!m->sent)
		return err;
	return m->many ? (int64_t)m->sent : m->last;
}

static int64_t msg_send_blocking(struct msgop *m)
{
	int64_t ret = sockets_enter_dir(m->op.dirfd);

	if (ret)
		return ret;
	ret = msg_send(m, 0);
	if (m->op.dirfd >= 0)
		sockets_leave_dir();
	return ret;
}

static int64_t msg_worker(struct call *c, void *arg)
{
	struct msgop *m = arg;
	int64_t ret = 0;

	while (ret >= 0 && m->sent < m->count) {
		if (!m->copied) {
			ret = call_lock(c) ? msg_copy(c, m) : -ESRCH;
			call_unlock(c);
		}
		if (ret >= 0)
			ret = c->cancel ? -EINTR : msg_send_blocking(m);
		if (ret >= 0)
			ret = msg_sent(c, m, ret);
	}
	if (call_lock(c))
		ret = msg_result(c, m, ret);
	call_unlock(c);
	msg_free(m);
	return ret;
}

/* Sends what goes at once. -EAGAIN: the current message must wait, or has a
 * name in the store. */
static int64_t msg_try(struct call *c, struct msgop *m)
{
	int64_t ret = 0;

	while (ret >= 0 && m->sent < m->count) {
		ret = msg_copy(c, m);
		if (!ret)
			ret = m->op.dirfd >= 0 ? -EAGAIN
					       : msg_send(m, MSG_DONTWAIT);
		if (ret >= 0)
			ret = msg_sent(c, m, ret);
	}
	return ret;
}

static int64_t msg_run(struct call *c, unsigned count, int flags, bool many)
{
	struct msgop *m = calloc(1, sizeof(*m));
	int64_t ret;

	if (!m)
		return -ENOMEM;
	m->op.dirfd = -1;
	m->at = c->args[1];
	m->count = count;
	m->flags = flags;
	m->many = many;
	ret = sockop_fd(c, arg_int(c, 0), &m->op);
	if (!ret)
		ret = msg_try(c, m);
	if (ret == -EAGAIN &&
	    (m->op.dirfd >= 0 || !(m->op.nonblock || (flags & MSG_DONTWAIT)))) {
		ret = call_block(c, msg_worker, m);
		if (ret == CALL_DEFERRED)
			return ret;
	}
	ret = msg_result(c, m, ret);
	msg_free(m);
	return ret;
}

int64_t h_sendmsg(struct call *c)
{
	if (!c->s->bare)
		return netsend_call(c, 1);
	return msg_run(c, 1, arg_int(c, 2), false);
}

int64_t h_sendmmsg(struct call *c)
{
	unsigned count = (unsigned)c->args[2];

	if (count > IOV_MAX_NR)
		count = IOV_MAX_NR; /* as the kernel does */
	if (!c->s->bare)
		return netsend_call(c, count);
	return msg_run(c, count, arg_int(c, 3), true);
}
