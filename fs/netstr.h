/*
 * netstr.h - text of length-prefixed fields ("5:a/b/c,"), for what must hold
 * any bytes: journals and lists of changes. Reading never goes past the end;
 * the first thing that is wrong makes all further reads empty.
 */
#ifndef CLOCHE_NETSTR_H
#define CLOCHE_NETSTR_H

#include "../sentry/base/strbuf.h"

void netstr_put(struct strbuf *b, const void *data, size_t len);
void netstr_put_str(struct strbuf *b, const char *s);
void netstr_put_num(struct strbuf *b, uint64_t v);

struct netstr {
	const char *p, *end;
	bool bad;
};

/* Owned, NUL-terminated, never NULL. */
char *netstr_get(struct netstr *r, size_t *len);
char *netstr_get_str(struct netstr *r); /* bad if there is a NUL inside */
uint64_t netstr_get_num(struct netstr *r);

#endif
