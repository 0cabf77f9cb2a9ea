/*
 * httpcheck.h - a second opinion on a head: the strict reader of httphead.h
 * and http-parser must agree on what a message is and where it ends, or it is
 * refused. Loaded with the gateway; see httpcheck_load. Where cloche was built
 * without its header there is no second opinion: no release of it is to come,
 * and systems begin to leave it out.
 */
#ifndef CLOCHE_NET_HTTPCHECK_H
#define CLOCHE_NET_HTTPCHECK_H

#include "httphead.h"

/* The last file that it opens: 0 or -ENOSYS after a message. */
int MUST_CHECK httpcheck_load(void);

/* NULL, or why not. h is what was read of the same bytes. */
const char *http_check_request(const char *buf, size_t len,
			       const struct http_head *h);
const char *http_check_response(const char *buf, size_t len, bool to_head,
				const struct http_head *h);

#endif
