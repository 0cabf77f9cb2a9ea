/*
 * audit_by.h - `cloche audit summary --by site|call|program`: who calls most,
 * and whose calls take longest.
 */
#ifndef CLOCHE_AUDIT_BY_H
#define CLOCHE_AUDIT_BY_H

#include <jansson.h>

#include "../base/base.h"
#include "../base/strbuf.h"

enum audit_by { BY_NOTHING, BY_SITE, BY_EACH_CALL, BY_EACH_PROGRAM };

struct audit_ranks;

struct audit_ranks *audit_ranks_new(enum audit_by by);
void audit_ranks_free(struct audit_ranks *r);
void audit_ranks_add(struct audit_ranks *r, const json_t *record);
/* Prints them on stdout by falling time, as JSON or as a table. */
void audit_ranks_print(struct audit_ranks *r, bool json);

/* Option check: *by from its word. */
int audit_by_read(const char *word, enum audit_by *by, struct strbuf *err);

#endif
