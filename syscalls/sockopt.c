/*
 * sockopt.c - socket families and options that do not run natively.
 *
 * Who a Unix peer is, the sentry must say: for the kernel it may be the
 * sentry itself. Programs attached to sockets, marks and devices are refused;
 * options not in filter_args.c are answered as by a kernel without them.
 */
#include "sockets.h"

#include "filter_args.h"

#ifndef SO_PEERPIDFD
#define SO_PEERPIDFD 77
#endif
#ifndef IPPROTO_MPTCP
#define IPPROTO_MPTCP 262
#endif

/* errno for a socket(2) that no rule allows */
static int family_errno(const struct call *c)
{
	int domain = arg_int(c, 0);
	int type = arg_int(c, 1) & ~(SOCK_CLOEXEC | SOCK_NONBLOCK);

	switch (domain) {
	case AF_UNIX:
		return EPROTONOSUPPORT;
	case AF_INET:
	case AF_INET6:
		if (c->s->bare)
			return EAFNOSUPPORT;
		if (type == SOCK_RAW || type == SOCK_PACKET)
			return EPERM;
		if (type != SOCK_STREAM && type != SOCK_DGRAM)
			return EINVAL;
		if (type == SOCK_DGRAM && (arg_int(c, 2) == IPPROTO_ICMP ||
					   arg_int(c, 2) == IPPROTO_ICMPV6))
			return EACCES;
		return EPROTONOSUPPORT;
	case AF_NETLINK:
		return c->s->bare ? EAFNOSUPPORT : EPROTONOSUPPORT;
	case AF_PACKET:
		return EPERM;
	default:
		return EAFNOSUPPORT;
	}
}

int64_t h_socket(struct call *c)
{
	bool inet = arg_int(c, 0) == AF_INET || arg_int(c, 0) == AF_INET6;

	/* Runtimes try this one first and fall back. */
	if (inet && arg_int(c, 2) == IPPROTO_MPTCP && !c->s->bare)
		return -EPROTONOSUPPORT;
	call_deny(c, "socket family",
		  inet && !c->s->bare ? "--net-allow" : NULL);
	return -family_errno(c);
}

int64_t h_socketpair(struct call *c)
{
	return help_refuse_args(c, EOPNOTSUPP, "socket family");
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
