/*
 * gateway_http_body.c - bodies of both ways, framed anew: chunks are those of
 * what was read, without extensions; trailers pass but for those that would
 * mean something for the message as a whole.
 */
#include "gateway_http.h"

void hbody_init(struct http_body *b, const struct http_head *h)
{
	memset(b, 0, sizeof(*b));
	b->framing = h->framing;
	b->left = h->length;
	b->done = h->framing == HTTP_BODY_NONE;
}

static void put_chunk(struct hbuf *to, const char *data, size_t len)
{
	if (!len)
		return;
	hbuf_printf(to, "%zx\r\n", len);
	hbuf_add(to, data, len);
	hbuf_puts(to, "\r\n");
}

static void put_data(struct http_body *b, struct hbuf *to,
		     struct http_mask *mask, struct http_str data, bool last)
{
	struct hbuf masked = {0};

	if (mask && b->framing != HTTP_BODY_CHUNKED) {
		http_mask_feed(mask, data.p, data.len, last, to);
		return;
	}
	if (mask) {
		http_mask_feed(mask, data.p, data.len, last, &masked);
		data = (struct http_str){hbuf_data(&masked), masked.len};
	}
	if (b->framing == HTTP_BODY_CHUNKED)
		put_chunk(to, data.p, data.len);
	else
		hbuf_add(to, data.p, data.len);
	hbuf_fini(&masked);
}

static void last_chunk(struct http_body *b, struct hbuf *to,
		       struct http_mask *mask)
{
	if (b->trailers)
		return;
	b->trailers = true;
	put_data(b, to, mask, (struct http_str){NULL, 0}, true);
	hbuf_puts(to, "0\r\n");
}

static bool trailer_passes(const struct http_header *x)
{
	static const char *const not [] = {
		"host",		 "authorization",    "cookie",
		"set-cookie",	 "expect",	     "content-type",
		"content-range", "content-encoding", "location"};
	static const struct http_head none;

	for (size_t i = 0; i < ARRAY_SIZE(not ); i++)
		if (http_str_is(x->name, not [i]))
			return false;
	return !http_header_is_hop(&none, x->name);
}

static void put_trailer(struct hbuf *to, const struct http_mask *mask,
			const struct http_header *x)
{
	size_t before = to->len;

	if (!trailer_passes(x))
		return;
	hbuf_add(to, x->name.p, x->name.len);
	hbuf_puts(to, ": ");
	hbuf_add(to, x->value.p, x->value.len);
	hbuf_puts(to, "\r\n");
	if (mask)
		http_mask_bytes(mask->secrets, to->p + to->off + before,
				to->len - before);
}

static int chunked_step(struct http_body *b, struct hbuf *from, struct hbuf *to,
			struct http_mask *mask, uint64_t *count)
{
	struct http_header trailer;
	struct http_str data;
	size_t used;

	switch (http_chunk_step(&b->chunks, hbuf_data(from), from->len, &used,
				&data, &trailer)) {
	case HTTP_MORE:
		return 0;
	case HTTP_BAD:
		return -EPROTO;
	case HTTP_SKIP:
		break;
	case HTTP_DATA:
		*count += data.len;
		put_data(b, to, mask, data, false);
		break;
	case HTTP_TRAILER:
		last_chunk(b, to, mask);
		put_trailer(to, mask, &trailer);
		break;
	case HTTP_END:
		last_chunk(b, to, mask);
		hbuf_puts(to, "\r\n");
		b->done = true;
		break;
	}
	hbuf_take(from, used);
	return 1;
}

static int plain_step(struct http_body *b, struct hbuf *from, struct hbuf *to,
		      struct http_mask *mask, bool eof, uint64_t *count)
{
	bool fixed = b->framing == HTTP_BODY_LENGTH;
	size_t n = from->len;

	if (fixed && n > b->left)
		n = (size_t)b->left;
	b->done = fixed ? n == b->left : eof && n == from->len;
	if (!n && !b->done)
		return 0;
	put_data(b, to, mask, (struct http_str){hbuf_data(from), n}, b->done);
	hbuf_take(from, n);
	*count += n;
	if (fixed)
		b->left -= n;
	return 1;
}

int hbody_step(struct http_body *b, struct hbuf *from, struct hbuf *to,
	       struct http_mask *mask, bool eof, uint64_t *count)
{
	int moved = 0, ret = 1;

	while (!b->done && to->len < HTTP_BUF && ret == 1) {
		ret = b->framing == HTTP_BODY_CHUNKED
			      ? chunked_step(b, from, to, mask, count)
			      : plain_step(b, from, to, mask, eof, count);
		if (ret < 0)
			return ret;
		moved |= ret;
	}
	return moved;
}
