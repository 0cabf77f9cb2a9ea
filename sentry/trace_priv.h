/*
 * trace_priv.h - what trace.c, trace_hold.c, exec.c and ctty.c share: the
 * tracer's state of one thread. Used by the tracer thread; created under the
 * state lock.
 */
#ifndef CLOCHE_TRACE_PRIV_H
#define CLOCHE_TRACE_PRIV_H

#include <pthread.h>
#include <stdatomic.h>
#include <sys/user.h>

#include "base/strbuf.h"
#include "task.h"

enum { EXEC_SCRATCH = 128 };

struct ttrace {
	bool started;		 /* its first stop was seen */
	bool want_ctty;		 /* run TIOCSCTTY at the next stop */
	unsigned char ctty_step; /* ctty.c: 0 none, 1 before entry, 2 exit */
	bool held;		 /* stopped until the release */
	int held_sig;		 /* of that stop */
	bool execing;		 /* a rewritten execve is under way */
	int exec_nr;		 /* what it was, and its first arguments */
	uint64_t exec_args[3];
	gaddr_t scratch_addr; /* guest bytes that the stub's path replaced; 0:
			       * none, it stands in the stub */
	unsigned char scratch[EXEC_SCRATCH];
	struct user_regs_struct saved; /* ctty.c */

	/* observe.c */
	struct user_regs_struct entry; /* of the call that is under way */
	uint64_t entry_ns;
	bool observing;	     /* it is native, and to be recorded */
	bool in_stub;	     /* since the exec only the stub has called */
	gaddr_t stub_ip;     /* from there */
	struct strbuf stack; /* its stack, if asked for */
};

/* All guests are stopped, or about to be. */
struct trace_hold {
	_Atomic bool on;
	pthread_mutex_t lock; /* by who holds them; before the state lock */
};

/* What the tracer is asked to do. */
enum trace_wish { TRACE_INTERRUPT, TRACE_CTTY, TRACE_HOLD, TRACE_RELEASE };

/* Returns when it was done; not under the state lock. */
void trace_ask(struct sentry *s, pid_t tid, enum trace_wish wish);
struct trace_hold *trace_hold_of(const struct sentry *s);

/* trace_hold.c, in the tracer: */
void trace_hold_run(struct sentry *s, enum trace_wish wish);
/* True if the thread stays in this stop. */
bool trace_hold_stop(struct sentry *s, pid_t tid, int sig);
/* trace.c: from the stop that an interrupt asked for. */
void trace_event_end(struct sentry *s, pid_t tid, int sig);
/* trace_mend.c: at a stop; sig is to be delivered, or 0. */
void trace_mend_call(struct sentry *s, pid_t tid, int sig);
void trace_mend_sender(struct sentry *s, pid_t tid, int sig);
/* Would the filter send that call to the sentry? */
bool trace_call_notified(const struct user_regs_struct *r, bool bare);

/* Under the state lock. */
struct ttrace *ttrace_of(struct task *t);
/* Resumes it; sig is delivered. */
void trace_cont(const struct sentry *s, pid_t tid, int sig);

#endif
