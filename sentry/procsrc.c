/*
 * procsrc.c - who is who for /proc: targets, owners, the right to look.
 *
 * A key (the guest's pid and tid) is turned into a task of the table before
 * anything else, so a pid that is not in the sandbox reaches no host file.
 * All functions run under the state lock.
 */
#include "procsrc.h"

#include <fcntl.h>
#include <linux/capability.h>
#include <stdio.h>

#include "../fs/proctext.h"
#include "../fs/pseudo.h"
#include "procsrc_priv.h"

pid_t procsrc_init_pid(const struct procsrc *ps)
{
	if (ps->s->init <= 0)
		return 0;
	return ps->s->bare ? ps->s->init : 1;
}

/* Init may be in the table: it is ours all the same. */
static bool is_init(const struct procsrc *ps, const struct tgroup *tg)
{
	return tg->pid == ps->s->init;
}

static struct task *first_task(struct tgroup *tg)
{
	if (list_empty(&tg->tasks))
		return NULL;
	return list_entry(tg->tasks.next, struct task, list);
}

static struct task *find_tid(struct tgroup *tg, pid_t vtid)
{
	list_for_each (p, &tg->tasks) {
		struct task *t = list_entry(p, struct task, list);

		if (task_vtid(t) == vtid)
			return t;
	}
	return NULL;
}

static int target_init(struct procsrc *ps, struct proc_key key,
		       struct proctarget *out)
{
	pid_t init = procsrc_init_pid(ps);

	if (!init || key.pid != init || (key.tid && key.tid != init))
		return -ESRCH;
	out->pid = ps->s->init;
	out->tid = key.tid ? ps->s->init : 0;
	out->vpid = init;
	out->vtid = init;
	return 0;
}

int procsrc_target(struct procsrc *ps, struct proc_key key,
		   struct proctarget *out)
{
	struct tgroup *tg = tgroup_find_virtual(ps->s, key.pid);

	memset(out, 0, sizeof(*out));
	if (!tg || is_init(ps, tg))
		return target_init(ps, key, out);
	out->tg = tg;
	out->t = key.tid ? find_tid(tg, key.tid) : first_task(tg);
	if (!out->t)
		return -ESRCH;
	out->pid = tg->pid;
	out->tid = key.tid ? out->t->tid : 0;
	out->vpid = key.pid;
	out->vtid = key.tid ? key.tid : key.pid;
	return 0;
}

void procsrc_path(const struct proctarget *t, const char *name, char *buf,
		  size_t size)
{
	if (t->tid)
		snprintf(buf, size, "%d/task/%d/%s", t->pid, t->tid, name);
	else
		snprintf(buf, size, "%d/%s", t->pid, name);
}

int procsrc_read(struct procsrc *ps, const struct proctarget *t,
		 const char *name, struct strbuf *out)
{
	char path[96];

	procsrc_path(t, name, path, sizeof(path));
	return pseudo_read_at(ps->proc, path, out);
}

/* ---- listing --------------------------------------------------------- */

static void take_lower(pid_t *best, pid_t v, pid_t after)
{
	if (v > after && (!*best || v < *best))
		*best = v;
}

static pid_t next_pid(void *arg, pid_t after)
{
	struct procsrc *ps = procsrc_of(arg);
	pid_t best = 0;

	take_lower(&best, procsrc_init_pid(ps), after);
	list_for_each (p, &ps->s->tgroups) {
		struct tgroup *tg = list_entry(p, struct tgroup, list);

		if (!is_init(ps, tg))
			take_lower(&best, tgroup_vpid(tg), after);
	}
	return best;
}

static pid_t next_tid(void *arg, pid_t pid, pid_t after)
{
	struct procsrc *ps = procsrc_of(arg);
	struct tgroup *tg = tgroup_find_virtual(ps->s, pid);
	pid_t best = 0;

	if (!tg || is_init(ps, tg)) {
		if (pid && pid == procsrc_init_pid(ps))
			take_lower(&best, pid, after);
		return best;
	}
	list_for_each (p, &tg->tasks) {
		struct task *t = list_entry(p, struct task, list);

		take_lower(&best, task_vtid(t), after);
	}
	return best;
}

static int viewer(void *arg, const struct vfs_ctx *ctx, struct proc_key *out)
{
	struct procsrc *ps = procsrc_of(arg);
	struct tgroup *tg = tgroup_find(ps->s, ctx->viewer_tgid);
	struct task *t = task_find(ps->s, ctx->viewer_tid);

	if (!tg)
		return -ENOENT;
	out->pid = tgroup_vpid(tg);
	out->tid = t ? task_vtid(t) : out->pid;
	return out->pid ? 0 : -ENOENT;
}

/* ---- rights ---------------------------------------------------------- */

static int owner(void *arg, struct proc_key key, struct proc_owner *out)
{
	struct procsrc *ps = procsrc_of(arg);
	struct proctarget t;
	int err = procsrc_target(ps, key, &t);

	if (err)
		return err;
	memset(out, 0, sizeof(*out));
	if (!t.tg)
		return 0; /* init: root's, and not dumpable */
	out->uid = t.t->cred->euid;
	out->gid = t.t->cred->egid;
	out->dumpable = t.tg->dumpable;
	out->generation = t.tg->start_ns;
	return 0;
}

static bool ids_match(const struct vcred *v, const struct taskcred *c)
{
	return v->uid == c->ruid && v->uid == c->euid && v->uid == c->suid &&
	       v->gid == c->rgid && v->gid == c->egid && v->gid == c->sgid;
}

/* __ptrace_may_access of Linux, with virtual credentials. */
static int may_access(void *arg, const struct vfs_ctx *ctx, struct proc_key key)
{
	struct procsrc *ps = procsrc_of(arg);
	struct proctarget t;
	int err = procsrc_target(ps, key, &t);

	if (err)
		return err;
	if (!t.tg)
		return -EACCES;
	if (t.tg->pid == ctx->viewer_tgid)
		return 0;
	if (ctx->cred->caps & (1ULL << CAP_SYS_PTRACE))
		return 0;
	if (!ids_match(ctx->cred, t.t->cred) || !t.tg->dumpable ||
	    (t.t->cred->cap_permitted & ~ctx->cred->caps))
		return -EACCES;
	return 0;
}

/* Files that are written through the host's own descriptor: they speak of the
 * process alone, and the kernel looks at who writes. */
static const char *const written[PROC_FILES] = {
	[PROC_COMM] = "comm",
	[PROC_OOM_SCORE_ADJ] = "oom_score_adj",
	[PROC_OOM_ADJ] = "oom_adj",
	[PROC_COREDUMP_FILTER] = "coredump_filter",
	[PROC_CLEAR_REFS] = "clear_refs",
	[PROC_TIMERSLACK] = "timerslack_ns",
};

static int open_host(void *arg, struct proc_key key, enum proc_file what,
		     int flags, int *fd)
{
	struct procsrc *ps = procsrc_of(arg);
	struct proctarget t;
	char path[96];
	int err = procsrc_target(ps, key, &t);

	if (err)
		return err;
	if (!t.tg || !written[what])
		return -EACCES;
	procsrc_path(&t, written[what], path, sizeof(path));
	*fd = openat(ps->proc, path, flags | O_CLOEXEC | O_NOFOLLOW);
	return *fd < 0 ? -errno : 0;
}

static void attach(void *arg, int host_proc)
{
	struct sentry *s = arg;
	struct procsrc *ps = xcalloc(1, sizeof(*ps));

	ps->s = s;
	ps->proc = host_proc;
	s->procsrc = ps;
}

static const struct proc_source source = {
	.attach = attach,
	.next_pid = next_pid,
	.next_tid = next_tid,
	.viewer = viewer,
	.owner = owner,
	.may_access = may_access,
	.text = procsrc_text,
	.open_host = open_host,
	.link = procsrc_link,
	.next_fd = procsrc_next_fd,
	.fd = procsrc_fd,
	.global = procsrc_global,
};

const struct proc_source *procsrc_ops(void)
{
	return &source;
}

/* ---- terminals ------------------------------------------------------- */

/* By the kernel's word, not our own state: setsid and TIOCNOTTY are native. */
int procsrc_ctty(void *arg, const struct vfs_ctx *ctx)
{
	struct procsrc *ps = procsrc_of(arg);
	struct strbuf stat;
	char path[32];
	long tty = -1;

	if (!tgroup_find(ps->s, ctx->viewer_tgid))
		return -ENXIO;
	strbuf_init(&stat, 4096);
	snprintf(path, sizeof(path), "%d/stat", ctx->viewer_tgid);
	if (!pseudo_read_at(ps->proc, path, &stat))
		tty = proctext_stat_field(stat.data, stat.len, 7);
	strbuf_fini(&stat);
	if (tty <= 0 || ((tty >> 8) & 0xfff) != 136)
		return -ENXIO;
	return (int)((tty & 0xff) | ((tty >> 12) & 0xfff00));
}
