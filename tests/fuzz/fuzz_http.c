/*
 * fuzz_http.c - heads, targets, chunks and what is written of them. Where a
 * head is taken, a second reader agrees; what is written of it is taken again
 * and means the same; and a body cut anywhere is the same body.
 */
#include "../../net/httpcheck.h"
#include "../../net/httpwrite.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct http_head a, b;
static struct http_target t, u;

/* Written for the world, read again. */
static void again(void)
{
	static struct http_policy none;
	struct http_place to = {&none, "x.test", 443, true};
	struct hbuf out = {0};
	size_t seen = 0;
	ssize_t n;

	http_write_request(&a, &t, &to, &out);
	n = http_head_find(hbuf_data(&out), out.len, &seen);
	BUG_ON(n != (ssize_t)out.len);
	BUG_ON(http_parse_request(hbuf_data(&out), (size_t)n, &b));
	BUG_ON(http_check_request(hbuf_data(&out), (size_t)n, &b));
	BUG_ON(a.framing != b.framing || a.length != b.length);
	BUG_ON(!http_str_is(b.host, "x.test") || a.method.len != b.method.len);
	BUG_ON(http_target_parse(b.target, &u));
	BUG_ON(strcmp(t.path, u.path) || t.query.len != u.query.len);
	hbuf_fini(&out);
}

static void response(const char *p, size_t n, bool to_head)
{
	struct hbuf out = {0};
	size_t seen = 0;
	ssize_t m;

	if (http_parse_response(p, n, to_head, &a) ||
	    http_check_response(p, n, to_head, &a))
		return;
	http_write_response(&a, false, &out);
	m = http_head_find(hbuf_data(&out), out.len, &seen);
	BUG_ON(m != (ssize_t)out.len);
	BUG_ON(http_parse_response(hbuf_data(&out), (size_t)m, to_head, &b));
	BUG_ON(a.status != b.status || a.framing != b.framing);
	/* What can have no body (1xx, 204) is written without its length. */
	BUG_ON(a.framing == HTTP_BODY_LENGTH && a.length != b.length);
	hbuf_fini(&out);
}

/* The body's bytes; false if it is refused, or does not end. */
static bool body(const char *p, size_t len, size_t piece, struct hbuf *out)
{
	struct http_chunks c = {0};
	struct http_header trailer;
	struct http_str d;
	size_t used, have = piece;

	for (;;) {
		if (have > len)
			have = len;
		switch (http_chunk_step(&c, p, have, &used, &d, &trailer)) {
		case HTTP_BAD:
			return false;
		case HTTP_MORE:
			if (have == len)
				return false;
			have += piece;
			continue;
		case HTTP_DATA:
			hbuf_add(out, d.p, d.len);
			break;
		case HTTP_END:
			return true;
		default:
			break;
		}
		p += used;
		len -= used;
		have -= used;
		if (!have)
			have = piece;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *p = (const char *)data;
	struct hbuf x = {0}, y = {0};
	size_t seen = 0;
	ssize_t n;
	bool whole;

	if (httpcheck_load())
		abort();
	n = http_head_find(p, size, &seen);
	if (n > 0 && !http_parse_request(p, (size_t)n, &a) &&
	    !http_check_request(p, (size_t)n, &a) &&
	    !http_target_parse(a.target, &t)) {
		BUG_ON(t.path[0] != '/');
		http_path_match("/a/**/b*/*", t.path);
		again();
	}
	if (n > 0) {
		response(p, (size_t)n, false);
		response(p, (size_t)n, true);
	}
	whole = body(p, size, size ? size : 1, &x);
	BUG_ON(whole != body(p, size, 1, &y) && size < HTTP_LINE_MAX);
	BUG_ON(whole &&
	       (x.len != y.len ||
		(x.len && memcmp(hbuf_data(&x), hbuf_data(&y), x.len))));
	hbuf_fini(&x);
	hbuf_fini(&y);
	return 0;
}
