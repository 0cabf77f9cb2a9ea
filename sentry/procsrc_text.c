/*
 * procsrc_text.c - the texts of /proc/PID files, by a table of functions, and
 * the system-wide ones that need the sandbox.
 *
 * Each reads the host's file of a task that the table holds and rewrites what
 * in it speaks of the host (fs/proctext.h).
 */
#include <stdio.h>

#include "../fs/proctext.h"
#include "../fs/pseudo.h"
#include "procsrc_priv.h"

enum { STATUS_MAX = 64 << 10 };

/* ---- numbers --------------------------------------------------------- */

/* The sandbox's number of a process group or session: that of any member. */
static pid_t group_to_virtual(struct procsrc *ps, long host)
{
	pid_t v = task_pid_to_virtual(ps->s, (pid_t)host);
	struct strbuf b;

	if (v || host <= 0)
		return v;
	strbuf_init(&b, STATUS_MAX);
	list_for_each (p, &ps->s->tgroups) {
		struct tgroup *tg = list_entry(p, struct tgroup, list);
		const struct proctarget t = {tg, NULL, tg->pid, 0, 0, 0};

		strbuf_reset(&b);
		if (v || procsrc_read(ps, &t, "stat", &b) ||
		    proctext_stat_field(b.data, b.len, 5) != host)
			continue;
		strbuf_reset(&b);
		if (!procsrc_read(ps, &t, "status", &b))
			v = (pid_t)proctext_status_last(b.data, b.len,
							"NSpgid");
	}
	strbuf_fini(&b);
	return v < 0 ? 0 : v;
}

static pid_t parent_to_virtual(struct procsrc *ps, long host)
{
	if (host == ps->s->init && procsrc_init_pid(ps))
		return procsrc_init_pid(ps);
	return host > 0 ? task_pid_to_virtual(ps->s, (pid_t)host) : 0;
}

/* A number that the kernel gives for the innermost pid namespace. In bare
 * mode that is the host's: groups outside of the sandbox show as 0. */
static pid_t inner(struct procsrc *ps, const struct strbuf *status,
		   const char *key)
{
	long v = proctext_status_last(status->data, status->len, key);

	if (v <= 0)
		return 0;
	return ps->s->bare ? group_to_virtual(ps, v) : (pid_t)v;
}

static void fill_ids(struct procsrc *ps, const struct vfs_ctx *ctx,
		     const struct proctarget *t, const struct strbuf *status,
		     struct proctext_ids *ids)
{
	ids->pid = t->vtid;
	ids->tgid = t->vpid;
	ids->ppid = parent_to_virtual(
		ps, proctext_status_last(status->data, status->len, "PPid"));
	ids->pgrp = inner(ps, status, "NSpgid");
	ids->sid = inner(ps, status, "NSsid");
	ids->tpgid = -1;
	ids->running = (t->tid ? t->tid : t->pid) == ctx->viewer_tid;
}

static bool may_see(const struct vfs_ctx *ctx, const struct proctarget *t)
{
	if (!t->tg)
		return false;
	return t->tg->pid == ctx->viewer_tgid ||
	       (t->tg->dumpable && t->t->cred->euid == ctx->cred->uid);
}

typedef int (*text_fn)(struct procsrc *ps, struct vfs_ctx *ctx,
		       const struct proctarget *t, int fd, struct strbuf *out);

#define TEXT_FN(name)                                                          \
	static int name(struct procsrc *ps UNUSED, struct vfs_ctx *ctx UNUSED, \
			const struct proctarget *t UNUSED, int fd UNUSED,      \
			struct strbuf *out UNUSED)

/* Reads the host's file into a new buffer; the caller finishes it. */
static int slurp(struct procsrc *ps, const struct proctarget *t,
		 const char *name, struct strbuf *b)
{
	strbuf_init(b, PSEUDO_TEXT_MAX);
	return procsrc_read(ps, t, name, b);
}

/* ---- the files ------------------------------------------------------- */

TEXT_FN(text_stat)
{
	struct strbuf stat, status;
	struct proctext_ids ids;
	int err = slurp(ps, t, "stat", &stat);

	strbuf_init(&status, STATUS_MAX);
	if (!err)
		err = procsrc_read(ps, t, "status", &status);
	if (!err) {
		long tpgid = proctext_stat_field(stat.data, stat.len, 8);

		fill_ids(ps, ctx, t, &status, &ids);
		if (tpgid > 0)
			ids.tpgid = group_to_virtual(ps, tpgid);
		err = proctext_stat(stat.data, stat.len, &ids, !may_see(ctx, t),
				    out);
	}
	strbuf_fini(&stat);
	strbuf_fini(&status);
	return err;
}

static void fill_cred(const struct proctarget *t, struct proctext_cred *c)
{
	const struct taskcred *k = t->tg ? t->t->cred : NULL;

	memset(c, 0, sizeof(*c));
	if (!k)
		return;
	c->uid[0] = k->ruid;
	c->uid[1] = k->euid;
	c->uid[2] = k->suid;
	c->uid[3] = k->fsuid;
	c->gid[0] = k->rgid;
	c->gid[1] = k->egid;
	c->gid[2] = k->sgid;
	c->gid[3] = k->fsgid;
	c->groups = k->groups;
	c->ngroups = k->ngroups;
	c->inheritable = k->cap_inheritable;
	c->permitted = k->cap_permitted;
	c->effective = k->cap_effective;
	c->bounding = k->cap_bounding;
	c->ambient = k->cap_ambient;
}

TEXT_FN(text_status)
{
	struct strbuf b;
	struct proctext_ids ids;
	struct proctext_cred cred;
	int err;

	if (t->tg)
		affinity_show(ps->s, t->t);
	err = slurp(ps, t, "status", &b);

	if (!err) {
		fill_ids(ps, ctx, t, &b, &ids);
		fill_cred(t, &cred);
		proctext_status(b.data, b.len, &ids, &cred, out);
	}
	strbuf_fini(&b);
	return err;
}

TEXT_FN(text_cmdline)
{
	static const char init_cmdline[] = "cloche-init";

	if (t->tg)
		return procsrc_read(ps, t, "cmdline", out);
	strbuf_add(out, init_cmdline, sizeof(init_cmdline));
	return 0;
}

TEXT_FN(text_comm)
{
	if (t->tg)
		return procsrc_read(ps, t, "comm", out);
	strbuf_puts(out, "cloche-init\n");
	return 0;
}

TEXT_FN(text_limits)
{
	struct proctext_limit rows[2];
	struct strbuf b;
	int err;

	if (!t->tg)
		return -EACCES;
	err = slurp(ps, t, "limits", &b);
	rows[0] = (struct proctext_limit){"Max core file size",
					  t->tg->core.rlim_cur,
					  t->tg->core.rlim_max};
	rows[1] = (struct proctext_limit){"Max open files",
					  t->tg->nofile.rlim_cur,
					  t->tg->nofile.rlim_max};
	if (!err)
		proctext_limits(b.data, b.len, rows, ARRAY_SIZE(rows), out);
	strbuf_fini(&b);
	return err;
}

TEXT_FN(text_sched)
{
	struct strbuf b;
	int err = slurp(ps, t, "sched", &b);

	if (!err)
		proctext_sched(b.data, b.len, t->vtid, out);
	strbuf_fini(&b);
	return err;
}

TEXT_FN(text_attr)
{
	/* without a security module the kernel says EINVAL: empty here */
	if (procsrc_read(ps, t, "attr/current", out))
		strbuf_reset(out);
	return 0;
}

TEXT_FN(text_children)
{
	struct proctext_ids ids;
	struct strbuf b;

	/* LIMIT: children are listed below a process's first thread. */
	if (!t->tg || t->t->tid != t->tg->pid)
		return 0;
	strbuf_init(&b, STATUS_MAX);
	list_for_each (p, &ps->s->tgroups) {
		struct tgroup *tg = list_entry(p, struct tgroup, list);
		const struct proctarget c = {tg, NULL, tg->pid, 0, 0, 0};

		strbuf_reset(&b);
		if (procsrc_read(ps, &c, "status", &b))
			continue;
		fill_ids(ps, ctx, &c, &b, &ids);
		if (ids.ppid == t->vpid)
			strbuf_printf(out, "%d ", tgroup_vpid(tg));
	}
	strbuf_fini(&b);
	return 0;
}

static int mounts(struct procsrc *ps, const struct proctarget *t,
		  enum proc_file what, struct strbuf *out)
{
	if (!t->t || !t->t->fs)
		return -EINVAL;
	procfs_mounts_text(ps->s->vfs, t->t->fs->root, what, out);
	return 0;
}

TEXT_FN(text_mounts)
{
	return mounts(ps, t, PROC_MOUNTS, out);
}

TEXT_FN(text_mountinfo)
{
	return mounts(ps, t, PROC_MOUNTINFO, out);
}

TEXT_FN(text_mountstats)
{
	return mounts(ps, t, PROC_MOUNTSTATS, out);
}

TEXT_FN(text_maps)
{
	return procsrc_maps(ps, ctx, t, "maps", out);
}

TEXT_FN(text_smaps)
{
	return procsrc_maps(ps, ctx, t, "smaps", out);
}

TEXT_FN(text_numa_maps)
{
	return procsrc_numa_maps(ps, ctx, t, out);
}

/* LIMIT: POSIX timers are not listed: their lines hold pids of the host. */
TEXT_FN(text_timers)
{
	return 0;
}

static pid_t fdinfo_pid(void *arg, pid_t host)
{
	return task_pid_to_virtual(arg, host);
}

TEXT_FN(text_fdinfo)
{
	struct proctext_fdinfo info = {.to_virtual = fdinfo_pid, .arg = ps->s};
	AUTO_FREE struct proc_fd *f = xcalloc(1, sizeof(*f));
	const struct proc_key key = {t->vpid, t->tid ? t->vtid : 0};
	struct strbuf b;
	char name[32];
	struct statx stx;
	int err = procsrc_fd(ps->s, ctx, key, fd, f);

	if (err)
		return err == -EBADF ? -ENOENT : err;
	if (f->ref.inode && !vfs_getattr(ctx, &f->ref, &stx)) {
		info.known = true;
		info.ino = stx.stx_ino;
		info.mnt_id = stx.stx_mnt_id;
	}
	vref_put(&f->ref);
	if (f->copy >= 0)
		close(f->copy);
	snprintf(name, sizeof(name), "fdinfo/%d", fd);
	err = slurp(ps, t, name, &b);
	if (!err)
		proctext_fdinfo(b.data, b.len, &info, out);
	strbuf_fini(&b);
	return err;
}

/* Either a function, or a file of the host that is shown as it is: numbers
 * of the process itself, without a pid, id or path in it. */
static const struct {
	text_fn fn;
	const char *raw;
} texts[PROC_FILES] = {
	[PROC_STAT] = {text_stat, NULL},
	[PROC_STATUS] = {text_status, NULL},
	[PROC_STATM] = {NULL, "statm"},
	[PROC_CMDLINE] = {text_cmdline, NULL},
	[PROC_COMM] = {text_comm, NULL},
	[PROC_ENVIRON] = {NULL, "environ"},
	[PROC_MAPS] = {text_maps, NULL},
	[PROC_SMAPS] = {text_smaps, NULL},
	[PROC_SMAPS_ROLLUP] = {NULL, "smaps_rollup"},
	[PROC_LIMITS] = {text_limits, NULL},
	[PROC_AUXV] = {NULL, "auxv"},
	[PROC_IO] = {NULL, "io"},
	[PROC_OOM_SCORE] = {NULL, "oom_score"},
	[PROC_OOM_SCORE_ADJ] = {NULL, "oom_score_adj"},
	[PROC_OOM_ADJ] = {NULL, "oom_adj"},
	[PROC_SCHED] = {text_sched, NULL},
	[PROC_SCHEDSTAT] = {NULL, "schedstat"},
	[PROC_PERSONALITY] = {NULL, "personality"},
	[PROC_TIMERSLACK] = {NULL, "timerslack_ns"},
	[PROC_COREDUMP_FILTER] = {NULL, "coredump_filter"},
	[PROC_ATTR_CURRENT] = {text_attr, NULL},
	[PROC_CHILDREN] = {text_children, NULL},
	[PROC_MOUNTS] = {text_mounts, NULL},
	[PROC_MOUNTINFO] = {text_mountinfo, NULL},
	[PROC_MOUNTSTATS] = {text_mountstats, NULL},
	[PROC_FDINFO] = {text_fdinfo, NULL},
	[PROC_CLEAR_REFS] = {NULL, "clear_refs"},
	[PROC_KSM_PAGES] = {NULL, "ksm_merging_pages"},
	[PROC_KSM_STAT] = {NULL, "ksm_stat"},
	[PROC_NUMA_MAPS] = {text_numa_maps, NULL},
	[PROC_TIMERS] = {text_timers, NULL},
};

int procsrc_text(void *arg, struct vfs_ctx *ctx, struct proc_key key,
		 enum proc_file what, int fd, struct strbuf *out)
{
	struct procsrc *ps = procsrc_of(arg);
	struct proctarget t;
	int err = procsrc_target(ps, key, &t);

	if (err)
		return err;
	if (texts[what].fn)
		return texts[what].fn(ps, ctx, &t, fd, out);
	return procsrc_read(ps, &t, texts[what].raw, out);
}

/* ---- system-wide ----------------------------------------------------- */

static int global_loadavg(struct procsrc *ps, struct strbuf *out)
{
	struct strbuf b;
	pid_t last = procsrc_init_pid(ps);
	int err;

	list_for_each (p, &ps->s->tgroups) {
		pid_t v = tgroup_vpid(list_entry(p, struct tgroup, list));

		last = v > last ? v : last;
	}
	strbuf_init(&b, 4096);
	err = pseudo_read_at(ps->proc, "loadavg", &b);
	if (!err)
		proctext_loadavg(b.data, b.len, last, out);
	strbuf_fini(&b);
	return err;
}

static int global_net(struct procsrc *ps, const char *name, struct strbuf *out)
{
	struct strbuf b;
	char path[64];
	int err;

	/* Bare: the guest has no network of its own. It sees an empty one:
	 * the heading of the host's table. */
	if (ps->s->bare)
		snprintf(path, sizeof(path), "self/net/%s", name);
	else
		snprintf(path, sizeof(path), "%d/net/%s", ps->s->init, name);
	strbuf_init(&b, PSEUDO_TEXT_MAX);
	err = pseudo_read_at(ps->proc, path, &b);
	if (!err && ps->s->bare) {
		const char *nl = b.len ? memchr(b.data, '\n', b.len) : NULL;

		if (nl && strcmp(name, "if_inet6") &&
		    strcmp(name, "fib_trie") && strcmp(name, "ipv6_route"))
			strbuf_add(out, b.data, (size_t)(nl + 1 - b.data));
	} else if (!err && !strcmp(name, "unix")) {
		proctext_net_unix(b.data, b.len, out);
	} else if (!err) {
		strbuf_add(out, b.data ? b.data : "", b.len);
	}
	strbuf_fini(&b);
	return err;
}

int procsrc_global(void *arg, struct vfs_ctx *ctx UNUSED, enum proc_global what,
		   const char *name, struct strbuf *out)
{
	struct procsrc *ps = procsrc_of(arg);

	switch (what) {
	case PROC_LOADAVG:
		return global_loadavg(ps, out);
	case PROC_NET:
		return global_net(ps, name, out);
	case PROC_PRESSURE:
		return pseudo_read_at(ps->proc, name, out);
	case PROC_LOCKS:
		break;
	}
	/* LIMIT: /proc/locks is empty: its lines name objects of the host. */
	return 0;
}
