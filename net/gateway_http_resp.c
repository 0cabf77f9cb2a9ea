/*
 * gateway_http_resp.c - responses, from the world to the guest; see
 * gateway_http.h. The server is hostile too: what is not well formed ends the
 * connection, by an answer of our own where none has begun.
 */
#include "gateway_http.h"
#include "httpcheck.h"

#include <stdio.h>

static struct http_head head; /* one thread; good within one call */

static bool bad(struct gw *gw, struct hconn *c, const char *why)
{
	hconn_tell_refused(gw, c, why);
	hconn_refuse(gw, c, 502, why, NULL);
	return true;
}

static void tell_done(struct gw *gw, struct hconn *c)
{
	struct httpmsg m;

	hconn_message(c, HTTPMSG_DONE, &m);
	m.id = c->id;
	m.status = (uint16_t)c->status;
	m.sent = c->body_sent;
	m.received = c->body_received;
	m.ns = (gw->ms - c->asked_ms) * 1000000;
	hconn_tell(gw, &m);
}

/* The answer is whole: on to the next request, or the end. */
static void finish(struct gw *gw, struct hconn *c)
{
	tell_done(gw, c);
	c->resp = RESP_NONE;
	http_mask_fini(&c->mask);
	/* Bytes behind an answer are nobody's answer. */
	if (c->close || c->req != REQ_DONE || c->from_world.len) {
		c->closing = true;
		return;
	}
	c->req = REQ_HEAD;
	c->seen = 0;
	c->answered = false;
}

static struct http_mask *mask_of(struct hconn *c)
{
	return c->secrets[0] ? &c->mask : NULL;
}

/* The head to the guest; secrets that it repeats are overwritten. */
static void pass_head(struct hconn *c, size_t n)
{
	size_t at = c->to_guest.len;

	http_write_response(&head, c->close, &c->to_guest);
	if (c->secrets[0])
		http_mask_bytes(c->mask.secrets,
				c->to_guest.p + c->to_guest.off + at,
				c->to_guest.len - at);
	hbuf_take(&c->from_world, n);
	c->resp_seen = 0;
	c->answered = true;
}

static bool interim(struct gw *gw, struct hconn *c, size_t n)
{
	if (head.status == 101) {
		if (!c->upgrade || !head.websocket || c->req != REQ_DONE)
			return bad(gw, c, "an upgrade that was not asked for");
		c->status = 101;
		pass_head(c, n);
		tell_done(gw, c);
		c->tunnel = true;
		return true;
	}
	if (c->interim++ == HTTP_INTERIM_MAX)
		return bad(gw, c, "too many interim responses");
	pass_head(c, n);
	return true;
}

static bool head_step(struct gw *gw, struct hconn *c)
{
	const char *p = hbuf_data(&c->from_world), *why;
	bool to_head = !strcmp(c->method, "HEAD");
	ssize_t n;

	if (!c->from_world.len)
		return false;
	n = http_head_find(p, c->from_world.len, &c->resp_seen);
	if (n < 0)
		return bad(gw, c, "a response that is not well formed");
	if (n == 0 && c->from_world.len >= HTTP_BUF)
		return bad(gw, c, "a response's head that is too long");
	if (n == 0 && !c->out.eof)
		return false;
	if (n == 0)
		return bad(gw, c, "a response that ends in its head");
	why = http_parse_response(p, (size_t)n, to_head, &head);
	if (!why)
		why = http_check_response(p, (size_t)n, to_head, &head);
	if (!why && c->old && head.framing == HTTP_BODY_CHUNKED)
		why = "a chunked response to HTTP/1.0";
	if (why)
		return bad(gw, c, why);
	if (head.status < 200)
		return interim(gw, c, (size_t)n);
	c->status = head.status;
	c->close |= head.close;
	/* An answer before the end of the request: no other can follow. */
	c->close |= c->req != REQ_DONE;
	pass_head(c, (size_t)n);
	hbody_init(&c->down, &head);
	if (c->down.done)
		finish(gw, c);
	else
		c->resp = RESP_BODY;
	return true;
}

static bool body_step(struct gw *gw, struct hconn *c)
{
	int ret = hbody_step(&c->down, &c->from_world, &c->to_guest, mask_of(c),
			     c->out.eof, &c->body_received);

	if (ret < 0 || (c->out.eof && !c->down.done && !ret &&
			c->to_guest.len < HTTP_BUF)) {
		hconn_tell_refused(gw, c,
				   ret < 0 ? "a malformed chunked response"
					   : "a response that ends too early");
		tell_done(gw, c);
		c->torn = c->closing = true;
		return true;
	}
	if (c->down.done && c->torn) { /* its end may be missing */
		tell_done(gw, c);
		c->closing = true;
	} else if (c->down.done) {
		finish(gw, c);
	}
	return ret || c->down.done;
}

bool hresp_step(struct gw *gw, struct hconn *c)
{
	switch (c->resp) {
	case RESP_HEAD:
		if (!head_step(gw, c))
			return false;
		/* what has come of the body goes with the head */
		if (!c->dead && !c->closing && c->resp == RESP_BODY)
			body_step(gw, c);
		return true;
	case RESP_BODY:
		return body_step(gw, c);
	case RESP_NONE:
		break;
	}
	/* Nobody has asked: the server is about to close, or worse. */
	if (c->from_world.len && !c->closing)
		c->closing = true;
	return c->closing;
}
