/*
 * hbuf.h - bytes on their way through the gateway's HTTP stage: a growing
 * queue. One that has held a secret is wiped before its memory is given back.
 */
#ifndef CLOCHE_NET_HBUF_H
#define CLOCHE_NET_HBUF_H

#include "../sentry/base/base.h"

struct hbuf {
	char *p;
	size_t off, len, cap; /* len from off on */
	bool secret;	      /* wipe it */
};

/* Room for n more bytes at the end; at least that. */
char *hbuf_room(struct hbuf *b, size_t n);
void hbuf_add(struct hbuf *b, const void *data, size_t n);
void hbuf_puts(struct hbuf *b, const char *s);
void hbuf_printf(struct hbuf *b, const char *fmt, ...) PRINTF(2, 3);
void hbuf_take(struct hbuf *b, size_t n); /* from the front */
void hbuf_idle(struct hbuf *b);		  /* frees what is empty */
void hbuf_fini(struct hbuf *b);

static inline const char *hbuf_data(const struct hbuf *b)
{
	return b->p + b->off;
}

#endif
