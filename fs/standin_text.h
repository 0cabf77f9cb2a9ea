/*
 * standin_text.h - what a stand-in file holds, where empty would not do.
 */
#ifndef CLOCHE_STANDIN_TEXT_H
#define CLOCHE_STANDIN_TEXT_H

#include "../sentry/base/base.h"
#include "../sentry/base/strbuf.h"

struct standin_text {
	const char *name;   /* of the file */
	const char *source; /* file beside it that it is made from, or NULL */
	/* from is any bytes; day: of the last change, since the epoch. */
	void (*make)(const char *from, size_t len, long day,
		     struct strbuf *out);
};

/* The row for a file's name, or NULL: it stays empty. */
const struct standin_text *standin_text_of(const char *name);

#endif
