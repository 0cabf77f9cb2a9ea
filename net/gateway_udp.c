/*
 * gateway_udp.c - datagrams of guests to places that were allowed.
 *
 * One socket inside is bound to each address and port that the sentry asked
 * for; a flow, one for each guest socket that sends to it, has a connected
 * socket outside. So answers come from where the guest sent to, and only from
 * there. Flows end when idle; the place a while later.
 *
 * LIMIT: of ICMP errors outside only "port unreachable" becomes an error of
 * the guest's socket.
 */
#include "gateway_priv.h"
#include "maker.h"

enum {
	FLOWS_MAX = 2048,
	PLACES_MAX = 1024,
	FLOW_IDLE_MS = 120000,
	PLACE_IDLE_MS = 600000,
	BATCH = 32,
};

struct place {
	struct list link, flows;
	struct source src;
	struct netmsg ask;
	uint64_t used_ms;
	bool limited; /* has been said */
};

struct flow {
	struct list link;
	struct source src;
	struct place *place;
	struct sockaddr_storage guest;
	socklen_t guest_len;
	uint64_t used_ms, start_ms, sent, received;
};

static uint8_t datagram[65536]; /* one thread, used within one call */

static void flow_end(struct gw *gw, struct flow *f)
{
	struct netmsg m;

	netmsg_init(&m, NETMSG_CLOSED, f->place->ask.id);
	m.proto = ALLOW_UDP;
	m.addr = f->place->ask.addr;
	m.port = f->place->ask.port;
	memcpy(m.name, f->place->ask.name, sizeof(m.name));
	m.sent = f->sent;
	m.received = f->received;
	m.ns = (gw->ms - f->start_ms) * 1000000;
	list_del(&f->link);
	gw_unwatch(gw, &f->src);
	gw->nflows--;
	gw_free(gw, f);
	gw_tell(gw, &m);
}

static void place_end(struct gw *gw, struct place *p)
{
	while (!list_empty(&p->flows))
		flow_end(gw, list_entry(p->flows.next, struct flow, link));
	list_del(&p->link);
	gw_unwatch(gw, &p->src);
	gw_free(gw, p);
}

/* What ICMP said of it becomes an error of the guest's socket. */
static void flow_refused(struct gw *gw, struct flow *f)
{
	struct netaddr guest;
	uint16_t port;
	int ret = netaddr_from_sockaddr(&f->guest, f->guest_len, &guest, &port);

	if (!ret)
		ret = maker_unreachable(gw->cfg->maker, &guest, port,
					&f->place->ask.addr,
					f->place->ask.port);
	if (ret)
		log_debug("port unreachable: %s", strerror(-ret));
}

static void on_answer(struct gw *gw, struct source *s, uint32_t events)
{
	struct flow *f = container_of(s, struct flow, src);

	(void)events;
	for (int i = 0; i < BATCH; i++) {
		ssize_t n =
			recv(s->fd, datagram, sizeof(datagram), MSG_DONTWAIT);

		if (n < 0 && errno == ECONNREFUSED) {
			flow_refused(gw, f);
			continue;
		}
		if (n < 0)
			return; /* nothing, or another ICMP error */
		if (!rate_left(gw, 1))
			continue;
		rate_moved(gw, (size_t)n);
		f->received += (uint64_t)n;
		f->used_ms = gw->ms;
		if (sendto(f->place->src.fd, datagram, (size_t)n, MSG_DONTWAIT,
			   (void *)&f->guest, f->guest_len) < 0)
			log_debug("a datagram for a guest: %s",
				  strerror(errno));
	}
}

/* A limit on connections is one on flows, too. */
static bool flow_may_open(struct gw *gw, struct place *p)
{
	const char *limit = limit_open(gw, 0);

	if (limit && !p->limited) {
		p->limited = true;
		gw_limited(gw, &p->ask.addr, p->ask.port, p->ask.name, limit);
	}
	return !limit && gw->nflows < FLOWS_MAX;
}

static struct flow *flow_new(struct gw *gw, struct place *p,
			     const struct sockaddr_storage *guest,
			     socklen_t len)
{
	struct netaddr to = gw_outside(gw, &p->ask.addr);
	struct flow *f;
	int fd;

	if (!flow_may_open(gw, p))
		return NULL;
	fd = gw_connect_outside(&to, p->ask.port, SOCK_DGRAM);
	if (fd < 0)
		return NULL;
	f = gw_alloc(sizeof(*f));
	f->src = (struct source){fd, on_answer};
	f->place = p;
	f->guest = *guest;
	f->guest_len = len;
	f->start_ms = gw->ms;
	list_add(&p->flows, &f->link);
	gw->nflows++;
	gw->opened++;
	if (gw_watch(gw, &f->src, EPOLLIN)) {
		flow_end(gw, f);
		return NULL;
	}
	return f;
}

static struct flow *flow_of(struct gw *gw, struct place *p,
			    const struct sockaddr_storage *guest, socklen_t len)
{
	list_for_each (l, &p->flows) {
		struct flow *f = list_entry(l, struct flow, link);

		if (f->guest_len == len && !memcmp(&f->guest, guest, len))
			return f;
	}
	return flow_new(gw, p, guest, len);
}

static void on_guest(struct gw *gw, struct source *s, uint32_t events)
{
	struct place *p = container_of(s, struct place, src);

	(void)events;
	for (int i = 0; i < BATCH; i++) {
		struct sockaddr_storage ss = {0};
		socklen_t len = sizeof(ss);
		struct netaddr from;
		struct flow *f;
		uint16_t port;
		ssize_t n = recvfrom(s->fd, datagram, sizeof(datagram),
				     MSG_DONTWAIT, (void *)&ss, &len);

		if (n < 0)
			return;
		if (netaddr_from_sockaddr(&ss, len, &from, &port) ||
		    (!netaddr_equal(&from, &gw->cfg->guest4) &&
		     !netaddr_equal(&from, &gw->cfg->guest6)))
			continue;
		f = flow_of(gw, p, &ss, len);
		if (!f || !rate_left(gw, 1))
			continue; /* as a full network does */
		rate_moved(gw, (size_t)n);
		p->used_ms = f->used_ms = gw->ms;
		if (send(f->src.fd, datagram, (size_t)n, MSG_DONTWAIT) >= 0)
			f->sent += (uint64_t)n;
		else if (errno == ECONNREFUSED) /* of an earlier one */
			flow_refused(gw, f);
	}
}

/* Where there are too many, the one used longest ago that nobody uses. */
static bool places_trim(struct gw *gw, unsigned count)
{
	struct place *old = NULL;

	if (count < PLACES_MAX)
		return true;
	list_for_each (l, &gw->udp) {
		struct place *p = list_entry(l, struct place, link);

		if (list_empty(&p->flows) &&
		    (!old || p->used_ms < old->used_ms))
			old = p;
	}
	if (old)
		place_end(gw, old);
	return old;
}

int udp_open(struct gw *gw, const struct netmsg *ask)
{
	struct place *p;
	unsigned count = 0;
	int fd;

	list_for_each (l, &gw->udp) {
		p = list_entry(l, struct place, link);
		if (p->ask.port == ask->port &&
		    netaddr_equal(&p->ask.addr, &ask->addr)) {
			p->used_ms = gw->ms;
			return 0;
		}
		count++;
	}
	if (!places_trim(gw, count))
		return -ECONNREFUSED;
	fd = gw_bind_inside(gw, &ask->addr, ask->port, SOCK_DGRAM);
	if (fd < 0)
		return fd;
	p = gw_alloc(sizeof(*p));
	p->src = (struct source){fd, on_guest};
	p->ask = *ask;
	p->used_ms = gw->ms;
	list_init(&p->flows);
	list_add_tail(&gw->udp, &p->link);
	if (gw_watch(gw, &p->src, EPOLLIN)) {
		place_end(gw, p);
		return -ENOMEM;
	}
	return 0;
}

void udp_tick(struct gw *gw, bool all)
{
	list_for_each_safe (l, &gw->udp) {
		struct place *p = list_entry(l, struct place, link);

		list_for_each_safe (k, &p->flows) {
			struct flow *f = list_entry(k, struct flow, link);

			if (all || gw->ms - f->used_ms > FLOW_IDLE_MS)
				flow_end(gw, f);
		}
		if (all || (list_empty(&p->flows) &&
			    gw->ms - p->used_ms > PLACE_IDLE_MS))
			place_end(gw, p);
	}
}
