/*
 * escape.h - for hostile programs: what they try must be refused.
 *
 * An escape test runs inside only, with an audit stream. It passes when each
 * attempt fails in the way that it names, and when the stream has the records
 * that its "expect-audit" marks name. Where natively a right of root would
 * let the attempt succeed, that is no excuse: guests hold no capability.
 */
#ifndef CLOCHE_TEST_ESCAPE_H
#define CLOCHE_TEST_ESCAPE_H

#include "guest.h"

/* The attempt fails, whatever the errno. */
#define REFUSED(expr)                                                        \
	do {                                                                 \
		errno = 0;                                                   \
		long guest_v = (long)(expr);                                 \
		if (guest_v != -1)                                           \
			guest_fail(__FILE__, __LINE__, "%s gave %ld", #expr, \
				   guest_v);                                 \
	} while (0)

/* It fails with one of two. */
#define REFUSED2(expr, e1, e2)                                          \
	do {                                                            \
		REFUSED(expr);                                          \
		if (errno != (e1) && errno != (e2))                     \
			guest_fail(__FILE__, __LINE__, "%s: %s", #expr, \
				   strerrorname_np(errno));             \
	} while (0)

#endif
