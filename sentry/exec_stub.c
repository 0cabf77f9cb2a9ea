/*
 * exec_stub.c - a call of execve becomes an exec of the loader stub, and back
 * where the kernel refuses; and is it the stub that runs?
 *
 * The kernel reads the stub's path from the guest's memory. A program that the
 * stub has started has it there, in the stub's own page (stub.S): nothing is
 * written then. It may have been unmapped or be another's by now: the kernel
 * then says so before the exec has had any effect, and the call is run once
 * more, with the path written below the stack.
 *
 * Tracer only, at a stop of the thread. LAWS 2 and 4 of exec.h.
 */
#include <linux/audit.h>
#include <signal.h>
#include <stddef.h>
#include <elf.h>
#include <stdio.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "exec_priv.h"
#include "gmem.h"
#include "sentry.h"
#include "trace_priv.h"
#include "../loader/stub.h"
#include "../loader/stubimage.h"

enum { EXEC_BELOW_STACK = 512, SYSCALL_INSN = 2 };

/* Puts the stub's path below the stack pointer, beyond the red zone, where no
 * live data is. The old bytes are kept for a failing exec. */
static int write_stub_path(struct sentry *s, pid_t tid, struct ttrace *tt,
			   gaddr_t rsp)
{
	size_t len = strlen(s->stub_path) + 1;
	gaddr_t at = (rsp - EXEC_BELOW_STACK) & ~(gaddr_t)63;

	BUG_ON(len > EXEC_SCRATCH);
	tt->scratch_addr = at;
	if (gmem_read(tid, at, tt->scratch, len) ||
	    gmem_write(tid, at, s->stub_path, len))
		return -EFAULT;
	return 0;
}

static int rewrite_execveat(pid_t tid, gaddr_t path)
{
	struct user_regs_struct r;

	if (ptrace(PTRACE_GETREGS, tid, 0, &r) < 0)
		return -ESRCH;
	r.rsi = r.rdx;
	r.rdx = r.r10;
	r.orig_rax = SYS_execve;
	r.rdi = path;
	return ptrace(PTRACE_SETREGS, tid, 0, &r) < 0 ? -ESRCH : 0;
}

int exec_enter_stub(struct sentry *s, pid_t tid, struct ttrace *tt,
		    const struct __ptrace_syscall_info *i, gaddr_t known)
{
	gaddr_t path = known;
	int ret;

	tt->exec_nr = (int)i->seccomp.nr;
	for (size_t k = 0; k < ARRAY_SIZE(tt->exec_args); k++)
		tt->exec_args[k] = i->seccomp.args[k];
	tt->scratch_addr = 0;
	if (!known) {
		ret = write_stub_path(s, tid, tt, i->stack_pointer);
		if (ret)
			return ret;
		path = tt->scratch_addr;
	}
	if (tt->exec_nr != SYS_execve)
		return rewrite_execveat(tid, path);
	return ptrace(PTRACE_POKEUSER, tid, offsetof(struct user, regs.rdi),
		      path) < 0
		       ? -ESRCH
		       : 0;
}

/* Errnos that execve of the stub gives for the guest's own doing. */
static bool exec_errno_expected(long err)
{
	switch (-err) {
	case E2BIG:
	case EFAULT:
	case ENOMEM:
	case EAGAIN:
	case EINTR:
	case EPERM:
		return true;
	}
	return err <= -512 && err >= -516;
}

int exec_leave_stub(struct sentry *s, pid_t tid, struct ttrace *tt, bool *again)
{
	struct user_regs_struct r;
	bool expected;

	*again = false;
	if (ptrace(PTRACE_GETREGS, tid, 0, &r) < 0)
		return 0; /* killed meanwhile */
	expected = exec_errno_expected((long)r.rax);
	*again = !tt->scratch_addr && (!expected || (long)r.rax == -EFAULT);
	if (!expected && !*again) {
		log_warn("exec of the stub by thread %d gave errno %ld: killed",
			 tid, -(long)r.rax);
		return -EPERM;
	}
	r.rdi = tt->exec_args[0];
	r.rsi = tt->exec_args[1];
	r.rdx = tt->exec_args[2];
	r.orig_rax = (unsigned long long)tt->exec_nr;
	if (*again) {
		r.rax = r.orig_rax;
		r.orig_rax = (unsigned long long)-1; /* no restart logic */
		r.rip -= SYSCALL_INSN;
	}
	if (tt->scratch_addr && gmem_write(tid, tt->scratch_addr, tt->scratch,
					   strlen(s->stub_path) + 1))
		log_debug("scratch of %d not restored", tid);
	return ptrace(PTRACE_SETREGS, tid, 0, &r) < 0 ? -ESRCH : 0;
}

static bool exe_is_stub(const struct sentry *s, pid_t pid)
{
	char path[64];
	struct stat st;

	snprintf(path, sizeof(path), "/proc/%d/exe", pid);
	return stat(path, &st) == 0 && st.st_dev == s->stub_dev &&
	       st.st_ino == s->stub_ino;
}

/* Nobody else has the new memory, and nothing in it has run. Looking at it
 * costs a quarter of what looking at /proc/PID/exe does. */
bool exec_runs_stub(struct sentry *s, pid_t tid, gaddr_t *path)
{
	const Elf64_Ehdr *eh = (const void *)stub_image;
	unsigned char image[EXEC_STUB_MAX];
	gaddr_t rip;

	*path = 0;
	BUG_ON(stub_image_size > sizeof(image));
	errno = 0;
	rip = (gaddr_t)ptrace(PTRACE_PEEKUSER, tid,
			      offsetof(struct user, regs.rip), 0);
	if (errno ||
	    gmem_read(tid, rip - eh->e_entry, image, stub_image_size) ||
	    memcmp(image, stub_image, stub_image_size) != 0)
		return exe_is_stub(s, tid);
	if (!strcmp(s->stub_path, STUB_PATH))
		*path = rip - STUB_PATH_BACK;
	return true;
}
