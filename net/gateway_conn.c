/*
 * gateway_conn.c - carries the bytes of one connection by splice(2).
 *
 * Each direction has a pipe only while bytes are under way, so idle
 * connections cost two descriptors. A half that ends is passed on as a
 * half-close, a reset as a reset. Connections that were allowed for a name are
 * held until the guest's first bytes are known not to be TLS for another one.
 */
#include "gateway_priv.h"
#include "sni.h"

#include <fcntl.h>
#include <netinet/tcp.h>
#include <stdio.h>

enum {
	CHUNK = 1 << 18,
	ROUNDS = 16,   /* of a pump before others have their turn */
	POOL_MAX = 64, /* pipes kept */
};

struct half {
	int pipe[2]; /* -1: none */
	size_t filled;
	bool eof, shut, throttled;
	uint64_t bytes;
};

struct conn {
	struct list link, busy;
	bool is_busy;
	struct source inside, outside;
	struct half out, in; /* guest to world, world to guest */
	struct conn_info info;
	uint64_t start_ms, used_ms;
	bool inspect, guest_ended;
};

static struct {
	int pipe[POOL_MAX][2];
	unsigned count;
} pool; /* empty pipes; the process has one thread */

static int pipe_get(struct half *h)
{
	if (h->pipe[0] >= 0)
		return 0;
	if (pool.count) {
		memcpy(h->pipe, pool.pipe[--pool.count], sizeof(h->pipe));
		return 0;
	}
	if (pipe2(h->pipe, O_CLOEXEC | O_NONBLOCK) < 0) {
		h->pipe[0] = h->pipe[1] = -1;
		return -errno;
	}
	fcntl(h->pipe[0], F_SETPIPE_SZ, CHUNK); /* where we may */
	return 0;
}

static void pipe_put(struct half *h)
{
	if (h->pipe[0] < 0)
		return;
	if (!h->filled && pool.count < POOL_MAX) {
		memcpy(pool.pipe[pool.count++], h->pipe, sizeof(h->pipe));
	} else {
		close(h->pipe[0]);
		close(h->pipe[1]);
	}
	h->pipe[0] = h->pipe[1] = -1;
}

/* -EAGAIN: nothing now; 0: moved something, or the end; -errno. */
static int half_fill(struct gw *gw, struct half *h, int from)
{
	size_t most = rate_left(gw, CHUNK);
	ssize_t n;
	int ret;

	if (h->eof || h->filled >= CHUNK)
		return -EAGAIN;
	if (!most) {
		h->throttled = true;
		return -EAGAIN;
	}
	ret = pipe_get(h);
	if (ret)
		return ret;
	n = splice(from, NULL, h->pipe[1], NULL, most,
		   SPLICE_F_MOVE | SPLICE_F_NONBLOCK);
	if (n < 0)
		return -errno;
	if (n == 0)
		h->eof = true;
	h->filled += (size_t)n;
	rate_moved(gw, (size_t)n);
	return 0;
}

static int half_drain(struct half *h, int to)
{
	ssize_t n;

	if (!h->filled)
		return -EAGAIN;
	n = splice(h->pipe[0], NULL, to, NULL, h->filled,
		   SPLICE_F_MOVE | SPLICE_F_NONBLOCK);
	if (n < 0)
		return -errno;
	h->filled -= (size_t)n;
	h->bytes += (uint64_t)n;
	return 0;
}

/* 1: more may be there at once; 0: waits for an event; -errno: broken. */
static int half_pump(struct gw *gw, struct half *h, int from, int to)
{
	int more = 1;

	h->throttled = false;
	for (int i = 0; i < ROUNDS && more; i++) {
		int in = half_fill(gw, h, from), out = half_drain(h, to);

		if (in && in != -EAGAIN)
			return in;
		if (out && out != -EAGAIN)
			return out;
		if (h->eof && !h->filled && !h->shut) {
			h->shut = true;
			shutdown(to, SHUT_WR);
		}
		more = !in || !out;
		if (h->shut)
			more = 0;
	}
	if (!h->filled)
		pipe_put(h);
	return more;
}

void gw_reset(int fd)
{
	struct linger now = {1, 0};

	setsockopt(fd, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
	close(fd);
}

static void conn_end(struct gw *gw, struct conn *c, bool reset)
{
	struct netmsg m;

	netmsg_init(&m, NETMSG_CLOSED, c->info.id);
	m.proto = ALLOW_TCP;
	m.addr = c->info.addr;
	m.port = c->info.port;
	memcpy(m.name, c->info.name, sizeof(m.name));
	m.sent = c->out.bytes;
	m.received = c->in.bytes;
	m.ns = (gw->ms - c->start_ms) * 1000000;
	pipe_put(&c->out);
	pipe_put(&c->in);
	if (reset) {
		gw_reset(fd_take(&c->inside.fd));
		gw_reset(fd_take(&c->outside.fd));
	}
	gw_unwatch(gw, &c->inside);
	gw_unwatch(gw, &c->outside);
	list_del(&c->link);
	if (c->is_busy)
		list_del(&c->busy);
	gw->nconns--;
	gw_free(gw, c);
	gw_tell(gw, &m);
}

static bool inspect_end(struct gw *gw, struct conn *c, const char *name,
			const char *why)
{
	if (why)
		gw_refused(gw, &c->info.addr, c->info.port,
			   name[0] ? name : c->info.name, why);
	else
		c->inspect = false;
	return !why;
}

static int source_take(struct gw *gw, struct source *s)
{
	if (epoll_ctl(gw->ep, EPOLL_CTL_DEL, s->fd, NULL) < 0)
		log_debug("epoll_ctl: %s", strerror(errno));
	s->fn = NULL;
	return fd_take(&s->fd);
}

/* The connection goes on in the HTTP stage; what is left here is freed. */
static void hand_over(struct gw *gw, struct conn *c, const char *host)
{
	int inside = source_take(gw, &c->inside);
	int outside = source_take(gw, &c->outside);
	struct conn_info info = c->info;

	list_del(&c->link);
	if (c->is_busy)
		list_del(&c->busy);
	gw->nconns--;
	gw_free(gw, c);
	http_take(gw, inside, outside, &info, host);
}

/* True if the bytes may go on; *wait: not yet known, or not here. */
static bool inspect(struct gw *gw, struct conn *c, bool *wait)
{
	static uint8_t buf[SNI_HELLO_MAX + 5 * 64];
	char host[NETHOST_SIZE] = "";
	const char *why = NULL;
	ssize_t n =
		recv(c->inside.fd, buf, sizeof(buf), MSG_PEEK | MSG_DONTWAIT);

	*wait = false;
	if (n <= 0) { /* nothing yet, the end, or an error that splice finds */
		if (n < 0 && errno == EAGAIN)
			*wait = true;
		return true;
	}
	switch (gw_look_at(gw, &c->info, buf, (size_t)n, host, &why)) {
	case LOOK_MORE:
		if (c->guest_ended)
			return inspect_end(gw, c, host,
					   "it ended before it could be "
					   "checked");
		*wait = (size_t)n < sizeof(buf);
		return *wait ||
		       inspect_end(gw, c, host, "TLS hello too long to check");
	case LOOK_HTTP:
		*wait = true;
		hand_over(gw, c, host);
		return true;
	case LOOK_PASS:
	case LOOK_REFUSE:
		break;
	}
	return inspect_end(gw, c, host, why);
}

/* Onto the list of those that go on without an event. */
static void mark_busy(struct conn *c, struct list *where)
{
	if (!c->is_busy)
		list_add_tail(where, &c->busy);
	c->is_busy = true;
}

static void conn_pump(struct gw *gw, struct conn *c)
{
	uint64_t before = c->out.bytes + c->in.bytes;
	int a = 0, b;
	bool wait = false;

	if (c->inspect && !inspect(gw, c, &wait)) {
		conn_end(gw, c, true);
		return;
	}
	if (c->inside.fd < 0)
		return; /* handed over */
	if (!wait)
		a = half_pump(gw, &c->out, c->inside.fd, c->outside.fd);
	/* of a server that is to be looked at, nothing before that */
	b = wait && c->info.look
		    ? 0
		    : half_pump(gw, &c->in, c->outside.fd, c->inside.fd);
	if (c->out.bytes + c->in.bytes != before)
		c->used_ms = gw->ms;
	if (a < 0 || b < 0)
		conn_end(gw, c, true);
	else if (c->out.shut && c->in.shut)
		conn_end(gw, c, false);
	else if (a || b)
		mark_busy(c, &gw->busy);
	else if (c->out.throttled || c->in.throttled)
		mark_busy(c, &gw->throttled);
}

static void on_inside(struct gw *gw, struct source *s, uint32_t events)
{
	struct conn *c = container_of(s, struct conn, inside);

	c->guest_ended |= events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR);
	conn_pump(gw, c);
}

static void on_outside(struct gw *gw, struct source *s, uint32_t events)
{
	(void)events;
	conn_pump(gw, container_of(s, struct conn, outside));
}

static void move_all(struct list *to, struct list *from)
{
	while (!list_empty(from)) {
		struct list *p = from->next;

		list_del(p);
		list_add_tail(to, p);
	}
}

void conn_tick(struct gw *gw)
{
	list_for_each_safe (p, &gw->conns) {
		struct conn *c = list_entry(p, struct conn, link);
		const char *limit = limit_of_conn(gw, c->start_ms, c->used_ms);

		if (!limit)
			continue;
		gw_limited(gw, &c->info.addr, c->info.port, c->info.name,
			   limit);
		conn_end(gw, c, true);
	}
}

void conn_run_busy(struct gw *gw)
{
	struct list round;

	/* those of now; a pump may append again */
	list_init(&round);
	move_all(&round, &gw->busy);
	if (!list_empty(&gw->throttled) && rate_left(gw, 1))
		move_all(&round, &gw->throttled);
	while (!list_empty(&round)) {
		struct conn *c = list_entry(round.next, struct conn, busy);

		list_del(&c->busy);
		c->is_busy = false;
		conn_pump(gw, c);
	}
}

void conn_new(struct gw *gw, int inside, int outside,
	      const struct conn_info *info)
{
	const uint32_t all = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET;
	struct conn *c = gw_alloc(sizeof(*c));
	int one = 1;

	setsockopt(inside, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	setsockopt(outside, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	c->inside = (struct source){inside, on_inside};
	c->outside = (struct source){outside, on_outside};
	c->out.pipe[0] = c->out.pipe[1] = -1;
	c->in.pipe[0] = c->in.pipe[1] = -1;
	c->info = *info;
	c->inspect = info->check_name || info->look;
	c->start_ms = c->used_ms = gw->ms;
	gw->opened++;
	list_add_tail(&gw->conns, &c->link);
	gw->nconns++;
	if (gw_watch(gw, &c->inside, all) || gw_watch(gw, &c->outside, all))
		conn_end(gw, c, true);
}

void conn_close_all(struct gw *gw)
{
	while (!list_empty(&gw->conns)) {
		struct conn *c = list_entry(gw->conns.next, struct conn, link);

		/* what the guest sent before it ended still goes out */
		if (!c->inspect)
			(void)half_pump(gw, &c->out, c->inside.fd,
					c->outside.fd);
		conn_end(gw, c, !c->out.shut);
	}
}
