/*
 * rlimit.c - resource limits that are virtual, and those of other processes.
 *
 * CORE is really 1/1 (0 would not stop a piped core handler) and kept as a
 * number. NOFILE is kept as a number and its soft half is real as well, so
 * that EMFILE is native; the real hard half stays, since the stub needs room
 * above it at exec. The sentry may be more privileged than a guest: raising a
 * hard limit is decided here, by the virtual capabilities (law 8).
 */
#include <linux/capability.h>
#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include "help.h"

#define NR_OPEN_MAX 1048576 /* fs.nr_open's usual value */

struct limits_op {
	struct tgroup *tg;
	unsigned resource;
	bool set;
	struct rlimit new, old;
};

struct as_guest {
	const struct sentry *s;
	pid_t pid;
	unsigned resource;
	const struct rlimit *new;
	struct rlimit *old;
	int ret;
};

/* System calls change the ids of this thread alone; the library's functions
 * would change all of them. */
static void *prlimit_as_guest(void *arg)
{
	struct as_guest *a = arg;
	gid_t gid = a->s->kgid;
	uid_t uid = a->s->kuid;

	if (syscall(SYS_setresgid, gid, gid, gid) < 0 ||
	    syscall(SYS_setresuid, uid, uid, uid) < 0 ||
	    prlimit(a->pid, a->resource, a->new, a->old) < 0)
		a->ret = -errno;
	return NULL;
}

/* prlimit(2) of a guest. In bare mode root's guests are another user, for
 * which a root without CAP_SYS_RESOURCE (a container's) needs their ids. */
static int guest_prlimit(struct call *c, pid_t pid, unsigned resource,
			 const struct rlimit *new, struct rlimit *old)
{
	struct as_guest a = {c->s, pid, resource, new, old, 0};
	pthread_t t;

	if (prlimit(pid, resource, new, old) == 0)
		return 0;
	if (errno != EPERM || !c->s->bare || geteuid() != 0)
		return -errno;
	if (pthread_create(&t, NULL, prlimit_as_guest, &a))
		return -EAGAIN;
	pthread_join(t, NULL);
	return a.ret;
}

/* Linux fs/attr.c inode_newsize_ok */
int help_file_size(struct call *c, uint64_t size, uint64_t new)
{
	struct rlimit rl;

	if (new <= size ||
	    guest_prlimit(c, c->task->tg->pid, RLIMIT_FSIZE, NULL, &rl) ||
	    rl.rlim_cur == RLIM_INFINITY || new <= rl.rlim_cur)
		return 0;
	syscall(SYS_tgkill, c->task->tg->pid, c->tid, SIGXFSZ);
	return -EFBIG;
}

static struct tgroup *limits_target(struct call *c, pid_t vpid)
{
	if (vpid == 0 || vpid == tgroup_vpid(c->task->tg))
		return c->task->tg;
	return tgroup_find_virtual(c->s, vpid);
}

/* kernel/sys.c check_prlimit_permission */
static bool limits_permitted(const struct call *c, const struct tgroup *tg)
{
	const struct taskcred *a = c->task->cred, *b;

	if (tg == c->task->tg)
		return true;
	if (tg->pid == c->s->init || list_empty(&tg->tasks))
		return false;
	if (help_capable(c, CAP_SYS_RESOURCE))
		return true;
	b = list_entry(tg->tasks.next, struct task, list)->cred;
	return a->ruid == b->euid && a->ruid == b->suid && a->ruid == b->ruid &&
	       a->rgid == b->egid && a->rgid == b->sgid && a->rgid == b->rgid;
}

/* A virtual root may raise what was lowered, but nothing beyond what the
 * sandbox began with: real time and processes are the host's (law 9). */
static bool limits_beyond_init(struct call *c, const struct limits_op *op)
{
	struct rlimit top;

	return guest_prlimit(c, c->s->init, op->resource, NULL, &top) ||
	       op->new.rlim_max > top.rlim_max;
}

static int limits_check(struct call *c, const struct limits_op *op,
			bool is_virtual)
{
	if (op->new.rlim_cur > op->new.rlim_max)
		return -EINVAL;
	if (op->resource == RLIMIT_NOFILE && op->new.rlim_max > NR_OPEN_MAX)
		return -EPERM;
	if (op->new.rlim_max > op->old.rlim_max &&
	    (!help_capable(c, CAP_SYS_RESOURCE) ||
	     (!is_virtual && limits_beyond_init(c, op))))
		return -EPERM;
	return 0;
}

static int nofile_apply(struct call *c, const struct limits_op *op)
{
	struct rlimit real;
	int err = guest_prlimit(c, op->tg->pid, RLIMIT_NOFILE, NULL, &real);

	if (err)
		return err;
	real.rlim_cur = op->new.rlim_cur < real.rlim_max ? op->new.rlim_cur
							 : real.rlim_max;
	return guest_prlimit(c, op->tg->pid, RLIMIT_NOFILE, &real, NULL);
}

static struct rlimit *limits_virtual(struct limits_op *op)
{
	if (op->resource == RLIMIT_NOFILE)
		return &op->tg->nofile;
	if (op->resource == RLIMIT_CORE)
		return &op->tg->core;
	return NULL;
}

static int limits_set_virtual(struct call *c, struct limits_op *op,
			      struct rlimit *at)
{
	int err = op->resource == RLIMIT_NOFILE ? nofile_apply(c, op) : 0;

	if (!err)
		*at = op->new;
	return err;
}

static int limits_run(struct call *c, struct limits_op *op)
{
	struct rlimit *at;
	int err = 0;

	if (!op->tg)
		return -ESRCH;
	if (!limits_permitted(c, op->tg))
		return -EPERM;
	if (op->resource >= RLIM_NLIMITS)
		return -EINVAL;
	at = limits_virtual(op);
	if (at)
		op->old = *at;
	else
		err = guest_prlimit(c, op->tg->pid, op->resource, NULL,
				    &op->old);
	if (err || !op->set)
		return err;
	err = limits_check(c, op, at != NULL);
	if (err)
		return err;
	if (at)
		return limits_set_virtual(c, op, at);
	return guest_prlimit(c, op->tg->pid, op->resource, &op->new, NULL);
}

int64_t h_prlimit64(struct call *c)
{
	struct limits_op op = {.resource = (unsigned)c->args[1],
			       .set = c->args[2] != 0};
	const void *new;
	int err;

	/* registers alone decide: the caller itself, a limit that is real */
	if (c->s->bare && arg_int(c, 0) == 0 && op.resource != RLIMIT_NOFILE &&
	    op.resource != RLIMIT_CORE && op.resource != RLIMIT_NPROC)
		return CALL_CONTINUE;
	if (op.set) {
		err = help_struct(c, 2, sizeof(op.new), &new);
		if (err)
			return err;
		memcpy(&op.new, new, sizeof(op.new));
	}
	op.tg = limits_target(c, arg_int(c, 0));
	err = limits_run(c, &op);
	if (err || !c->args[3])
		return err;
	return help_out(c, c->args[3], &op.old, sizeof(op.old));
}

int64_t h_setrlimit(struct call *c)
{
	struct limits_op op = {.resource = (unsigned)c->args[0],
			       .set = true,
			       .tg = c->task->tg};
	int err = call_read(c, c->args[1], &op.new, sizeof(op.new));

	return err ? err : limits_run(c, &op);
}

int64_t h_getrlimit(struct call *c)
{
	struct limits_op op = {.resource = (unsigned)c->args[0],
			       .tg = c->task->tg};
	int err = limits_run(c, &op);

	return err ? err : help_out(c, c->args[1], &op.old, sizeof(op.old));
}
