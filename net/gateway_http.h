/*
 * gateway_http.h - the stage of a connection whose requests are looked at:
 * shared by gateway_http.c (its life), gateway_http_req.c (from the guest to
 * the world) and gateway_http_resp.c (back).
 *
 * LAWS
 * 1. A head is read whole, judged, recorded, and written anew; nothing of a
 *    request leaves before its record is out. (tests/escape/gateway_http.sh)
 * 2. One request at a time: a second one before the answer to the first ends
 *    the connection.
 * 3. A secret is written only into a request of a host that proved its name by
 *    TLS, and nowhere else.
 */
#ifndef CLOCHE_NET_GATEWAY_HTTP_H
#define CLOCHE_NET_GATEWAY_HTTP_H

#include "gateway_priv.h"
#include "httpmsg.h"
#include "httpwrite.h"
#include "tls.h"

enum {
	HTTP_CONNS_MAX = 1024, /* each may hold some hundred kilobytes */
	HTTP_BUF = 65536,      /* read at most, and held at most, of each way */
	HTTP_ASKS_MAX = 64,    /* requests whose record is awaited */
	HTTP_INTERIM_MAX = 16, /* 1xx responses to one request */
	HTTP_HELLO_MS = 30000, /* for handshakes */
	HTTP_LINGER_MS = 2000, /* after the last word */
};

enum http_req { REQ_HEAD, REQ_QUEUED, REQ_ASKED, REQ_BODY, REQ_DONE };
enum http_resp { RESP_NONE, RESP_HEAD, RESP_BODY };

struct http_body {
	enum http_framing framing;
	uint64_t left; /* BODY_LENGTH */
	struct http_chunks chunks;
	bool trailers; /* the last chunk has been written */
	bool done;
};

struct hconn {
	struct list link, busy, ask;
	bool is_busy, throttled, dead;
	struct source inside, outside;
	struct tls_side in, out;
	struct conn_info info;
	char host[NETHOST_SIZE]; /* of TLS: who it is; of a request: asked for
				  */
	bool tls;
	uint64_t start_ms, used_ms, since_ms;
	struct hbuf from_guest, to_world, from_world, to_guest;
	const char *broken;    /* why the world cannot be talked to, or NULL */
	bool tunnel;	       /* bytes pass as they are */
	bool closing, lingers; /* to_guest is the last word */
	bool torn; /* the world ended in the middle: so does the guest's */
	uint64_t sent, received;

	enum http_req req;
	enum http_resp resp;
	size_t seen, head_len; /* of from_guest */
	size_t resp_seen;
	struct http_body up, down;
	uint64_t id; /* of the record */
	char method[HTTP_METHOD_SIZE];
	char secrets[256];
	bool close, upgrade, old; /* of the request; old: HTTP/1.0 */
	bool answered; /* something of the answer has gone to the guest */
	unsigned interim;
	unsigned status;
	uint64_t asked_ms, body_sent, body_received;
	struct http_mask mask;
};

/* ---- gateway_http.c ---- */
void hconn_end(struct gw *gw, struct hconn *c, bool reset);
/* The guest gets an answer of ours, a record is made, and that is the end. */
void hconn_refuse(struct gw *gw, struct hconn *c, unsigned status,
		  const char *why, const char *hint);
/* It has work in the next round. */
void hconn_wake(struct gw *gw, struct hconn *c);
/* A record without an answer. */
void hconn_tell_refused(struct gw *gw, struct hconn *c, const char *why);
void hconn_message(const struct hconn *c, enum httpmsg_kind kind,
		   struct httpmsg *m);
void hconn_tell(struct gw *gw, const struct httpmsg *m);

/* ---- gateway_http_body.c ---- */
void hbody_init(struct http_body *b, const struct http_head *h);
/* Moves some of a body, framed anew; mask may be NULL; eof: no more comes. 1:
 * something moved; 0; -EPROTO. */
int MUST_CHECK hbody_step(struct http_body *b, struct hbuf *from,
			  struct hbuf *to, struct http_mask *mask, bool eof,
			  uint64_t *count);

/* ---- one step of each way: did something move? ---- */
bool hreq_step(struct gw *gw, struct hconn *c);
bool hresp_step(struct gw *gw, struct hconn *c);
/* The record is out. */
void hreq_go(struct gw *gw, struct hconn *c);
/* Requests that wait for their turn to be asked about. */
void hreq_next(struct gw *gw);

#endif
