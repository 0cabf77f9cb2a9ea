/*
 * mech_ptrace.c - ptrace(2): two stops a call, one by SYSEMU, or one asked for
 * by a seccomp filter.
 *
 * A tracer cannot give a descriptor, so COST_OPEN is not intercepted. Answers
 * that go to memory use process_vm_writev.
 */
#include "mech.h"

#include <linux/seccomp.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>

#define OPS (COST_BIT(COST_CALL) | COST_BIT(COST_STAT) | COST_LIFE)
#define OPTIONS                                                            \
	(PTRACE_O_EXITKILL | PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACECLONE | \
	 PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK | PTRACE_O_TRACESECCOMP)

enum { TASKS = 65536 };

/* What a task's next stop is, where that is not known from itself. */
#define NONE	INT64_MIN	/* an entry */
#define RUNS	INT64_MAX	/* the exit of a call that runs natively */
#define ENTERED (INT64_MAX - 1) /* SYSEMU: its native entry */

struct tracer {
	struct cost_cell *c;
	int how; /* PTRACE_SYSCALL, PTRACE_SYSEMU or PTRACE_CONT */
	pid_t task[TASKS];
	int64_t result[TASKS]; /* or NONE, RUNS, ENTERED */
};

static int go(struct cost_cell *c UNUSED)
{
	char byte;

	/* The supervisor has seized us when it says so. */
	return read(c->channel[0], &byte, 1) == 1 ? 0 : -EIO;
}

static int go_filtered(struct cost_cell *c)
{
	int ret = go(c);

	return ret ? ret : cost_filter_load(SECCOMP_RET_TRACE, 0);
}

/* The answer, or 1 if the call is none of ours. */
static bool answer_call(struct tracer *t, pid_t tid,
			const struct user_regs_struct *regs, int64_t *val)
{
	char path[COST_PATH_SIZE];
	struct iovec here = {path, sizeof(path)};
	struct iovec there = {(void *)(uintptr_t)regs->rsi, sizeof(path)};

	if (regs->orig_rax == SYS_getppid) {
		*val = 1;
		return true;
	}
	if (regs->orig_rax != SYS_newfstatat)
		return false;
	*val = -EFAULT;
	if (process_vm_readv(tid, &here, 1, &there, 1, 0) < 0)
		return true;
	here = (struct iovec){&t->c->st, sizeof(t->c->st)};
	there = (struct iovec){(void *)(uintptr_t)regs->rdx, sizeof(t->c->st)};
	if (process_vm_writev(tid, &here, 1, &there, 1, 0) >= 0)
		*val = 0;
	return true;
}

/* Pids are handed out in order: two that live have not the same low bits. */
static int64_t *exit_of(struct tracer *t, pid_t tid)
{
	unsigned at = (unsigned)tid % TASKS;

	if (t->task[at] != tid) {
		t->task[at] = tid;
		t->result[at] = NONE;
	}
	return &t->result[at];
}

/* Two stops a call: the first cancels it, the second sets what it gave. */
static void stop_two(struct tracer *t, pid_t tid)
{
	int64_t *pending = exit_of(t, tid), val;
	struct user_regs_struct regs;

	if (ptrace(PTRACE_GETREGS, tid, 0, &regs) < 0)
		return;
	if (*pending != NONE) {
		if (*pending != RUNS) {
			regs.rax = (unsigned long long)*pending;
			ptrace(PTRACE_SETREGS, tid, 0, &regs);
		}
		*pending = NONE;
		return;
	}
	*pending = RUNS;
	if (!answer_call(t, tid, &regs, &val))
		return;
	*pending = val;
	regs.orig_rax = (unsigned long long)-1;
	ptrace(PTRACE_SETREGS, tid, 0, &regs);
}

/* One stop, at which the call may be skipped and its result set. */
static void stop_seccomp(struct tracer *t, pid_t tid)
{
	struct user_regs_struct regs;
	int64_t val;

	if (ptrace(PTRACE_GETREGS, tid, 0, &regs) < 0 ||
	    !answer_call(t, tid, &regs, &val))
		return;
	regs.orig_rax = (unsigned long long)-1;
	regs.rax = (unsigned long long)val;
	ptrace(PTRACE_SETREGS, tid, 0, &regs);
}

/*
 * SYSEMU skips every call of the guest; those that are not ours are run by
 * going back before the instruction and one turn of PTRACE_SYSCALL.
 */
static int stop_sysemu(struct tracer *t, pid_t tid)
{
	int64_t *pending = exit_of(t, tid), val;
	struct user_regs_struct regs;

	if (ptrace(PTRACE_GETREGS, tid, 0, &regs) < 0)
		return PTRACE_SYSEMU;
	if (*pending == ENTERED) {
		*pending = RUNS;
		return PTRACE_SYSCALL;
	}
	if (*pending == RUNS) {
		*pending = NONE;
		return PTRACE_SYSEMU;
	}
	if (answer_call(t, tid, &regs, &val)) {
		regs.rax = (unsigned long long)val;
		ptrace(PTRACE_SETREGS, tid, 0, &regs);
		return PTRACE_SYSEMU;
	}
	*pending = ENTERED;
	regs.rip -= 2;
	regs.rax = regs.orig_rax;
	ptrace(PTRACE_SETREGS, tid, 0, &regs);
	return PTRACE_SYSCALL;
}

/* What to go on by, and the signal to deliver. */
static int stopped(struct tracer *t, pid_t tid, int status, long *deliver)
{
	int sig = WSTOPSIG(status), event = status >> 16;

	*deliver = 0;
	if (sig == (SIGTRAP | 0x80)) {
		if (t->how == PTRACE_SYSEMU)
			return stop_sysemu(t, tid);
		stop_two(t, tid);
	} else if (event == PTRACE_EVENT_SECCOMP) {
		stop_seccomp(t, tid);
	} else if (!event && sig != SIGSTOP && sig != SIGTRAP) {
		*deliver = sig;
		/* Between going back and the native entry: the call begins
		 * anew, and is to be seen anew. */
		if (t->how == PTRACE_SYSEMU)
			*exit_of(t, tid) = NONE;
	} else if (event && t->how == PTRACE_SYSEMU &&
		   event != PTRACE_EVENT_STOP) {
		/* in the middle of a clone that runs natively */
		return *exit_of(t, tid) == RUNS ? PTRACE_SYSCALL
						: PTRACE_SYSEMU;
	}
	return t->how;
}

static int trace(struct tracer *t, pid_t guest, int *status)
{
	for (;;) {
		long deliver;
		int st, how;
		pid_t tid = waitpid(-1, &st, __WALL);

		if (tid < 0 && errno == EINTR)
			continue;
		if (tid < 0)
			return 0; /* none is left */
		if (!WIFSTOPPED(st)) {
			t->task[(unsigned)tid % TASKS] = 0;
			if (tid == guest)
				*status = st;
			continue;
		}
		how = stopped(t, tid, st, &deliver);
		ptrace((enum __ptrace_request)how, tid, 0, deliver);
	}
}

static int answer(struct cost_cell *c, pid_t guest, int *status, int how)
{
	struct tracer *t = xcalloc(1, sizeof(*t));
	int ret = 0;

	t->c = c;
	t->how = how;
	if (ptrace(PTRACE_SEIZE, guest, 0, OPTIONS) < 0 ||
	    ptrace(PTRACE_INTERRUPT, guest, 0, 0) < 0)
		ret = errno == EPERM ? -EOPNOTSUPP : -errno;
	if (write(c->channel[1], "", 1) != 1)
		ret = -EIO;
	if (ret) {
		kill(guest, SIGKILL);
		*status = cost_wait(guest);
	} else {
		ret = trace(t, guest, status);
	}
	free(t);
	return ret;
}

static int answer_syscall(struct cost_cell *c, pid_t guest, int *status)
{
	return answer(c, guest, status, PTRACE_SYSCALL);
}

static int answer_sysemu(struct cost_cell *c, pid_t guest, int *status)
{
	return answer(c, guest, status, PTRACE_SYSEMU);
}

static int answer_seccomp(struct cost_cell *c, pid_t guest, int *status)
{
	return answer(c, guest, status, PTRACE_CONT);
}

const struct cost_mech cost_ptrace_syscall = {
	.name = "ptrace-syscall",
	.what = "PTRACE_SYSCALL: two stops at every call of any kind",
	.ops = OPS,
	.many = true,
	.intercept = go,
	.answer = answer_syscall,
};

const struct cost_mech cost_ptrace_sysemu = {
	.name = "ptrace-sysemu",
	.what = "PTRACE_SYSEMU: one stop; what is not emulated costs three",
	.ops = OPS,
	.many = true,
	.intercept = go,
	.answer = answer_sysemu,
};

const struct cost_mech cost_ptrace_seccomp = {
	.name = "ptrace-seccomp",
	.what = "RET_TRACE: one stop, only where the filter says so",
	.ops = OPS,
	.many = true,
	.intercept = go_filtered,
	.answer = answer_seccomp,
};
