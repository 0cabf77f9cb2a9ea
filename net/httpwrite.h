/*
 * httpwrite.h - heads written anew from what was understood of them, and the
 * secrets put into requests on the way.
 */
#ifndef CLOCHE_NET_HTTPWRITE_H
#define CLOCHE_NET_HTTPWRITE_H

#include "hbuf.h"
#include "httppath.h"
#include "httprule.h"

/* Where a request goes: which injections may be used. */
struct http_place {
	const struct http_policy *policy;
	const char *host; /* canonical */
	uint16_t port;
	bool tls; /* verified to be that host */
};

/* The request's head for the world; out is marked if a secret is in it. */
void http_write_request(const struct http_head *h, const struct http_target *t,
			const struct http_place *to, struct hbuf *out);
/* The response's for the guest; close: said to it. */
void http_write_response(const struct http_head *h, bool close,
			 struct hbuf *out);

/* The names of the secrets that the request will carry, with commas; "" for
 * none. misused: one whose placeholder is in it but is not for this place. */
void http_secrets_of(const struct http_head *h, const struct http_target *t,
		     const struct http_place *to, char *names, size_t size,
		     const char **misused);

/* ---- what an echoing server sends back ---- */

/* The longest end of a body that may be the beginning of a secret. */
struct http_mask {
	const struct secrets *secrets;
	char *carry; /* owned; SECRET_VALUE_MAX bytes */
	size_t len;
};

/* Values in p are overwritten with asterisks. */
void http_mask_bytes(const struct secrets *s, char *p, size_t len);
/* Appends what of carry and data can be sent; last: all of it. */
void http_mask_feed(struct http_mask *m, const char *data, size_t len,
		    bool last, struct hbuf *out);
void http_mask_fini(struct http_mask *m);

#endif
