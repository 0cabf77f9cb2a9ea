/*
 * trace.h - the tracer: exec, fork/clone, signals and exit of guest threads.
 *
 * One thread traces every guest (PTRACE_SEIZE of init, children follow by
 * options); ptrace requests are made by it alone. Others ask it by
 * trace_run_on. It takes the state lock for short sections and never blocks
 * on a guest.
 *
 * LAW 7 lives here: at a signal stop of a notified call that the kernel
 *   cancelled before we received it, the call is made to restart instead of
 *   failing with an EINTR that cannot happen natively.
 *   (test: tests/guest, calls under a 200 us timer)
 */
#ifndef CLOCHE_TRACE_H
#define CLOCHE_TRACE_H

#include "base/base.h"

struct sentry;

/* Starts the thread and seizes init; returns when it is seized. */
int MUST_CHECK trace_start(struct sentry *s, pid_t init);
/* Waits until every guest has gone, but not longer than ms: true if so. Not
 * to be called again after that. */
bool MUST_CHECK trace_join(struct sentry *s, unsigned ms);
/* PTRACE_INTERRUPT of one thread, done by the tracer before this returns. */
void trace_interrupt(struct sentry *s, pid_t tid);
/* The tracer's state of a thread that has gone; NULL is allowed. */
void trace_task_free(void *trace);
/* As trace_interrupt; at the stop the thread runs ioctl(fd, TIOCSCTTY, 0)
 * before it goes on. The caller injects the descriptor afterwards, by a reply
 * that returns its number. */
void trace_make_ctty(struct sentry *s, pid_t tid);

#endif
