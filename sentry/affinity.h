/*
 * affinity.h - which processor guests and the sentry run on.
 *
 * A call that the sentry answers is two switches between a guest and the
 * sentry. On one processor they are cheap. Left alone, the kernel wakes the
 * other side on whatever processor is idle: after each descriptor that is put
 * into a guest, at each ptrace stop, at each hand-over to a worker; and a
 * wake-up of another processor costs three to ten times the whole call, most
 * on virtual machines. So while a sandbox has no more than one thread that
 * wants to run, guests that make calls and the threads that answer them are
 * packed on one processor; as soon as two guests want to run, all may run
 * where the kernel likes.
 *
 * Nothing rests on it but speed. A guest does not see it: who asks for a
 * mask, or sets one, or reads it in /proc gets the thread's own
 * (affinity_show), and one that sets a mask is left alone from then on
 * (affinity_leave).
 *
 * Off where there is one processor, or where the host's /proc is missing.
 */
#ifndef CLOCHE_AFFINITY_H
#define CLOCHE_AFFINITY_H

#include <sched.h>

#include "base/base.h"

struct sentry;
struct task;

/* A thread's part of it; in struct task. Zeroed: runs where it likes. */
struct affinity_task {
	bool packed;	 /* its mask is narrowed */
	bool own;	 /* it sets its mask itself: not to be packed */
	uint8_t rest;	 /* calls to come before it may be packed */
	cpu_set_t *mask; /* owned; what it was packed from where that is not
			  * the sandbox's, or NULL */
};

/* Before the sentry has other threads. */
void affinity_init(struct sentry *s);
/* A thread that answers guests says that it is one; from itself, once. */
void affinity_thread(struct sentry *s);

/* The notify thread has a call of t; with the state lock. */
void affinity_call(struct sentry *s, struct task *t);
/* The same without the lock, where there is nothing to do but to count it;
 * false: affinity_call is to be asked. */
bool affinity_settled(struct sentry *s, const struct task *t);
/* The tracer has a stop. */
void affinity_stop(struct sentry *s);
/* child inherited its mask from parent; with the state lock. */
void affinity_child(struct sentry *s, const struct task *parent,
		    struct task *child);
/* Has t been packed? Then what its mask is without that. With the lock. */
bool affinity_own(struct sentry *s, const struct task *t, cpu_set_t *mask);
/* The kernel is about to be asked for t's mask: it has its own, for a while.
 * With the state lock. */
void affinity_show(struct sentry *s, struct task *t);
/* t is about to get a mask from a guest. With the state lock. */
void affinity_leave(struct sentry *s, struct task *t);
void affinity_task_fini(struct affinity_task *p);

/* The loop thread's: when to look again, ms (-1: when woken), and the look.
 * Takes the state lock. */
int affinity_timeout(struct sentry *s);
void affinity_tick(struct sentry *s);

#endif
