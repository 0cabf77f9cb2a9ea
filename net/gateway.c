/*
 * gateway.c - the gateway's loop and decisions; see gateway.h.
 *
 * LAWS
 * 1. Nothing is opened outside but what gw_decide allowed, on this process's
 *    own copy of the rules; the sentry's word is a question.
 * 2. What leaves the sandbox is told to the sentry first, and done when its
 *    record is out (GO, ACK).
 * 3. A connection inside that the sentry did not announce is dropped.
 *    (test: tests/escape/gateway.sh)
 */
#include "gateway_priv.h"
#include "ldnslib.h"
#include "maker.h"
#include "tls.h"

#include <stdio.h>
#include <sys/prctl.h>
#include <time.h>

enum { EVENTS = 64 };

struct header {
	struct list dead;
	max_align_t data[];
};

void *gw_alloc(size_t size)
{
	struct header *h = xcalloc(1, sizeof(*h) + size);

	return h->data;
}

void gw_free(struct gw *gw, void *p)
{
	struct header *h = container_of(p, struct header, data);

	list_add_tail(&gw->dead, &h->dead);
}

static void free_dead(struct gw *gw)
{
	while (!list_empty(&gw->dead)) {
		struct header *h =
			list_entry(gw->dead.next, struct header, dead);

		list_del(&h->dead);
		free(h);
	}
}

int gw_watch(struct gw *gw, struct source *s, uint32_t events)
{
	struct epoll_event ev = {.events = events, .data.ptr = s};

	return epoll_ctl(gw->ep, EPOLL_CTL_ADD, s->fd, &ev) < 0 ? -errno : 0;
}

void gw_events(struct gw *gw, struct source *s, uint32_t events)
{
	struct epoll_event ev = {.events = events, .data.ptr = s};

	if (epoll_ctl(gw->ep, EPOLL_CTL_MOD, s->fd, &ev) < 0)
		log_host(errno, "epoll_ctl");
}

void gw_unwatch(struct gw *gw, struct source *s)
{
	(void)gw;
	if (s->fd >= 0)
		close(s->fd);
	s->fd = -1;
	s->fn = NULL;
}

void gw_tell(struct gw *gw, const struct netmsg *m)
{
	/* Waits where the audit stream is slow: no record is dropped. */
	if (netmsg_send(gw->main.fd, m, -1, 0))
		_exit(0);
}

void gw_refused(struct gw *gw, const struct netaddr *addr, uint16_t port,
		const char *name, const char *why)
{
	struct netmsg m;

	netmsg_init(&m, NETMSG_REFUSED, 0);
	if (addr)
		m.addr = *addr;
	m.port = port;
	snprintf(m.name, sizeof(m.name), "%s", name);
	snprintf(m.rule, sizeof(m.rule), "%s", why);
	gw_tell(gw, &m);
}

void gw_limited(struct gw *gw, const struct netaddr *addr, uint16_t port,
		const char *name, const char *limit)
{
	struct netmsg m;

	netmsg_init(&m, NETMSG_LIMITED, 0);
	m.addr = *addr;
	m.port = port;
	snprintf(m.name, sizeof(m.name), "%s", name);
	snprintf(m.rule, sizeof(m.rule), "%s", limit);
	gw_tell(gw, &m);
}

static bool is_private_net(const struct gateway *g, const struct netaddr *a)
{
	return netaddr_equal(a, &g->guest4) || netaddr_equal(a, &g->guest6) ||
	       netaddr_equal(a, &g->resolver4);
}

/* Datagrams would go past the rules about requests, as HTTP/3 does. */
static bool past_requests(const struct gateway *g, const struct allow_query *q,
			  bool by_name)
{
	char text[NETADDR_TEXT];

	if (q->proto != ALLOW_UDP || !g->http_on)
		return false;
	if (q->addr)
		netaddr_format(q->addr, text);
	if (q->addr && http_governed(&g->http, text, q->port))
		return true;
	for (size_t i = 0; by_name && i < q->nnames; i++)
		if (http_governed(&g->http, q->names[i], q->port))
			return true;
	return false;
}

void gw_decide(struct gw *gw, uint8_t proto, const struct netaddr *addr,
	       uint16_t port, struct gw_verdict *v)
{
	const char *names[NAMES_PER_ADDR_MAX] = {ALLOW_HOST_INTERNAL};
	struct allow_query q = {
		.proto = proto, .addr = addr, .names = names, .port = port};
	struct allow_verdict got = {0};

	memset(v, 0, sizeof(*v));
	if (netaddr_equal(addr, &gw->cfg->host4)) {
		q.addr = NULL;
		q.nnames = 1;
	} else {
		q.nnames = names_find(&gw->cfg->names, addr, gw->ms / 1000,
				      names, ARRAY_SIZE(names));
	}
	/* Loopbacks are the guests' own; port 0 is none. */
	if (port && !is_private_net(gw->cfg, addr) &&
	    (!q.addr || netaddr_kind(addr) != NETADDR_LOOPBACK))
		got = allow_match(&gw->cfg->rules, &q);
	v->allowed = got.allowed && !past_requests(gw->cfg, &q, got.by_name);
	v->by_name = got.by_name && q.addr;
	snprintf(v->name, sizeof(v->name), "%s",
		 got.name   ? got.name
		 : q.nnames ? names[0]
			    : "");
	if (got.allowed && !v->allowed)
		snprintf(v->rule, sizeof(v->rule), "--http-allow");
	else if (got.rule)
		allow_rule_name(got.rule, v->rule, sizeof(v->rule));
}

struct netaddr gw_outside(const struct gw *gw, const struct netaddr *addr)
{
	static const struct netaddr loopback = {AF_INET, {127, 0, 0, 1}};

	return netaddr_equal(addr, &gw->cfg->host4) ? loopback : *addr;
}

int gw_connect_outside(const struct netaddr *addr, uint16_t port, int type)
{
	struct sockaddr_storage ss;
	socklen_t len = netaddr_to_sockaddr(addr, port, &ss);
	int fd = socket(addr->family, type | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	int err;

	if (fd < 0)
		return -errno;
	if (connect(fd, (void *)&ss, len) == 0 || errno == EINPROGRESS)
		return fd;
	err = errno;
	close(fd);
	return -err;
}

int gw_bind_inside(struct gw *gw, const struct netaddr *addr, uint16_t port,
		   int type)
{
	enum { FREEBIND6 = 78 };
	struct sockaddr_storage ss;
	socklen_t len = netaddr_to_sockaddr(addr, port, &ss);
	int fd = maker_socket(gw->cfg->maker, addr->family, type), one = 1;

	if (fd < 0)
		return fd;
	if (addr->family == AF_INET6)
		setsockopt(fd, IPPROTO_IPV6, FREEBIND6, &one, sizeof(one));
	if (type == SOCK_STREAM) {
		setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
		/* beside a listener: held_join */
		setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &one, sizeof(one));
	}
	if (bind(fd, (void *)&ss, len) < 0) {
		int err = errno;

		close(fd);
		return -err;
	}
	return fd;
}

static void on_main(struct gw *gw, struct source *s, uint32_t events)
{
	struct netmsg m;
	int fd, ret = netmsg_recv(s->fd, &m, &fd, MSG_DONTWAIT);

	(void)events;
	if (ret == -EAGAIN || ret == -EINTR)
		return;
	if (ret)
		_exit(0); /* the sentry has gone */
	if (m.kind == NETMSG_ASK && fd >= 0) {
		ask_new(gw, &m, fd);
		return;
	}
	if (fd >= 0)
		close(fd);
	if (m.kind == NETMSG_ACK)
		dns_acked(gw, m.id);
	if (m.kind == NETMSG_END) {
		conn_close_all(gw);
		http_close_all(gw);
		udp_tick(gw, true);
		secrets_fini(&gw->cfg->http.secrets);
		_exit(0);
	}
}

static uint64_t clock_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_BOOTTIME, &ts);
	return (uint64_t)ts.tv_sec * 1000 + (uint64_t)ts.tv_nsec / 1000000;
}

static int wait_ms(const struct gw *gw)
{
	const struct gateway_limits *l = &gw->cfg->limits;

	if (gw->tls_loading || !list_empty(&gw->busy) ||
	    !list_empty(&gw->hbusy))
		return 0;
	if (!list_empty(&gw->throttled) || !list_empty(&gw->hthrottled))
		return GW_THROTTLE_MS;
	if ((l->idle_ms || l->time_ms) && gw->nconns)
		return GW_TICK_MS;
	return list_empty(&gw->hconns) && list_empty(&gw->reqs) &&
			       !gw->nwaiting && list_empty(&gw->udp) &&
			       !gw->nqueries && list_empty(&gw->dns_conns)
		       ? -1
		       : GW_TICK_MS;
}

static void loop(struct gw *gw)
{
	struct epoll_event ev[EVENTS];
	uint64_t ticked = 0;

	for (;;) {
		int n = epoll_wait(gw->ep, ev, EVENTS, wait_ms(gw));

		gw->ms = clock_ms();
		for (int i = 0; i < n; i++) {
			struct source *s = ev[i].data.ptr;

			if (s->fn)
				s->fn(gw, s, ev[i].events);
		}
		conn_run_busy(gw);
		http_run_busy(gw);
		/* while the guest starts */
		gw->tls_loading = gw->tls_loading && tls_load(gw->tls);
		if (gw->ms - ticked >= GW_TICK_MS) {
			ticked = gw->ms;
			ask_tick(gw);
			udp_tick(gw, false);
			conn_tick(gw);
			dns_tick(gw);
			http_tick(gw);
		}
		free_dead(gw);
	}
}

NORETURN void gateway_main(struct gateway *g)
{
	struct gw gw = {.cfg = g, .main = {g->main_sock, on_main}};
	struct netmsg m;
	int ret;

	prctl(PR_SET_NAME, "cloche-gateway", 0, 0, 0);
	list_init(&gw.reqs);
	list_init(&gw.listeners);
	list_init(&gw.conns);
	list_init(&gw.busy);
	list_init(&gw.throttled);
	list_init(&gw.udp);
	list_init(&gw.queries);
	list_init(&gw.dns_conns);
	list_init(&gw.dead);
	list_init(&gw.hconns);
	list_init(&gw.hbusy);
	list_init(&gw.hthrottled);
	list_init(&gw.hasks);
	list_init(&gw.hqueue);
	gw.ms = clock_ms();
	gw.ep = epoll_create1(EPOLL_CLOEXEC);
	netmsg_init(&m, NETMSG_STARTED, 0);
	/* The last files that it opens. */
	ret = gw.ep < 0 ? -errno : ldnslib_load();
	if (!ret)
		ret = http_start(&gw);
	if (!ret)
		ret = g->confine();
	if (!ret)
		ret = gw_watch(&gw, &gw.main, EPOLLIN);
	if (!ret)
		ret = dns_start(&gw);
	if (!ret)
		ret = publish_start(&gw);
	if (!ret)
		ret = http_watch(&gw);
	m.value = -ret;
	gw_tell(&gw, &m);
	if (ret)
		_exit(1);
	loop(&gw);
	_exit(1);
}
