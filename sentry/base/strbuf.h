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
void strbuf_add(struct strbuf *b, const void *data, size_t len);
void strbuf_puts(struct strbuf *b, const char *s);
void strbuf_putc(struct strbuf *b, char c);
void strbuf_printf(struct strbuf *b, const char *fmt, ...) PRINTF(2, 3);
/* As "%lld" and "0x%llx", on the way of every record. */
void strbuf_dec(struct strbuf *b, int64_t v);
void strbuf_hex(struct strbuf *b, uint64_t v);
/* Appends len bytes as a JSON string with its quotes; bytes that are not
 * UTF-8, and control characters, are escaped (\u00XX). */
void strbuf_json_string(struct strbuf *b, const char *s, size_t len);
/* Appends text a person will see: control and non-UTF-8 bytes as \xNN. */
void strbuf_visible(struct strbuf *b, const char *s, size_t len);

#endif
