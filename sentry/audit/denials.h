/*
 * denials.h - refusals, deduplicated and counted, for a person to read.
 *
 * One entry for each path and rule (or call and rule, without a path), with
 * the option that would allow it. Limits are not refusals: who ends the
 * sandbox says so. The table is bounded and later kinds are only counted. Not
 * locked: the owner (audit.c) does that.
 */
#ifndef CLOCHE_DENIALS_H
#define CLOCHE_DENIALS_H

#include "../base/hash.h"
#include "../base/list.h"
#include "audit.h"

#define DENIALS_MAX 200 /* distinct refusals kept */

struct denials {
	struct htable table;
	struct list order;
	size_t count;  /* distinct, kept */
	uint64_t more; /* refusals that found the table full */
};

void denials_init(struct denials *d);
void denials_fini(struct denials *d);
void denials_add(struct denials *d, const struct audit_event *ev);
void denials_text(const struct denials *d, struct strbuf *out);

#endif
