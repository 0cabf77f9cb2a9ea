/*
 * hbuf.c - see hbuf.h. Sizes are bounded by who fills them.
 */
#include "hbuf.h"

#include <stdio.h>

static void forget(struct hbuf *b)
{
	if (b->p && b->secret)
		explicit_bzero(b->p, b->cap);
	free(b->p);
}

char *hbuf_room(struct hbuf *b, size_t n)
{
	char *more;
	size_t cap;

	if (b->p && b->off + b->len + n <= b->cap)
		return b->p + b->off + b->len;
	cap = b->len + n;
	if (cap < 2 * b->len)
		cap = 2 * b->len;
	more = xmalloc(cap);
	if (b->len)
		memcpy(more, b->p + b->off, b->len);
	forget(b);
	b->p = more;
	b->off = 0;
	b->cap = cap;
	return b->p + b->len;
}

void hbuf_add(struct hbuf *b, const void *data, size_t n)
{
	if (!n)
		return;
	memcpy(hbuf_room(b, n), data, n);
	b->len += n;
}

void hbuf_puts(struct hbuf *b, const char *s)
{
	hbuf_add(b, s, strlen(s));
}

void hbuf_printf(struct hbuf *b, const char *fmt, ...)
{
	char line[1024];
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	BUG_ON(n < 0 || n >= (int)sizeof(line));
	hbuf_add(b, line, (size_t)n);
}

void hbuf_take(struct hbuf *b, size_t n)
{
	BUG_ON(n > b->len);
	b->off += n;
	b->len -= n;
	if (!b->len)
		b->off = 0;
	if (!b->len && b->secret)
		hbuf_fini(b);
}

void hbuf_idle(struct hbuf *b)
{
	if (b->p && !b->len)
		hbuf_fini(b);
}

void hbuf_fini(struct hbuf *b)
{
	forget(b);
	memset(b, 0, sizeof(*b));
}
