/*
 * dispatch.h - refusals; what the sentry calls is in sentry/dispatch.h.
 */
#ifndef CLOCHE_DISPATCH_H
#define CLOCHE_DISPATCH_H

#include "../sentry/dispatch.h"
#include "table.h"

/* Refuses with errno err (positive) and a record with rule and hint. */
int64_t refuse_call(struct call *c, int err, const char *rule,
		    const char *hint);
/* SYS_REFUSE rows; numbers that no row has; entry by x32 or int 0x80. */
int64_t refuse_row(struct call *c);
int64_t refuse_unknown(struct call *c);
int64_t refuse_arch(struct call *c);

#endif
