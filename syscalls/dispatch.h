/*
 * dispatch.h - the life of a notified call between RECV and the reply.
 *
 * dispatch_call (table.h) decodes, takes the state lock, runs the handler and
 * finishes. Where a handler went to a worker (CALL_DEFERRED) the worker ends
 * the call by dispatch_finish with the blocking function's result, or, after
 * a vfs_job, runs the handler once more by dispatch_again.
 */
#ifndef CLOCHE_DISPATCH_H
#define CLOCHE_DISPATCH_H

#include "table.h"

/* The handler once more, on the arguments already copied (law 1: the guest's
 * memory is not read again), and dispatch_finish unless it was deferred. */
int64_t dispatch_again(struct call *c);

/* Queued writes to the guest (a fault makes it -EFAULT), then the record.
 * Takes the state lock for the record. Idempotent: ends a call once. */
int64_t dispatch_finish(struct call *c, int64_t ret);

/* Refuses with errno err (positive) and a record with rule and hint. */
int64_t refuse_call(struct call *c, int err, const char *rule,
		    const char *hint);
/* SYS_REFUSE rows; numbers that no row has; entry by x32 or int 0x80. */
int64_t refuse_row(struct call *c);
int64_t refuse_unknown(struct call *c);
int64_t refuse_arch(struct call *c);

#endif
