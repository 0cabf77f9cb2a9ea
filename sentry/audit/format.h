/*
 * format.h - the JSON line of a record.
 *
 * A struct format belongs to one stream's writer, and keeps what many lines
 * have in common: the stream's id, and who the last few callers were. Not
 * locked.
 */
#ifndef CLOCHE_FORMAT_H
#define CLOCHE_FORMAT_H

#include "batch.h"

#define FORMAT_WHOS 16 /* a power of two */

/* pid, tid, ppid and exe, as text; found by all four. */
struct format_who {
	pid_t pid, tid, ppid;
	char *exe; /* owned; NULL: none */
	struct strbuf text;
};

struct format {
	struct strbuf id;
	struct format_who who[FORMAT_WHOS];
};

void format_init(struct format *f, const char *id);
void format_fini(struct format *f);

/* Appends the line of a record of b, with its newline. */
void format_record(struct format *f, const struct batch *b,
		   const struct record *r, uint64_t seq, struct strbuf *out);

#endif
