/*
 * cell.c - runs one cell in processes of its own, and what mechanisms share.
 *
 *   here ── the cell's process (supervisor) ── the guest
 *
 * So a mechanism may pin itself, become a tracer or load a filter and nothing
 * of it is left. The guest prints its result into a pipe; the supervisor's
 * own processor time is told apart from its children's.
 */
#include "mech.h"

#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>

const struct cost_mech *const cost_mechs[] = {
	&cost_native,	      &cost_filter_allow,   &cost_filter_errno,
	&cost_notify,	      &cost_notify_sync,    &cost_notify_pinned,
	&cost_notify_spin,    &cost_ptrace_syscall, &cost_ptrace_sysemu,
	&cost_ptrace_seccomp, &cost_trap,	    &cost_dispatch,
	&cost_int3,	      &cost_jump,	    &cost_jump_slot,
	&cost_preload,	      &cost_cloche,	    NULL,
};

/* What the supervisor's process tells: its status, then its own time. */
struct report {
	int ret;
	double cpu;
	struct cost_result result;
};

/* Allows all but the three intercepted numbers, which get `action`. Clobbers
 * insns[0..6]; their count. */
unsigned cost_filter(struct sock_filter *insns, uint32_t action)
{
	const struct sock_filter made[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
			 offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_getppid, 3, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_newfstatat, 2, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat, 1, 0),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
		BPF_STMT(BPF_RET | BPF_K, action),
	};

	memcpy(insns, made, sizeof(made));
	return ARRAY_SIZE(made);
}

int cost_filter_load(uint32_t action, unsigned flags)
{
	struct sock_filter insns[8];
	struct sock_fprog prog = {.filter = insns};
	int ret;

	prog.len = (unsigned short)cost_filter(insns, action);
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return -errno;
	ret = (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &prog);
	return ret < 0 ? -errno : ret;
}

int cost_pin(void)
{
	cpu_set_t one;
	int cpu = sched_getcpu();

	if (cpu < 0)
		return -errno;
	CPU_ZERO(&one);
	CPU_SET((size_t)cpu, &one);
	return sched_setaffinity(0, sizeof(one), &one) < 0 ? -errno : 0;
}

void cost_pin_nth(unsigned n)
{
	cpu_set_t all, one;

	if (sched_getaffinity(0, sizeof(all), &all) < 0)
		return;
	n %= (unsigned)CPU_COUNT(&all);
	for (size_t cpu = 0; cpu < CPU_SETSIZE; cpu++) {
		if (!CPU_ISSET(cpu, &all) || n--)
			continue;
		CPU_ZERO(&one);
		CPU_SET(cpu, &one);
		(void)!sched_setaffinity(0, sizeof(one), &one);
		return;
	}
}

int cost_wait(pid_t guest)
{
	int status = -1;

	while (waitpid(guest, &status, 0) < 0 && errno == EINTR)
		;
	return status;
}

int64_t cost_answer_inside(const struct cost_cell *c, long nr,
			   const uint64_t *args)
{
	const char *path = (const char *)(uintptr_t)args[1];

	if (nr != SYS_newfstatat)
		return 1;
	if (strcmp(path, cost_path) != 0)
		return -ENOENT;
	memcpy((void *)(uintptr_t)args[2], &c->st, sizeof(c->st));
	return 0;
}

static double own_cpu(void)
{
	struct rusage u;

	if (getrusage(RUSAGE_SELF, &u) < 0)
		return 0;
	return ((double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) * 1e6 +
		(double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec)) *
	       1e3;
}

/* In the guest's process; `out` takes its result. */
NORETURN static void guest_main(struct cost_cell *c, int out)
{
	struct cost_result r;
	int ret = 0;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (c->mech->intercept)
		ret = c->mech->intercept(c);
	if (!ret)
		ret = cost_guest(c, &r);
	if (ret)
		_exit(ret == -EOPNOTSUPP ? 2 : 1);
	_exit(cost_result_write(out, &r) ? 1 : 0);
}

static int spawn(struct cost_cell *c, int pipes[2], pid_t *pid)
{
	if (c->mech->spawn)
		return c->mech->spawn(c, pipes[1], pid);
	fflush(NULL);
	*pid = fork();
	if (*pid < 0)
		return -errno;
	if (*pid == 0) {
		close(pipes[0]);
		close(c->channel[1]);
		guest_main(c, pipes[1]);
	}
	return 0;
}

static int supervise(struct cost_cell *c, struct cost_result *r)
{
	int pipes[2], status = -1, ret = 0;
	double before;
	pid_t pid = -1;

	if (stat(cost_path, &c->st) < 0)
		return -errno;
	c->file = open(cost_path, O_RDONLY | O_CLOEXEC);
	if (c->file < 0 || pipe2(pipes, O_CLOEXEC) < 0 ||
	    socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, c->channel) < 0)
		return -errno;
	if (c->mech->start)
		ret = c->mech->start(c);
	if (!ret)
		ret = spawn(c, pipes, &pid);
	if (ret)
		return ret;
	close(pipes[1]);
	close(c->channel[0]);
	before = own_cpu();
	if (c->mech->answer)
		ret = c->mech->answer(c, pid, &status);
	else
		status = cost_wait(pid);
	if (!ret && WIFEXITED(status) && WEXITSTATUS(status) == 2)
		ret = -EOPNOTSUPP;
	if (!ret)
		ret = cost_result_read(pipes[0], r);
	if (!ret && r->count && !c->mech->spawn)
		r->sentry_cpu = (own_cpu() - before) / (double)r->count;
	if (ret && WIFSIGNALED(status))
		ret = -EFAULT;
	return ret;
}

int cost_cell_run(struct cost_cell *c, struct cost_result *r)
{
	struct report rep = {.ret = -EIO};
	int pipes[2];
	ssize_t n;
	pid_t pid;

	if (pipe2(pipes, O_CLOEXEC) < 0)
		return -errno;
	fflush(NULL);
	pid = fork();
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		rep.ret = supervise(c, &rep.result);
		n = write(pipes[1], &rep, sizeof(rep));
		_exit(n != sizeof(rep));
	}
	close(pipes[1]);
	if (pid > 0) {
		n = read(pipes[0], &rep, sizeof(rep));
		if (n != sizeof(rep))
			rep.ret = -EIO;
		cost_wait(pid);
	} else {
		rep.ret = -errno;
	}
	close(pipes[0]);
	if (!rep.ret)
		*r = rep.result;
	return rep.ret;
}
