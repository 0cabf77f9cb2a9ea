/*
 * gateway_dns.c - the resolver that guests see, at 10.0.2.3 by UDP and TCP.
 *
 * A name that no rule allows is answered NXDOMAIN and never leaves the
 * machine; one that is allowed is asked of the host's name servers once the
 * sentry's record is out, and the addresses given for it are remembered.
 * Private, loopback and link-local addresses are taken out of answers unless
 * a rule about addresses allows them. Only addresses are resolved: other
 * types of an allowed name have no records here.
 *
 * LIMIT: the host's search list and ndots are not used; names are absolute.
 */
#include "gateway_priv.h"

#include <stdio.h>
#include <sys/random.h>

enum {
	QUERIES_MAX = 512,
	TCP_MAX = 64,  /* connections of guests */
	TRY_MS = 2000, /* before the next server is asked */
	TRIES_MAX = 4,
	TCP_IDLE_MS = 30000,
	GUEST_TTL_MAX = 300,
};

/* A guest's connection: two bytes of length, then a message. */
struct dns_conn {
	struct list link;
	struct source src;
	uint8_t buf[2 + DNS_MSG_MAX];
	size_t got;
	uint64_t used_ms;
	unsigned refs; /* queries that will answer here */
	bool gone;
};

struct query {
	struct list link;
	uint64_t id; /* of the sentry's ACK */
	struct dns_question q;
	struct sockaddr_storage from; /* asked by UDP */
	socklen_t from_len;
	struct dns_conn *conn; /* or by TCP */
	struct source up;
	bool up_tcp;
	uint8_t *tcp_buf; /* of the answer by TCP; owned */
	size_t tcp_got;
	uint16_t up_id;
	int tries;
	uint64_t sent_ms;
};

static struct dns_answer answer; /* one thread, used within one call */
static uint8_t wire[DNS_MSG_MAX + 2];

/* ---- to the guest ---- */

static void conn_drop(struct gw *gw, struct dns_conn *d)
{
	if (!d->gone) {
		list_del(&d->link);
		gw_unwatch(gw, &d->src);
		d->gone = true;
	}
	if (!d->refs)
		gw_free(gw, d);
}

static void reply_bytes(struct gw *gw, const struct query *k, uint8_t *msg,
			size_t len)
{
	if (!k->conn) {
		if (sendto(gw->dns_udp.fd, msg + 2, len, MSG_DONTWAIT,
			   (const void *)&k->from, k->from_len) < 0)
			log_debug("a DNS answer: %s", strerror(errno));
		return;
	}
	msg[0] = (uint8_t)(len >> 8);
	msg[1] = (uint8_t)len;
	/* A guest that does not read its answers loses its connection. */
	if (!k->conn->gone &&
	    send(k->conn->src.fd, msg, len + 2, MSG_DONTWAIT | MSG_NOSIGNAL) !=
		    (ssize_t)len + 2)
		shutdown(k->conn->src.fd, SHUT_RDWR);
}

static void reply(struct gw *gw, const struct query *k, int rcode,
		  const struct dns_answer *a)
{
	size_t limit = k->conn ? DNS_MSG_MAX : k->q.udp_size;
	ssize_t n;

	if (limit > DNS_MSG_MAX)
		limit = DNS_MSG_MAX;
	n = dns_build_reply(&k->q, rcode, a, wire + 2, limit);
	if (n > 0)
		reply_bytes(gw, k, wire, (size_t)n);
}

static void query_end(struct gw *gw, struct query *k)
{
	list_del(&k->link);
	gw_unwatch(gw, &k->up);
	free(k->tcp_buf);
	if (k->conn) {
		k->conn->refs--;
		if (k->conn->gone)
			conn_drop(gw, k->conn);
	}
	gw->nqueries--;
	gw_free(gw, k);
}

static void finish(struct gw *gw, struct query *k, int rcode,
		   const struct dns_answer *a)
{
	reply(gw, k, rcode, a);
	query_end(gw, k);
}

/* ---- what may be said ---- */

static void tell(struct gw *gw, const struct dns_question *q, bool allowed,
		 const struct allow_rule *rule, uint64_t id)
{
	struct netmsg m;

	netmsg_init(&m, NETMSG_DNS, id);
	m.value = allowed;
	m.qtype = q->type;
	memcpy(m.name, q->name, sizeof(m.name));
	if (rule)
		allow_rule_name(rule, m.rule, sizeof(m.rule));
	gw_tell(gw, &m);
}

/* Rebinding: no name of the world's leads into private networks. */
static size_t drop_private(struct gw *gw, struct dns_answer *a)
{
	size_t k = 0, dropped = 0;

	for (size_t i = 0; i < a->count; i++) {
		struct dns_record *r = &a->rec[i];

		if (r->type != DNS_CNAME) {
			enum netaddr_kind kind = netaddr_kind(&r->addr);

			if (kind == NETADDR_LOOPBACK ||
			    (kind != NETADDR_PUBLIC &&
			     !allow_match_addr(&gw->cfg->rules, &r->addr))) {
				gw_refused(gw, &r->addr, 0, a->rec[0].owner,
					   "a private address by name");
				dropped++;
				continue;
			}
		}
		if (k != i)
			a->rec[k] = *r;
		k++;
	}
	a->count = k;
	return dropped;
}

static void remember(struct gw *gw, const char *name, struct dns_answer *a)
{
	uint64_t now = gw->ms / 1000;
	uint32_t ttl = UINT32_MAX;

	for (size_t i = 0; i < a->count; i++) {
		struct dns_record *r = &a->rec[i];

		ttl = r->ttl < ttl ? r->ttl : ttl;
		if (r->ttl > GUEST_TTL_MAX)
			r->ttl = GUEST_TTL_MAX;
		if (r->type != DNS_CNAME)
			names_add(&gw->cfg->names, &r->addr, name,
				  now + ttl + NAMES_GRACE_S, now);
	}
}

/* The answer of the hosts file, or of nobody for host.internal. */
static bool answer_here(struct gw *gw, struct query *k)
{
	struct netaddr addr[DNS_RECORDS_MAX];
	size_t n = 0;

	if (!strcmp(k->q.name, ALLOW_HOST_INTERNAL))
		addr[n++] = gw->cfg->host4;
	else
		n = names_addresses(&gw->cfg->names, k->q.name, addr,
				    ARRAY_SIZE(addr));
	if (!n)
		return false;
	memset(&answer, 0, offsetof(struct dns_answer, rec));
	for (size_t i = 0; i < n; i++) {
		struct dns_record *r = &answer.rec[answer.count];

		if (k->q.type != (addr[i].family == AF_INET ? DNS_A : DNS_AAAA))
			continue;
		memset(r, 0, sizeof(*r));
		r->type = k->q.type;
		r->ttl = 60;
		memcpy(r->owner, k->q.name, sizeof(r->owner));
		r->addr = addr[i];
		answer.count++;
	}
	finish(gw, k, DNS_OK, &answer);
	return true;
}

/* ---- asking outside ---- */

static void query_try(struct gw *gw, struct query *k);

static void got_answer(struct gw *gw, struct query *k, const uint8_t *msg,
		       size_t len)
{
	size_t dropped;

	if (dns_parse_answer(msg, len, k->up_id, k->q.name, k->q.type, &answer))
		return; /* not ours: wait on */
	if (answer.truncated && !k->up_tcp) {
		k->up_tcp = true;
		query_try(gw, k);
		return;
	}
	if (answer.rcode == DNS_SERVFAIL || answer.rcode == DNS_REFUSED ||
	    answer.rcode == DNS_NOTIMP || answer.rcode == DNS_FORMERR) {
		query_try(gw, k);
		return;
	}
	dropped = drop_private(gw, &answer);
	remember(gw, k->q.name, &answer);
	if (dropped && !answer.count)
		answer.rcode = DNS_NXDOMAIN;
	finish(gw, k, answer.rcode, &answer);
}

static void on_up_udp(struct gw *gw, struct source *s, uint32_t events)
{
	struct query *k = container_of(s, struct query, up);
	ssize_t n = recv(s->fd, wire, sizeof(wire), MSG_DONTWAIT);

	(void)events;
	if (n > 0)
		got_answer(gw, k, wire, (size_t)n);
	else if (n < 0 && errno != EAGAIN)
		query_try(gw, k); /* port unreachable */
}

static bool send_question(struct query *k)
{
	ssize_t n = dns_build_question(k->up_id, k->q.name, k->q.type, wire + 2,
				       DNS_UDP_MIN);
	size_t skip = k->up_tcp ? 0 : 2;

	if (n < 0)
		return false;
	wire[0] = (uint8_t)((size_t)n >> 8);
	wire[1] = (uint8_t)n;
	n += 2 - (ssize_t)skip;
	return send(k->up.fd, wire + skip, (size_t)n,
		    MSG_DONTWAIT | MSG_NOSIGNAL) == n;
}

static void on_up_tcp(struct gw *gw, struct source *s, uint32_t events)
{
	struct query *k = container_of(s, struct query, up);
	size_t want;
	ssize_t n;

	if (!k->tcp_buf) { /* connected, or not */
		if (events & (EPOLLERR | EPOLLHUP) || !send_question(k)) {
			query_try(gw, k);
			return;
		}
		k->tcp_buf = malloc(2 + DNS_MSG_MAX);
		if (!k->tcp_buf) {
			finish(gw, k, DNS_SERVFAIL, NULL);
			return;
		}
		gw_events(gw, s, EPOLLIN);
		return;
	}
	n = recv(s->fd, k->tcp_buf + k->tcp_got, 2 + DNS_MSG_MAX - k->tcp_got,
		 MSG_DONTWAIT);
	if (n <= 0) {
		if (n == 0 || errno != EAGAIN)
			query_try(gw, k);
		return;
	}
	k->tcp_got += (size_t)n;
	if (k->tcp_got < 2)
		return;
	want = (size_t)k->tcp_buf[0] << 8 | k->tcp_buf[1];
	if (k->tcp_got < 2 + want)
		return;
	gw_unwatch(gw, s);
	got_answer(gw, k, k->tcp_buf + 2, want);
}

/* The next server, or the end. */
static void query_try(struct gw *gw, struct query *k)
{
	const struct gateway *g = gw->cfg;
	int fd = -1;

	gw_unwatch(gw, &k->up);
	free(k->tcp_buf);
	k->tcp_buf = NULL;
	k->tcp_got = 0;
	k->sent_ms = gw->ms;
	while (fd < 0) {
		if (!g->nservers || k->tries >= TRIES_MAX) {
			finish(gw, k, DNS_SERVFAIL, NULL);
			return;
		}
		fd = gw_connect_outside(
			&g->servers[(size_t)k->tries++ % g->nservers],
			g->server_port, k->up_tcp ? SOCK_STREAM : SOCK_DGRAM);
	}
	if (getrandom(&k->up_id, sizeof(k->up_id), 0) < 0)
		k->up_id = (uint16_t)(gw->ms * 40503u);
	k->up = (struct source){fd, k->up_tcp ? on_up_tcp : on_up_udp};
	/* what fails here is tried again by the tick */
	if (gw_watch(gw, &k->up, k->up_tcp ? EPOLLOUT : EPOLLIN) ||
	    (!k->up_tcp && !send_question(k)))
		log_debug("asking a name server: %s", strerror(errno));
}

void dns_acked(struct gw *gw, uint64_t id)
{
	list_for_each (p, &gw->queries) {
		struct query *k = list_entry(p, struct query, link);

		if (k->id == id && !k->tries && k->up.fd < 0) {
			if (!answer_here(gw, k))
				query_try(gw, k);
			return;
		}
	}
}

/* ---- from the guest ---- */

/* What is asked in k->q; k is ended here, or when the answer comes. */
static void asked(struct gw *gw, struct query *k)
{
	static uint64_t ids;
	struct allow_verdict v = {0};

	if (k->q.name[0] && k->q.class == 1)
		v = allow_match_name(&gw->cfg->rules, k->q.name);
	if (!v.allowed) {
		tell(gw, &k->q, false, v.rule, 0);
		finish(gw, k, DNS_NXDOMAIN, NULL);
		return;
	}
	if (k->q.type != DNS_A && k->q.type != DNS_AAAA) {
		finish(gw, k, DNS_OK, NULL); /* exists, has no such record */
		return;
	}
	k->id = ++ids;
	k->sent_ms = gw->ms;
	tell(gw, &k->q, true, v.rule, k->id);
}

static void message(struct gw *gw, const uint8_t *msg, size_t len,
		    const struct sockaddr_storage *from, socklen_t from_len,
		    struct dns_conn *conn)
{
	struct query *k = gw_alloc(sizeof(*k));
	int ret = dns_parse_question(msg, len, &k->q);

	k->up.fd = -1;
	list_add_tail(&gw->queries, &k->link);
	gw->nqueries++;
	k->conn = conn;
	if (conn)
		conn->refs++;
	if (from)
		k->from = *from;
	k->from_len = from_len;
	if (ret == -EBADMSG)
		query_end(gw, k);
	else if (ret || gw->nqueries > QUERIES_MAX)
		finish(gw, k, ret ? ret : DNS_SERVFAIL, NULL);
	else
		asked(gw, k);
}

static void on_udp(struct gw *gw, struct source *s, uint32_t events)
{
	static uint8_t buf[DNS_MSG_MAX];

	(void)events;
	for (int i = 0; i < 16; i++) {
		struct sockaddr_storage ss = {0};
		socklen_t len = sizeof(ss);
		ssize_t n = recvfrom(s->fd, buf, sizeof(buf), MSG_DONTWAIT,
				     (void *)&ss, &len);

		if (n < 0)
			return;
		message(gw, buf, (size_t)n, &ss, len, NULL);
	}
}

static void on_conn(struct gw *gw, struct source *s, uint32_t events)
{
	struct dns_conn *d = container_of(s, struct dns_conn, src);
	ssize_t n = recv(s->fd, d->buf + d->got, sizeof(d->buf) - d->got,
			 MSG_DONTWAIT);

	(void)events;
	if (n < 0 && errno == EAGAIN)
		return;
	if (n <= 0) {
		conn_drop(gw, d);
		return;
	}
	d->got += (size_t)n;
	d->used_ms = gw->ms;
	while (d->got >= 2 && !d->gone) {
		size_t len = (size_t)d->buf[0] << 8 | d->buf[1];

		if (d->got < 2 + len)
			return;
		message(gw, d->buf + 2, len, NULL, 0, d);
		d->got -= 2 + len;
		memmove(d->buf, d->buf + 2 + len, d->got);
	}
}

static unsigned conn_count(const struct gw *gw)
{
	unsigned n = 0;

	list_for_each (p, &gw->dns_conns)
		n++;
	return n;
}

static void on_accept(struct gw *gw, struct source *s, uint32_t events)
{
	int fd = accept4(s->fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
	struct dns_conn *d;

	(void)events;
	if (fd < 0)
		return;
	if (conn_count(gw) >= TCP_MAX) {
		gw_reset(fd);
		return;
	}
	d = gw_alloc(sizeof(*d));
	d->src = (struct source){fd, on_conn};
	d->used_ms = gw->ms;
	list_add_tail(&gw->dns_conns, &d->link);
	if (gw_watch(gw, &d->src, EPOLLIN))
		conn_drop(gw, d);
}

void dns_tick(struct gw *gw)
{
	list_for_each_safe (p, &gw->queries) {
		struct query *k = list_entry(p, struct query, link);

		if (k->tries && gw->ms - k->sent_ms > TRY_MS)
			query_try(gw, k);
	}
	list_for_each_safe (p, &gw->dns_conns) {
		struct dns_conn *d = list_entry(p, struct dns_conn, link);

		if (!d->refs && gw->ms - d->used_ms > TCP_IDLE_MS)
			conn_drop(gw, d);
	}
}

int dns_start(struct gw *gw)
{
	const struct netaddr *at = &gw->cfg->resolver4;
	int udp = gw_bind_inside(gw, at, DNS_PORT, SOCK_DGRAM), tcp, ret;

	gw->dns_udp = (struct source){udp, on_udp};
	if (udp < 0)
		return udp;
	tcp = gw_bind_inside(gw, at, DNS_PORT, SOCK_STREAM);
	gw->dns_tcp = (struct source){tcp, on_accept};
	if (tcp < 0)
		return tcp;
	if (listen(tcp, 16) < 0)
		return -errno;
	ret = gw_watch(gw, &gw->dns_udp, EPOLLIN);
	return ret ? ret : gw_watch(gw, &gw->dns_tcp, EPOLLIN);
}
