/*
 * httphead.c - see httphead.h.
 */
#include "httphead.h"

#include <strings.h>

/* RFC 9110 5.6.2 */
static bool is_token(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
	       (c >= '0' && c <= '9') || (c && strchr("!#$%&'*+-.^_`|~", c));
}

static bool all_token(const char *p, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (!is_token(p[i]))
			return false;
	return len > 0;
}

static bool is_text(char c)
{
	unsigned char u = (unsigned char)c;

	return u == '\t' || (u >= 0x20 && u != 0x7f);
}

bool http_str_is(struct http_str s, const char *word)
{
	return s.len == strlen(word) && !strncasecmp(s.p, word, s.len);
}

bool http_str_alike(struct http_str s, const char *name)
{
	if (s.len != strlen(name))
		return false;
	for (size_t i = 0; i < s.len; i++) {
		char x = s.p[i] == '_' ? '-' : s.p[i];
		char y = name[i] == '_' ? '-' : name[i];

		if (strncasecmp(&x, &y, 1))
			return false;
	}
	return true;
}

ssize_t http_head_find(const char *buf, size_t len, size_t *seen)
{
	for (size_t i = *seen; i < len; i++) {
		if (!buf[i] || i >= HTTP_HEAD_MAX)
			return -EINVAL;
		if (buf[i] == '\n' && (!i || buf[i - 1] != '\r'))
			return -EINVAL;
		if (i && buf[i - 1] == '\r' && buf[i] != '\n')
			return -EINVAL;
		if (buf[i] == '\n' && i >= 3 && buf[i - 2] == '\n')
			return (ssize_t)i + 1;
		if (buf[i] == '\n' && i == 1)
			return -EINVAL; /* begins with an empty line */
		*seen = i + 1;
	}
	return 0;
}

static struct http_str trimmed(const char *p, size_t len)
{
	while (len && (*p == ' ' || *p == '\t'))
		p++, len--;
	while (len && (p[len - 1] == ' ' || p[len - 1] == '\t'))
		len--;
	return (struct http_str){p, len};
}

const char *http_parse_line(const char *line, size_t len,
			    struct http_header *out)
{
	const char *colon = memchr(line, ':', len);

	if (!len || line[0] == ' ' || line[0] == '\t')
		return "a folded header line";
	if (!colon)
		return "a header line without a colon";
	out->name = (struct http_str){line, (size_t)(colon - line)};
	if (!all_token(out->name.p, out->name.len))
		return "a header name that is none";
	out->value = trimmed(colon + 1, len - out->name.len - 1);
	for (size_t i = 0; i < out->value.len; i++)
		if (!is_text(out->value.p[i]))
			return "a control byte in a header";
	return NULL;
}

/* The next word of a comma-separated list. */
static bool list_next(struct http_str *list, struct http_str *word)
{
	while (list->len) {
		const char *comma = memchr(list->p, ',', list->len);
		size_t n = comma ? (size_t)(comma - list->p) : list->len;

		*word = trimmed(list->p, n);
		n += comma ? 1 : 0;
		list->p += n;
		list->len -= n;
		if (word->len)
			return true;
	}
	return false;
}

static bool list_has(struct http_str list, const char *word)
{
	struct http_str w;

	while (list_next(&list, &w))
		if (http_str_is(w, word))
			return true;
	return false;
}

const struct http_header *http_header_find(const struct http_head *h,
					   const char *name)
{
	for (size_t i = 0; i < h->count; i++)
		if (http_str_is(h->h[i].name, name))
			return &h->h[i];
	return NULL;
}

bool http_header_is_hop(const struct http_head *h, struct http_str name)
{
	static const char *const hop[] = {
		"connection",	      "keep-alive",
		"proxy-connection",   "te",
		"transfer-encoding",  "upgrade",
		"http2-settings",     "content-length",
		"proxy-authenticate", "proxy-authorization"};
	/* what a Connection header may not take away from the other end */
	static const char *const kept[] = {"host", "authorization", "cookie",
					   "expect", "trailer"};
	struct http_str w;

	for (size_t i = 0; i < ARRAY_SIZE(hop); i++)
		if (http_str_is(name, hop[i]))
			return true;
	for (size_t i = 0; i < ARRAY_SIZE(kept); i++)
		if (http_str_is(name, kept[i]))
			return false;
	for (size_t i = 0; i < h->count; i++) {
		struct http_str list = h->h[i].value;

		if (!http_str_is(h->h[i].name, "connection"))
			continue;
		while (list_next(&list, &w))
			if (w.len == name.len &&
			    !strncasecmp(w.p, name.p, w.len))
				return true;
	}
	return false;
}

/* ---- what headers mean ---- */

static const char *read_length(struct http_str v, uint64_t *out)
{
	uint64_t n = 0;

	if (!v.len || v.len > 18)
		return "a Content-Length that is none";
	for (size_t i = 0; i < v.len; i++) {
		if (v.p[i] < '0' || v.p[i] > '9')
			return "a Content-Length that is none";
		n = n * 10 + (uint64_t)(v.p[i] - '0');
	}
	*out = n;
	return NULL;
}

/* Names that some servers take for the framing headers. */
static bool is_disguised(struct http_str name)
{
	static const char *const names[] = {"content-length",
					    "transfer-encoding", "host"};

	for (size_t k = 0; k < ARRAY_SIZE(names); k++) {
		size_t i = 0;

		if (name.len != strlen(names[k]) ||
		    !memchr(name.p, '_', name.len))
			continue;
		while (i < name.len &&
		       ((name.p[i] == '_' ? '-' : name.p[i] | 0x20) ==
			names[k][i]))
			i++;
		if (i == name.len)
			return true;
	}
	return false;
}

struct meaning {
	bool request, chunked, host;
	unsigned upgrades;
	struct http_str upgrade;
};

static const char *mean_framing(struct http_head *h, struct meaning *m,
				const struct http_header *x)
{
	uint64_t n;
	const char *why;

	if (http_str_is(x->name, "content-length")) {
		why = read_length(x->value, &n);
		if (why)
			return why;
		/* Servers repeat themselves; nothing of ours does. */
		if (h->has_length && (m->request || n != h->length))
			return "two Content-Lengths";
		h->has_length = true;
		h->length = n;
	} else if (http_str_is(x->name, "transfer-encoding")) {
		if (m->chunked || !http_str_is(x->value, "chunked"))
			return "a transfer coding other than chunked";
		if (!h->minor)
			return "a transfer coding in HTTP/1.0";
		m->chunked = true;
	} else if (is_disguised(x->name)) {
		return "a disguised framing header";
	}
	return NULL;
}

static const char *mean(struct http_head *h, struct meaning *m,
			const struct http_header *x)
{
	if (http_str_is(x->name, "connection")) {
		h->close |= list_has(x->value, "close");
		h->upgrade |= list_has(x->value, "upgrade");
		if (!h->minor && list_has(x->value, "keep-alive"))
			h->close = false;
	} else if (http_str_is(x->name, "upgrade")) {
		m->upgrade = x->value;
		m->upgrades++;
	} else if (http_str_is(x->name, "host")) {
		if (m->host)
			return "two Host headers";
		m->host = true;
		h->host = x->value;
	} else if (m->request && http_str_is(x->name, "expect")) {
		if (!http_str_is(x->value, "100-continue"))
			return "an expectation other than 100-continue";
		h->expect = h->minor > 0;
	}
	return mean_framing(h, m, x);
}

static const char *read_headers(const char *p, size_t len, struct http_head *h,
				struct meaning *m)
{
	h->close = !h->minor;
	while (len > 2) {
		const char *end = memchr(p, '\r', len), *why;
		size_t n = end ? (size_t)(end - p) : len;

		if (!end || n + 2 > len || p[n + 1] != '\n')
			return "a line that does not end";
		if (h->count == HTTP_HEADERS_MAX)
			return "too many headers";
		why = http_parse_line(p, n, &h->h[h->count]);
		if (!why)
			why = mean(h, m, &h->h[h->count]);
		if (why)
			return why;
		h->count++;
		p += n + 2;
		len -= n + 2;
	}
	if (m->chunked && h->has_length)
		return "a Content-Length beside a transfer coding";
	h->websocket = h->upgrade && m->upgrades == 1 &&
		       http_str_is(m->upgrade, "websocket");
	return NULL;
}

/* "HTTP/1.0" or "HTTP/1.1" */
static bool read_version(const char *p, size_t len, unsigned *minor)
{
	if (len != 8 || memcmp(p, "HTTP/1.", 7) || (p[7] != '0' && p[7] != '1'))
		return false;
	*minor = (unsigned)(p[7] - '0');
	return true;
}

static const char *read_request_line(const char *p, size_t len,
				     struct http_head *h)
{
	const char *a = memchr(p, ' ', len), *b;

	if (!a)
		return "no request line";
	h->method = (struct http_str){p, (size_t)(a - p)};
	if (!h->method.len || h->method.len >= HTTP_METHOD_SIZE)
		return "no method";
	for (size_t i = 0; i < h->method.len; i++)
		if (p[i] != '-' && (p[i] < 'A' || p[i] > 'Z'))
			return "a method that is none";
	a++;
	b = memchr(a, ' ', len - (size_t)(a - p));
	if (!b)
		return "no HTTP version";
	h->target = (struct http_str){a, (size_t)(b - a)};
	if (!h->target.len || h->target.len > HTTP_TARGET_MAX)
		return "no request target, or one that is too long";
	for (size_t i = 0; i < h->target.len; i++)
		if (a[i] <= ' ' || a[i] >= 0x7f || a[i] == '#')
			return "a byte that no request target has";
	if (!read_version(b + 1, len - (size_t)(b + 1 - p), &h->minor))
		return "an HTTP version other than 1.0 and 1.1";
	return NULL;
}

const char *http_parse_request(const char *buf, size_t len,
			       struct http_head *out)
{
	struct meaning m = {.request = true};
	const char *end = memchr(buf, '\r', len), *why;
	size_t line = end ? (size_t)(end - buf) : len;

	memset(out, 0, offsetof(struct http_head, h));
	memset(&out->count, 0,
	       sizeof(*out) - offsetof(struct http_head, count));
	if (!end || line + 4 > len)
		return "no request line";
	why = read_request_line(buf, line, out);
	if (!why)
		why = read_headers(buf + line + 2, len - line - 2, out, &m);
	if (why)
		return why;
	if (!m.host)
		return "no Host header";
	if (m.chunked)
		out->framing = HTTP_BODY_CHUNKED;
	else if (out->has_length && out->length)
		out->framing = HTTP_BODY_LENGTH;
	return NULL;
}

static const char *read_status_line(const char *p, size_t len,
				    struct http_head *h)
{
	if (len < 12 || !read_version(p, 8, &h->minor) || p[8] != ' ')
		return "no HTTP/1 status line";
	for (int i = 9; i < 12; i++) {
		if (p[i] < '0' || p[i] > '9')
			return "no HTTP/1 status line";
		h->status = h->status * 10 + (unsigned)(p[i] - '0');
	}
	if (h->status < 100 || (len > 12 && p[12] != ' '))
		return "no HTTP/1 status line";
	h->reason = trimmed(p + 12, len - 12);
	for (size_t i = 0; i < h->reason.len; i++)
		if (!is_text(h->reason.p[i]))
			return "a control byte in a status line";
	return NULL;
}

const char *http_parse_response(const char *buf, size_t len, bool to_head,
				struct http_head *out)
{
	struct meaning m = {0};
	const char *end = memchr(buf, '\r', len), *why;
	size_t line = end ? (size_t)(end - buf) : len;

	memset(out, 0, offsetof(struct http_head, h));
	memset(&out->count, 0,
	       sizeof(*out) - offsetof(struct http_head, count));
	if (!end || line + 4 > len)
		return "no status line";
	why = read_status_line(buf, line, out);
	if (!why)
		why = read_headers(buf + line + 2, len - line - 2, out, &m);
	if (why)
		return why;
	if (to_head || out->status < 200 || out->status == 204 ||
	    out->status == 304)
		out->framing = HTTP_BODY_NONE;
	else if (m.chunked)
		out->framing = HTTP_BODY_CHUNKED;
	else if (out->has_length)
		out->framing = out->length ? HTTP_BODY_LENGTH : HTTP_BODY_NONE;
	else
		out->framing = HTTP_BODY_CLOSE;
	if (out->framing == HTTP_BODY_CLOSE)
		out->close = true;
	return NULL;
}

/* ---- chunked bodies ---- */

/* A line at p, without its CRLF: 1; 0: more must come; -1: none. */
static int line_at(const char *p, size_t len, struct http_str *line)
{
	const char *end = memchr(p, '\n', len);

	if (!end)
		return len > HTTP_LINE_MAX ? -1 : 0;
	line->p = p;
	line->len = (size_t)(end - p);
	if (!line->len || p[--line->len] != '\r' || line->len > HTTP_LINE_MAX ||
	    memchr(p, '\r', line->len))
		return -1;
	return 1;
}

static int hex(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* Extensions say nothing to us and are not passed on. */
static bool read_size(struct http_str line, uint64_t *out)
{
	uint64_t n = 0;
	size_t i = 0;

	for (; i < line.len && hex(line.p[i]) >= 0; i++) {
		if (i == 15)
			return false;
		n = n << 4 | (uint64_t)hex(line.p[i]);
	}
	if (!i || (i < line.len && line.p[i] != ';'))
		return false;
	for (; i < line.len; i++)
		if (!is_text(line.p[i]))
			return false;
	*out = n;
	return true;
}

static enum http_event step_line(struct http_chunks *c, const char *p,
				 size_t len, size_t *used,
				 struct http_header *trailer)
{
	struct http_str line;
	int got = line_at(p, len, &line);

	if (got <= 0)
		return got ? HTTP_BAD : HTTP_MORE;
	*used = line.len + 2;
	if (c->state == CHUNK_SIZE) {
		if (!read_size(line, &c->left))
			return HTTP_BAD;
		c->state = c->left ? CHUNK_DATA : CHUNK_TRAILER;
		return HTTP_SKIP;
	}
	if (!line.len)
		return HTTP_END;
	if (c->trailers++ == HTTP_HEADERS_MAX ||
	    http_parse_line(line.p, line.len, trailer))
		return HTTP_BAD;
	return HTTP_TRAILER;
}

enum http_event http_chunk_step(struct http_chunks *c, const char *p,
				size_t len, size_t *used, struct http_str *data,
				struct http_header *trailer)
{
	*used = 0;
	if (c->state == CHUNK_SIZE || c->state == CHUNK_TRAILER)
		return step_line(c, p, len, used, trailer);
	if (c->state == CHUNK_END) {
		if ((len && p[0] != '\r') || (len > 1 && p[1] != '\n'))
			return HTTP_BAD;
		if (len < 2)
			return HTTP_MORE;
		*used = 2;
		c->state = CHUNK_SIZE;
		return HTTP_SKIP;
	}
	if (!len)
		return HTTP_MORE;
	*used = len < c->left ? len : (size_t)c->left;
	*data = (struct http_str){p, *used};
	c->left -= *used;
	if (!c->left)
		c->state = CHUNK_END;
	return HTTP_DATA;
}
