/*
 * trace_mend.c - what a guest sees of an interruption is what it natively sees:
 * LAW 7 (trace.h), and the sender of a signal.
 */
#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>

#include "sentry.h"
#include "trace.h"
#include "trace_priv.h"
#include "../syscalls/table.h"

bool trace_call_notified(const struct user_regs_struct *r, bool bare)
{
	const uint64_t args[6] = {r->rdi, r->rsi, r->rdx, r->r10, r->r8, r->r9};
	const struct sysrow *row = sysrow_find((int)r->orig_rax);
	enum sysclass class;

	if (!row)
		return true;
	class = bare ? row->bare : row->jailed;
	if (class == SYS_NATIVE || class == SYS_TRACE)
		return false;
	if (class == SYS_ARGS)
		return !filter_args_allow((int)r->orig_rax, args, bare);
	return true;
}

enum { RESTARTSYS = -512, RESTARTNOINTR = -513, RESTARTNOHAND = -514 };

/* A native call that says EINTR to any interruption (epoll_wait, semop, a
 * socket with a time limit: signal(7)), so to one that only a tracer makes, and
 * to a signal that is ignored but stops a traced thread. By a handler it still
 * does. close(2) has closed when it says so. */
static long mend_native(const struct sentry *s,
			const struct user_regs_struct *r)
{
	bool again = (long)r->orig_rax >= 0 && r->orig_rax != SYS_close &&
		     !trace_call_notified(r, s->bare);

	return again ? RESTARTNOHAND : 0;
}

/* Law 7, for a call that was cancelled before we received it. 0: as it is. */
static long mend_cancelled(struct sentry *s, pid_t tid, int sig,
			   const struct user_regs_struct *r)
{
	const struct sysrow *row;
	struct task *t;
	bool leave;

	if ((long)r->orig_rax < 0 || !trace_call_notified(r, s->bare))
		return 0;
	sentry_lock(s);
	t = task_find(s, tid);
	leave = !t || t->continued_nr == (int)r->orig_rax || t->released;
	if (t && sig)
		t->released = false;
	sentry_unlock(s);
	row = sysrow_find((int)r->orig_rax);
	if (leave)
		return 0;
	return row && row->intr == INTR_ALWAYS ? RESTARTNOHAND : RESTARTNOINTR;
}

/* What an interrupted call gives must be what it natively gives. A call
 * given back may stop twice: for the interrupt, then (sig) for the signal. */
void trace_mend_call(struct sentry *s, pid_t tid, int sig)
{
	struct user_regs_struct r;
	long rax, mended;

	errno = 0;
	rax = ptrace(PTRACE_PEEKUSER, tid, offsetof(struct user, regs.rax), 0);
	if (errno || (rax != RESTARTSYS && rax != -EINTR))
		return;
	if (ptrace(PTRACE_GETREGS, tid, 0, &r) < 0)
		return;
	mended = rax == -EINTR ? mend_native(s, &r)
			       : mend_cancelled(s, tid, sig, &r);
	if (mended && ptrace(PTRACE_POKEUSER, tid,
			     offsetof(struct user, regs.rax), mended) < 0)
		log_debug("mending thread %d: %s", tid, strerror(errno));
}

/* The kernel tells the sender's kernel id; a virtual one belongs there. What
 * is taken by sigwait or a signalfd makes no stop and keeps the kernel's. */
void trace_mend_sender(struct sentry *s, pid_t tid, int sig)
{
	uid_t shown = s->bare ? s->kuid : s->cfg->uid, uid = shown;
	struct tgroup *tg;
	siginfo_t si;

	if (!s->cfg->virtual_root && shown == s->cfg->uid)
		return;
	if (ptrace(PTRACE_GETSIGINFO, tid, 0, &si) < 0)
		return;
	if (si.si_code != SI_USER && si.si_code != SI_TKILL &&
	    si.si_code != SI_QUEUE && (sig != SIGCHLD || si.si_code <= 0))
		return;
	if (si.si_uid != shown)
		return; /* a number of the program's own making */
	sentry_lock(s);
	tg = s->bare ? tgroup_find(s, si.si_pid)
		     : tgroup_find_virtual(s, si.si_pid);
	if (tg && !list_empty(&tg->tasks))
		uid = list_entry(tg->tasks.next, struct task, list)->cred->ruid;
	else if (s->bare)
		uid = s->cfg->uid; /* it has gone */
	sentry_unlock(s);
	if (uid == shown)
		return;
	si.si_uid = uid;
	if (ptrace(PTRACE_SETSIGINFO, tid, 0, &si) < 0)
		log_debug("siginfo of thread %d: %s", tid, strerror(errno));
}
