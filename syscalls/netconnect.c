/*
 * netconnect.c - connects and sends of internet sockets that leave the
 * sandbox, by way of the gateway (sentry/outside.h).
 *
 * The gateway opens the outside connection first and then listens inside at
 * the very address; the sentry connects its copy of the guest's socket there,
 * with its copy of the address. So blocking, polling, names and errors of the
 * socket are the kernel's from then on.
 *
 * A non-blocking connect waits HOLD_MS for that: most are through by then.
 * After that it is in progress, by a SYN that is not answered yet; the
 * gateway completes it as soon as the outside stands.
 * LIMIT: one that fails does so at the next repetition of the SYN (1 s, 2 s,
 * 4 s ...), and gives ECONNREFUSED where it is not ETIMEDOUT.
 */
#include <netinet/tcp.h>

#include "sockets.h"
#include "../sentry/outside.h"

enum { HOLD_MS = 30 };

static void ask_init(const struct sockop *op, struct outside_ask *a)
{
	memset(a, 0, sizeof(*a));
	a->chan = -1;
	a->wait_ms = op->nonblock && op->type == SOCK_STREAM ? HOLD_MS : -1;
	a->proto = op->type == SOCK_DGRAM ? ALLOW_UDP : ALLOW_TCP;
	a->addr = op->out_addr;
	a->port = op->out_port;
}

bool netconnect_under_way(const struct sockop *op)
{
	struct tcp_info info = {0};
	socklen_t len = sizeof(info);

	return op->type == SOCK_STREAM &&
	       getsockopt(op->fd, IPPROTO_TCP, TCP_INFO, &info, &len) == 0 &&
	       info.tcpi_state != TCP_CLOSE;
}

static int local_port(int fd, uint16_t *port)
{
	struct sockaddr_storage ss;
	struct netaddr addr;
	socklen_t len = sizeof(ss);

	if (getsockname(fd, (void *)&ss, &len) < 0)
		return -errno;
	return netaddr_from_sockaddr(&ss, len, &addr, port);
}

static int64_t connect_now(const struct sockop *op)
{
	return connect(op->fd, (const void *)&op->addr, op->len) < 0 ? -errno
								     : 0;
}

/* The port that the socket will connect from: chosen now. */
static int bind_port(const struct sockop *op, uint16_t *port)
{
	struct sockaddr_storage any = {.ss_family = (sa_family_t)op->domain};
	int ret = local_port(op->fd, port);

	if (ret || *port)
		return ret;
	if (bind(op->fd, (void *)&any,
		 op->domain == AF_INET ? sizeof(struct sockaddr_in)
				       : sizeof(struct sockaddr_in6)) < 0)
		return -errno;
	return local_port(op->fd, port);
}

static int hold(struct call *c, const struct sockop *op, struct outside_ask *a)
{
	uint16_t port;
	int ret = bind_port(op, &port);

	return ret ? ret : outside_hold(c, a, port);
}

static int64_t connect_out(struct call *c, void *arg)
{
	struct sockop *op = arg;
	struct outside_ask a;
	uint16_t port = 0;
	int64_t ret;

	ask_init(op, &a);
	ret = outside_open(c, &a);
	if (ret == 0)
		ret = -ENETUNREACH; /* refused: as without a route */
	/* Interrupted, it is a connect in progress, too (connect(2), EINTR);
	 * the signal that is pending ends the kernel's wait. */
	if (ret == -ETIME || (ret == -EINTR && a.dialing))
		ret = hold(c, op, &a);
	if (ret == 2) {
		ret = connect_now(op);
	} else if (ret == 1) {
		ret = connect_now(op);
		if (op->type == SOCK_STREAM &&
		    (ret == 0 || ret == -EINPROGRESS) &&
		    local_port(op->fd, &port) == 0)
			outside_connected(&a, port);
	}
	outside_ask_end(&a);
	return ret;
}

int64_t netconnect_call(struct call *c, struct sockop *op)
{
	return call_block(c, connect_out, op);
}

int netconnect_datagram(struct call *c, const struct sockop *op)
{
	struct outside_ask a;
	int ret;

	ask_init(op, &a);
	a.datagram = true;
	ret = outside_open(c, &a);
	outside_ask_end(&a);
	return ret == 1 ? 0 : ret == 0 ? -ENETUNREACH : ret;
}

bool netconnect_datagram_known(struct call *c, const struct sockop *op)
{
	struct outside_ask a;

	ask_init(op, &a);
	return outside_sends(c, &a);
}
