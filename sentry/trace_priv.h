/*
 * trace_priv.h - what trace.c, exec.c and ctty.c share: the tracer's state of
 * one thread. Used by the tracer thread; created under the state lock.
 */
#ifndef CLOCHE_TRACE_PRIV_H
#define CLOCHE_TRACE_PRIV_H

#include <sys/user.h>

#include "base/strbuf.h"
#include "task.h"

enum { EXEC_SCRATCH = 128 };

struct ttrace {
	bool started;		 /* its first stop was seen */
	bool want_ctty;		 /* run TIOCSCTTY at the next stop */
	unsigned char ctty_step; /* ctty.c: 0 none, 1 before entry, 2 exit */
	bool execing;		 /* a rewritten execve is under way */
	struct user_regs_struct saved;
	gaddr_t scratch_addr; /* guest bytes that the stub's path replaced */
	unsigned char scratch[EXEC_SCRATCH];

	/* observe.c */
	struct user_regs_struct entry; /* of the call that is under way */
	uint64_t entry_ns;
	bool observing;	     /* it is native, and to be recorded */
	bool in_stub;	     /* since the exec only the stub has called */
	gaddr_t stub_ip;     /* from there */
	struct strbuf stack; /* its stack, if asked for */
};

/* Under the state lock. */
struct ttrace *ttrace_of(struct task *t);
/* Resumes it; sig is delivered. */
void trace_cont(const struct sentry *s, pid_t tid, int sig);

#endif
