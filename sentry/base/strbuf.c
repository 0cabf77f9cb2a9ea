/*
 * strbuf.c - see strbuf.h.
 */
#include "strbuf.h"

#include <stdio.h>

enum { STRBUF_FIRST = 256 };

void strbuf_init(struct strbuf *b, size_t max)
{
	memset(b, 0, sizeof(*b));
	b->max = max ? max : STRBUF_MAX_DEFAULT;
}

void strbuf_fini(struct strbuf *b)
{
	free(b->data);
	memset(b, 0, sizeof(*b));
}

void strbuf_reset(struct strbuf *b)
{
	b->len = 0;
	b->truncated = false;
	if (b->data)
		b->data[0] = '\0';
}

/* Makes room for up to `want` more bytes; returns how many fit. */
static size_t strbuf_room(struct strbuf *b, size_t want)
{
	size_t cap = b->cap ? b->cap : STRBUF_FIRST;

	if (want > b->max - b->len) {
		b->truncated = true;
		want = b->max - b->len;
	}
	while (cap < b->len + want + 1)
		cap *= 2;
	if (cap != b->cap) {
		b->data = realloc(b->data, cap);
		BUG_ON(!b->data);
		b->cap = cap;
	}
	return want;
}

void strbuf_add_slow(struct strbuf *b, const void *data, size_t len)
{
	len = strbuf_room(b, len);
	memcpy(b->data + b->len, data, len);
	b->len += len;
	b->data[b->len] = '\0';
}

void strbuf_again(struct strbuf *b, size_t at, size_t len)
{
	len = strbuf_room(b, len);
	memcpy(b->data + b->len, b->data + at, len);
	b->len += len;
	b->data[b->len] = '\0';
}

void strbuf_puts(struct strbuf *b, const char *s)
{
	strbuf_add(b, s, strlen(s));
}

void strbuf_printf(struct strbuf *b, const char *fmt, ...)
{
	char small[512];
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(small, sizeof(small), fmt, ap);
	va_end(ap);
	if (n < 0)
		return;
	if ((size_t)n < sizeof(small)) {
		strbuf_add(b, small, (size_t)n);
		return;
	}
	AUTO_FREE char *big = xmalloc((size_t)n + 1);

	va_start(ap, fmt);
	vsnprintf(big, (size_t)n + 1, fmt, ap);
	va_end(ap);
	strbuf_add(b, big, (size_t)n);
}

/* Two digits a division. */
void strbuf_udec(struct strbuf *b, uint64_t v)
{
	static const char pairs[] = "00010203040506070809"
				    "10111213141516171819"
				    "20212223242526272829"
				    "30313233343536373839"
				    "40414243444546474849"
				    "50515253545556575859"
				    "60616263646566676869"
				    "70717273747576777879"
				    "80818283848586878889"
				    "90919293949596979899";
	char text[24], *p = text + sizeof(text);

	for (; v >= 100; v /= 100) {
		p -= 2;
		memcpy(p, pairs + 2 * (v % 100), 2);
	}
	if (v >= 10) {
		p -= 2;
		memcpy(p, pairs + 2 * v, 2);
	} else {
		*--p = (char)('0' + v);
	}
	strbuf_add(b, p, (size_t)(text + sizeof(text) - p));
}

void strbuf_dec(struct strbuf *b, int64_t v)
{
	if (v < 0)
		strbuf_putc(b, '-');
	strbuf_udec(b, v < 0 ? 0 - (uint64_t)v : (uint64_t)v);
}

void strbuf_hex(struct strbuf *b, uint64_t v)
{
	char text[24], *p = text + sizeof(text);

	do {
		*--p = "0123456789abcdef"[v & 15];
		v >>= 4;
	} while (v);
	*--p = 'x';
	*--p = '0';
	strbuf_add(b, p, (size_t)(text + sizeof(text) - p));
}

/* Is there any among sixteen bytes that needs an escape? Without a branch a
 * byte, so that it becomes a few vector instructions. */
static bool plain_block(const unsigned char *s, bool json)
{
	unsigned char bad = 0;

	for (int i = 0; i < 16; i++) {
		unsigned char c = s[i];

		bad |= (unsigned char)(c - 0x20) >= 0x7f - 0x20;
		bad |= json & ((c == '"') | (c == '\\'));
	}
	return !bad;
}

/* How much at s needs no escape: most strings are that from end to end. */
static size_t plain_len(const unsigned char *s, size_t len, bool json)
{
	size_t n = 0;

	while (n + 16 <= len && plain_block(s + n, json))
		n += 16;
	while (n < len && s[n] >= 0x20 && s[n] < 0x7f &&
	       !(json && (s[n] == '"' || s[n] == '\\')))
		n++;
	return n;
}

/* Length of the well-formed UTF-8 sequence at s, 0 if there is none. */
static size_t utf8_len(const unsigned char *s, size_t len)
{
	size_t n = s[0] < 0x80	 ? 1
		   : s[0] < 0xc2 ? 0
		   : s[0] < 0xe0 ? 2
		   : s[0] < 0xf0 ? 3
		   : s[0] < 0xf5 ? 4
				 : 0;

	if (!n || n > len)
		return 0;
	for (size_t i = 1; i < n; i++)
		if ((s[i] & 0xc0) != 0x80)
			return 0;
	if ((s[0] == 0xe0 && s[1] < 0xa0) || (s[0] == 0xed && s[1] > 0x9f) ||
	    (s[0] == 0xf0 && s[1] < 0x90) || (s[0] == 0xf4 && s[1] > 0x8f))
		return 0;
	return n;
}

/* Is it not seen, or does it change the order of what is? A name with such a
 * character would pass for another one: for whom who reads it, not in JSON. */
static bool deceives(const unsigned char *s, size_t n)
{
	unsigned c = n == 2   ? (s[0] & 0x1fu) << 6 | (s[1] & 0x3f)
		     : n == 3 ? (s[0] & 0xfu) << 12 | (s[1] & 0x3fu) << 6 |
					(s[2] & 0x3f)
			      : 0;

	if (n == 4) /* tags and variation selectors */
		return s[0] == 0xf3 && s[1] == 0xa0;
	return c == 0xad || c == 0x34f || c == 0x61c || c == 0x115f ||
	       c == 0x1160 || (c >= 0x180b && c <= 0x180f) ||
	       (c >= 0x200b && c <= 0x200f) || (c >= 0x2028 && c <= 0x202e) ||
	       (c >= 0x2060 && c <= 0x206f) || c == 0x3164 || c == 0xfeff ||
	       c == 0xffa0;
}

static void strbuf_escape(struct strbuf *b, const char *s, size_t len,
			  bool json)
{
	const unsigned char *p = (const unsigned char *)s;

	for (size_t i = 0; i < len;) {
		size_t n = plain_len(p + i, len - i, json);
		bool c1;

		if (n) {
			strbuf_add(b, p + i, n);
			i += n;
			continue;
		}
		n = utf8_len(p + i, len - i);
		c1 = n == 2 && p[i] == 0xc2 && p[i + 1] < 0xa0;
		if (n == 0 || p[i] < 0x20 || p[i] == 0x7f || c1 ||
		    (!json && deceives(p + i, n))) {
			strbuf_printf(b, json ? "\\u%04x" : "\\x%02x", p[i]);
			i++; /* of what is left no byte begins a sequence */
			continue;
		}
		if (json && (p[i] == '"' || p[i] == '\\'))
			strbuf_putc(b, '\\');
		strbuf_add(b, p + i, n);
		i += n;
	}
}

void strbuf_json_string(struct strbuf *b, const char *s, size_t len)
{
	strbuf_putc(b, '"');
	strbuf_escape(b, s, len, true);
	strbuf_putc(b, '"');
}

void strbuf_visible(struct strbuf *b, const char *s, size_t len)
{
	strbuf_escape(b, s, len, false);
}
