/*
 * sockaddr.c - what a socket address means inside the sandbox.
 *
 * A Unix path is looked up in the virtual tree and becomes a directory of the
 * store and a name in it. Abstract names are private by the network namespace
 * (jailed) or by a tag in front (bare). Internet addresses are the loopback's
 * or unreachable. Addresses are hostile bytes, copied once by the caller.
 */
#include "sockets.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <stdio.h>

#include "../sentry/outside.h"

#define PORT_UNPRIVILEGED 1024
/* SIN6_LEN_RFC2133 of the kernel */
#define SIN6_LEN_MIN 24
/* hex digits in front of an abstract name (bare) */
#define TAG_LEN	     8
#define SUN_PATH_MAX sizeof(((struct sockaddr_un *)0)->sun_path)
#define SUN_HEAD     offsetof(struct sockaddr_un, sun_path)

bool sockaddr_is_path(const struct sockop *op)
{
	const struct sockaddr_un *un = (const void *)&op->addr;

	return op->domain == AF_UNIX && op->addr.ss_family == AF_UNIX &&
	       op->len > SUN_HEAD && un->sun_path[0];
}

bool sockaddr_is_abstract(const struct sockop *op)
{
	const struct sockaddr_un *un = (const void *)&op->addr;

	return op->domain == AF_UNIX && op->addr.ss_family == AF_UNIX &&
	       op->len > SUN_HEAD && !un->sun_path[0];
}

void sockaddr_path(const struct sockop *op, char path[109])
{
	const struct sockaddr_un *un = (const void *)&op->addr;
	size_t room = op->len - SUN_HEAD;

	if (room > SUN_PATH_MAX)
		room = SUN_PATH_MAX;
	memcpy(path, un->sun_path, room);
	path[room] = '\0';
}

static void tag_of(const struct sentry *s, char tag[TAG_LEN + 1])
{
	uint64_t h = hash_bytes(s->id, strlen(s->id), 0x736f636bu);

	snprintf(tag, TAG_LEN + 1, "%08x", (unsigned)(h & 0xffffffffu));
}

int sockaddr_abstract(struct call *c, struct sockop *op)
{
	const struct sockaddr_un *from = (const void *)&op->addr;
	size_t n = op->len - SUN_HEAD;
	char tag[TAG_LEN + 1];

	if (n > SUN_PATH_MAX)
		return -EINVAL;
	memset(&op->un, 0, sizeof(op->un));
	op->un.sun_family = AF_UNIX;
	if (!c->s->bare) {
		memcpy(op->un.sun_path, from->sun_path, n);
		op->un_len = op->len;
		return 0;
	}
	/* LIMIT: in bare mode abstract names are 8 bytes shorter. */
	if (n + TAG_LEN > SUN_PATH_MAX)
		return -EINVAL;
	tag_of(c->s, tag);
	memcpy(op->un.sun_path + 1, tag, TAG_LEN);
	memcpy(op->un.sun_path + 1 + TAG_LEN, from->sun_path + 1, n - 1);
	op->un_len = (socklen_t)(SUN_HEAD + TAG_LEN + n);
	return 0;
}

int sockaddr_set_name(struct sockop *op, const char *name)
{
	size_t n = strlen(name);

	if (n > SUN_PATH_MAX)
		return -ENAMETOOLONG;
	memset(&op->un, 0, sizeof(op->un));
	op->un.sun_family = AF_UNIX;
	memcpy(op->un.sun_path, name, n);
	/* 108 bytes have no room for a NUL, and need none (unix(7)) */
	op->un_len = (socklen_t)(SUN_HEAD + n + (n < SUN_PATH_MAX));
	return 0;
}

/* A name without a directory may be what a native receive showed of a peer. */
static int lookup_shown(struct call *c, const char *name, struct vref *ref)
{
	struct sockop shown = {.dirfd = -1};
	struct vfs_at at = {0};
	struct sockname *k;

	if (strchr(name, '/') || sockaddr_set_name(&shown, name))
		return -ENOENT;
	k = sockname_by_real(c->s, &shown.un, shown.un_len);
	if (!k || !k->path)
		return -ENOENT;
	at.path = k->path;
	return vfs_lookup(&c->vfs, &at, VFS_FOLLOW, ref);
}

static int resolve_path(struct call *c, struct sockop *op)
{
	AUTO_PUT_VREF struct vref ref = {0};
	char path[109], name[NAME_LEN_MAX + 1];
	struct vfs_at at = {.path = path};
	struct statx stx;
	int err;

	sockaddr_path(op, path);
	call_audit_path(c, path);
	err = vfs_lookup(&c->vfs, &at, VFS_FOLLOW, &ref);
	if (err == -ENOENT)
		err = lookup_shown(c, path, &ref);
	if (!err)
		err = vfs_permission(&c->vfs, &ref, W_OK);
	if (!err)
		err = vfs_getattr(&c->vfs, &ref, &stx);
	if (err)
		return err;
	if (!S_ISSOCK(stx.stx_mode))
		return -ECONNREFUSED;
	err = vfs_socket_find(&c->vfs, &ref, &op->dirfd, name);
	if (err)
		return err;
	return sockaddr_set_name(op, name);
}

static bool v4_local(uint32_t net)
{
	uint32_t a = ntohl(net);

	return a >> 24 == 127 || a == INADDR_ANY;
}

static bool inet_local(const struct sockaddr_storage *ss, socklen_t len)
{
	const struct sockaddr_in *in = (const void *)ss;
	const struct sockaddr_in6 *in6 = (const void *)ss;

	if (ss->ss_family == AF_INET)
		return len >= sizeof(*in) && v4_local(in->sin_addr.s_addr);
	if (len < SIN6_LEN_MIN)
		return false;
	if (IN6_IS_ADDR_V4MAPPED(&in6->sin6_addr))
		return v4_local(in6->sin6_addr.s6_addr32[3]);
	return IN6_IS_ADDR_LOOPBACK(&in6->sin6_addr) ||
	       IN6_IS_ADDR_UNSPECIFIED(&in6->sin6_addr);
}

static void inet_text(const struct sockaddr_storage *ss, char *out, size_t size)
{
	const struct sockaddr_in *in = (const void *)ss;
	const struct sockaddr_in6 *in6 = (const void *)ss;
	char host[INET6_ADDRSTRLEN] = "?";

	if (ss->ss_family == AF_INET) {
		inet_ntop(AF_INET, &in->sin_addr, host, sizeof(host));
		snprintf(out, size, "%s:%u", host, ntohs(in->sin_port));
	} else {
		inet_ntop(AF_INET6, &in6->sin6_addr, host, sizeof(host));
		snprintf(out, size, "[%s]:%u", host, ntohs(in6->sin6_port));
	}
}

static int resolve_inet(struct call *c, struct sockop *op)
{
	size_t need = op->addr.ss_family == AF_INET ? sizeof(struct sockaddr_in)
						    : SIN6_LEN_MIN;
	char text[80];

	if (op->len < need)
		return -EINVAL;
	inet_text(&op->addr, text, sizeof(text));
	call_audit_path(c, text);
	if (inet_local(&op->addr, op->len))
		return 0;
	if (outside_on(c->s)) {
		int err = netaddr_from_sockaddr(&op->addr, op->len,
						&op->out_addr, &op->out_port);

		if (err || outside_is_inside(c->s, &op->out_addr, op->out_port))
			return err;
		/* An error of the kernel's, which opens nothing. */
		if (op->addr.ss_family != op->domain &&
		    (op->domain == AF_INET || op->type == SOCK_STREAM))
			return 0;
		op->leaves = op->may_leave;
		if (op->leaves)
			return 0;
	}
	/* As on a machine whose only interface is the loopback. */
	call_deny(c, "network",
		  op->type == SOCK_DGRAM ? "--net-allow udp" : "--net-allow");
	return -ENETUNREACH;
}

int sockaddr_resolve(struct call *c, struct sockop *op)
{
	if (sockaddr_is_path(op))
		return resolve_path(c, op);
	if (sockaddr_is_abstract(op))
		return sockaddr_abstract(c, op);
	if ((op->domain == AF_INET || op->domain == AF_INET6) &&
	    (op->addr.ss_family == AF_INET || op->addr.ss_family == AF_INET6))
		return resolve_inet(c, op);
	/* AF_UNSPEC, netlink, and families that do not fit the socket: the
	 * kernel answers on our copies; none of them leaves the sandbox. */
	return 0;
}

int sockaddr_port_check(const struct call *c, const struct sockop *op)
{
	const struct sockaddr_in *in = (const void *)&op->addr;
	unsigned port;

	if (op->domain != AF_INET && op->domain != AF_INET6)
		return 0;
	if (op->len < sizeof(struct sockaddr_in))
		return 0;	    /* the kernel says EINVAL */
	port = ntohs(in->sin_port); /* at the same offset in both */
	if (port == 0 || port >= PORT_UNPRIVILEGED ||
	    help_capable(c, CAP_NET_BIND_SERVICE))
		return 0;
	return -EACCES;
}

static void strip_tag(struct call *c, struct sockaddr_un *un, socklen_t *len)
{
	char tag[TAG_LEN + 1];

	tag_of(c->s, tag);
	if (!c->s->bare || *len <= SUN_HEAD + TAG_LEN || un->sun_path[0] ||
	    memcmp(un->sun_path + 1, tag, TAG_LEN))
		return;
	memmove(un->sun_path + 1, un->sun_path + 1 + TAG_LEN,
		*len - SUN_HEAD - 1 - TAG_LEN);
	*len -= TAG_LEN;
}

void sockaddr_show(struct call *c, int fd, bool peer,
		   struct sockaddr_storage *addr, socklen_t *len)
{
	struct sockaddr_un *un = (void *)addr;
	struct sockname *k = NULL;
	struct stat st;

	if (addr->ss_family != AF_UNIX || *len <= SUN_HEAD)
		return;
	strip_tag(c, un, len);
	if (!un->sun_path[0])
		return;
	if (!peer && fstat(fd, &st) == 0)
		k = sockname_by_ino(c->s, st.st_ino);
	if (!k)
		k = sockname_by_real(c->s, un, *len);
	if (!k)
		return;
	memcpy(addr, &k->given, sizeof(k->given));
	*len = k->given_len;
}
