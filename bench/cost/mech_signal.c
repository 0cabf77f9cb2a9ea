/*
 * mech_signal.c - SIGSYS in the guest's own process: by a seccomp filter's
 * RET_TRAP, or by syscall user dispatch (prctl(2),
 * PR_SET_SYSCALL_USER_DISPATCH).
 *
 * The handler answers by itself. No wall: the guest owns the handler.
 */
#include "mech.h"

#include <linux/seccomp.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <ucontext.h>

#ifndef PR_SET_SYSCALL_USER_DISPATCH
#define PR_SET_SYSCALL_USER_DISPATCH 59
#define PR_SYS_DISPATCH_ON	     1
#endif
#define SELECT_ALLOW 0
#define SELECT_BLOCK 1

/* Of the one cell in this process: a handler is given nothing else. */
static struct {
	const struct cost_cell *cell;
	volatile char selector;
} self;

/* An intercepted number: its site, in text that nothing else is in. */
static void on_sigsys(int sig UNUSED, siginfo_t *info UNUSED, void *context)
{
	ucontext_t *u = context;
	greg_t *g = u->uc_mcontext.gregs;
	uint64_t args[3] = {(uint64_t)g[REG_RDI], (uint64_t)g[REG_RSI],
			    (uint64_t)g[REG_RDX]};

	g[REG_RAX] = cost_answer_inside(self.cell, info->si_syscall, args);
}

static int handle(const struct cost_cell *c)
{
	struct sigaction act = {.sa_sigaction = on_sigsys,
				.sa_flags = SA_SIGINFO | SA_NODEFER};

	self.cell = c;
	return sigaction(SIGSYS, &act, NULL) < 0 ? -errno : 0;
}

static int trap(struct cost_cell *c)
{
	int ret = handle(c);

	return ret ? ret : cost_filter_load(SECCOMP_RET_TRAP, 0);
}

/*
 * All but the sites is the allowed range: it cannot be told as such, since
 * one range may be given. So the range is what lies above the sites, libc and
 * the loader (and sigreturn in it) included, and what lies below, this
 * program's own, calls through libc.
 */
static int dispatch(struct cost_cell *c)
{
	uintptr_t end = (uintptr_t)cost_thunk_getppid;
	int ret = handle(c);

	if (ret)
		return ret;
	self.selector = SELECT_BLOCK;
	if (prctl(PR_SET_SYSCALL_USER_DISPATCH, PR_SYS_DISPATCH_ON, end,
		  UINTPTR_MAX / 2 - end, &self.selector) < 0)
		return errno == EINVAL ? -EOPNOTSUPP : -errno;
	return 0;
}

const struct cost_mech cost_trap = {
	.name = "trap",
	.what = "RET_TRAP: SIGSYS, answered by a handler in the guest",
	.ops = COST_BIT(COST_CALL) | COST_BIT(COST_STAT) |
	       COST_BIT(COST_SIGNAL) | COST_BIT(COST_THREAD),
	.many = true,
	.intercept = trap,
};

const struct cost_mech cost_dispatch = {
	.name = "user-dispatch",
	.what = "syscall user dispatch: SIGSYS with no filter",
	.ops = COST_BIT(COST_CALL) | COST_BIT(COST_STAT) |
	       COST_BIT(COST_SIGNAL),
	.intercept = dispatch,
};
