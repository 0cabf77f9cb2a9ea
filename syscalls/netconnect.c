/*
 * netconnect.c - connects and sends of internet sockets that leave the
 * sandbox, by way of the gateway (sentry/outside.h).
 *
 * The gateway opens the outside connection first and then listens inside at
 * the very address; the sentry connects its copy of the guest's socket there,
 * with its copy of the address. So blocking, polling, names and errors of the
 * socket are the kernel's from then on.
 *
 * LIMIT: a non-blocking connect returns only when the outside connection
 * stands or has failed, and then at once.
 */
#include <netinet/tcp.h>

#include "sockets.h"
#include "../sentry/outside.h"

static void ask_init(const struct sockop *op, struct outside_ask *a)
{
	memset(a, 0, sizeof(*a));
	a->chan = -1;
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
	return connect(op->fd, (const void *)&op->addr, op->len) < 0 ? -errno :
								       0;
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
	if (ret == 1) {
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
	ret = outside_open(c, &a);
	outside_ask_end(&a);
	return ret == 1 ? 0 : ret == 0 ? -ENETUNREACH : ret;
}
