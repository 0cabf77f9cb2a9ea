/*
 * ctty.c - see ctty.h.
 */
#include "ctty.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <termios.h>

#include "sentry.h"
#include "trace.h"
#include "trace_priv.h"

/* Fields 6 (session) and 7 (tty_nr) of /proc/TID/stat. */
static bool leader_without_tty(pid_t pid)
{
	char path[64], buf[1024], *p;
	int ppid, pgrp, session, tty;
	char state;
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	AUTO_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	n = read(fd, buf, sizeof(buf) - 1);
	if (n <= 0)
		return false;
	buf[n] = '\0';
	p = strrchr(buf, ')');
	if (!p || sscanf(p + 1, " %c %d %d %d %d", &state, &ppid, &pgrp,
			 &session, &tty) != 5)
		return false;
	return session == pid && tty == 0;
}

int64_t terminal_open(struct call *c, struct vfs_opened *o, int flags)
{
	pid_t pid = c->task->tg->pid;

	if (!(flags & O_NOCTTY) && leader_without_tty(pid)) {
		/* Before the reply: the stop then comes before the guest's
		 * next instruction. */
		call_unlock(c);
		trace_make_ctty(c->s, c->tid);
		if (!call_lock(c))
			return -EINTR;
	}
	return call_return_fd(c, fd_take(&o->fd), flags & O_CLOEXEC);
}

static struct ttrace *ttrace_find(struct sentry *s, pid_t tid)
{
	struct task *t;

	sentry_lock(s);
	t = task_find(s, tid);
	sentry_unlock(s);
	return t ? ttrace_of(t) : NULL;
}

bool ctty_inject(struct sentry *s, pid_t tid)
{
	struct ttrace *tt = ttrace_find(s, tid);
	struct user_regs_struct r;

	if (!tt || ptrace(PTRACE_GETREGS, tid, 0, &r) < 0)
		return false;
	/* Only right after the open (or TIOCGPTPEER) gave a descriptor; rip is
	 * behind the two-byte syscall instruction, which runs once more. */
	if ((long long)r.rax < 0 ||
	    (r.orig_rax != SYS_openat && r.orig_rax != SYS_open &&
	     r.orig_rax != SYS_openat2 && r.orig_rax != SYS_ioctl))
		return false;
	tt->saved = r;
	r.rdi = r.rax;
	r.rax = SYS_ioctl;
	r.rsi = TIOCSCTTY;
	r.rdx = 0;
	r.rip -= 2;
	r.orig_rax = (unsigned long long)-1;
	if (ptrace(PTRACE_SETREGS, tid, 0, &r) < 0 ||
	    ptrace(PTRACE_SYSCALL, tid, 0, 0) < 0)
		return false;
	tt->ctty_step = 1;
	return true;
}

bool ctty_syscall_stop(struct sentry *s, pid_t tid)
{
	struct ttrace *tt = ttrace_find(s, tid);

	if (!tt || !tt->ctty_step)
		return false;
	if (tt->ctty_step == 1) {
		tt->ctty_step = 2;
		if (ptrace(PTRACE_SYSCALL, tid, 0, 0) < 0)
			return false;
		return true;
	}
	tt->ctty_step = 0;
	tt->saved.orig_rax = (unsigned long long)-1; /* no restart logic */
	if (ptrace(PTRACE_SETREGS, tid, 0, &tt->saved) < 0)
		log_debug("ctty of %d: %s", tid, strerror(errno));
	trace_cont(s, tid, 0);
	return true;
}
