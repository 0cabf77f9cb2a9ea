/*
 * control.c - see control.h.
 */
#include "control.h"

#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "../base/strbuf.h"

void control_msg_fini(struct control_msg *m)
{
	for (unsigned i = 0; i < m->nfds; i++)
		if (m->fds[i] >= 0)
			close(m->fds[i]);
	m->nfds = 0;
	json_decref(m->root);
	m->root = NULL;
}

int control_take_fd(struct control_msg *m, unsigned i)
{
	return i < m->nfds ? fd_take(&m->fds[i]) : -1;
}

int control_parse(const char *data, size_t len, json_t **out)
{
	json_error_t err;
	json_t *root = json_loadb(data, len, JSON_REJECT_DUPLICATES, &err);

	if (!json_is_object(root)) {
		json_decref(root);
		return -EBADMSG;
	}
	if (control_number(root, "v", 0) != CONTROL_VERSION) {
		json_decref(root);
		return -EPROTO;
	}
	*out = root;
	return 0;
}

static int send_packet(int sock, const char *data, size_t len, const int *fds,
		       unsigned nfds, int flags)
{
	union {
		struct cmsghdr h;
		char space[CMSG_SPACE(sizeof(int) * CONTROL_FDS)];
	} ctl = {0};
	struct iovec iov = {(void *)(uintptr_t)data, len};
	struct msghdr mh = {.msg_iov = &iov, .msg_iovlen = 1};
	ssize_t n;

	BUG_ON(nfds > CONTROL_FDS);
	if (nfds) {
		mh.msg_control = ctl.space;
		mh.msg_controllen = CMSG_SPACE(sizeof(int) * nfds);
		ctl.h.cmsg_level = SOL_SOCKET;
		ctl.h.cmsg_type = SCM_RIGHTS;
		ctl.h.cmsg_len = CMSG_LEN(sizeof(int) * nfds);
		memcpy(CMSG_DATA(&ctl.h), fds, sizeof(int) * nfds);
	}
	do {
		n = sendmsg(sock, &mh, MSG_NOSIGNAL | flags);
	} while (n < 0 && errno == EINTR);
	return n < 0 ? -errno : 0;
}

static int send_body(int sock, const char *data, size_t len, int flags)
{
	static const char packet[] = "{\"v\":1,\"body\":true}";
	AUTO_CLOSE int fd = memfd_create("answer", MFD_CLOEXEC);
	size_t done = 0;

	if (fd < 0 || len > CONTROL_BODY_MAX)
		return fd < 0 ? -errno : -EMSGSIZE;
	while (done < len) {
		ssize_t n = write(fd, data + done, len - done);

		if (n <= 0)
			return -EIO;
		done += (size_t)n;
	}
	return send_packet(sock, packet, sizeof(packet) - 1, &fd, 1, flags);
}

int control_send(int sock, json_t *root, const int *fds, unsigned nfds,
		 bool bodies, int flags)
{
	AUTO_FREE char *text = NULL;
	size_t len;

	json_object_set_new(root, "v", json_integer(CONTROL_VERSION));
	text = json_dumps(root, JSON_COMPACT);
	if (!text)
		return -ENOMEM;
	len = strlen(text);
	if (len <= CONTROL_MAX)
		return send_packet(sock, text, len, fds, nfds, flags);
	if (!bodies || nfds)
		return -EMSGSIZE;
	return send_body(sock, text, len, flags);
}

/* Keeps at most CONTROL_FDS descriptors, in order. */
static void take_fds(struct msghdr *mh, struct control_msg *m)
{
	struct cmsghdr *c;

	for (c = CMSG_FIRSTHDR(mh); c; c = CMSG_NXTHDR(mh, c)) {
		const unsigned char *data = CMSG_DATA(c);
		size_t got;

		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
			continue;
		got = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
		for (size_t i = 0; i < got; i++) {
			int fd;

			memcpy(&fd, data + i * sizeof(fd), sizeof(fd));
			if (m->nfds < CONTROL_FDS)
				m->fds[m->nfds++] = fd;
			else
				close(fd);
		}
	}
}

/* The object in the memfd that came along replaces the packet's. */
static int read_body(struct control_msg *m)
{
	AUTO_CLOSE int fd = control_take_fd(m, 0);
	AUTO_FREE char *data = NULL;
	struct stat st;
	json_t *body;
	int ret;

	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) ||
	    st.st_size <= 0 || st.st_size > CONTROL_BODY_MAX)
		return -EBADMSG;
	data = malloc((size_t)st.st_size);
	if (!data)
		return -ENOMEM;
	if (pread(fd, data, (size_t)st.st_size, 0) != st.st_size)
		return -EBADMSG;
	ret = control_parse(data, (size_t)st.st_size, &body);
	if (ret)
		return ret;
	json_decref(m->root);
	m->root = body;
	return 0;
}

int control_recv(int sock, struct control_msg *m, bool bodies, int flags)
{
	union {
		struct cmsghdr h;
		char space[CMSG_SPACE(sizeof(int) * CONTROL_FDS)];
	} ctl = {0};
	AUTO_FREE char *buf = xmalloc(CONTROL_MAX);
	struct iovec iov = {buf, CONTROL_MAX};
	struct msghdr mh = {.msg_iov = &iov,
			    .msg_iovlen = 1,
			    .msg_control = ctl.space,
			    .msg_controllen = sizeof(ctl.space)};
	ssize_t n;
	int ret;

	memset(m, 0, sizeof(*m));
	do {
		n = recvmsg(sock, &mh, MSG_CMSG_CLOEXEC | flags);
	} while (n < 0 && errno == EINTR);
	if (n < 0)
		return errno == ECONNRESET ? -EPIPE : -errno;
	take_fds(&mh, m);
	if (mh.msg_flags & (MSG_TRUNC | MSG_CTRUNC))
		ret = -EMSGSIZE;
	else if (n == 0)
		ret = -EPIPE;
	else
		ret = control_parse(buf, (size_t)n, &m->root);
	if (!ret && bodies && control_flag(m->root, "body"))
		ret = read_body(m);
	if (ret)
		control_msg_fini(m);
	return ret;
}

const char *control_text(const json_t *o, const char *key, const char *def)
{
	const char *s = json_string_value(json_object_get(o, key));

	return s ? s : def;
}

int64_t control_number(const json_t *o, const char *key, int64_t def)
{
	const json_t *n = json_object_get(o, key);

	return json_is_integer(n) ? json_integer_value(n) : def;
}

bool control_flag(const json_t *o, const char *key)
{
	return json_is_true(json_object_get(o, key));
}

json_t *control_string(const char *s)
{
	json_t *j = json_string(s);
	struct strbuf b;

	if (j)
		return j;
	strbuf_init(&b, 0);
	strbuf_visible(&b, s, strlen(s));
	j = json_string(b.data);
	strbuf_fini(&b);
	return j;
}
