/*
 * dispatch.c - one call from RECV to the reply; see dispatch.h.
 *
 * The order is fixed: copy the arguments (no lock) -> state lock -> the view
 * of the task -> handler -> text and owner for the record -> unlock -> queued
 * writes -> record. What is recorded is what was decided on, and the record
 * is out before the guest goes on (but for a descriptor that is injected and
 * answered in one step).
 *
 * A handler that returned CALL_DEFERRED has given the call to a worker, which
 * ends it as soon as it gets the state lock: nothing of it may be touched after
 * the lock is dropped.
 */
#include "dispatch.h"

#include <fcntl.h>
#include <linux/audit.h>
#include <stdio.h>
#include <sys/syscall.h>

#include "../sentry/exec.h"
#include "../sentry/observe.h"
#include "../sentry/outside.h"
#include "../sentry/policy/policy.h"
#include "../sentry/sentry.h"
#include "argtext.h"
#include "decode.h"
#include "filter_args.h"
#include "pathfd.h"

#define X32_BIT 0x40000000

enum { HINT_MAX = 512, WRITER_MAX = 512 };

static enum sysclass row_class(const struct call *c)
{
	return c->s->bare ? c->row->bare : c->row->jailed;
}

/* The program as it shows itself, for the list of changes: once a process and
 * exec, when it first changes something. */
static uint32_t dispatch_writer(void *arg)
{
	const struct call *c = arg;
	struct tgroup *tg = c->task ? c->task->tg : NULL;
	char path[32], text[WRITER_MAX];
	AUTO_CLOSE int fd = -1;
	ssize_t n;

	if (!tg || tg->writer)
		return tg ? tg->writer : 0;
	snprintf(path, sizeof(path), "/proc/%d/cmdline", (int)tg->pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	while (n > 0 && !text[n - 1])
		n--;
	for (ssize_t i = 0; i < n; i++)
		if (!text[i])
			text[i] = ' ';
	text[n > 0 ? n : 0] = '\0';
	tg->writer = vfs_writer(c->s->vfs, tgroup_vpid(tg),
				n > 0 || !tg->exe_path ? text : tg->exe_path);
	return tg->writer;
}

/* The caller's view, under the state lock; it stays until dispatch_end. */
static void dispatch_view(struct call *c)
{
	const struct task *t = c->task;

	call_drop_view(c);
	c->view[0] = dentry_get(t->fs->root);
	c->view[1] = dentry_get(t->fs->cwd);
	task_vcred(t, false, &c->vcred);
	c->vfs = (struct vfs_ctx){
		.vfs = c->s->vfs,
		.cred = &c->vcred,
		.root = c->view[0],
		.cwd = c->view[1],
		.umask = t->fs->umask,
		.viewer_tgid = t->tg->pid,
		.viewer_tid = t->tid,
		.ask_writer = dispatch_writer,
		.ask_arg = c,
	};
}

static void dispatch_drop_dirs(struct call *c)
{
	for (unsigned i = 0; i < ARRAY_SIZE(c->dirs); i++)
		vref_put(&c->dirs[i]);
	for (unsigned i = 0; i < c->nat; i++) {
		dentry_put(c->trail[i].dir);
		c->trail[i] = (struct vfs_trail){0};
	}
	c->nat = 0;
}

/* Back to the state just after decoding, for another run. */
static void dispatch_reset(struct call *c)
{
	dispatch_drop_dirs(c);
	memset(c->resolved, 0, sizeof(c->resolved));
	memset(&c->ev, 0, sizeof(c->ev));
	c->by_fd = c->in_root = false;
	c->nout = 0;
	c->arena_used = c->arena_mark;
	while (c->nfds)
		close(c->fds[--c->nfds]);
}

/* The errno came from a rule: say which, and what would allow it. */
static void dispatch_blame(struct call *c)
{
	uint32_t rule = c->vfs.refused_rule;
	char *hint = call_alloc(c, HINT_MAX);
	const char *path;

	call_resolve_texts(c);
	path = c->ev.path;
	for (int i = 0; i < 6 && !path; i++)
		path = c->resolved[i];
	c->ev.path = path;
	call_deny(c, policy_rule_name(c->s->policy, rule),
		  hint ? policy_rule_hint(c->s->policy, rule, path ? path : "",
					  hint, HINT_MAX)
		       : NULL);
}

/* Who asked, while the lock still holds it; copied into the arena. */
static void dispatch_who(struct call *c)
{
	const struct tgroup *tg = c->task->tg;
	const char *exe = tg->exe_path;
	size_t size = exe ? strlen(exe) + 1 : 0;
	char *copy = exe ? call_room(c, size) : NULL;

	if (copy) {
		memcpy(copy, exe, size);
		call_keep(c, size);
	}
	c->ev.exe = copy;
	c->ev.pid = tgroup_vpid(c->task->tg);
	c->ev.tid = task_vtid(c->task);
	c->ev.ppid = tg->parent ? tgroup_vpid(tg->parent) : 0;
}

static enum audit_verdict dispatch_verdict(const struct call *c, int64_t ret)
{
	if (ret == CALL_CONTINUE)
		return AUDIT_PASS;
	return c->row && c->row->support == SUP_EMUL ? AUDIT_EMULATE
						     : AUDIT_ALLOW;
}

/* Is this call a decision that belongs in the stream? */
static bool dispatch_recorded(const struct call *c)
{
	if (c->ev.verdict != AUDIT_ALLOW)
		return true;
	/* The stub's question is ours; the exec has its own record. */
	if (!c->s->cfg->audit || c->is_plan)
		return false;
	if (!c->row || c->s->cfg->audit_all)
		return true;
	/* use of an open descriptor is no decision */
	return (c->row->flags & ROW_NAMES) &&
	       (!c->by_fd || (c->row->flags & ROW_MUTATES));
}

/* A refusal is shown to a person as well, so its text is made at once. */
static void dispatch_args(struct call *c)
{
	struct strbuf *b = &c->args_text;

	strbuf_reset(b);
	if (c->ev.verdict == AUDIT_DENY) {
		argtext_json(c, b);
		c->ev.args = b->data;
		c->ev.args_len = b->len;
		return;
	}
	c->ev.packed.path_at = argtext_pack(c, b);
	c->ev.packed.data = b->data;
	c->ev.packed.len = b->len;
	c->ev.packed.render = argtext_render;
}

/* Fills the record, under the lock; true if it is to be written. */
static bool dispatch_record(struct call *c, int64_t ret)
{
	if (ret < 0 && ret >= -4095 && c->vfs.refused_mask &&
	    c->ev.verdict != AUDIT_DENY)
		dispatch_blame(c);
	if (!dispatch_recorded(c))
		return false;
	if (c->want_text)
		call_resolve_texts(c);
	if (c->ev.verdict == AUDIT_ALLOW)
		c->ev.verdict = dispatch_verdict(c, ret);
	for (int i = 0; i < 6 && !c->ev.path; i++)
		c->ev.path = c->resolved[i];
	if (c->row)
		c->ev.call = c->row->name;
	else if (!c->ev.call)
		c->ev.call = "unknown";
	if (c->task && !c->task->dead)
		dispatch_who(c);
	dispatch_args(c);
	c->ev.more = c->stack.data;
	c->ev.more_len = c->stack.len;
	c->ev.coalesce = c->ev.verdict == AUDIT_DENY || !c->row ||
			 !(c->row->flags & ROW_MUTATES);
	return true;
}

static int64_t dispatch_write_back(struct call *c, int64_t ret)
{
	if (ret < 0)
		return ret;
	for (unsigned i = 0; i < c->nout; i++) {
		int err = call_write(c, c->out[i].addr, c->out[i].data,
				     c->out[i].len);

		if (err)
			return err;
	}
	return ret;
}

/* With the lock held; drops it. */
static int64_t dispatch_end(struct call *c, int64_t ret)
{
	bool record = dispatch_record(c, ret);

	c->finished = true;
	dispatch_drop_dirs(c);
	call_drop_view(c);
	call_unlock(c);
	ret = dispatch_write_back(c, ret);
	/* Before the reply: the guest's close is then the last one. */
	call_close_fds(c);
	if (!record)
		return ret;
	if (ret != CALL_DONE)
		c->ev.ret = ret == CALL_CONTINUE ? 0 : ret;
	c->ev.now = ret == CALL_DONE && c->answered_ns ? c->answered_ns
						       : audit_now(c->s->audit);
	if (c->start_ns && c->ev.now > c->start_ns)
		c->ev.ns = c->ev.now - c->start_ns;
	audit_emit(c->s->audit, &c->ev);
	return ret;
}

int64_t dispatch_finish(struct call *c, int64_t ret)
{
	if (ret == CALL_DEFERRED || c->finished)
		return ret;
	call_lock(c);
	return dispatch_end(c, ret);
}

/* Runs the handler with the lock held, and ends the call. */
static int64_t dispatch_run(struct call *c)
{
	struct sentry *s = c->s;
	int64_t ret = -ESRCH;

	if (call_lock(c)) {
		if (c->ran)
			dispatch_reset(c);
		c->ran = true;
		dispatch_view(c);
		c->want_text = s->cfg->audit && (c->row->flags & ROW_NAMES);
		c->vfs.trail = c->want_text ? c->trail : NULL;
		ret = c->row->handler(c);
	}
	if (ret == CALL_DEFERRED) {
		if (c->want_text)
			call_resolve_texts(c);
		dispatch_drop_dirs(c); /* a released call is not finished */
		sentry_unlock(s);
		return ret;
	}
	return dispatch_end(c, ret);
}

int64_t dispatch_again(struct call *c)
{
	return dispatch_run(c);
}

/* Notified by this sandbox's filter, though the column's rules would not. */
static bool is_watched(const struct call *c)
{
	return (c->nr == SYS_sendmsg || c->nr == SYS_sendmmsg) &&
	       outside_datagrams(c->s);
}

int64_t dispatch_call(struct call *c)
{
	enum sysclass class;

	if (c->arch != AUDIT_ARCH_X86_64 || (c->nr & X32_BIT))
		return refuse_arch(c);
	observe_call(c);
	c->row = sysrow_find(c->nr);
	if (!c->row)
		return refuse_unknown(c);
	class = row_class(c);
	if (class == SYS_REFUSE || class == SYS_NATIVE)
		return refuse_row(c);
	/* The kernel ignores the high half of an int; the filter does not. */
	if (class == SYS_ARGS && !is_watched(c) &&
	    filter_args_truncated(c->nr, c->args, c->s->bare))
		return CALL_CONTINUE;
	BUG_ON(c->decoded || !c->row->handler);
	if (!exec_awaits_plan(c))
		decode_args(c);
	c->decoded = true;
	c->arena_mark = c->arena_used;
	return dispatch_run(c);
}
