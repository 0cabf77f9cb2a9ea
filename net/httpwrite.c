/*
 * httpwrite.c - see httpwrite.h.
 *
 * Values of secrets are copied into the output's buffer, which is wiped, and
 * into scratch of this file, which is wiped at once.
 */
#include "httpwrite.h"

#include <nettle/base64.h>
#include <stdio.h>
#include <strings.h>

enum {
	BASIC_MAX = 12288,    /* of a Basic header that is looked into */
	SWAPPED_MAX = 262144, /* a longer head has no more swapped */
};

static const struct secret *secret_of(const struct http_place *to,
				      const struct http_inject *in)
{
	return &to->policy->secrets.s[in->secret];
}

static bool inject_here(const struct http_place *to,
			const struct http_inject *in)
{
	return to->tls && in->port == to->port && !strcmp(in->host, to->host);
}

/* One that is here and of that kind, from *i on. */
static const struct http_inject *
inject_next(const struct http_place *to, enum http_inject_kind kind, size_t *i)
{
	while (*i < to->policy->ninjects) {
		const struct http_inject *in = &to->policy->injects[(*i)++];

		if (in->kind == kind && inject_here(to, in))
			return in;
	}
	return NULL;
}

static bool any_inject(const struct http_place *to)
{
	for (size_t i = 0; i < to->policy->ninjects; i++)
		if (inject_here(to, &to->policy->injects[i]))
			return true;
	return false;
}

static bool is_injected(const struct http_place *to, struct http_str name)
{
	for (size_t i = 0; i < to->policy->ninjects; i++) {
		const struct http_inject *in = &to->policy->injects[i];

		if ((in->kind == HTTP_INJECT_HEADER ||
		     in->kind == HTTP_INJECT_BASIC) &&
		    inject_here(to, in) && http_str_alike(name, in->name))
			return true;
	}
	return false;
}

/* ---- placeholders ---- */

static const char *find(struct http_str s, const char *what)
{
	return s.len ? memmem(s.p, s.len, what, strlen(what)) : NULL;
}

static void put_encoded(const char *v, size_t len, struct hbuf *out)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyz"
				    "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~";

	for (size_t i = 0; i < len; i++) {
		if (strchr(plain, v[i]))
			hbuf_add(out, v + i, 1);
		else
			hbuf_printf(out, "%%%02X", (unsigned char)v[i]);
	}
}

/* s with the placeholders of all secrets that may be swapped here. */
static void put_swapped(struct http_str s, const struct http_place *to,
			bool encode, struct hbuf *out)
{
	while (s.len) {
		const struct secret *first = NULL;
		const struct http_inject *in;
		const char *at = NULL;
		size_t i = 0, n;

		while ((in = inject_next(to, HTTP_INJECT_SWAP, &i))) {
			const struct secret *x = secret_of(to, in);
			const char *p = find(s, x->placeholder);

			if (p && (!at || p < at)) {
				at = p;
				first = x;
			}
		}
		if (!at || out->len > SWAPPED_MAX)
			break;
		hbuf_add(out, s.p, (size_t)(at - s.p));
		out->secret = true;
		if (encode)
			put_encoded(first->value, first->len, out);
		else
			hbuf_add(out, first->value, first->len);
		n = (size_t)(at - s.p) + strlen(first->placeholder);
		s.p += n;
		s.len -= n;
	}
	hbuf_add(out, s.p, s.len);
}

/* What "Basic BASE64" says: bytes in out (BASIC_MAX), or 0. */
static size_t basic_decode(const struct http_header *x, uint8_t *out)
{
	struct base64_decode_ctx ctx;
	size_t n = BASIC_MAX;

	if (!http_str_is(x->name, "authorization") || x->value.len < 7 ||
	    strncasecmp(x->value.p, "basic ", 6) ||
	    BASE64_DECODE_LENGTH(x->value.len) > BASIC_MAX)
		return 0;
	base64_decode_init(&ctx);
	if (!base64_decode_update(&ctx, &n, out, x->value.len - 6,
				  x->value.p + 6) ||
	    !base64_decode_final(&ctx))
		return 0;
	return n;
}

static void put_base64(const char *p, size_t len, struct hbuf *out)
{
	size_t n = BASE64_ENCODE_RAW_LENGTH(len);

	out->secret = true;
	base64_encode_raw(hbuf_room(out, n), len, (const uint8_t *)p);
	out->len += n;
}

static bool put_basic(const struct http_header *x, const struct http_place *to,
		      struct hbuf *out)
{
	uint8_t plain[BASIC_MAX];
	struct http_str s = {(char *)plain, basic_decode(x, plain)};
	struct hbuf swapped = {.secret = true};

	if (!s.len)
		return false;
	put_swapped(s, to, false, &swapped);
	hbuf_puts(out, "Basic ");
	put_base64(hbuf_data(&swapped), swapped.len, out);
	hbuf_fini(&swapped);
	return true;
}

static bool has_placeholder(const struct http_header *x, const char *what)
{
	uint8_t plain[BASIC_MAX];
	struct http_str s = {(char *)plain, 0};

	if (find(x->value, what))
		return true;
	s.len = basic_decode(x, plain);
	return find(s, what);
}

static bool request_has(const struct http_head *h, const struct http_target *t,
			const char *placeholder)
{
	for (size_t i = 0; i < h->count; i++)
		if (has_placeholder(&h->h[i], placeholder))
			return true;
	return find(t->query, placeholder) || strstr(t->path, placeholder);
}

static void list_name(char *names, size_t size, const char *name)
{
	size_t n = strlen(names);

	if (n + strlen(name) + 2 < size)
		snprintf(names + n, size - n, "%s%s", n ? "," : "", name);
}

void http_secrets_of(const struct http_head *h, const struct http_target *t,
		     const struct http_place *to, char *names, size_t size,
		     const char **misused)
{
	const struct secrets *all = &to->policy->secrets;

	names[0] = '\0';
	*misused = NULL;
	for (size_t k = 0; k < all->count; k++) {
		bool has = request_has(h, t, all->s[k].placeholder);
		bool here = false, used = false;

		for (size_t i = 0; i < to->policy->ninjects; i++) {
			const struct http_inject *in = &to->policy->injects[i];

			if (in->secret != k || !inject_here(to, in))
				continue;
			here = true;
			used |= in->kind != HTTP_INJECT_SWAP || has;
		}
		if (used)
			list_name(names, size, all->s[k].name);
		else if (has && !here)
			*misused = all->s[k].name;
	}
}

/* ---- requests ---- */

/* Is "name" of "name=value" that parameter, however it is encoded? */
static bool is_param(struct http_str pair, const char *name)
{
	size_t i = 0;

	for (; *name; name++) {
		char c;

		if (i >= pair.len)
			return false;
		c = pair.p[i++];
		if (c == '%' && i + 2 <= pair.len) {
			char hex[3] = {pair.p[i], pair.p[i + 1], 0};

			c = (char)strtol(hex, NULL, 16);
			i += 2;
		}
		if (c != *name)
			return false;
	}
	return i == pair.len || pair.p[i] == '=';
}

static void put_query(const struct http_target *t, const struct http_place *to,
		      struct hbuf *out)
{
	const struct http_inject *in;
	struct http_str rest = t->query;
	char sep = '?';
	size_t i = 0;

	while (rest.p) {
		const char *amp = memchr(rest.p, '&', rest.len);
		struct http_str pair = {rest.p, amp ? (size_t)(amp - rest.p)
						    : rest.len};
		bool ours = false;

		i = 0;
		while ((in = inject_next(to, HTTP_INJECT_QUERY, &i)))
			ours |= is_param(pair, in->name);
		if (!ours) {
			hbuf_add(out, &sep, 1);
			put_swapped(pair, to, true, out);
			sep = '&';
		}
		rest.p = amp ? amp + 1 : NULL;
		rest.len = amp ? rest.len - pair.len - 1 : 0;
	}
	i = 0;
	while ((in = inject_next(to, HTTP_INJECT_QUERY, &i))) {
		const struct secret *x = secret_of(to, in);

		hbuf_add(out, &sep, 1);
		hbuf_puts(out, in->name);
		hbuf_puts(out, "=");
		out->secret = true;
		put_encoded(x->value, x->len, out);
		sep = '&';
	}
}

static void put_injected(const struct http_place *to, struct hbuf *out)
{
	const struct http_inject *in;
	size_t i = 0;

	while ((in = inject_next(to, HTTP_INJECT_HEADER, &i))) {
		const struct secret *x = secret_of(to, in);

		out->secret = true;
		hbuf_puts(out, in->name);
		hbuf_puts(out, ": ");
		hbuf_puts(out, in->before);
		hbuf_add(out, x->value, x->len);
		hbuf_puts(out, in->after);
		hbuf_puts(out, "\r\n");
	}
	i = 0;
	while ((in = inject_next(to, HTTP_INJECT_BASIC, &i))) {
		const struct secret *x = secret_of(to, in);
		struct hbuf plain = {.secret = true};

		hbuf_puts(&plain, in->before);
		hbuf_puts(&plain, ":");
		hbuf_add(&plain, x->value, x->len);
		hbuf_puts(out, "Authorization: Basic ");
		put_base64(hbuf_data(&plain), plain.len, out);
		hbuf_puts(out, "\r\n");
		hbuf_fini(&plain);
	}
}

static void put_str(struct hbuf *out, struct http_str s)
{
	hbuf_add(out, s.p, s.len);
}

static void put_header(const struct http_header *x, const struct http_place *to,
		       struct hbuf *out)
{
	put_str(out, x->name);
	hbuf_puts(out, ": ");
	if (!to || !put_basic(x, to, out)) {
		if (to)
			put_swapped(x->value, to, false, out);
		else
			put_str(out, x->value);
	}
	hbuf_puts(out, "\r\n");
}

static void put_host(const struct http_place *to, struct hbuf *out)
{
	bool six = strchr(to->host, ':');

	hbuf_printf(out, "Host: %s%s%s", six ? "[" : "", to->host,
		    six ? "]" : "");
	if (to->port != (to->tls ? 443 : 80))
		hbuf_printf(out, ":%u", to->port);
	hbuf_puts(out, "\r\n");
}

static void put_framing(const struct http_head *h, bool request,
			struct hbuf *out)
{
	bool silent = !request && (h->status < 200 || h->status == 204);

	if (h->framing == HTTP_BODY_CHUNKED)
		hbuf_puts(out, "Transfer-Encoding: chunked\r\n");
	else if (h->has_length && !silent)
		hbuf_printf(out, "Content-Length: %llu\r\n",
			    (unsigned long long)h->length);
}

void http_write_request(const struct http_head *h, const struct http_target *t,
			const struct http_place *to, struct hbuf *out)
{
	bool secret = any_inject(to);

	put_str(out, h->method);
	hbuf_puts(out, " ");
	hbuf_add(out, t->send, t->send_len);
	put_query(t, to, out);
	hbuf_printf(out, " HTTP/1.%u\r\n", h->minor);
	put_host(to, out);
	for (size_t i = 0; i < h->count; i++) {
		const struct http_header *x = &h->h[i];

		if (http_header_is_hop(h, x->name) ||
		    http_str_is(x->name, "host") || is_injected(to, x->name))
			continue;
		/* so that an echo can be seen */
		if (secret && http_str_is(x->name, "accept-encoding"))
			continue;
		put_header(x, to, out);
	}
	if (secret)
		hbuf_puts(out, "Accept-Encoding: identity\r\n");
	put_injected(to, out);
	put_framing(h, true, out);
	if (h->websocket)
		hbuf_puts(out, "Connection: Upgrade\r\nUpgrade: websocket\r\n");
	else if (h->close)
		hbuf_puts(out, "Connection: close\r\n");
	hbuf_puts(out, "\r\n");
}

void http_write_response(const struct http_head *h, bool close,
			 struct hbuf *out)
{
	hbuf_printf(out, "HTTP/1.%u %03u ", h->minor, h->status);
	put_str(out, h->reason);
	hbuf_puts(out, "\r\n");
	for (size_t i = 0; i < h->count; i++) {
		const struct http_header *x = &h->h[i];

		/* another way to the server is not open */
		if (!http_header_is_hop(h, x->name) &&
		    !http_str_is(x->name, "alt-svc"))
			put_header(x, NULL, out);
	}
	put_framing(h, false, out);
	if (h->status == 101)
		hbuf_puts(out, "Connection: Upgrade\r\nUpgrade: websocket\r\n");
	else if (close)
		hbuf_puts(out, "Connection: close\r\n");
	hbuf_puts(out, "\r\n");
}

/* ---- echoes ---- */

enum { MASKED_LEAST = 8 }; /* shorter values are in every text */

void http_mask_bytes(const struct secrets *s, char *p, size_t len)
{
	for (size_t i = 0; i < s->count; i++) {
		const struct secret *x = &s->s[i];
		char *at = p, *end = p + len;

		while (x->len >= MASKED_LEAST && at < end &&
		       (at = memmem(at, (size_t)(end - at), x->value,
				    x->len))) {
			memset(at, '*', x->len);
			at += x->len;
		}
	}
}

/* How many bytes at the end may be the beginning of a value. */
static size_t tail_of(const struct secrets *s, const char *p, size_t len)
{
	size_t best = 0;

	for (size_t i = 0; i < s->count; i++) {
		const struct secret *x = &s->s[i];
		size_t n = x->len - 1;

		if (x->len < MASKED_LEAST)
			continue;
		if (n > len)
			n = len;
		for (; n > best; n--)
			if (p[len - n] == x->value[0] &&
			    !memcmp(p + len - n, x->value, n))
				best = n;
	}
	return best;
}

void http_mask_feed(struct http_mask *m, const char *data, size_t len,
		    bool last, struct hbuf *out)
{
	size_t all = m->len + len, tail;
	char *p = hbuf_room(out, all + 1);

	if (m->len)
		memcpy(p, m->carry, m->len);
	if (len)
		memcpy(p + m->len, data, len);
	http_mask_bytes(m->secrets, p, all);
	tail = last ? 0 : tail_of(m->secrets, p, all);
	if (tail && !m->carry)
		m->carry = xmalloc(SECRET_VALUE_MAX);
	if (tail)
		memcpy(m->carry, p + all - tail, tail);
	m->len = tail;
	out->len += all - tail;
}

void http_mask_fini(struct http_mask *m)
{
	if (m->carry)
		explicit_bzero(m->carry, SECRET_VALUE_MAX);
	free(m->carry);
	m->carry = NULL;
	m->len = 0;
}
