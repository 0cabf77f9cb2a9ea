/*
 * netstr.c - see netstr.h.
 */
#include "netstr.h"

#include <stdio.h>

enum { NETSTR_MAX = 1 << 30 };

void netstr_put(struct strbuf *b, const void *data, size_t len)
{
	strbuf_printf(b, "%zu:", len);
	strbuf_add(b, data, len);
	strbuf_putc(b, ',');
}

void netstr_put_str(struct strbuf *b, const char *s)
{
	netstr_put(b, s, strlen(s));
}

void netstr_put_num(struct strbuf *b, uint64_t v)
{
	char text[24];

	netstr_put(b, text,
		   (size_t)snprintf(text, sizeof(text), "%llu",
				    (unsigned long long)v));
}

char *netstr_get(struct netstr *r, size_t *len)
{
	size_t n = 0;
	char *out;

	while (!r->bad && r->p < r->end && *r->p >= '0' && *r->p <= '9' &&
	       n < NETSTR_MAX)
		n = 10 * n + (size_t)(*r->p++ - '0');
	if (r->bad || r->p == r->end || *r->p != ':' ||
	    n + 2 > (size_t)(r->end - r->p) || r->p[n + 1] != ',') {
		r->bad = true;
		n = 0;
	}
	out = xmalloc(n + 1);
	if (!r->bad) {
		memcpy(out, r->p + 1, n);
		r->p += n + 2;
	}
	out[n] = '\0';
	*len = n;
	return out;
}

char *netstr_get_str(struct netstr *r)
{
	size_t len;
	char *s = netstr_get(r, &len);

	if (strlen(s) != len)
		r->bad = true;
	return s;
}

uint64_t netstr_get_num(struct netstr *r)
{
	AUTO_FREE char *s = netstr_get_str(r);

	return strtoull(s, NULL, 10);
}
