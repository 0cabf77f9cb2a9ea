/*
 * sockopt.c - socket families and options that do not run natively.
 *
 * Who a Unix peer is, the sentry must say: for the kernel it may be the
 * sentry itself. Programs attached to sockets, marks and devices are refused;
 * options not in filter_args.c are answered as by a kernel without them.
 */
#include <linux/capability.h>

#include "sockets.h"

#include "filter_args.h"

#ifndef SO_PEERPIDFD
#define SO_PEERPIDFD 77
#endif

#define SOCK_TYPE_BITS 0xf
#define SOCK_TYPE_MAX  11  /* SOCK_MAX of the kernel */
#define FAMILY_MAX     46  /* AF_MAX */
#define INET_PROTO_MAX 263 /* IPPROTO_MAX */

/* What no kernel would make, in the order of net/socket.c. 0: it might. */
static int socket_invalid(int domain, int type)
{
	int flags = type & ~SOCK_TYPE_BITS;

	if (flags & ~(SOCK_CLOEXEC | SOCK_NONBLOCK))
		return EINVAL;
	if (domain < 0 || domain >= FAMILY_MAX)
		return EAFNOSUPPORT;
	return (type & SOCK_TYPE_BITS) >= SOCK_TYPE_MAX ? EINVAL : 0;
}

/* errno of a kernel with the families and protocols that are allowed; *rule
 * is set where a common kernel would have made the socket. */
static int socket_errno(const struct call *c, int domain, int type, int proto,
			bool *rule)
{
	switch (domain) {
	case AF_INET:
	case AF_INET6:
		*rule = c->s->bare;
		if (c->s->bare)
			return EAFNOSUPPORT;
		if (proto < 0 || proto >= INET_PROTO_MAX)
			return EINVAL;
		if (type == SOCK_RAW) {
			*rule = help_capable(c, CAP_NET_RAW);
			return proto ? EPERM : EPROTONOSUPPORT;
		}
		if (type != SOCK_STREAM && type != SOCK_DGRAM)
			return ESOCKTNOSUPPORT;
		if (type == SOCK_DGRAM &&
		    (proto == IPPROTO_ICMP || proto == IPPROTO_ICMPV6))
			return EACCES; /* net.ipv4.ping_group_range */
		return EPROTONOSUPPORT;
	case AF_NETLINK:
		*rule = true;
		if (c->s->bare)
			return EAFNOSUPPORT;
		*rule = type == SOCK_RAW || type == SOCK_DGRAM;
		return *rule ? EPROTONOSUPPORT : ESOCKTNOSUPPORT;
	case AF_PACKET:
		*rule = help_capable(c, CAP_NET_RAW);
		return EPERM;
	default:
		*rule = true;
		return EAFNOSUPPORT;
	}
}

int64_t h_socket(struct call *c)
{
	int domain = arg_int(c, 0), type = arg_int(c, 1), proto = arg_int(c, 2);
	bool inet = domain == AF_INET || domain == AF_INET6, rule = false;
	int err = socket_invalid(domain, type);

	if (!err)
		err = socket_errno(c, domain, type & SOCK_TYPE_BITS, proto,
				   &rule);
	if (rule)
		call_deny(c, "socket family",
			  inet && !c->s->bare ? "--net-allow" : NULL);
	return -err;
}

/* Only AF_UNIX and TIPC have pairs. */
int64_t h_socketpair(struct call *c)
{
	int domain = arg_int(c, 0), type = arg_int(c, 1);
	int kind = type & SOCK_TYPE_BITS;
	static const int none[2] = {-1, -1};
	int err = 0;
	bool rule = false;

	if (type & ~(SOCK_TYPE_BITS | SOCK_CLOEXEC | SOCK_NONBLOCK))
		return -EINVAL;
	/* the kernel writes the numbers that it is going to use, first */
	if (call_write(c, c->args[3], none, sizeof(none)))
		return -EFAULT;
	err = socket_invalid(domain, type);
	if (err)
		return -err;
	if ((domain == AF_INET || domain == AF_INET6) && arg_int(c, 2) == 0 &&
	    (kind == SOCK_STREAM || kind == SOCK_DGRAM))
		return -EOPNOTSUPP;
	return -socket_errno(c, domain, kind, arg_int(c, 2), &rule);
}

/* Options refused with a record; all else is ENOPROTOOPT. */
static const struct {
	int name, err;
} refused[] = {
	{SO_MARK, EPERM},
	{SO_BINDTODEVICE, EPERM},
	{SO_ATTACH_FILTER, EPERM},
	{SO_ATTACH_BPF, EPERM},
	{SO_ATTACH_REUSEPORT_CBPF, EPERM},
	{SO_ATTACH_REUSEPORT_EBPF, EPERM},
	{SO_SNDBUFFORCE, EPERM},
	{SO_RCVBUFFORCE, EPERM},
	{SO_BUSY_POLL, EPERM},
	{SO_DEBUG, EACCES},
};

static int64_t option_refuse(struct call *c)
{
	int level = arg_int(c, 1), name = arg_int(c, 2);
	struct sockop op;
	int err = sockop_fd(c, arg_int(c, 0), &op);

	if (err)
		return err;
	if (op.domain == AF_UNIX && level != SOL_SOCKET)
		return -EOPNOTSUPP;
	if (level == SOL_SOCKET)
		for (size_t i = 0; i < ARRAY_SIZE(refused); i++)
			if (refused[i].name == name)
				return help_refuse_args(c, refused[i].err,
							"socket option");
	return -ENOPROTOOPT;
}

int64_t h_setsockopt(struct call *c)
{
	return option_refuse(c);
}

/* Value and length of a getsockopt(2), cut to the guest's room. */
static int64_t option_out(struct call *c, const void *val, socklen_t len)
{
	return help_out_sockaddr(c, 3, val, len);
}

/* The connection was made by the sentry: for whom, the name knows. */
static void peer_by_name(struct call *c, int fd, struct ucred *cred)
{
	struct sockaddr_un un;
	socklen_t len = sizeof(un);
	struct sockname *k = NULL;

	if (getsockname(fd, (void *)&un, &len) == 0)
		k = sockname_by_real(c->s, &un, len);
	cred->pid = 0;
	if (k && k->has_peer)
		*cred = (struct ucred){k->peer_vpid, k->peer_uid, k->peer_gid};
}

/*
 * LIMIT: where several processes connect to one name at the same moment, the
 * last is shown to all accepted ends; a peer that has exited has pid 0.
 */
static int64_t option_peercred(struct call *c, int fd)
{
	const struct taskcred *own = c->task->cred;
	struct ucred cred;
	socklen_t len = sizeof(cred);
	struct tgroup *tg;
	pid_t pid;

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &len) < 0)
		return -errno;
	if (cred.pid == 0)
		return option_out(c, &cred, sizeof(cred));
	pid = cred.pid;
	cred = (struct ucred){0, own->euid, own->egid};
	tg = tgroup_find(c->s, pid);
	if (tg) {
		cred.pid = tgroup_vpid(tg);
		if (!list_empty(&tg->tasks)) {
			struct task *t =
				list_entry(tg->tasks.next, struct task, list);

			cred.uid = t->cred->euid;
			cred.gid = t->cred->egid;
		}
	} else if (pid == getpid()) {
		peer_by_name(c, fd, &cred);
	}
	return option_out(c, &cred, sizeof(cred));
}

static int64_t option_peername(struct call *c, int fd)
{
	struct sockaddr_storage ss = {0};
	socklen_t len = sizeof(ss);

	if (getpeername(fd, (void *)&ss, &len) < 0)
		return -errno;
	sockaddr_show(c, fd, true, &ss, &len);
	return option_out(c, &ss, len);
}

int64_t h_getsockopt(struct call *c)
{
	int level = arg_int(c, 1), name = arg_int(c, 2);
	int fd;

	if (level != SOL_SOCKET || (name != SO_PEERCRED && name != SO_PEERNAME))
		return option_refuse(c);
	fd = call_fd(c, arg_int(c, 0));
	if (fd < 0)
		return fd;
	return name == SO_PEERCRED ? option_peercred(c, fd)
				   : option_peername(c, fd);
}
