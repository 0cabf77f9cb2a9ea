/*
 * httppath.h - request targets in the one form that rules are compared with.
 *
 * A path is percent-decoded once and its dot segments are taken out. What a
 * server could read in two ways is refused: an encoded slash or backslash, a
 * percent sign that would be an escape if decoded again, control bytes, text
 * that is not UTF-8, dot segments with parameters ("..;").
 *
 * Pure functions on bytes.
 */
#ifndef CLOCHE_NET_HTTPPATH_H
#define CLOCHE_NET_HTTPPATH_H

#include "httphead.h"

struct http_target {
	char path[HTTP_TARGET_MAX + 1]; /* decoded, begins with "/" */
	/* What is passed on: as it came, or, had it dot segments, anew. */
	char send[3 * HTTP_TARGET_MAX + 1];
	size_t send_len;	   /* of the path alone */
	struct http_str query;	   /* behind the "?"; p NULL: none */
	struct http_str authority; /* of an absolute target; p NULL: none */
	bool https;		   /* its scheme */
};

/* NULL, or why it is refused. t keeps pointing into target. */
const char *http_target_parse(struct http_str target, struct http_target *t);

/*
 * Does the path match? Segments are compared one by one; "*" stands for any
 * characters of one segment, which is not empty, "**" as a whole segment for
 * any number of segments, none included.
 */
bool http_path_match(const char *pattern, const char *path);

#endif
