/*
 * observed.c - the record of a call that ran natively: dispatch_observed.
 *
 * Numbers are decoded as for any call; nothing is read from the guest, since
 * what was there when the kernel read it is not known.
 */
#include "../sentry/notify.h"
#include "../sentry/sentry.h"
#include "argtext.h"
#include "table.h"

/* Who made it, as far as the table still knows. Under the state lock. */
static void observed_who(struct sentry *s, pid_t tid, struct audit_event *ev,
			 char *exe, size_t size)
{
	struct task *t = task_find(s, tid);

	if (!t)
		return;
	ev->pid = tgroup_vpid(t->tg);
	ev->tid = task_vtid(t);
	ev->ppid = t->tg->parent ? tgroup_vpid(t->tg->parent) : 0;
	if (t->tg->exe_path && strlen(t->tg->exe_path) < size) {
		memcpy(exe, t->tg->exe_path, strlen(t->tg->exe_path) + 1);
		ev->exe = exe;
	}
}

void dispatch_observed(struct sentry *s, const struct observed *o)
{
	struct call *c = call_new(s);
	char exe[PATH_LEN_MAX];
	struct audit_event *ev = &c->ev;

	c->nr = o->nr;
	memcpy(c->args, o->args, sizeof(c->args));
	c->row = sysrow_find(o->nr);
	if (c->row) {
		strbuf_reset(&c->args_text);
		ev->packed.path_at = argtext_pack(c, &c->args_text);
		ev->packed.data = c->args_text.data;
		ev->packed.len = c->args_text.len;
		ev->packed.render = argtext_render;
		ev->call = c->row->name;
		ev->verdict = AUDIT_PASS;
		ev->observed = true;
		ev->coalesce = true;
		ev->ret = o->ret;
		ev->ns = o->ns;
		ev->more = o->stack;
		ev->more_len = o->stack_len;
		sentry_lock(s);
		observed_who(s, o->tid, ev, exe, sizeof(exe));
		sentry_unlock(s);
		audit_emit(s->audit, ev);
	}
	call_free(c);
}
