/*
 * workers.h - threads for host calls that may block or take long.
 *
 * A call that is handed to a worker is answered by it. While it blocks, the
 * loop looks every WORKERS_TICK_MS whether its guest thread has a deliverable
 * signal or has died, and then cancels it: c->cancel is set and the worker is
 * sent SIGURG until it comes back. A call that was cancelled is given back to
 * the kernel with -512 (restart or EINTR, as the kernel decides), law 7.
 */
#ifndef CLOCHE_WORKERS_H
#define CLOCHE_WORKERS_H

#include "call.h"

enum { WORKERS_TICK_MS = 10, WORKERS_MAX = 4096 };

void workers_init(struct sentry *s);
/* True while any call blocks: the loop then ticks. */
bool workers_busy(struct sentry *s);
void workers_tick(struct sentry *s);
/* Ends the calls of threads that have died, and waits (5 ms at most) until
 * they hold nothing: a dead opener of a FIFO must not look like a reader to
 * who saw it die. Without the state lock. */
void workers_settle(struct sentry *s);
/* Written to (eventfd) when a call starts to block, to wake the loop. */
int workers_wake_fd(struct sentry *s);
void workers_wake_loop(struct sentry *s);

#endif
