/*
 * rseq.h - threads that are switched to and from at each call.
 *
 * The C library registers a restartable sequence for every thread, and the
 * kernel then goes an extra round through it whenever the thread is switched
 * to. All that it gives here is sched_getcpu(), which has another way.
 */
#ifndef CLOCHE_RSEQ_H
#define CLOCHE_RSEQ_H

/* The calling thread is no longer registered; if that cannot be had, or there
 * is nothing of the kind, all stays as it is. */
void rseq_leave(void);

#endif
