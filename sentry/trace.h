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
 *   A native call that any interruption ends (epoll_wait) starts again unless a
 *   handler runs; a signal that is ignored, too, stops a traced thread.
 *   (test: tests/guest/eintr: ignored_signals_end_no_wait)
 *   LIMIT: in a process of several threads an ignored signal may end such a
 *   call of one while another takes the signal: no stop tells of it.
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
/* Stops every guest thread, as a freezer would, and lets them go. Between the
 * two no guest runs an instruction; what a thread has begun in the kernel ends
 * first, but is not waited for longer than ms. False: a call still goes on.
 * Both not under the state lock; one holder at a time (the second waits). */
bool trace_hold(struct sentry *s, unsigned ms);
void trace_release(struct sentry *s);
/* The tracer's state of a thread that has gone; NULL is allowed. */
void trace_task_free(void *trace);
/* As trace_interrupt; at the stop the thread runs ioctl(fd, TIOCSCTTY, 0)
 * before it goes on. The caller injects the descriptor afterwards, by a reply
 * that returns its number. */
void trace_make_ctty(struct sentry *s, pid_t tid);

#endif
