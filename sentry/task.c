/*
 * task.c - the table of guest threads and processes; see task.h.
 *
 * Made and ended by the tracer at ptrace events, read by everybody, always
 * under the state lock. A task stays valid memory while a call holds it,
 * after its thread has gone: `dead` tells.
 */
#include "task.h"

#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <time.h>

#include "dispatch.h"
#include "exec.h"
#include "sentry.h"
#include "trace.h"

#ifndef PIDFD_THREAD
#define PIDFD_THREAD O_EXCL /* Linux 6.9 */
#endif

enum { STATUS_SIZE = 4096, FD_TABLES_KEPT = 64, FD_TABLES_SHARE = 16 };

static uint64_t pid_hash(pid_t pid)
{
	return hash_u64((uint64_t)pid, 0x7461736b);
}

struct task *task_find(struct sentry *s, pid_t tid)
{
	struct hnode *n = htable_first(&s->tasks, pid_hash(tid));

	for (; n; n = htable_next(n)) {
		struct task *t = container_of(n, struct task, by_tid);

		if (t->tid == tid)
			return t;
	}
	return NULL;
}

struct tgroup *tgroup_find(struct sentry *s, pid_t pid)
{
	struct hnode *n = htable_first(&s->tgroups_by_pid, pid_hash(pid));

	for (; n; n = htable_next(n)) {
		struct tgroup *tg = container_of(n, struct tgroup, by_pid);

		if (tg->pid == pid)
			return tg;
	}
	return NULL;
}

struct tgroup *tgroup_find_virtual(struct sentry *s, pid_t vpid)
{
	list_for_each (p, &s->tgroups) {
		struct tgroup *tg = list_entry(p, struct tgroup, list);

		if (tgroup_vpid(tg) == vpid)
			return tg;
	}
	return NULL;
}

struct task *task_find_virtual(struct sentry *s, pid_t vtid)
{
	list_for_each (p, &s->tgroups) {
		struct tgroup *tg = list_entry(p, struct tgroup, list);

		list_for_each (q, &tg->tasks) {
			struct task *t = list_entry(q, struct task, list);

			if (task_vtid(t) == vtid)
				return t;
		}
	}
	return NULL;
}

/* The innermost number of "NSpid:", which without namespaces is the host's. */
static pid_t nspid_read(pid_t tid)
{
	char buf[STATUS_SIZE], *line, *end;

	if (base_read_proc(tid, "status", buf, sizeof(buf)) <= 0)
		return 0;
	line = strstr(buf, "\nNSpid:");
	if (!line)
		return 0;
	line++;
	end = strchr(line, '\n');
	if (!end)
		return 0;
	*end = '\0';
	return (pid_t)strtol(strrchr(line, '\t') + 1, NULL, 10);
}

pid_t task_vtid(struct task *t)
{
	if (!t->vtid)
		t->vtid = nspid_read(t->tid);
	return t->vtid;
}

pid_t tgroup_vpid(struct tgroup *tg)
{
	if (!tg->vpid)
		tg->vpid = nspid_read(tg->pid);
	return tg->vpid;
}

pid_t task_pid_to_virtual(struct sentry *s, pid_t host_pid)
{
	struct task *t = task_find(s, host_pid);
	struct tgroup *tg;

	if (t)
		return task_vtid(t);
	tg = tgroup_find(s, host_pid);
	return tg ? tgroup_vpid(tg) : 0;
}

static int copy_from(int pidfd, int gfd)
{
	int fd = (int)syscall(SYS_pidfd_getfd, pidfd, gfd, 0);

	return fd < 0 ? -errno : fd;
}

int task_copy_fd(struct task *t, int gfd)
{
	AUTO_CLOSE int thread = -1;
	struct tgroup *tg = t->tg;
	int fd = -ESRCH;

	if (tg->pidfd < 0)
		tg->pidfd = (int)syscall(SYS_pidfd_open, tg->pid, 0);
	if (tg->pidfd >= 0 && (!t->own_files || t->tid == tg->pid))
		fd = copy_from(tg->pidfd, gfd);
	if (t->tid == tg->pid || (fd != -ESRCH && fd != -EBADF))
		return fd;
	/* A leader that has exited has no table any more (kernel 6.9). */
	thread = (int)syscall(SYS_pidfd_open, t->tid, PIDFD_THREAD);
	return thread < 0 ? fd : copy_from(thread, gfd);
}

static void task_fd_table_close(struct sentry *s, struct task *t)
{
	if (t->fd_table < 0)
		return;
	close(t->fd_table);
	t->fd_table = -1;
	list_del(&t->fd_table_list);
	s->fd_tables_open--;
}

/* No more than a small part of the descriptors that the sentry may have. */
static unsigned fd_tables_most(const struct sentry *s)
{
	rlim_t share = s->cfg->nofile.rlim_max / FD_TABLES_SHARE;

	return share < FD_TABLES_KEPT ? (unsigned)share + 1 : FD_TABLES_KEPT;
}

int task_fd_table(struct sentry *s, struct task *t)
{
	char path[48];

	if (t->fd_table >= 0) {
		list_del(&t->fd_table_list);
		list_add(&s->fd_tables, &t->fd_table_list);
		return t->fd_table;
	}
	if (s->fd_tables_open >= fd_tables_most(s))
		task_fd_table_close(s, list_entry(s->fd_tables.prev,
						  struct task, fd_table_list));
	snprintf(path, sizeof(path), "/proc/%d/fd", t->tid);
	t->fd_table = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (t->fd_table < 0)
		return -errno;
	list_add(&s->fd_tables, &t->fd_table_list);
	s->fd_tables_open++;
	return t->fd_table;
}

struct fsctx *fsctx_new(struct dentry *root, struct dentry *cwd, mode_t umask)
{
	struct fsctx *fs = xcalloc(1, sizeof(*fs));

	fs->refs = 1;
	fs->root = dentry_get(root);
	fs->cwd = dentry_get(cwd);
	fs->umask = umask;
	return fs;
}

void fsctx_put(struct fsctx *fs)
{
	if (!fs || --fs->refs)
		return;
	dentry_put(fs->root);
	dentry_put(fs->cwd);
	free(fs);
}

void task_cred_put(struct taskcred *c)
{
	if (c && !--c->refs)
		free(c);
}

struct taskcred *task_cred_own(struct task *t)
{
	struct taskcred *c;

	if (t->cred->refs == 1)
		return t->cred;
	c = xmalloc(sizeof(*c));
	*c = *t->cred;
	c->refs = 1;
	t->cred->refs--;
	t->cred = c;
	return c;
}

void task_cred_set(struct task *t, struct taskcred *cred)
{
	cred->refs++;
	task_cred_put(t->cred);
	t->cred = cred;
}

void task_vcred(const struct task *t, bool use_real, struct vcred *out)
{
	const struct taskcred *c = t->cred;

	out->uid = use_real ? c->ruid : c->fsuid;
	out->gid = use_real ? c->rgid : c->fsgid;
	out->groups = c->groups;
	out->ngroups = c->ngroups;
	/* access(2) judges by what the real uid could do (fs/open.c,
	 * access_override_creds). */
	out->caps = !use_real	   ? c->cap_effective
		    : c->ruid == 0 ? c->cap_permitted
				   : 0;
}

static struct tgroup *tgroup_new(struct sentry *s, struct tgroup *parent,
				 pid_t pid)
{
	struct tgroup *tg = xcalloc(1, sizeof(*tg));
	struct timespec ts;

	list_init(&tg->tasks);
	list_init(&tg->posix_locks);
	tg->pid = pid;
	tg->pidfd = -1;
	tg->parent = parent;
	tg->dumpable = true;
	if (parent) {
		tg->nofile = parent->nofile;
		tg->core = parent->core;
		tg->dumpable = parent->dumpable;
		tg->execs = parent->execs;
		tg->persona_set = parent->persona_set;
		tg->stub_path = parent->stub_path;
		tg->exe_path =
			parent->exe_path ? xstrdup(parent->exe_path) : NULL;
		if (parent->exe.inode) {
			tg->exe.inode = inode_get(parent->exe.inode);
			tg->exe.dentry =
				parent->exe.dentry
					? dentry_get(parent->exe.dentry)
					: NULL;
			vfs_text_get(tg->exe.inode);
		}
	}
	clock_gettime(CLOCK_BOOTTIME, &ts);
	tg->start_ns = (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
	htable_add(&s->tgroups_by_pid, &tg->by_pid, pid_hash(pid));
	list_add_tail(&s->tgroups, &tg->list);
	return tg;
}

static void tgroup_free(struct sentry *s, struct tgroup *tg)
{
	locks_release(s, tg);
	/* Children are orphans now: they belong to init. */
	list_for_each (p, &s->tgroups) {
		struct tgroup *c = list_entry(p, struct tgroup, list);

		if (c->parent == tg)
			c->parent = tgroup_find(s, s->init);
	}
	if (tg->exe.inode)
		vfs_text_put(tg->exe.inode);
	vref_put(&tg->exe);
	if (tg->pidfd >= 0)
		close(tg->pidfd);
	exec_plan_free(tg);
	free(tg->exe_path);
	free(tg->comm_args);
	htable_del(&s->tgroups_by_pid, &tg->by_pid);
	list_del(&tg->list);
	free(tg);
}

static struct task *task_add(struct sentry *s, struct tgroup *tg, pid_t tid,
			     struct fsctx *fs, struct taskcred *cred)
{
	struct task *t = xcalloc(1, sizeof(*t));

	t->refs = 1;
	t->tg = tg;
	t->tid = tid;
	t->fs = fs;
	t->continued_nr = -1;
	t->fd_table = -1;
	t->cred = cred;
	list_add_tail(&tg->tasks, &t->list);
	tg->ntasks++;
	htable_add(&s->tasks, &t->by_tid, pid_hash(tid));
	return t;
}

struct task *task_new_first(struct sentry *s, pid_t tid, struct fsctx *fs,
			    struct taskcred *cred)
{
	return task_add(s, tgroup_new(s, NULL, tid), tid, fs, cred);
}

struct task *task_new(struct sentry *s, struct task *parent, pid_t tid,
		      unsigned long flags)
{
	struct fsctx *fs = parent->fs;
	struct tgroup *tg = parent->tg;
	struct task *t;

	if (!(flags & CLONE_THREAD)) {
		struct tgroup *up = flags & CLONE_PARENT ? tg->parent : tg;

		tg = tgroup_new(s, tg, tid);
		tg->parent = up;
	}
	if (flags & CLONE_FS)
		fs->refs++;
	else
		fs = fsctx_new(fs->root, fs->cwd, fs->umask);
	parent->cred->refs++;
	t = task_add(s, tg, tid, fs, parent->cred);
	t->own_files = (flags & CLONE_THREAD) && parent->own_files;
	affinity_child(s, parent, t);
	return t;
}

void task_put(struct task *t)
{
	if (!t || --t->refs)
		return;
	fsctx_put(t->fs);
	task_cred_put(t->cred);
	trace_task_free(t->trace);
	affinity_task_fini(&t->affinity);
	free(t);
}

void task_exit(struct sentry *s, struct task *t)
{
	struct tgroup *tg = t->tg;

	if (t->dead)
		return;
	__atomic_store_n(&t->dead, true, __ATOMIC_RELEASE);
	task_fd_table_close(s, t);
	t->tg = NULL;
	htable_del(&s->tasks, &t->by_tid);
	list_del(&t->list);
	task_put(t);
	if (!--tg->ntasks)
		tgroup_free(s, tg);
}

void task_exec_rename(struct sentry *s, struct task *t, pid_t tid)
{
	struct tgroup *tg = t->tg;

	list_for_each_safe (p, &tg->tasks) {
		struct task *o = list_entry(p, struct task, list);

		if (o != t)
			task_exit(s, o);
	}
	t->own_files = false;
	if (t->tid == tid)
		return;
	task_fd_table_close(s, t);
	htable_del(&s->tasks, &t->by_tid);
	__atomic_store_n(&t->tid, tid, __ATOMIC_RELAXED);
	t->vtid = 0;
	htable_add(&s->tasks, &t->by_tid, pid_hash(tid));
}
