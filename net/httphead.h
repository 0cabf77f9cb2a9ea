/*
 * httphead.h - heads of HTTP/1 messages and chunked bodies, read strictly.
 *
 * What two readers could take for two different things is refused, not
 * guessed: bare CR or LF, NUL, folded lines, a space before the colon, two
 * lengths, a length beside a transfer coding, a coding other than chunked,
 * HTTP/0.9. Both ends are hostile. What is let through is written anew by us
 * (net/gateway_http*.c), so the other end sees what was understood here.
 *
 * Pure functions on bytes; a head points into the caller's buffer.
 */
#ifndef CLOCHE_NET_HTTPHEAD_H
#define CLOCHE_NET_HTTPHEAD_H

#include "../sentry/base/base.h"

enum {
	HTTP_HEAD_MAX = 65536,	/* bytes of a head */
	HTTP_HEADERS_MAX = 200, /* lines of it */
	HTTP_TARGET_MAX = 16384,
	HTTP_METHOD_SIZE = 32,
	HTTP_LINE_MAX = 8192, /* of a chunk's size, or a trailer */
};

struct http_str {
	const char *p;
	size_t len;
};

struct http_header {
	struct http_str name, value;
};

enum http_framing {
	HTTP_BODY_NONE,
	HTTP_BODY_LENGTH,
	HTTP_BODY_CHUNKED,
	HTTP_BODY_CLOSE, /* a response that lasts until the connection ends */
};

struct http_head {
	struct http_str method, target; /* of a request */
	unsigned status;		/* of a response */
	struct http_str reason;
	unsigned minor; /* HTTP/1.minor */
	struct http_header h[HTTP_HEADERS_MAX];
	size_t count;
	struct http_str host; /* the one Host */
	enum http_framing framing;
	uint64_t length; /* BODY_LENGTH */
	bool has_length; /* a length was said */
	bool close;	 /* no further message on this connection */
	bool upgrade;	 /* Connection: upgrade */
	bool websocket;	 /* and Upgrade: websocket */
	bool expect;	 /* Expect: 100-continue */
};

/* The bytes of the head at the start of buf, its empty line included; 0: more
 * must come; -EINVAL: no head can begin like this. *seen keeps what was
 * looked at, 0 at first. */
ssize_t http_head_find(const char *buf, size_t len, size_t *seen);

/* NULL, or why it is refused. len as http_head_find says. */
const char *http_parse_request(const char *buf, size_t len,
			       struct http_head *out);
/* to_head: it answers a HEAD. */
const char *http_parse_response(const char *buf, size_t len, bool to_head,
				struct http_head *out);

bool http_str_is(struct http_str s, const char *word); /* without case */
/* Without case, and "_" as "-": many servers take X_Key for X-Key. */
bool http_str_alike(struct http_str s, const char *name);
/* NULL if there is none. */
const struct http_header *http_header_find(const struct http_head *h,
					   const char *name);
/* Is it about one connection, or about framing, and so not to be passed on? */
bool http_header_is_hop(const struct http_head *h, struct http_str name);
/* One header line without its CRLF: NULL, or why not. */
const char *http_parse_line(const char *line, size_t len,
			    struct http_header *out);

/* ---- chunked bodies ---- */
struct http_chunks {
	enum { CHUNK_SIZE, CHUNK_DATA, CHUNK_END, CHUNK_TRAILER } state;
	uint64_t left;
	unsigned trailers;
};

enum http_event {
	HTTP_MORE,    /* nothing can be told from these bytes yet */
	HTTP_SKIP,    /* something was read that is passed on to nobody */
	HTTP_DATA,    /* data is set */
	HTTP_TRAILER, /* trailer is set */
	HTTP_END,
	HTTP_BAD,
};

/* One step, from a zeroed struct on: *used bytes of p are done with. */
enum http_event http_chunk_step(struct http_chunks *c, const char *p,
				size_t len, size_t *used, struct http_str *data,
				struct http_header *trailer);

#endif
