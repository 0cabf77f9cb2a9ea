/*
 * strbuf.h - a bounded, growing byte buffer for text that we make.
 *
 * Appending past the bound marks the buffer truncated and drops the rest, so
 * formatting never fails in the middle. Always NUL-terminated.
 */
#ifndef CLOCHE_STRBUF_H
#define CLOCHE_STRBUF_H

#include "base.h"

struct strbuf {
	char *data;
	size_t len, cap, max;
	bool truncated;
};

#define STRBUF_MAX_DEFAULT (16u << 20)

void strbuf_init(struct strbuf *b, size_t max);
void strbuf_fini(struct strbuf *b);
void strbuf_reset(struct strbuf *b);
/* strbuf_add where the room there is does not do, or a bound is near. */
void strbuf_add_slow(struct strbuf *b, const void *data, size_t len);
void strbuf_puts(struct strbuf *b, const char *s);
void strbuf_printf(struct strbuf *b, const char *fmt, ...) PRINTF(2, 3);
/* As "%lld", "%llu" and "0x%llx", on the way of every record. */
void strbuf_dec(struct strbuf *b, int64_t v);
void strbuf_udec(struct strbuf *b, uint64_t v);
void strbuf_hex(struct strbuf *b, uint64_t v);
/* Appends what stands at `at` in the buffer itself. */
void strbuf_again(struct strbuf *b, size_t at, size_t len);
/* Appends len bytes as a JSON string with its quotes; bytes that are not
 * UTF-8, and control characters, are escaped (\u00XX). */
void strbuf_json_string(struct strbuf *b, const char *s, size_t len);
/* Appends text a person will see: control and non-UTF-8 bytes as \xNN. */
void strbuf_visible(struct strbuf *b, const char *s, size_t len);

static inline void strbuf_add(struct strbuf *b, const void *data, size_t len)
{
	if (len > b->max - b->len || len >= b->cap - b->len) {
		strbuf_add_slow(b, data, len);
		return;
	}
	memcpy(b->data + b->len, data, len);
	b->len += len;
	b->data[b->len] = '\0';
}

static inline void strbuf_putc(struct strbuf *b, char c)
{
	strbuf_add(b, &c, 1);
}

/* A literal: its length is known when this is compiled. */
#define strbuf_lit(b, s) strbuf_add((b), "" s, sizeof(s) - 1)

#endif
