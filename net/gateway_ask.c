/*
 * gateway_ask.c - one connect of a guest, from the sentry's question to the
 * two sockets that belong together; see netmsg.h for the messages.
 *
 * The listener inside is kept for the next connect to the same place. What it
 * accepts counts only if the sentry says that it connected a socket from that
 * very port: a guest that finds another way to the listener is dropped.
 */
#include "gateway_priv.h"
#include "maker.h"

#include <poll.h>
#include <stdio.h>

enum { BACKLOG = 512, WAITING_MAX = 256, HELD_MAX = MAKER_PORTS_MAX };
enum { HELD_CLAIM_MS = 130000 }; /* a SYN is repeated for as long */

enum state { ASKED, CONNECTING, READY, CLAIMED, JOINING };

struct listener {
	struct list link;
	struct source src;
	struct netaddr addr;
	uint16_t port;
	unsigned refs; /* asks that are READY or CLAIMED */
	struct list claims, waiting, held;
	unsigned nwaiting, nheld;
	uint16_t failed[HELD_MAX]; /* ports whose connection failed, a ring */
	unsigned nfailed;
};

struct ask {
	struct list link, claim;     /* claim: of l->claims, or l->held */
	struct source chan, out, in; /* in: JOINING */
	enum state state;
	bool held, was_held;
	struct netmsg m; /* ASK */
	struct gw_verdict v;
	struct listener *l;
	struct netaddr target;
	uint16_t local_port;
	uint64_t since_ms;
};

/* Accepted, and nobody has said yet whose it is. */
struct waiting {
	struct list link;
	int fd;
	uint16_t port;
	uint64_t since_ms;
};

static void unhold(struct gw *gw, struct ask *a);

static void ask_end(struct gw *gw, struct ask *a)
{
	unhold(gw, a);
	if (a->l)
		a->l->refs--;
	if (a->state == CLAIMED)
		list_del(&a->claim);
	list_del(&a->link);
	gw_unwatch(gw, &a->chan);
	gw_unwatch(gw, &a->out);
	gw_unwatch(gw, &a->in);
	gw_free(gw, a);
}

static int ask_reply(struct ask *a, enum netmsg_kind kind, int value)
{
	struct netmsg m;

	netmsg_init(&m, kind, a->m.id);
	m.value = value;
	m.pad = a->v.by_name;
	memcpy(m.name, a->v.name, sizeof(m.name));
	memcpy(m.rule, a->v.rule, sizeof(m.rule));
	return netmsg_send(a->chan.fd, &m, -1, MSG_DONTWAIT);
}

/* Errnos that connect(2) gives; what else happened here is not the guest's
 * to see. */
static void ask_fail(struct gw *gw, struct ask *a, int err)
{
	switch (err) {
	case ECONNREFUSED:
	case ETIMEDOUT:
	case EHOSTUNREACH:
	case ENETUNREACH:
	case ECONNRESET:
	case EACCES:
		break;
	case EAFNOSUPPORT: /* no IPv6 outside */
		err = ENETUNREACH;
		break;
	default:
		log_host(err, "connecting for a guest");
		err = ECONNREFUSED;
	}
	if (ask_reply(a, NETMSG_FAILED, err))
		log_debug("the asker has gone");
	ask_end(gw, a);
}

/* ---- listeners inside ---- */

/*
 * The SYNs of held ports are dropped by a filter until the outside connection
 * stands; the guest's kernel sends them again (after 1 s, 2 s, ...). Sockets
 * that are accepted inherit the filter, which does not name their own port.
 */
static void filter_update(struct gw *gw, struct listener *l)
{
	uint16_t ports[HELD_MAX];
	unsigned n = 0;
	int ret;

	list_for_each (p, &l->held)
		ports[n++] = list_entry(p, struct ask, claim)->local_port;
	ret = maker_deafen(gw->cfg->maker, l->src.fd, ports, n);
	if (ret)
		log_host(-ret, "a filter of a listener");
}

static void unhold(struct gw *gw, struct ask *a)
{
	if (!a->held)
		return;
	a->held = false;
	list_del(&a->claim);
	a->l->nheld--;
	filter_update(gw, a->l);
}

static bool has_failed(const struct listener *l, uint16_t port)
{
	for (unsigned i = 0; i < HELD_MAX; i++)
		if (port && l->failed[i] == port)
			return true;
	return false;
}

static void pair(struct gw *gw, struct ask *a, int inside)
{
	struct conn_info info = {
		.id = a->m.id,
		.addr = a->m.addr,
		.port = a->m.port,
		.check_name = a->v.by_name,
		.look = gw->cfg->http_on &&
			http_port_governed(&gw->cfg->http, a->m.port)};
	int outside = fd_take(&a->out.fd);

	memcpy(info.name, a->v.name, sizeof(info.name));
	/* epoll knows the outside by the ask: start anew */
	if (epoll_ctl(gw->ep, EPOLL_CTL_DEL, outside, NULL) < 0)
		log_debug("epoll_ctl: %s", strerror(errno));
	ask_end(gw, a);
	conn_new(gw, inside, outside, &info);
}

static bool from_guest(const struct gw *gw, const struct netaddr *peer)
{
	return netaddr_equal(peer, &gw->cfg->guest4) ||
	       netaddr_equal(peer, &gw->cfg->guest6);
}

static void accepted(struct gw *gw, struct listener *l, int fd, uint16_t port)
{
	struct waiting *w;

	if (has_failed(l, port)) {
		gw_reset(fd);
		return;
	}
	list_for_each (p, &l->claims) {
		struct ask *a = list_entry(p, struct ask, claim);

		if (a->local_port == port) {
			pair(gw, a, fd);
			return;
		}
	}
	if (l->nwaiting >= WAITING_MAX) {
		gw_reset(fd);
		return;
	}
	w = gw_alloc(sizeof(*w));
	w->fd = fd;
	w->port = port;
	w->since_ms = gw->ms;
	l->nwaiting++;
	gw->nwaiting++;
	list_add_tail(&l->waiting, &w->link);
}

static void on_accept(struct gw *gw, struct source *s, uint32_t events)
{
	struct listener *l = container_of(s, struct listener, src);

	(void)events;
	for (int i = 0; i < 64; i++) {
		struct sockaddr_storage ss;
		socklen_t len = sizeof(ss);
		struct netaddr peer;
		uint16_t port;
		int fd = accept4(s->fd, (void *)&ss, &len,
				 SOCK_NONBLOCK | SOCK_CLOEXEC);

		if (fd < 0)
			return;
		if (netaddr_from_sockaddr(&ss, len, &peer, &port) ||
		    !from_guest(gw, &peer))
			gw_reset(fd);
		else
			accepted(gw, l, fd, port);
	}
}

static void waiting_drop(struct gw *gw, struct listener *l, struct waiting *w)
{
	list_del(&w->link);
	l->nwaiting--;
	gw->nwaiting--;
	gw_reset(w->fd);
	gw_free(gw, w);
}

static void listener_end(struct gw *gw, struct listener *l)
{
	while (!list_empty(&l->waiting))
		waiting_drop(gw, l,
			     list_entry(l->waiting.next, struct waiting, link));
	list_del(&l->link);
	gw_unwatch(gw, &l->src);
	gw->nlisteners--;
	gw_free(gw, l);
}

/* The one used longest ago that nobody needs. */
static void listeners_trim(struct gw *gw)
{
	struct listener *old = NULL;

	if (gw->nlisteners < GW_LISTENERS_MAX)
		return;
	list_for_each (p, &gw->listeners) {
		struct listener *l = list_entry(p, struct listener, link);

		if (!l->refs && !l->nwaiting)
			old = l;
	}
	if (old)
		listener_end(gw, old);
}

static int listener_get(struct gw *gw, const struct netaddr *addr,
			uint16_t port, struct listener **out)
{
	struct listener *l;
	int fd;

	list_for_each (p, &gw->listeners) {
		l = list_entry(p, struct listener, link);
		if (l->port != port || !netaddr_equal(&l->addr, addr))
			continue;
		list_del(&l->link);
		list_add(&gw->listeners, &l->link);
		*out = l;
		return 0;
	}
	listeners_trim(gw);
	fd = gw_bind_inside(gw, addr, port, SOCK_STREAM);
	if (fd < 0)
		return fd;
	l = gw_alloc(sizeof(*l));
	l->src = (struct source){fd, on_accept};
	l->addr = *addr;
	l->port = port;
	list_init(&l->claims);
	list_init(&l->waiting);
	list_init(&l->held);
	list_add(&gw->listeners, &l->link);
	gw->nlisteners++;
	if (listen(fd, BACKLOG) < 0 || gw_watch(gw, &l->src, EPOLLIN)) {
		int err = errno;

		listener_end(gw, l);
		return -err;
	}
	*out = l;
	return 0;
}

/* ---- the outside connection ---- */

static void ask_hold(struct gw *gw, struct ask *a, uint16_t port)
{
	int ret = a->l ? 0 : listener_get(gw, &a->m.addr, a->m.port, &a->l);

	if (ret) {
		ask_fail(gw, a, -ret);
		return;
	}
	if (a->held || !port || a->l->nheld >= HELD_MAX)
		return; /* the sentry waits for READY then */
	a->l->refs++;
	a->local_port = port;
	a->held = a->was_held = true;
	a->l->nheld++;
	for (unsigned i = 0; i < HELD_MAX; i++)
		if (a->l->failed[i] == port)
			a->l->failed[i] = 0;
	list_add_tail(&a->l->held, &a->claim);
	filter_update(gw, a->l);
	if (ask_reply(a, NETMSG_HELD, 0))
		ask_end(gw, a);
}

static void on_joined(struct gw *gw, struct source *s, uint32_t events)
{
	struct ask *a = container_of(s, struct ask, in);
	int err = 0, fd;
	socklen_t len = sizeof(err);

	if (!(events & (EPOLLOUT | EPOLLERR | EPOLLHUP)))
		return;
	if (getsockopt(s->fd, SOL_SOCKET, SO_ERROR, &err, &len) < 0 || err) {
		ask_end(gw, a); /* the guest has given up */
		return;
	}
	fd = fd_take(&s->fd);
	if (epoll_ctl(gw->ep, EPOLL_CTL_DEL, fd, NULL) < 0)
		log_debug("epoll_ctl: %s", strerror(errno));
	pair(gw, a, fd);
}

/*
 * Meets the guest's connect half-way: a SYN of ours crosses the guest's, which
 * was left unanswered, and both are connected at once (RFC 9293, 3.5). The
 * listener stays deaf to that port until then.
 */
static int held_join(struct gw *gw, struct ask *a)
{
	const struct netaddr *guest = a->m.addr.family == AF_INET
					      ? &gw->cfg->guest4
					      : &gw->cfg->guest6;
	struct sockaddr_storage ss;
	socklen_t len = netaddr_to_sockaddr(guest, a->local_port, &ss);
	int fd = gw_bind_inside(gw, &a->m.addr, a->m.port, SOCK_STREAM);

	if (fd < 0)
		return fd;
	a->in = (struct source){fd, on_joined};
	if ((connect(fd, (void *)&ss, len) < 0 && errno != EINPROGRESS) ||
	    gw_watch(gw, &a->in, EPOLLOUT | EPOLLET)) {
		int err = errno;

		gw_unwatch(gw, &a->in);
		return -err;
	}
	a->state = JOINING;
	a->since_ms = gw->ms;
	return 0;
}

static void held_ready(struct gw *gw, struct ask *a)
{
	int ret = held_join(gw, a);

	if (!ret)
		return;
	log_debug("joining a guest's connect: %s", strerror(-ret));
	/* then the next SYN is answered */
	unhold(gw, a);
	a->state = CLAIMED;
	a->since_ms = gw->ms;
	list_add_tail(&a->l->claims, &a->claim);
}

/* The next SYN meets no listener, or, where others use it, a reset. That the
 * outside does not answer the guest will find by itself in the same time. */
static void held_failed(struct gw *gw, struct ask *a, int err)
{
	struct listener *l = a->l;

	if (err == ETIMEDOUT) {
		gw_unwatch(gw, &a->out);
		a->since_ms = gw->ms;
		return;
	}
	l->failed[l->nfailed++ % HELD_MAX] = a->local_port;
	ask_fail(gw, a, err);
	if (!l->refs && !l->nwaiting)
		listener_end(gw, l);
}

static void ask_ready(struct gw *gw, struct ask *a)
{
	int ret = listener_get(gw, &a->m.addr, a->m.port, &a->l);

	if (ret) {
		ask_fail(gw, a, -ret);
		return;
	}
	a->l->refs++;
	a->state = READY;
	a->since_ms = gw->ms;
	if (ask_reply(a, NETMSG_READY, 0))
		ask_end(gw, a);
}

static void on_out(struct gw *gw, struct source *s, uint32_t events);

static int ask_dial(struct gw *gw, struct ask *a)
{
	int fd = gw_connect_outside(&a->target, a->m.port, SOCK_STREAM);

	if (fd < 0)
		return fd;
	a->out = (struct source){fd, on_out};
	a->state = CONNECTING;
	return gw_watch(gw, &a->out, EPOLLOUT | EPOLLET);
}

/* The loopback, and what is refused at once, need no round of the loop. */
static bool is_through(int fd)
{
	struct pollfd p = {.fd = fd, .events = POLLOUT};

	return poll(&p, 1, 0) == 1;
}

static void on_out(struct gw *gw, struct source *s, uint32_t events)
{
	struct ask *a = container_of(s, struct ask, out);
	static const struct netaddr loopback4 = {AF_INET, {127, 0, 0, 1}};
	int err = 0;
	socklen_t len = sizeof(err);

	if (a->state != CONNECTING ||
	    !(events & (EPOLLOUT | EPOLLERR | EPOLLHUP)))
		return;
	if (getsockopt(s->fd, SOL_SOCKET, SO_ERROR, &err, &len) < 0)
		err = errno;
	if (!err && a->held) {
		held_ready(gw, a);
		return;
	}
	if (!err) {
		ask_ready(gw, a);
		return;
	}
	/* A service of the host that listens on ::1 only. */
	if (err == ECONNREFUSED && netaddr_equal(&a->target, &loopback4)) {
		gw_unwatch(gw, s);
		a->target = (struct netaddr){AF_INET6, {[15] = 1}};
		if (ask_dial(gw, a) == 0)
			return;
	}
	if (a->held)
		held_failed(gw, a, err);
	else
		ask_fail(gw, a, err);
}

static unsigned count_pending(const struct gw *gw)
{
	unsigned n = 0;

	list_for_each (p, &gw->reqs)
		n += list_entry(p, struct ask, link)->state != ASKED;
	return n;
}

static void ask_go(struct gw *gw, struct ask *a)
{
	const char *limit = limit_open(gw, count_pending(gw));
	int ret;

	if (limit) {
		gw_limited(gw, &a->m.addr, a->m.port, a->v.name, limit);
		ask_fail(gw, a, ECONNREFUSED);
		return;
	}
	if (gw->nconns >= GW_CONNS_MAX) {
		gw_refused(gw, &a->m.addr, a->m.port, a->v.name,
			   "too many connections");
		ask_fail(gw, a, ECONNREFUSED);
		return;
	}
	if (a->m.proto == ALLOW_UDP) {
		memcpy(a->m.name, a->v.name, sizeof(a->m.name));
		ret = udp_open(gw, &a->m);
		if (ret)
			ask_fail(gw, a, -ret);
		else if (ask_reply(a, NETMSG_READY, 0) || true)
			ask_end(gw, a);
		return;
	}
	a->target = gw_outside(gw, &a->m.addr);
	ret = ask_dial(gw, a);
	if (ret)
		ask_fail(gw, a, -ret);
	else if (is_through(a->out.fd))
		on_out(gw, &a->out, EPOLLOUT);
}

static void ask_connected(struct gw *gw, struct ask *a, uint16_t port)
{
	list_for_each (p, &a->l->waiting) {
		struct waiting *w = list_entry(p, struct waiting, link);

		if (w->port == port) {
			int fd = w->fd;

			list_del(&w->link);
			a->l->nwaiting--;
			gw->nwaiting--;
			gw_free(gw, w);
			pair(gw, a, fd);
			return;
		}
	}
	a->local_port = port;
	a->state = CLAIMED;
	a->since_ms = gw->ms;
	list_add_tail(&a->l->claims, &a->claim);
}

static void on_chan(struct gw *gw, struct source *s, uint32_t events)
{
	struct ask *a = container_of(s, struct ask, chan);
	struct netmsg m;
	int ret = netmsg_recv(s->fd, &m, NULL, MSG_DONTWAIT);

	(void)events;
	if (ret == -EAGAIN || ret == -EINTR)
		return;
	if (ret && (a->state == CLAIMED || a->held)) {
		/* as it should: the sentry has said all */
		gw_unwatch(gw, s);
		return;
	}
	if (!ret && m.kind == NETMSG_GO && a->state == ASKED)
		ask_go(gw, a);
	else if (!ret && m.kind == NETMSG_CONNECTED && a->state == READY)
		ask_connected(gw, a, m.local_port);
	else if (!ret && m.kind == NETMSG_HOLD && a->state == CONNECTING)
		ask_hold(gw, a, m.local_port);
	else if (ret || m.kind != NETMSG_HOLD || a->state != READY)
		ask_end(gw, a);
}

void ask_new(struct gw *gw, const struct netmsg *m, int fd)
{
	struct ask *a = gw_alloc(sizeof(*a));

	a->chan = (struct source){fd, on_chan};
	a->out.fd = a->in.fd = -1;
	a->m = *m;
	a->since_ms = gw->ms;
	list_add_tail(&gw->reqs, &a->link);
	gw_decide(gw, m->proto, &m->addr, m->port, &a->v);
	if ((m->proto != ALLOW_TCP && m->proto != ALLOW_UDP) ||
	    gw_watch(gw, &a->chan, EPOLLIN)) {
		ask_end(gw, a);
		return;
	}
	/* recorded already, by a verdict that still holds */
	if (m->value && a->v.allowed && !strcmp(a->v.name, m->name) &&
	    !strcmp(a->v.rule, m->rule))
		ask_go(gw, a);
	else if (ask_reply(a, NETMSG_VERDICT, a->v.allowed) || !a->v.allowed)
		ask_end(gw, a);
}

void ask_tick(struct gw *gw)
{
	list_for_each_safe (p, &gw->reqs) {
		struct ask *a = list_entry(p, struct ask, link);

		uint64_t most = a->was_held ? HELD_CLAIM_MS : GW_CLAIM_MS;

		bool over = a->state == CLAIMED || a->state == JOINING ||
			    (a->held && a->out.fd < 0);

		if (over && gw->ms - a->since_ms > most)
			ask_end(gw, a);
	}
	list_for_each (p, &gw->listeners) {
		struct listener *l = list_entry(p, struct listener, link);

		list_for_each_safe (q, &l->waiting) {
			struct waiting *w = list_entry(q, struct waiting, link);

			if (gw->ms - w->since_ms < GW_CLAIM_MS)
				continue;
			gw_refused(gw, &l->addr, l->port, "",
				   "connected past the sandbox's supervisor");
			waiting_drop(gw, l, w);
		}
	}
}
