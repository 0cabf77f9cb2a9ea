/*
 * gateway_http_req.c - requests, from the guest to the world; see
 * gateway_http.h for the laws.
 */
#include "gateway_http.h"
#include "httpcheck.h"

#include <stdio.h>

/* One thread; good within one call. */
static struct http_head head;
static struct http_target target;

static bool refuse(struct gw *gw, struct hconn *c, unsigned status,
		   const char *why)
{
	hconn_tell_refused(gw, c, why);
	hconn_refuse(gw, c, status, why, NULL);
	return true;
}

/* Who is asked: c->host; NULL, or why that cannot be. */
static const char *judge_host(struct gw *gw, struct hconn *c, unsigned *status)
{
	char host[NETHOST_SIZE], other[NETHOST_SIZE];
	uint16_t port = c->info.port, port2 = port;
	const char *why = http_host_read(head.host, host, &port);

	*status = 400;
	if (!why && target.authority.p)
		why = http_host_read(target.authority, other, &port2);
	if (why)
		return why;
	if (target.authority.p &&
	    (strcmp(host, other) || port != port2 || target.https != c->tls))
		return "a request target for another host than Host";
	*status = 421;
	if (port != c->info.port)
		return "a Host with another port than the connection's";
	if (c->tls)
		return strcmp(host, c->host) ? "a Host unlike the server name "
					       "of TLS"
					     : NULL;
	if (c->info.check_name && !gw_name_of(gw, &c->info.addr, host))
		return "a Host that this address was not given for";
	snprintf(c->host, sizeof(c->host), "%s", host);
	return NULL;
}

static void put_rule(const struct hconn *c, const struct http_verdict *v,
		     struct httpmsg *m)
{
	if (v->rule)
		http_rule_name(v->rule, m->rule, sizeof(m->rule));
	else if (c->secrets[0])
		snprintf(m->rule, sizeof(m->rule), "--inject %.80s",
			 c->secrets);
	else
		snprintf(m->rule, sizeof(m->rule), "--net-allow %.80s",
			 c->host);
}

static void put_path(struct httpmsg *m)
{
	m->len =
		(uint32_t)(target.send_len < sizeof(m->data) ? target.send_len
							     : sizeof(m->data));
	memcpy(m->data, target.send, m->len);
}

static bool refuse_policy(struct gw *gw, struct hconn *c)
{
	struct httpmsg m;
	char hint[400], port[8] = "";
	bool v6 = strchr(c->host, ':');

	hconn_message(c, HTTPMSG_REFUSED, &m);
	put_path(&m);
	hconn_tell(gw, &m);
	/* without a port a rule is about 80 and 443 */
	if (c->info.port != (c->tls ? 443 : 80))
		snprintf(port, sizeof(port), ":%u", c->info.port);
	snprintf(hint, sizeof(hint), "--http-allow '%s %s%s%s%s%.*s'",
		 c->method, v6 ? "[" : "", c->host, v6 ? "]" : "", port,
		 (int)(target.send_len < 100 ? target.send_len : 100),
		 target.send);
	hconn_refuse(gw, c, 403, "no rule allows this request", hint);
	return true;
}

static void place_of(struct gw *gw, const struct hconn *c,
		     struct http_place *to)
{
	*to = (struct http_place){.policy = &gw->cfg->http,
				  .host = c->host,
				  .port = c->info.port,
				  .tls = c->tls};
}

/* May it be made? Then its record is written. */
static bool judge(struct gw *gw, struct hconn *c)
{
	const struct http_policy *p = &gw->cfg->http;
	struct http_question q = {.host = c->host,
				  .port = c->info.port,
				  .tls = c->tls,
				  .method = head.method,
				  .path = target.path};
	struct http_verdict v = {0};
	struct http_place to;
	const char *misused, *why;
	struct httpmsg m;

	if (http_governed(p, c->host, c->info.port))
		v = http_match(p, &q);
	else
		v.allowed = gw_name_allowed(gw, &c->info, c->host);
	why = http_overridden(p, &q, &v, &head);
	if (why)
		return refuse(gw, c, 403, why);
	place_of(gw, c, &to);
	http_secrets_of(&head, &target, &to, c->secrets, sizeof(c->secrets),
			&misused);
	if (misused) {
		hconn_message(c, HTTPMSG_MISUSE, &m);
		put_path(&m);
		snprintf(m.secrets, sizeof(m.secrets), "%s", misused);
		hconn_tell(gw, &m);
	}
	if (!v.allowed) {
		c->secrets[0] = '\0';
		return refuse_policy(gw, c);
	}
	c->close = head.close;
	c->upgrade = head.websocket;
	c->old = !head.minor;
	if (gw->nhasks >= HTTP_ASKS_MAX) {
		c->req = REQ_QUEUED;
		list_add_tail(&gw->hqueue, &c->ask);
		return false;
	}
	hconn_message(c, HTTPMSG_REQUEST, &m);
	put_path(&m);
	put_rule(c, &v, &m);
	m.id = c->id = ++gw->http_ids;
	c->asked_ms = gw->ms;
	c->req = REQ_ASKED;
	gw->nhasks++;
	list_add_tail(&gw->hasks, &c->ask);
	hconn_tell(gw, &m);
	return false; /* until the ACK */
}

static const char *parse(struct hconn *c)
{
	const char *why = http_parse_request(hbuf_data(&c->from_guest),
					     c->head_len, &head);

	if (!why)
		why = http_check_request(hbuf_data(&c->from_guest), c->head_len,
					 &head);
	if (!why)
		why = http_target_parse(head.target, &target);
	return why;
}

static bool head_step(struct gw *gw, struct hconn *c)
{
	static const char *const never[] = {"CONNECT", "TRACE", "TRACK"};
	const char *why;
	unsigned status;
	ssize_t n;

	if (!c->from_guest.len || c->resp != RESP_NONE)
		return false;
	n = http_head_find(hbuf_data(&c->from_guest), c->from_guest.len,
			   &c->seen);
	if (n == 0 && c->from_guest.len < HTTP_BUF)
		return false;
	c->method[0] = c->secrets[0] = '\0';
	if (!c->tls)
		c->host[0] = '\0';
	if (n == 0)
		return refuse(gw, c, 431, "a request's head that is too long");
	if (n < 0)
		return refuse(gw, c, 400, "not a well-formed request");
	c->head_len = (size_t)n;
	why = parse(c);
	if (head.method.len < sizeof(c->method)) {
		memcpy(c->method, head.method.p, head.method.len);
		c->method[head.method.len] = '\0';
	}
	if (why)
		return refuse(gw, c, 400, why);
	for (size_t i = 0; i < ARRAY_SIZE(never); i++)
		if (!strcmp(c->method, never[i]))
			return refuse(gw, c, 403,
				      "a method that is never passed on");
	why = judge_host(gw, c, &status);
	if (why)
		return refuse(gw, c, status, why);
	return judge(gw, c);
}

void hreq_go(struct gw *gw, struct hconn *c)
{
	struct http_place to;

	list_del(&c->ask);
	gw->nhasks--;
	/* The bytes that were judged; nothing of them has been taken. */
	BUG_ON(parse(c));
	place_of(gw, c, &to);
	http_write_request(&head, &target, &to, &c->to_world);
	hbuf_take(&c->from_guest, c->head_len);
	c->seen = 0;
	hbody_init(&c->up, &head);
	c->req = c->up.done ? REQ_DONE : REQ_BODY;
	c->resp = RESP_HEAD;
	c->resp_seen = 0;
	c->interim = 0;
	c->answered = false;
	c->body_sent = c->body_received = 0;
}

void hreq_next(struct gw *gw)
{
	while (!list_empty(&gw->hqueue) && gw->nhasks < HTTP_ASKS_MAX) {
		struct hconn *c =
			list_entry(gw->hqueue.next, struct hconn, ask);

		list_del(&c->ask);
		c->req = REQ_HEAD;
		c->seen = 0;
		head_step(gw, c);
		hconn_wake(gw, c);
	}
}

/* ---- bodies, and what comes after them ---- */

static bool body_step(struct gw *gw, struct hconn *c)
{
	int ret = hbody_step(&c->up, &c->from_guest, &c->to_world, NULL, false,
			     &c->body_sent);

	if (ret < 0)
		return refuse(gw, c, 400, "a malformed chunked body");
	if (c->up.done)
		c->req = REQ_DONE;
	return ret;
}

static bool done_step(struct gw *gw, struct hconn *c)
{
	if (!c->from_guest.len || c->resp == RESP_NONE)
		return false;
	return refuse(gw, c, 400,
		      "a request before the answer to the one before");
}

bool hreq_step(struct gw *gw, struct hconn *c)
{
	switch (c->req) {
	case REQ_HEAD:
		return head_step(gw, c);
	case REQ_BODY:
		return body_step(gw, c);
	case REQ_DONE:
		return done_step(gw, c);
	case REQ_QUEUED:
	case REQ_ASKED:
		break;
	}
	return false;
}
