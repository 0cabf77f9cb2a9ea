/*
 * httpmsg.c - see httpmsg.h.
 */
#include "httpmsg.h"

#include <sys/socket.h>

void httpmsg_init(struct httpmsg *m, enum httpmsg_kind kind, uint64_t id)
{
	memset(m, 0, sizeof(*m));
	m->version = HTTPMSG_VERSION;
	m->kind = kind;
	m->id = id;
}

static bool ends(const char *s, size_t size)
{
	return memchr(s, 0, size);
}

bool httpmsg_valid(const struct httpmsg *m, size_t len)
{
	return len == sizeof(*m) && m->version == HTTPMSG_VERSION && m->kind &&
	       m->kind < HTTPMSG_KINDS && m->kind != HTTPMSG_ACK &&
	       m->len <= sizeof(m->data) && ends(m->host, sizeof(m->host)) &&
	       ends(m->method, sizeof(m->method)) &&
	       ends(m->rule, sizeof(m->rule)) && ends(m->why, sizeof(m->why)) &&
	       ends(m->secrets, sizeof(m->secrets)) &&
	       (!m->addr.family || m->addr.family == AF_INET ||
		m->addr.family == AF_INET6);
}

int httpmsg_send(int sock, const struct httpmsg *m)
{
	ssize_t n;

	do {
		n = send(sock, m, sizeof(*m), MSG_NOSIGNAL);
	} while (n < 0 && errno == EINTR);
	return n == (ssize_t)sizeof(*m) ? 0 : -EPIPE;
}

int httpmsg_recv(int sock, struct httpmsg *m, int flags)
{
	ssize_t n = recv(sock, m, sizeof(*m), flags | MSG_TRUNC);

	if (n < 0)
		return -errno;
	if (n == 0)
		return -EPIPE;
	return httpmsg_valid(m, (size_t)n) ? 0 : -EPROTO;
}

int httpack_send(int sock, uint64_t id)
{
	const struct httpack a = {HTTPMSG_VERSION, HTTPMSG_ACK, id};

	return send(sock, &a, sizeof(a), MSG_NOSIGNAL | MSG_DONTWAIT) < 0
		       ? -errno
		       : 0;
}

int httpack_recv(int sock, uint64_t *id)
{
	struct httpack a;
	ssize_t n = recv(sock, &a, sizeof(a), MSG_DONTWAIT);

	if (n < 0)
		return -errno;
	if (n != (ssize_t)sizeof(a) || a.version != HTTPMSG_VERSION ||
	    a.kind != HTTPMSG_ACK)
		return -EPIPE;
	*id = a.id;
	return 0;
}
