/*
 * flagnames.h - flag words in the letters a person knows, for the records.
 */
#ifndef CLOCHE_FLAGNAMES_H
#define CLOCHE_FLAGNAMES_H

#include "../sentry/base/strbuf.h"

/* Is there a decoder of this name (the argument's name in a spec)? */
bool flagnames_known(const char *name, size_t len);
/* Appends "A|B|0x10" as a JSON string; what no name covers, in hex. */
void flagnames_render(struct strbuf *out, const char *name, size_t len,
		      uint32_t value);

#endif
