/*
 * process.c - calls that name another process, in the bare column.
 *
 * Without a pid namespace a guest could name any process of its user. Here a
 * number means a process of the sandbox's task table or nothing (ESRCH). A
 * call that names its caller goes on natively: the caller cannot vanish under
 * its own call. For all others the sentry acts, with the state lock, under
 * which a traced task's number is not used again.
 *
 * Where Landlock scopes signals to the sandbox (ABI 6), one that names a guest
 * goes on natively as well, and shows its sender: should the number be used
 * again meanwhile, the kernel refuses.
 *
 * LIMIT: without that, and for kill(-1), the sentry sends, and is shown.
 * In the jailed column all of these are native and this file is not reached.
 */
#include <dirent.h>
#include <fcntl.h>
#include <linux/landlock.h>
#include <signal.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include "help.h"

#define PIDFD_FLAGS_KNOWN (O_NONBLOCK | O_EXCL) /* PIDFD_NONBLOCK, _THREAD */

static bool names_self(const struct call *c, pid_t pid)
{
	return pid == 0 || pid == c->tid || pid == c->task->tg->pid;
}

/* A thread or process by number; NULL if it is not the sandbox's. */
static struct task *target(struct call *c, pid_t pid)
{
	struct task *t = task_find(c->s, pid);
	struct tgroup *tg;

	if (t)
		return t;
	tg = tgroup_find(c->s, pid);
	if (!tg || list_empty(&tg->tasks))
		return NULL;
	return list_entry(tg->tasks.next, struct task, list);
}

static bool signals_scoped(void)
{
	static int abi = -1;

	if (abi < 0)
		abi = (int)syscall(SYS_landlock_create_ruleset, NULL, 0,
				   LANDLOCK_CREATE_RULESET_VERSION);
	if (abi < 0)
		abi = 0;
	return abi >= 6;
}

static bool signal_valid(int sig)
{
	return sig >= 0 && sig <= SIGRTMAX;
}

static int group_signal(struct call *c, struct tgroup *tg, int sig)
{
	long ret;

	if (tg->pid == c->s->init)
		return -EPERM;
	if (tg->pidfd >= 0)
		ret = syscall(SYS_pidfd_send_signal, tg->pidfd, sig, NULL, 0);
	else
		ret = kill(tg->pid, sig);
	return ret < 0 ? -errno : 0;
}

/* kill(0), kill(-pgid), kill(-1): those of the sandbox only. pgid -1: all
 * but the caller. */
static int64_t many_signal(struct call *c, pid_t pgid, int sig)
{
	int64_t ret = -ESRCH;
	struct tgroup *own = c->task->tg;

	list_for_each_safe (p, &c->s->tgroups) {
		struct tgroup *tg = list_entry(p, struct tgroup, list);
		int err;

		if (tg == own || tg->pid == c->s->init)
			continue;
		if (pgid != -1 && getpgid(tg->pid) != pgid)
			continue;
		err = group_signal(c, tg, sig);
		if (err == 0)
			ret = 0;
		else if (ret)
			ret = err;
	}
	/* the caller last: the signal may end it */
	if (pgid != -1 && getpgid(own->pid) == pgid)
		ret = group_signal(c, own, sig);
	return ret;
}

/* A process group. Init is alone in its own (init.c). */
static int64_t group_of_signal(struct call *c, pid_t pgid, int sig)
{
	if (!signals_scoped() || pgid == getpgid(c->s->init))
		return many_signal(c, pgid, sig);
	list_for_each (p, &c->s->tgroups) {
		struct tgroup *tg = list_entry(p, struct tgroup, list);

		if (getpgid(tg->pid) == pgid)
			return CALL_CONTINUE;
	}
	return -ESRCH;
}

int64_t h_kill(struct call *c)
{
	pid_t pid = arg_int(c, 0);
	int sig = arg_int(c, 1);
	struct task *t;

	if (pid > 0 && names_self(c, pid))
		return CALL_CONTINUE;
	if (!signal_valid(sig))
		return -EINVAL;
	if (pid == INT32_MIN)
		return -ESRCH;
	if (pid == 0)
		return group_of_signal(c, getpgid(c->task->tg->pid), sig);
	if (pid < 0)
		return pid == -1 ? many_signal(c, -1, sig)
				 : group_of_signal(c, -pid, sig);
	t = target(c, pid);
	if (!t)
		return -ESRCH;
	if (signals_scoped() && t->tg->pid != c->s->init)
		return CALL_CONTINUE;
	return group_signal(c, t->tg, sig);
}

static int64_t thread_signal(struct call *c, pid_t tgid, pid_t tid, int sig)
{
	struct task *t;

	if (tid <= 0 || !signal_valid(sig))
		return -EINVAL;
	t = task_find(c->s, tid);
	if (!t || (tgid > 0 && t->tg->pid != tgid))
		return -ESRCH;
	if (t->tg->pid == c->s->init)
		return -EPERM;
	if (signals_scoped())
		return CALL_CONTINUE;
	return syscall(SYS_tgkill, t->tg->pid, tid, sig) < 0 ? -errno : 0;
}

int64_t h_tkill(struct call *c)
{
	if (arg_int(c, 0) == c->tid)
		return CALL_CONTINUE;
	return thread_signal(c, -1, arg_int(c, 0), arg_int(c, 1));
}

int64_t h_tgkill(struct call *c)
{
	if (arg_int(c, 0) == c->task->tg->pid)
		return CALL_CONTINUE; /* the kernel checks the thread */
	if (arg_int(c, 0) <= 0)
		return -EINVAL;
	return thread_signal(c, arg_int(c, 0), arg_int(c, 1), arg_int(c, 2));
}

/* A siginfo for another process must not look like the kernel's or kill's. */
static int info_read(struct call *c, int arg, siginfo_t *info)
{
	int err = call_read(c, c->args[arg], info, sizeof(*info));

	if (err)
		return err;
	return info->si_code >= 0 || info->si_code == SI_TKILL ? -EPERM : 0;
}

int64_t h_rt_sigqueueinfo(struct call *c)
{
	pid_t pid = arg_int(c, 0);
	int sig = arg_int(c, 1);
	struct task *t;
	siginfo_t info;
	int err;

	if (pid > 0 && names_self(c, pid))
		return CALL_CONTINUE;
	err = info_read(c, 2, &info);
	if (err)
		return err;
	t = pid > 0 ? target(c, pid) : NULL;
	if (!t)
		return -ESRCH;
	if (t->tg->pid == c->s->init)
		return -EPERM;
	return syscall(SYS_rt_sigqueueinfo, t->tg->pid, sig, &info) < 0 ? -errno
									: 0;
}

int64_t h_rt_tgsigqueueinfo(struct call *c)
{
	pid_t tgid = arg_int(c, 0), tid = arg_int(c, 1);
	struct task *t;
	siginfo_t info;
	int err;

	if (tgid <= 0 || tid <= 0)
		return -EINVAL;
	if (tgid == c->task->tg->pid)
		return CALL_CONTINUE;
	err = info_read(c, 3, &info);
	if (err)
		return err;
	t = task_find(c->s, tid);
	if (!t || t->tg->pid != tgid)
		return -ESRCH;
	if (tgid == c->s->init)
		return -EPERM;
	return syscall(SYS_rt_tgsigqueueinfo, tgid, tid, arg_int(c, 2), &info) <
			       0
		       ? -errno
		       : 0;
}

/* ---- groups and sessions ---- */

/* Only children of the caller in its own session can be moved, and only to a
 * group there: the kernel's rule, which needs no more than that. */
int64_t h_setpgid(struct call *c)
{
	pid_t pid = arg_int(c, 0);

	if (pid < 0)
		return -EINVAL;
	return names_self(c, pid) || target(c, pid) ? CALL_CONTINUE : -ESRCH;
}

int64_t h_getpgid(struct call *c)
{
	pid_t pid = arg_int(c, 0), ret;

	if (names_self(c, pid))
		return CALL_CONTINUE;
	if (!target(c, pid))
		return -ESRCH;
	ret = getpgid(pid);
	return ret < 0 ? -errno : ret;
}

int64_t h_getsid(struct call *c)
{
	pid_t pid = arg_int(c, 0), ret;

	if (names_self(c, pid))
		return CALL_CONTINUE;
	if (!target(c, pid))
		return -ESRCH;
	ret = getsid(pid);
	return ret < 0 ? -errno : ret;
}

/* ---- pidfds ---- */

int64_t h_pidfd_open(struct call *c)
{
	pid_t pid = arg_int(c, 0);
	unsigned flags = (unsigned)c->args[1];
	int fd;

	if ((flags & ~(unsigned)PIDFD_FLAGS_KNOWN) || pid <= 0)
		return -EINVAL;
	if (!target(c, pid))
		return -ESRCH;
	fd = (int)syscall(SYS_pidfd_open, pid, flags);
	return fd < 0 ? -errno : call_return_fd(c, fd, true);
}

pid_t help_pidfd_pid(int fd)
{
	char path[48], text[512];
	AUTO_CLOSE int f = -1;
	const char *at;
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", fd);
	f = open(path, O_RDONLY | O_CLOEXEC);
	n = f < 0 ? -1 : read(f, text, sizeof(text) - 1);
	if (n <= 0)
		return 0;
	text[n] = '\0';
	at = strstr(text, "\nPid:");
	return at ? (pid_t)strtol(at + 5, NULL, 10) : 0;
}

int64_t h_pidfd_send_signal(struct call *c)
{
	int fd = call_fd(c, arg_int(c, 0));
	siginfo_t info, *with = NULL;
	struct task *t;
	pid_t pid;
	int err;

	if (fd < 0)
		return fd;
	pid = help_pidfd_pid(fd);
	if (!pid)
		return -EBADF;
	t = pid > 0 ? target(c, pid) : NULL;
	if (!t)
		return -ESRCH;
	if (t->tg->pid == c->s->init)
		return -EPERM;
	if (c->args[2]) {
		err = info_read(c, 2, &info);
		if (err)
			return err;
		with = &info;
	}
	return syscall(SYS_pidfd_send_signal, fd, arg_int(c, 1), with,
		       (unsigned)c->args[3]) < 0
		       ? -errno
		       : 0;
}
