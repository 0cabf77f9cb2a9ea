/*
 * gateway_http.c - the life of a connection whose requests are looked at; see
 * gateway_http.h.
 *
 * Both sockets are edge-triggered, so a pump goes on until nothing moves. What
 * is read of one side is held until the other takes it, at most HTTP_BUF.
 */
#include "gateway_http.h"
#include "httpcheck.h"

#include <netinet/tcp.h>
#include <stdio.h>

enum { ROUNDS = 16 };

/* ---- words to the sentry ---- */

void hconn_message(const struct hconn *c, enum httpmsg_kind kind,
		   struct httpmsg *m)
{
	httpmsg_init(m, kind, 0);
	m->conn = c->info.id;
	m->addr = c->info.addr;
	m->port = c->info.port;
	m->tls = c->tls;
	snprintf(m->host, sizeof(m->host), "%s",
		 c->host[0] ? c->host : c->info.name);
	memcpy(m->method, c->method, sizeof(m->method));
	memcpy(m->secrets, c->secrets, sizeof(m->secrets));
}

void hconn_tell(struct gw *gw, const struct httpmsg *m)
{
	if (httpmsg_send(gw->http.fd, m))
		_exit(0);
}

void hconn_tell_refused(struct gw *gw, struct hconn *c, const char *why)
{
	struct httpmsg m;

	hconn_message(c, HTTPMSG_REFUSED, &m);
	snprintf(m.why, sizeof(m.why), "%s", why);
	hconn_tell(gw, &m);
}

/* ---- the end ---- */

void hconn_end(struct gw *gw, struct hconn *c, bool reset)
{
	struct netmsg m;

	if (c->dead)
		return;
	c->dead = true;
	netmsg_init(&m, NETMSG_CLOSED, c->info.id);
	m.proto = ALLOW_TCP;
	m.addr = c->info.addr;
	m.port = c->info.port;
	memcpy(m.name, c->info.name, sizeof(m.name));
	m.sent = c->sent;
	m.received = c->received;
	m.ns = (gw->ms - c->start_ms) * 1000000;
	tls_fini(&c->in);
	tls_fini(&c->out);
	if (reset && c->inside.fd >= 0)
		gw_reset(fd_take(&c->inside.fd));
	if (reset && c->outside.fd >= 0)
		gw_reset(fd_take(&c->outside.fd));
	gw_unwatch(gw, &c->inside);
	gw_unwatch(gw, &c->outside);
	hbuf_fini(&c->from_guest);
	hbuf_fini(&c->to_world);
	hbuf_fini(&c->from_world);
	hbuf_fini(&c->to_guest);
	http_mask_fini(&c->mask);
	list_del(&c->link);
	if (c->is_busy)
		list_del(&c->busy);
	if (c->req == REQ_ASKED)
		gw->nhasks--;
	list_del(&c->ask);
	gw->nconns--;
	gw->nhconns--;
	gw_free(gw, c);
	gw_tell(gw, &m);
}

static const char *reason(unsigned status)
{
	switch (status) {
	case 400:
		return "Bad Request";
	case 403:
		return "Forbidden";
	case 421:
		return "Misdirected Request";
	case 431:
		return "Request Header Fields Too Large";
	default:
		return "Bad Gateway";
	}
}

/* The last word to the guest; the world hears no more. */
static void last_word(struct gw *gw, struct hconn *c, unsigned status,
		      const char *text)
{
	tls_fini(&c->out);
	gw_unwatch(gw, &c->outside);
	hbuf_fini(&c->to_world);
	hbuf_fini(&c->from_world);
	if (c->req == REQ_ASKED)
		gw->nhasks--;
	list_del(&c->ask);
	c->req = REQ_DONE;
	c->resp = RESP_NONE;
	c->closing = true;
	c->since_ms = gw->ms;
	if (!text)
		return;
	hbuf_printf(&c->to_guest,
		    "HTTP/1.1 %u %s\r\nContent-Type: text/plain\r\n"
		    "Content-Length: %zu\r\nConnection: close\r\n\r\n",
		    status, reason(status),
		    strcmp(c->method, "HEAD") ? strlen(text) : 0);
	if (strcmp(c->method, "HEAD"))
		hbuf_puts(&c->to_guest, text);
}

void hconn_refuse(struct gw *gw, struct hconn *c, unsigned status,
		  const char *why, const char *hint)
{
	AUTO_FREE char *text =
		xasprintf("cloche: refused: %s%s%s%s\n", why, hint ? "; " : "",
			  hint ? hint : "", hint ? " would allow it" : "");

	if (c->answered) { /* in the middle of an answer: no word fits */
		hconn_end(gw, c, true);
		return;
	}
	last_word(gw, c, status, text);
}

/* ---- bytes ---- */

/* Reads what fits: did something move? */
static bool fill(struct gw *gw, struct hconn *c, struct tls_side *s,
		 struct hbuf *b, uint64_t *count)
{
	size_t room;
	ssize_t n;

	if (s->eof || !s->ready || b->len >= HTTP_BUF)
		return false;
	room = rate_left(gw, HTTP_BUF - b->len);
	if (!room) {
		c->throttled = true;
		return false;
	}
	n = tls_read(s, hbuf_room(b, room), room);
	if (n > 0) {
		rate_moved(gw, (size_t)n);
		c->used_ms = gw->ms;
		b->len += (size_t)n;
		*count += (uint64_t)n;
		return true;
	}
	if (n == -EAGAIN)
		return false;
	s->eof = true;
	c->torn |= n < 0 && s == &c->out;
	return true;
}

/* Writes what goes: did something move? */
static bool drain(struct gw *gw, struct hconn *c, struct tls_side *s,
		  struct hbuf *b)
{
	ssize_t n;

	if (!b->len || !s->ready)
		return false;
	n = tls_write(s, hbuf_data(b), b->len);
	if (n == -EAGAIN)
		return false;
	if (n <= 0) {
		/* an answer may have come before the request was read */
		if (s == &c->out && c->resp == RESP_HEAD && !c->out.eof) {
			hbuf_fini(b);
			c->broken = "the server stopped reading";
			return true;
		}
		hconn_end(gw, c, true);
		return false;
	}
	hbuf_take(b, (size_t)n);
	return true;
}

/* ---- handshakes ---- */

static bool greet_guest(struct gw *gw, struct hconn *c)
{
	char name[NETHOST_SIZE];
	const char *why = NULL, *asked;
	int ret;

	if (c->in.ready)
		return false;
	ret = tls_handshake(&c->in, &why);
	if (ret == -EAGAIN)
		return false;
	if (ret) {
		char text[96];

		snprintf(text, sizeof(text), "TLS of the program: %s", why);
		hconn_tell_refused(gw, c, text);
		hconn_end(gw, c, true);
		return false;
	}
	/* Two readers of one hello must agree. */
	asked = c->in.ssl ? tls_server_name(&c->in) : NULL;
	if (asked && (nethost_canon(asked, strlen(asked), name) ||
		      strcmp(name, c->host))) {
		hconn_tell_refused(gw, c, "TLS for two names");
		hconn_end(gw, c, true);
		return false;
	}
	return true;
}

static bool greet_world(struct gw *gw, struct hconn *c)
{
	const char *why = NULL;
	int ret;

	(void)gw;
	if (c->out.ready || c->broken || c->outside.fd < 0)
		return false;
	ret = tls_handshake(&c->out, &why);
	if (ret == -EAGAIN)
		return false;
	if (ret)
		c->broken = why;
	return true;
}

/* The server cannot be talked to: the first request is told so. */
static bool answer_broken(struct gw *gw, struct hconn *c)
{
	char text[NETHOST_SIZE + 200], why[96];

	if (!c->broken || c->closing || c->req == REQ_HEAD || c->out.ready)
		return false;
	snprintf(why, sizeof(why), "TLS with the server: %s", c->broken);
	hconn_tell_refused(gw, c, why);
	snprintf(text, sizeof(text), "cloche: TLS with %s failed: %s%s\n",
		 c->host, c->broken,
		 tls_unknown_issuer(&c->out)
			 ? "; --net-ca FILE names more authorities"
			 : "");
	last_word(gw, c, 502, text);
	return true;
}

/* ---- the pump ---- */

static bool tunnel_step(struct gw *gw, struct hconn *c)
{
	bool moved = false;

	if (c->from_guest.len && c->to_world.len < HTTP_BUF) {
		hbuf_add(&c->to_world, hbuf_data(&c->from_guest),
			 c->from_guest.len);
		hbuf_take(&c->from_guest, c->from_guest.len);
		moved = true;
	}
	if (c->from_world.len && c->to_guest.len < HTTP_BUF) {
		hbuf_add(&c->to_guest, hbuf_data(&c->from_world),
			 c->from_world.len);
		hbuf_take(&c->from_world, c->from_world.len);
		moved = true;
	}
	if ((c->in.eof && !c->from_guest.len && !c->to_world.len) ||
	    (c->out.eof && !c->from_world.len && !c->to_guest.len)) {
		hconn_end(gw, c, false);
		return false;
	}
	return moved;
}

/* Everything is said: waits until the guest has heard it. */
static bool close_step(struct gw *gw, struct hconn *c)
{
	char scratch[4096];
	bool moved = drain(gw, c, &c->in, &c->to_guest);
	ssize_t n;

	if (c->dead || c->to_guest.len)
		return moved;
	/* Without the end of TLS, which says that all is there. */
	if (c->torn && c->resp != RESP_NONE) {
		hconn_end(gw, c, !c->tls);
		return false;
	}
	if (!c->lingers) {
		c->lingers = true;
		c->since_ms = gw->ms;
		tls_end_writing(&c->in);
	}
	n = c->in.eof ? 0
		      : recv(c->in.fd, scratch, sizeof(scratch), MSG_DONTWAIT);
	if (n > 0)
		return true;
	if (n == 0 || errno != EAGAIN)
		hconn_end(gw, c, false);
	return false;
}

/* Who is there no more. */
static bool ends_step(struct gw *gw, struct hconn *c, bool moved)
{
	bool idle = c->req == REQ_HEAD && c->resp == RESP_NONE;

	if (c->in.eof && idle && !c->from_guest.len) {
		c->closing = true;
		return true;
	}
	/* In the middle of a request that will never be whole. */
	if (!moved && c->in.eof &&
	    (idle || (c->req == REQ_BODY && !c->to_world.len))) {
		hconn_end(gw, c, true);
		return false;
	}
	if (c->out.eof && !c->from_world.len && c->resp != RESP_BODY) {
		/* as natively: the connection ends without an answer */
		c->closing = true;
		return true;
	}
	return moved;
}

static bool round_once(struct gw *gw, struct hconn *c)
{
	bool moved = greet_guest(gw, c);

	if (!c->dead)
		moved |= greet_world(gw, c);
	if (!c->dead && c->closing)
		return close_step(gw, c) || moved;
	if (c->dead || !c->in.ready)
		return moved;
	moved |= fill(gw, c, &c->in, &c->from_guest, &c->sent);
	if (!c->dead && !c->tunnel)
		moved |= hreq_step(gw, c);
	if (!c->dead && !c->closing)
		moved |= answer_broken(gw, c);
	if (!c->dead && !c->closing)
		moved |= drain(gw, c, &c->out, &c->to_world);
	if (!c->dead && !c->closing)
		moved |= fill(gw, c, &c->out, &c->from_world, &c->received);
	if (!c->dead && !c->closing && !c->tunnel)
		moved |= hresp_step(gw, c);
	if (!c->dead && c->tunnel)
		moved |= tunnel_step(gw, c);
	if (!c->dead)
		moved |= drain(gw, c, &c->in, &c->to_guest);
	if (!c->dead && !c->closing && !c->tunnel)
		moved = ends_step(gw, c, moved);
	return moved;
}

void hconn_wake(struct gw *gw, struct hconn *c)
{
	if (!c->is_busy)
		list_add_tail(&gw->hbusy, &c->busy);
	c->is_busy = true;
}

static void pump(struct gw *gw, struct hconn *c)
{
	c->throttled = false;
	for (int i = 0; i < ROUNDS && !c->dead; i++) {
		if (round_once(gw, c))
			continue;
		if (c->throttled && !c->dead && !c->is_busy) {
			c->is_busy = true;
			list_add_tail(&gw->hthrottled, &c->busy);
		}
		hbuf_idle(&c->from_guest);
		hbuf_idle(&c->to_world);
		hbuf_idle(&c->from_world);
		hbuf_idle(&c->to_guest);
		return;
	}
	if (!c->dead)
		hconn_wake(gw, c);
}

static void move_all(struct list *to, struct list *from)
{
	while (!list_empty(from)) {
		struct list *p = from->next;

		list_del(p);
		list_add_tail(to, p);
	}
}

void http_run_busy(struct gw *gw)
{
	struct list round;

	list_init(&round);
	move_all(&round, &gw->hbusy);
	if (!list_empty(&gw->hthrottled) && rate_left(gw, 1))
		move_all(&round, &gw->hthrottled);
	while (!list_empty(&round)) {
		struct hconn *c = list_entry(round.next, struct hconn, busy);

		list_del(&c->busy);
		c->is_busy = false;
		pump(gw, c);
	}
}

static void on_inside(struct gw *gw, struct source *s, uint32_t events)
{
	(void)events;
	pump(gw, container_of(s, struct hconn, inside));
}

static void on_outside(struct gw *gw, struct source *s, uint32_t events)
{
	(void)events;
	pump(gw, container_of(s, struct hconn, outside));
}

void http_take(struct gw *gw, int inside, int outside,
	       const struct conn_info *info, const char *host)
{
	const uint32_t all = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET;
	struct hconn *c = gw_alloc(sizeof(*c));
	int ret = 0;

	c->inside = (struct source){inside, on_inside};
	c->outside = (struct source){outside, on_outside};
	c->in.fd = inside;
	c->out.fd = outside;
	c->info = *info;
	c->tls = host[0];
	c->start_ms = c->used_ms = c->since_ms = gw->ms;
	c->mask.secrets = &gw->cfg->http.secrets;
	snprintf(c->host, sizeof(c->host), "%s", host);
	list_init(&c->ask);
	list_add_tail(&gw->hconns, &c->link);
	gw->nconns++;
	if (++gw->nhconns > HTTP_CONNS_MAX || (c->tls && !gw->tls))
		ret = -EMFILE;
	else if (c->tls)
		ret = tls_serve(gw->tls, &c->in, host);
	if (!ret && c->tls)
		ret = tls_join(gw->tls, &c->out, host);
	if (!ret)
		ret = gw_watch(gw, &c->inside, all);
	if (!ret)
		ret = gw_watch(gw, &c->outside, all);
	if (ret) {
		hconn_tell_refused(gw, c,
				   ret == -EMFILE ? "too many connections "
						    "with rules about requests"
						  : "TLS cannot be opened");
		hconn_end(gw, c, true);
		return;
	}
	pump(gw, c);
}

void http_tick(struct gw *gw)
{
	list_for_each_safe (p, &gw->hconns) {
		struct hconn *c = list_entry(p, struct hconn, link);
		uint64_t age = gw->ms - c->since_ms;
		const char *limit = limit_of_conn(gw, c->start_ms, c->used_ms);

		if (limit) {
			gw_limited(gw, &c->info.addr, c->info.port,
				   c->info.name, limit);
			hconn_end(gw, c, true);
		} else if (c->lingers && age > HTTP_LINGER_MS) {
			hconn_end(gw, c, false);
		} else if (!c->in.ready && age > HTTP_HELLO_MS) {
			hconn_end(gw, c, true);
		} else if (!c->out.ready && !c->broken && !c->closing &&
			   age > HTTP_HELLO_MS) {
			c->broken = "no answer";
			pump(gw, c);
		}
	}
}

void http_close_all(struct gw *gw)
{
	while (!list_empty(&gw->hconns)) {
		struct hconn *c =
			list_entry(gw->hconns.next, struct hconn, link);

		/* what was judged and recorded still goes out */
		drain(gw, c, &c->out, &c->to_world);
		hconn_end(gw, c, true);
	}
}

/* ---- start ---- */

static void on_acks(struct gw *gw, struct source *s, uint32_t events)
{
	uint64_t id;
	int ret;

	(void)events;
	while (!(ret = httpack_recv(s->fd, &id))) {
		list_for_each_safe (p, &gw->hasks) {
			struct hconn *c = list_entry(p, struct hconn, ask);

			if (c->id != id)
				continue;
			hreq_go(gw, c);
			pump(gw, c);
			break;
		}
		hreq_next(gw);
	}
	if (ret != -EAGAIN && ret != -EINTR)
		_exit(0); /* the sentry has gone */
}

int http_start(struct gw *gw)
{
	struct gateway *g = gw->cfg;
	struct httpmsg m;
	int ret;

	gw->http = (struct source){-1, on_acks};
	if (!g->http_on)
		return 0;
	ret = httpcheck_load();
	if (ret)
		return ret;
	gw->http.fd = g->http_sock;
	secrets_keep(&g->http.secrets);
	httpmsg_init(&m, HTTPMSG_TRUST, 0);
	if (g->http_tls) {
		ret = tls_init(g->ca_bundle, g->net_ca, &gw->tls);
		if (ret)
			return ret;
		gw->tls_loading = true;
		m.len = (uint32_t)ca_der(tls_ca(gw->tls), (uint8_t *)m.data);
		m.hash = ca_hash(tls_ca(gw->tls));
	}
	return httpmsg_send(gw->http.fd, &m);
}

int http_watch(struct gw *gw)
{
	return gw->http.fd < 0 ? 0 : gw_watch(gw, &gw->http, EPOLLIN);
}
