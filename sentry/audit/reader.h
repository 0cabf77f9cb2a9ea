/*
 * reader.h - reading an audit stream back, line by line, and checking it.
 *
 * A stream comes from a file that may have been damaged or altered: it is not
 * trusted. Lines are bounded; what does not parse is reported, not skipped.
 */
#ifndef CLOCHE_READER_H
#define CLOCHE_READER_H

#include <jansson.h>
#include <stdio.h>

#include "../base/base.h"
#include "../base/strbuf.h"

#define READER_LINE_MAX (4u << 20) /* bytes of one line */

struct audit_reader {
	FILE *in;
	bool close_in;
	uint64_t number; /* of the current line, from 1 */
	char *line;	 /* without its newline; valid until the next */
	size_t len, cap;
	bool newline;	   /* the line ended in one */
	json_t *object;	   /* the parsed line, borrowed; NULL: damaged */
	char problem[640]; /* why object is NULL; escaped */
};

/* path "-" is standard input. 0 or -errno. */
int MUST_CHECK audit_reader_open(struct audit_reader *r, const char *path);
void audit_reader_init(struct audit_reader *r, FILE *in);
void audit_reader_close(struct audit_reader *r);
/* 1: a line, 0: the end, -errno: the file cannot be read. */
int MUST_CHECK audit_reader_next(struct audit_reader *r);

/* A member's text, or "" / its number, or 0. */
const char *audit_text(const json_t *object, const char *key);
int64_t audit_number(const json_t *object, const char *key);

struct audit_verified {
	uint64_t streams, records, blocks;
	uint64_t damages;     /* the first ones are told in `report` */
	uint64_t unfinished;  /* streams without an end record */
	bool only_unfinished; /* and nothing else is wrong */
	bool head_found;      /* the expected head was the end of a stream */
	char last_hash[65];
};

/*
 * Checks every line, number and hash of all streams in r, and appends a
 * line for each of the first damages ("line 7: ...") to report. head: the hash
 * given out by
 * --audit-head, or NULL. 0 if all is well, -EBADMSG if not, or -errno.
 */
int MUST_CHECK audit_verify(struct audit_reader *r, const char *head,
			    struct audit_verified *v, struct strbuf *report);

#endif
