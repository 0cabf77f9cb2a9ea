/*
 * trace_priv.h - what trace.c, exec.c and ctty.c share: the tracer's state of
 * one thread. Used by the tracer thread; created under the state lock.
 */
#ifndef CLOCHE_TRACE_PRIV_H
#define CLOCHE_TRACE_PRIV_H

#include <sys/user.h>

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
};

/* Under the state lock. */
struct ttrace *ttrace_of(struct task *t);
void trace_cont(pid_t tid, int sig);

#endif
