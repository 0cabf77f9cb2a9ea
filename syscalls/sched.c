/*
 * sched.c - scheduling and priorities of another process, bare column only;
 * the rules are those of process.c. Masks of processors in both columns: the
 * sentry may have narrowed one (affinity.h), which nobody is to see.
 *
 * The sentry may be more privileged than its guests, so what needs a
 * capability is refused here: a lower nice value, real-time classes.
 */
#include <linux/capability.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include "help.h"

#define CPUMASK_MAX	   1024 /* bytes: 8192 CPUs */
#define ATTR_MAX	   256
#define IOPRIO_WHO_PROCESS 1
#define IOPRIO_CLASS(prio) ((unsigned)(prio) >> 13)
#define IOPRIO_CLASS_RT	   1

static bool names_self(const struct call *c, pid_t pid)
{
	return pid == 0 || pid == c->tid;
}

/* 0: of the sandbox, and not its init; else -errno.
 * LIMIT: ESRCH for one that has ended and is not waited for yet. */
static int other_check(struct call *c, pid_t pid)
{
	struct task *t;

	if (pid < 0)
		return -EINVAL;
	t = task_find(c->s, pid);
	if (!t)
		return -ESRCH;
	return t->tg->pid == c->s->init ? -EPERM : 0;
}

/* The thread whose mask is asked for or set; NULL: none of the sandbox's. */
static struct task *mask_owner(struct call *c, pid_t pid)
{
	if (pid == 0)
		return c->task;
	return c->s->bare ? task_find(c->s, pid) : task_find_virtual(c->s, pid);
}

int64_t h_sched_getaffinity(struct call *c)
{
	pid_t pid = arg_int(c, 0);
	unsigned len = (unsigned)c->args[1];
	unsigned char mask[CPUMASK_MAX];
	struct task *t = mask_owner(c, pid);
	cpu_set_t own;
	long n;
	int err = 0;

	if (!t && !c->s->bare)
		return CALL_CONTINUE; /* ESRCH, or one that has ended */
	if (c->s->bare && !names_self(c, pid))
		err = pid < 0 ? -ESRCH : other_check(c, pid);
	if (err)
		return err;
	if (len > sizeof(mask))
		len = sizeof(mask);
	n = syscall(SYS_sched_getaffinity, t->tid, len, mask);
	if (n < 0)
		return -errno;
	if (affinity_own(c->s, t, &own)) {
		memset(mask, 0, (size_t)n);
		memcpy(mask, &own,
		       (size_t)n < sizeof(own) ? (size_t)n : sizeof(own));
	}
	err = help_out(c, c->args[2], mask, (size_t)n);
	return err ? err : n;
}

int64_t h_sched_setaffinity(struct call *c)
{
	pid_t pid = arg_int(c, 0);
	unsigned len = (unsigned)c->args[1];
	unsigned char mask[CPUMASK_MAX];
	struct task *t = mask_owner(c, pid);
	int err;

	if (t)
		affinity_leave(c->s, t);
	if (!c->s->bare || names_self(c, pid))
		return CALL_CONTINUE;
	err = pid < 0 ? -ESRCH : other_check(c, pid);
	if (err)
		return err;
	if (len > sizeof(mask))
		len = sizeof(mask);
	err = call_read(c, c->args[2], mask, len);
	if (err)
		return err;
	return syscall(SYS_sched_setaffinity, pid, len, mask) < 0 ? -errno : 0;
}

int64_t h_sched_getscheduler(struct call *c)
{
	pid_t pid = arg_int(c, 0);
	int err, ret;

	if (names_self(c, pid))
		return CALL_CONTINUE;
	err = other_check(c, pid);
	if (err)
		return err;
	ret = sched_getscheduler(pid);
	return ret < 0 ? -errno : ret;
}

int64_t h_sched_getparam(struct call *c)
{
	pid_t pid = arg_int(c, 0);
	struct sched_param param;
	int err;

	if (names_self(c, pid))
		return CALL_CONTINUE;
	err = other_check(c, pid);
	if (err)
		return err;
	if (sched_getparam(pid, &param) < 0)
		return -errno;
	return help_out(c, c->args[1], &param, sizeof(param));
}

int64_t h_sched_rr_get_interval(struct call *c)
{
	pid_t pid = arg_int(c, 0);
	struct timespec ts;
	int err;

	if (names_self(c, pid))
		return CALL_CONTINUE;
	err = other_check(c, pid);
	if (err)
		return err;
	if (sched_rr_get_interval(pid, &ts) < 0)
		return -errno;
	return help_out(c, c->args[1], &ts, sizeof(ts));
}

int64_t h_sched_getattr(struct call *c)
{
	pid_t pid = arg_int(c, 0);
	unsigned size = (unsigned)c->args[2];
	unsigned char attr[ATTR_MAX] = {0};
	int err;

	if (names_self(c, pid))
		return CALL_CONTINUE;
	err = other_check(c, pid);
	if (err)
		return err;
	if (size > sizeof(attr))
		size = sizeof(attr);
	if (syscall(SYS_sched_getattr, pid, attr, size, (unsigned)c->args[3]) <
	    0)
		return -errno;
	return help_out(c, c->args[1], attr, size);
}

/* LIMIT: the class of another process is not changed in bare mode. */
static int64_t set_other(struct call *c)
{
	pid_t pid = arg_int(c, 0);
	int err;

	if (names_self(c, pid))
		return CALL_CONTINUE;
	err = other_check(c, pid);
	return err ? err : help_refuse_args(c, EPERM, "another process");
}

int64_t h_sched_setscheduler(struct call *c)
{
	return set_other(c);
}

int64_t h_sched_setparam(struct call *c)
{
	return set_other(c);
}

int64_t h_sched_setattr(struct call *c)
{
	return set_other(c);
}

/* ---- nice values ---- */

struct prio_op {
	int which, who, nice;
	bool set;
	int64_t ret;
};

static bool prio_covers(const struct call *c, const struct prio_op *op,
			const struct task *t)
{
	switch (op->which) {
	case PRIO_PROCESS:
		return t->tid == (op->who ? op->who : c->tid);
	case PRIO_PGRP:
		return getpgid(t->tg->pid) ==
		       (op->who ? op->who : getpgid(c->task->tg->pid));
	default:
		return t->cred->ruid ==
		       (op->who ? (uid_t)op->who : c->task->cred->ruid);
	}
}

/* As kernel/sys.c: the best of all for a get, the worst error for a set. The
 * kernel's getpriority value is 20 - nice. */
static void prio_one(const struct call *c, struct prio_op *op, pid_t tid)
{
	long now = syscall(SYS_getpriority, PRIO_PROCESS, tid);

	if (now < 0)
		return;
	if (!op->set) {
		if (now > op->ret)
			op->ret = now;
		return;
	}
	if (op->nice < 20 - now && !help_capable(c, CAP_SYS_NICE))
		op->ret = -EACCES;
	else if (setpriority(PRIO_PROCESS, (id_t)tid, op->nice) < 0)
		op->ret = -errno;
	else if (op->ret == -ESRCH)
		op->ret = 0;
}

static int64_t prio_run(struct call *c, struct prio_op *op)
{
	if (op->which < PRIO_PROCESS || op->which > PRIO_USER)
		return -EINVAL;
	op->ret = -ESRCH;
	list_for_each (g, &c->s->tgroups) {
		struct tgroup *tg = list_entry(g, struct tgroup, list);

		if (tg->pid == c->s->init)
			continue;
		list_for_each (p, &tg->tasks) {
			struct task *t = list_entry(p, struct task, list);

			if (prio_covers(c, op, t))
				prio_one(c, op, t->tid);
		}
	}
	return op->ret;
}

int64_t h_getpriority(struct call *c)
{
	struct prio_op op = {.which = arg_int(c, 0), .who = arg_int(c, 1)};

	if (op.which == PRIO_PROCESS && names_self(c, op.who))
		return CALL_CONTINUE;
	return prio_run(c, &op);
}

int64_t h_setpriority(struct call *c)
{
	struct prio_op op = {.which = arg_int(c, 0),
			     .who = arg_int(c, 1),
			     .nice = arg_int(c, 2),
			     .set = true};

	if (op.which == PRIO_PROCESS && names_self(c, op.who))
		return CALL_CONTINUE;
	if (op.nice < -20)
		op.nice = -20;
	if (op.nice > 19)
		op.nice = 19;
	return prio_run(c, &op);
}

/* ---- I/O priorities ---- */

int64_t h_ioprio_get(struct call *c)
{
	int which = arg_int(c, 0), who = arg_int(c, 1);
	long ret;
	int err;

	if (which == IOPRIO_WHO_PROCESS && names_self(c, who))
		return CALL_CONTINUE;
	if (which != IOPRIO_WHO_PROCESS) /* LIMIT: no groups, no users */
		return -EINVAL;
	err = other_check(c, who);
	if (err)
		return err;
	ret = syscall(SYS_ioprio_get, which, who);
	return ret < 0 ? -errno : ret;
}

int64_t h_ioprio_set(struct call *c)
{
	int which = arg_int(c, 0), who = arg_int(c, 1), prio = arg_int(c, 2);
	int err;

	if (which == IOPRIO_WHO_PROCESS && names_self(c, who))
		return CALL_CONTINUE;
	if (which != IOPRIO_WHO_PROCESS)
		return -EINVAL;
	err = other_check(c, who);
	if (err)
		return err;
	if (IOPRIO_CLASS(prio) == IOPRIO_CLASS_RT)
		return -EPERM;
	return syscall(SYS_ioprio_set, which, who, prio) < 0 ? -errno : 0;
}
