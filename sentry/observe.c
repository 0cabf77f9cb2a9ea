/*
 * observe.c - see observe.h.
 */
#include "observe.h"

#include <fcntl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <time.h>

#include "audit/stack.h"
#include "call.h"
#include "dispatch.h"
#include "gmem.h"
#include "outside.h"
#include "procsrc_priv.h"
#include "sentry.h"
#include "trace_priv.h"
#include "../syscalls/table.h"

/* A stack of the longest names, all escaped, fits. */
enum { STACK_TEXT = 2 << 20 };

#define STUB_SPAN 65536u /* more than the stub's image */

struct asker {
	struct sentry *s;
	pid_t tid;
};

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

/* ---- what a stack is made from --------------------------------------- */

static int ask_read(void *arg, gaddr_t addr, void *buf, size_t len)
{
	const struct asker *a = arg;

	return gmem_read(a->tid, addr, buf, len);
}

/* As a guest that may see all; paths as the thread's own root has them. */
static bool asker_view(const struct asker *a, struct vfs_ctx *ctx,
		       struct task **t)
{
	static const struct vcred all = {.caps = ~0ULL};

	*t = task_find(a->s, a->tid);
	if (!*t)
		return false;
	*ctx = (struct vfs_ctx){
		.vfs = a->s->vfs,
		.cred = &all,
		.root = (*t)->fs->root,
		.cwd = (*t)->fs->cwd,
		.viewer_tgid = (*t)->tg->pid,
		.viewer_tid = (*t)->tid,
	};
	return true;
}

static int ask_maps(void *arg, struct strbuf *out)
{
	const struct asker *a = arg;
	struct vfs_ctx ctx;
	struct task *t;
	int ret = -ESRCH;

	sentry_lock(a->s);
	if (asker_view(a, &ctx, &t)) {
		const struct proctarget target = {
			.tg = t->tg,
			.t = t,
			.pid = t->tg->pid,
			.tid = t->tid,
		};

		ret = procsrc_maps(a->s->procsrc, &ctx, &target, "maps", out);
	}
	sentry_unlock(a->s);
	return ret;
}

static int ask_open(void *arg, const char *path)
{
	const struct asker *a = arg;
	struct vfs_at at = {NULL, path};
	struct vfs_opened o;
	struct vfs_ctx ctx;
	struct task *t;
	int fd = -ESRCH;

	sentry_lock(a->s);
	if (asker_view(a, &ctx, &t)) {
		fd = vfs_open(&ctx, &at, O_RDONLY | O_NONBLOCK | O_NOCTTY, 0,
			      VFS_NO_MAGIC, &o);
		if (!fd) {
			fd = o.kind == VFS_OPENED ? fd_take(&o.fd) : -ENOENT;
			vfs_opened_fini(&o);
		}
	}
	sentry_unlock(a->s);
	return fd;
}

static void add_stack(struct sentry *s, pid_t tid, uint64_t space,
		      const struct user_regs_struct *regs, struct strbuf *out)
{
	struct asker a = {s, tid};
	const struct stack_source src = {&a, ask_read, ask_maps, ask_open,
					 space};

	stacks_capture(s->stacks, &src, regs, out);
}

/* Under the state lock: a number for the program that a process runs now. */
static uint64_t space_of(const struct task *t)
{
	return ((uint64_t)t->tg->pid << 32) + t->tg->execs + 1;
}

void observe_call(struct call *c)
{
	struct user_regs_struct regs;
	uint64_t space = 0;
	bool known = false;

	if (!c->s->stacks || c->stack.len)
		return;
	sentry_lock(c->s);
	if (c->task && !c->task->dead && c->task->tg->execs) {
		const struct ttrace *tt = ttrace_of(c->task);

		regs = tt->entry;
		space = space_of(c->task);
		known = (int)regs.orig_rax == c->nr;
	}
	sentry_unlock(c->s);
	if (!known)
		return;
	strbuf_init(&c->stack, STACK_TEXT);
	add_stack(c->s, c->tid, space, &regs, &c->stack);
}

/* ---- native calls ---------------------------------------------------- */

static bool is_native(const struct sentry *s, const struct user_regs_struct *r)
{
	const uint64_t args[6] = {r->rdi, r->rsi, r->rdx, r->r10, r->r8, r->r9};
	int nr = (int)r->orig_rax;
	const struct sysrow *row = sysrow_find(nr);
	enum sysclass class;

	if (!row)
		return false;
	if ((nr == SYS_sendmsg || nr == SYS_sendmmsg) && outside_datagrams(s))
		return false;
	class = s->bare ? row->bare : row->jailed;
	return class == SYS_NATIVE ||
	       (class == SYS_ARGS && filter_args_allow(nr, args, s->bare));
}

static void emit(struct sentry *s, struct ttrace *tt, pid_t tid, int64_t ret)
{
	const struct user_regs_struct *r = &tt->entry;
	struct observed o = {
		.tid = tid,
		.nr = (int)r->orig_rax,
		.args = {r->rdi, r->rsi, r->rdx, r->r10, r->r8, r->r9},
		.ret = ret,
		.ns = now_ns() - tt->entry_ns,
		.stack = tt->stack.data,
		.stack_len = tt->stack.len,
	};

	dispatch_observed(s, &o);
	strbuf_reset(&tt->stack);
	tt->observing = false;
}

/* The stub's calls are the loading that the kernel does natively. */
static bool by_stub(struct ttrace *tt)
{
	gaddr_t ip = tt->entry.rip;

	if (!tt->in_stub)
		return false;
	if (!tt->stub_ip)
		tt->stub_ip = ip;
	tt->in_stub = ip - tt->stub_ip + STUB_SPAN < 2 * STUB_SPAN;
	return tt->in_stub;
}

static void on_entry(struct sentry *s, struct ttrace *tt, pid_t tid)
{
	uint64_t space = 0;
	struct task *t;

	tt->observing = false;
	if (ptrace(PTRACE_GETREGS, tid, 0, &tt->entry) < 0)
		return;
	if (by_stub(tt) || !s->cfg->audit_all || !is_native(s, &tt->entry))
		return;
	sentry_lock(s);
	t = task_find(s, tid);
	if (t && t->tg->execs) /* else it is our init, or what starts it */
		space = space_of(t);
	sentry_unlock(s);
	if (!space)
		return;
	tt->observing = true;
	tt->entry_ns = now_ns();
	if (s->stacks) {
		strbuf_fini(&tt->stack);
		strbuf_init(&tt->stack, STACK_TEXT);
		add_stack(s, tid, space, &tt->entry, &tt->stack);
	}
	/* These have no exit. */
	if (tt->entry.orig_rax == SYS_exit ||
	    tt->entry.orig_rax == SYS_exit_group ||
	    tt->entry.orig_rax == SYS_rt_sigreturn)
		emit(s, tt, tid, 0);
}

/* A call that goes on after a signal stops again when it is over. */
static bool goes_on(int64_t ret)
{
	return ret <= -512 && ret >= -516;
}

enum observe_stop observe_stop(struct sentry *s, pid_t tid)
{
	struct __ptrace_syscall_info i = {0};
	struct ttrace *tt = NULL;
	struct task *t;

	if (!s->every_call ||
	    ptrace(PTRACE_GET_SYSCALL_INFO, tid, sizeof(i), &i) < 0)
		return OBSERVE_NOT_MINE;
	sentry_lock(s);
	t = task_find(s, tid);
	if (t)
		tt = ttrace_of(t);
	sentry_unlock(s);
	/* Only the tracer uses or frees tt while the thread is stopped; the
	 * notify thread reads `entry` of a call that comes after it. */
	if (!tt || tt->execing)
		return OBSERVE_NOT_MINE;
	if (i.op == PTRACE_SYSCALL_INFO_ENTRY) {
		on_entry(s, tt, tid);
		return OBSERVE_ENTRY;
	}
	if (tt->observing && !goes_on(i.exit.rval))
		emit(s, tt, tid, i.exit.rval);
	return OBSERVE_EXIT;
}

int observe_init(struct sentry *s)
{
	if (!s->cfg->audit)
		return 0;
	s->every_call = s->cfg->audit_all || s->cfg->stacks;
	return s->cfg->stacks ? stacks_new(&s->stacks) : 0;
}

void observe_fini(struct sentry *s)
{
	stacks_free(s->stacks);
	s->stacks = NULL;
}
