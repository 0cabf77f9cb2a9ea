/*
 * httpcheck.c - see httpcheck.h.
 */
#include "httpcheck.h"

#if __has_include(<http_parser.h>)
#include <http_parser.h>

#include "../sentry/base/extlib.h"

static struct {
	EXTLIB_FN(http_parser_init);
	EXTLIB_FN(http_parser_settings_init);
	EXTLIB_FN(http_parser_execute);
	EXTLIB_FN(http_method_str);
} lib;

int httpcheck_load(void)
{
	static const struct extlib_symbol symbols[] = {
		{"http_parser_init", (void **)&lib.http_parser_init},
		{"http_parser_settings_init",
		 (void **)&lib.http_parser_settings_init},
		{"http_parser_execute", (void **)&lib.http_parser_execute},
		{"http_method_str", (void **)&lib.http_method_str},
	};

	if (lib.http_parser_execute)
		return 0;
	return extlib_load("libhttp_parser.so.2.9", symbols,
			   ARRAY_SIZE(symbols));
}

struct opinion {
	size_t headers;
	bool complete, to_head, in_value;
};

static int on_field(http_parser *p, const char *at UNUSED, size_t len UNUSED)
{
	struct opinion *o = p->data;

	/* a name may come in pieces; each is followed by its value */
	if (!o->headers || o->in_value)
		o->headers++;
	o->in_value = false;
	return 0;
}

static int on_value(http_parser *p, const char *at UNUSED, size_t len UNUSED)
{
	struct opinion *o = p->data;

	o->in_value = true;
	return 0;
}

/* 1: no body follows; 2: nothing follows that is HTTP. */
static int on_complete(http_parser *p)
{
	struct opinion *o = p->data;

	o->complete = true;
	return o->to_head ? 1 : 0;
}

/* Reads the head alone: what framing does it see? */
static const char *ask(http_parser *p, enum http_parser_type type,
		       struct opinion *o, const char *buf, size_t len)
{
	http_parser_settings settings;
	size_t n;

	lib.http_parser_settings_init(&settings);
	settings.on_header_field = on_field;
	settings.on_header_value = on_value;
	settings.on_headers_complete = on_complete;
	lib.http_parser_init(p, type);
	p->data = o;
	n = lib.http_parser_execute(p, &settings, buf, len);
	if (p->http_errno != HPE_OK || !o->complete || n != len)
		return "a head that two readers do not agree on";
	return NULL;
}

static bool same_framing(const http_parser *p, const struct opinion *o,
			 const struct http_head *h)
{
	bool chunked = p->flags & F_CHUNKED;

	if (o->headers != h->count || (unsigned)p->http_minor != h->minor ||
	    p->http_major != 1)
		return false;
	if (chunked != (h->framing == HTTP_BODY_CHUNKED) &&
	    h->framing != HTTP_BODY_NONE)
		return false;
	return !(p->flags & F_CONTENTLENGTH) == !h->has_length;
}

const char *http_check_request(const char *buf, size_t len,
			       const struct http_head *h)
{
	struct opinion o = {0};
	http_parser p;
	const char *why = ask(&p, HTTP_REQUEST, &o, buf, len), *method;

	if (why)
		return why;
	method = lib.http_method_str((enum http_method)p.method);
	if (h->method.len != strlen(method) ||
	    memcmp(h->method.p, method, h->method.len) ||
	    !same_framing(&p, &o, h) ||
	    (h->framing == HTTP_BODY_CHUNKED) != !!(p.flags & F_CHUNKED))
		return "a head that two readers do not agree on";
	return NULL;
}

const char *http_check_response(const char *buf, size_t len, bool to_head,
				const struct http_head *h)
{
	struct opinion o = {.to_head = to_head};
	http_parser p;
	const char *why = ask(&p, HTTP_RESPONSE, &o, buf, len);

	if (!why &&
	    ((unsigned)p.status_code != h->status || !same_framing(&p, &o, h)))
		why = "a head that two readers do not agree on";
	return why;
}
#else /* a system without it: the strict reader decides alone */
int httpcheck_load(void)
{
	return 0;
}

const char *http_check_request(const char *buf UNUSED, size_t len UNUSED,
			       const struct http_head *h UNUSED)
{
	return NULL;
}

const char *http_check_response(const char *buf UNUSED, size_t len UNUSED,
				bool to_head UNUSED,
				const struct http_head *h UNUSED)
{
	return NULL;
}
#endif
