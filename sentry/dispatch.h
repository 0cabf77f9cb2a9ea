/*
 * dispatch.h - what the sentry asks of syscalls/, which implements it; here,
 * so that no include points up. The rows themselves: syscalls/table.h.
 *
 * dispatch_call decodes, takes the state lock, runs the handler and finishes.
 * Where a handler went to a worker (CALL_DEFERRED) the worker ends the call by
 * dispatch_finish with the blocking function's result, or, after a vfs_job,
 * runs the handler once more by dispatch_again.
 */
#ifndef CLOCHE_SENTRY_DISPATCH_H
#define CLOCHE_SENTRY_DISPATCH_H

#include "base/base.h"

struct call;
struct sentry;
struct tgroup;

/*
 * The whole life of a call between RECV and the reply: decode, lock, handler,
 * unlock, queued writes, audit record. Returns the value for the reply, or a
 * CALL_* code. Called by notify threads, and again by workers.
 */
int64_t dispatch_call(struct call *c);

/* The handler once more, on the arguments already copied (law 1: the guest's
 * memory is not read again), and dispatch_finish unless it was deferred. */
int64_t dispatch_again(struct call *c);

/* Queued writes to the guest (a fault makes it -EFAULT), then the record.
 * Takes the state lock for the record. Idempotent: ends a call once. */
int64_t dispatch_finish(struct call *c, int64_t ret);

/* A call that ran natively, seen by the tracer: it is recorded. Takes the state
 * lock. */
struct observed {
	pid_t tid;
	int nr;
	uint64_t args[6];
	int64_t ret;
	uint64_t ns;	   /* from its entry to its exit */
	const char *stack; /* members for the record, or NULL */
	size_t stack_len;
};

void dispatch_observed(struct sentry *s, const struct observed *o);

/* Does a call of a SYS_ARGS row run natively? What the compiled filter
 * decides, in plain C. */
bool filter_args_allow(int nr, const uint64_t args[6], bool bare);

/*
 * As filter_args_allow, after the truncation that the kernel does to int
 * arguments. True for a notified call means: only garbage in a high half
 * kept it from running natively, and registers alone decided that.
 */
bool filter_args_truncated(int nr, const uint64_t args[6], bool bare);

/* A process is gone, and its record locks with it; with the state lock. */
void locks_release(struct sentry *s, struct tgroup *tg);

#endif
