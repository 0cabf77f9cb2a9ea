/*
 * observe.h - native calls that are to be seen (`--audit-level all`), and the
 * call stacks of recorded ones (`--stacks`).
 *
 * Either makes the tracer resume guests by PTRACE_SYSCALL: each call then
 * stops twice, at its entry and its exit, which costs some ten microseconds.
 * Nothing is decided here. A native call's arguments are taken from its
 * registers at the entry; the kernel reads what they point to later, so they
 * are marked as observed.
 *
 * LIMIT: a call that a signal ends for good with its thread has no exit, and
 * is not recorded; exit and exit_group are, at their entry.
 */
#ifndef CLOCHE_OBSERVE_H
#define CLOCHE_OBSERVE_H

#include "base/base.h"
#include "base/strbuf.h"

struct sentry;
struct call;

/* Loads what stacks need; before guests run. 0 or -errno after a message. */
int MUST_CHECK observe_init(struct sentry *s);
void observe_fini(struct sentry *s);

enum observe_stop {
	OBSERVE_NOT_MINE, /* somebody else waits for this stop */
	OBSERVE_ENTRY,
	OBSERVE_EXIT,
};

/* By the tracer, at a syscall stop. It resumes the thread itself. */
enum observe_stop observe_stop(struct sentry *s, pid_t tid);

/* With --stacks: the caller's stack as members for the call's record, into
 * c->stack. Without the state lock, before the call is answered. */
void observe_call(struct call *c);

#endif
