/*
 * exec.c - exec stops of guests; see exec.h for the way and the laws.
 */
#include "exec.h"

#include <fcntl.h>
#include <linux/audit.h>
#include <linux/securebits.h>
#include <signal.h>
#include <stdio.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "exec_priv.h"
#include "gmem.h"
#include "policy/policy.h"
#include "sentry.h"
#include "trace_priv.h"

enum { EXEC_ARGV_MAX = 4096, EXEC_SPARE_FDS = 8, EXEC_HINT_MAX = 512 };

void exec_plan_free(struct tgroup *tg)
{
	exec_plan_destroy(tg->exec_plan);
	tg->exec_plan = NULL;
}

/* Makes the stopped call return `value` without being run. */
static void skip_call(struct sentry *s, pid_t tid, long value)
{
	struct user_regs_struct r;

	if (ptrace(PTRACE_GETREGS, tid, 0, &r) == 0) {
		r.orig_rax = (unsigned long long)-1;
		r.rax = (unsigned long long)value;
		if (ptrace(PTRACE_SETREGS, tid, 0, &r) < 0)
			kill(tid, SIGKILL);
	}
	trace_cont(s, tid, 0);
}

/* Under the state lock. */
static void audit_from(struct sentry *s, struct task *t, struct audit_event *ev)
{
	ev->tid = task_vtid(t);
	ev->pid = tgroup_vpid(t->tg);
	ev->ppid = t->tg->parent ? tgroup_vpid(t->tg->parent) : 0;
	audit_emit(s->audit, ev);
}

static void audit_exec(struct sentry *s, struct task *t, const char *call,
		       const char *exe, const char *args, size_t len,
		       int64_t ret)
{
	struct audit_event ev = {
		.call = call,
		.exe = exe,
		.path = exe,
		.args = args,
		.args_len = len,
		.ret = ret,
		.tracer = true,
		.verdict = AUDIT_ALLOW,
	};

	if (s->cfg->audit) /* else nobody reads what was allowed */
		audit_from(s, t, &ev);
}

/* Why policy refused it, into the record; the path is as the guest gave it. */
static void audit_blame(struct sentry *s, const struct exec_request *q,
			struct audit_event *ev, char *hint, size_t size)
{
	ev->verdict = AUDIT_DENY;
	snprintf(ev->rule, sizeof(ev->rule), "%s",
		 policy_rule_name(s->policy, q->refused_rule));
	ev->hint = policy_rule_hint(s->policy, q->refused_rule, q->path, hint,
				    size);
}

static void audit_refused(struct sentry *s, pid_t tid,
			  const struct exec_request *q, int err)
{
	struct audit_event ev = {
		.call = "execve",
		.exe = q->path,
		.path = q->path,
		.ret = err,
		.tracer = true,
		.verdict = AUDIT_ALLOW,
	};
	char hint[EXEC_HINT_MAX];
	struct strbuf b;
	struct task *t;

	if (q->refused_mask)
		audit_blame(s, q, &ev, hint, sizeof(hint));
	else if (!s->cfg->audit)
		return;
	strbuf_init(&b, 0);
	strbuf_puts(&b, "{\"path\":");
	strbuf_json_string(&b, q->path, strlen(q->path));
	strbuf_putc(&b, '}');
	ev.args = b.data;
	ev.args_len = b.len;
	sentry_lock(s);
	t = task_find(s, tid);
	if (t)
		audit_from(s, t, &ev);
	sentry_unlock(s);
	strbuf_fini(&b);
}

/* What the call asks for; 0 or the errno it gives at once. */
static int read_request(pid_t tid, const struct __ptrace_syscall_info *i,
			struct exec_request *q)
{
	bool at = i->seccomp.nr == SYS_execveat;
	gaddr_t path = i->seccomp.args[at ? 1 : 0];
	ssize_t n;

	q->dirfd = at ? (int)i->seccomp.args[0] : AT_FDCWD;
	q->flags = at ? (int)i->seccomp.args[4] : 0;
	if (q->flags & ~(AT_EMPTY_PATH | AT_SYMLINK_NOFOLLOW))
		return -EINVAL;
	n = gmem_read_str(tid, path, q->path, sizeof(q->path));
	if (n < 0)
		return (int)n;
	if (n == 0 && !(q->flags & AT_EMPTY_PATH))
		return -ENOENT;
	return 0;
}

/* The prepared plan becomes the process's pending one. */
static int commit_plan(struct sentry *s, pid_t tid,
		       const struct __ptrace_syscall_info *i,
		       struct exec_plan *p)
{
	struct ttrace *tt;
	gaddr_t path;
	struct task *t;
	int ret = -ESRCH;

	sentry_lock(s);
	t = task_find(s, tid);
	if (t) {
		tt = ttrace_of(t);
		path = t->tg->stub_path;
		sentry_unlock(s);
		/* Only the tracer uses or frees tt while the thread is
		 * stopped. */
		ret = exec_enter_stub(s, tid, tt, i, path);
		sentry_lock(s);
		if (!ret) {
			exec_plan_free(t->tg);
			t->tg->exec_plan = p;
			tt->execing = true;
		}
	}
	if (ret)
		exec_plan_destroy(p);
	sentry_unlock(s);
	return ret;
}

void exec_stop(struct sentry *s, pid_t tid)
{
	struct __ptrace_syscall_info info = {0};
	AUTO_FREE struct exec_request *q = xcalloc(1, sizeof(*q));
	struct exec_plan *p = NULL;
	int ret;

	if (ptrace(PTRACE_GET_SYSCALL_INFO, tid, sizeof(info), &info) < 0 ||
	    info.op != PTRACE_SYSCALL_INFO_SECCOMP) {
		skip_call(s, tid, -ENOSYS);
		return;
	}
	if (info.arch != AUDIT_ARCH_X86_64 ||
	    (info.seccomp.nr != SYS_execve &&
	     info.seccomp.nr != SYS_execveat)) {
		skip_call(s, tid,
			  -ENOSYS); /* asked for by the guest's filter */
		return;
	}
	ret = read_request(tid, &info, q);
	if (!ret)
		ret = exec_resolve(s, tid, q, &p);
	if (!ret)
		ret = commit_plan(s, tid, &info, p);
	if (ret) {
		audit_refused(s, tid, q, ret);
		skip_call(s, tid, ret);
		return;
	}
	/* On to EVENT_EXEC, or to the exit stop if the kernel refuses. */
	if (ptrace(PTRACE_SYSCALL, tid, 0, 0) < 0 && errno != ESRCH)
		log_host(errno, "resuming exec of %d", tid);
}

/* The kernel has refused to run the stub. */
void exec_exit_stop(struct sentry *s, pid_t tid)
{
	struct ttrace *tt = NULL;
	struct task *t;
	bool again;

	sentry_lock(s);
	t = task_find(s, tid);
	if (t && ttrace_of(t)->execing) {
		tt = t->trace;
		exec_plan_free(t->tg);
		tt->execing = false;
	}
	sentry_unlock(s);
	if (!tt) {
		trace_cont(s, tid, 0);
		return;
	}
	if (exec_leave_stub(s, tid, tt, &again))
		kill(tid, SIGKILL);
	if (again) {
		sentry_lock(s);
		t = task_find(s, tid);
		if (t)
			t->tg->stub_path = 0;
		sentry_unlock(s);
	}
	trace_cont(s, tid, 0);
}

/* argv as a JSON array, from the new stack: the strings lie in one piece. */
static void args_json(pid_t tid, const char *path, struct strbuf *b)
{
	char text[EXEC_ARGV_MAX + 1];
	struct user_regs_struct r;
	uint64_t argc, first, next;
	size_t len, i = 0;

	strbuf_puts(b, "{\"path\":");
	strbuf_json_string(b, path, strlen(path));
	strbuf_puts(b, ",\"argv\":[");
	if (ptrace(PTRACE_GETREGS, tid, 0, &r) < 0 ||
	    gmem_read(tid, r.rsp, &argc, 8) || !argc || argc > 65536 ||
	    gmem_read(tid, r.rsp + 8, &first, 8))
		goto out;
	/* The strings end where the environment's begin. */
	if (gmem_read(tid, r.rsp + 8 * (argc + 2), &next, 8) || next <= first)
		next = first + EXEC_ARGV_MAX;
	len = next - first > EXEC_ARGV_MAX ? EXEC_ARGV_MAX
					   : (size_t)(next - first);
	if (gmem_read(tid, first, text, len))
		goto out;
	text[len] = '\0';
	for (uint64_t n = 0; n < argc && i < len; n++) {
		size_t l = strlen(text + i);

		if (n)
			strbuf_putc(b, ',');
		strbuf_json_string(b, text + i, l);
		i += l + 1;
	}
out:
	strbuf_puts(b, "]}");
}

/* The kernel's rules for ids and capabilities at exec (security/commoncap.c).
 * LIMIT: file capabilities have no effect. */
static void cred_exec(struct task *t, const struct exec_ids *ids)
{
	struct taskcred *c = task_cred_own(t);
	bool root;

	c->euid = c->suid = c->fsuid = ids->euid;
	c->egid = c->sgid = c->fsgid = ids->egid;
	root = (c->ruid == 0 || c->euid == 0) &&
	       !(c->securebits & issecure_mask(SECURE_NOROOT));
	if (ids->changed)
		c->cap_ambient = 0;
	c->cap_permitted = root ? c->cap_bounding | c->cap_inheritable : 0;
	c->cap_permitted |= c->cap_ambient;
	c->cap_effective =
		root && c->euid == 0 ? c->cap_permitted : c->cap_ambient;
	c->securebits &= ~(unsigned)issecure_mask(SECURE_KEEP_CAPS);
}

static void tgroup_take_exe(struct tgroup *tg, struct exec_plan *p)
{
	if (tg->exe.inode)
		vfs_text_put(tg->exe.inode);
	vref_put(&tg->exe);
	tg->exe = p->exe;
	memset(&p->exe, 0, sizeof(p->exe)); /* with its count as a text */
	free(tg->exe_path);
	tg->exe_path = xstrdup(p->exe_path);
	tg->writer = 0;
	tg->execs++;
	tg->dumpable = true;
	tg->aio_events = 0;
	p->committed = true;
}

/* Under the state lock: who called; NULL if unknown. Another thread than the
 * leader has taken the leader's number. */
static struct task *exec_former(struct sentry *s, pid_t tid)
{
	struct task *t = task_find(s, tid);
	unsigned long former;

	if (t && t->tg->ntasks == 1)
		return t;
	if (ptrace(PTRACE_GETEVENTMSG, tid, 0, &former) < 0)
		return NULL;
	return task_find(s, (pid_t)former);
}

/* False: it has been killed meanwhile, and nothing can be told of it. */
static bool is_stopped(pid_t tid)
{
	errno = 0;
	(void)ptrace(PTRACE_PEEKUSER, tid, offsetof(struct user, regs.rip), 0);
	return errno != ESRCH;
}

void exec_event(struct sentry *s, pid_t tid)
{
	struct exec_plan *p = NULL;
	struct strbuf b;
	struct task *t;
	gaddr_t path;
	bool genuine = exec_runs_stub(s, tid, &path);

	strbuf_init(&b, 0);
	sentry_lock(s);
	t = exec_former(s, tid);
	if (t) {
		struct ttrace *tt = ttrace_of(t);

		genuine = genuine && tt->execing && t->tg->exec_plan;
		tt->execing = false;
		tt->in_stub = true;
		tt->stub_ip = 0;
		task_exec_rename(s, t, tid);
		t->tg->stub_path = path;
		if (genuine) {
			p = t->tg->exec_plan;
			if (s->cfg->audit)
				args_json(tid, p->exe_path, &b);
			tgroup_take_exe(t->tg, p);
			cred_exec(t, &p->ids);
			t->tg->dumpable = !p->ids.changed;
			audit_exec(s, t, "exec", p->exe_path, b.data, b.len, 0);
		}
	}
	sentry_unlock(s);
	strbuf_fini(&b);
	if (!p) {
		if (is_stopped(tid))
			log_warn("process %d ran something else than the stub: "
				 "killed",
				 tid);
		kill(tid, SIGKILL);
	}
	trace_cont(s, tid, 0);
}

void exec_audit_exit(struct sentry *s, struct task *t, int status)
{
	struct audit_event ev = {
		.call = "exit",
		.verdict = AUDIT_ALLOW,
		.tracer = true,
		.exe = t->tg->exe_path,
	};
	char args[64];

	if (t->tg->ntasks != 1 || !s->cfg->audit)
		return;
	ev.pid = t->tg->vpid;
	ev.tid = t->vtid;
	ev.ppid = t->tg->parent ? t->tg->parent->vpid : 0;
	if (WIFSIGNALED(status))
		ev.args_len =
			(size_t)snprintf(args, sizeof(args), "{\"signal\":%d}",
					 WTERMSIG(status));
	else
		ev.args_len =
			(size_t)snprintf(args, sizeof(args), "{\"status\":%d}",
					 WEXITSTATUS(status));
	ev.args = args;
	audit_emit(s->audit, &ev);
}

bool exec_is_plan_request(struct call *c)
{
	return (int)c->args[0] == PLAN_DIRFD && c->args[2] == PLAN_FLAGS &&
	       c->args[3] == PLAN_MODE;
}

bool exec_awaits_plan(struct call *c)
{
	bool ret;

	if (c->nr != SYS_openat || !exec_is_plan_request(c))
		return false;
	sentry_lock(c->s);
	/* It may have been killed since its call was received. */
	ret = c->task && !c->task->dead && c->task->tg->exec_plan;
	sentry_unlock(c->s);
	return ret;
}

/* One image into the guest: its number, or CALL_DONE if it was the last, and
 * with that the answer. The guest's descriptor table may be full up to the
 * limit: then more is allowed for the moment of injection, never above the hard
 * limit. The stub closes it before the jump. */
static int64_t inject_image(struct call *c, int fd, bool last)
{
	pid_t pid = c->task->tg->pid;
	struct rlimit old, more;
	int64_t ret = last ? call_answer_copy(c, fd, true)
			   : call_inject_copy(c, fd, true);

	if (ret != -EMFILE || prlimit(pid, RLIMIT_NOFILE, NULL, &old) < 0)
		return ret;
	more = old;
	more.rlim_cur = more.rlim_max;
	if (prlimit(pid, RLIMIT_NOFILE, &more, NULL) < 0)
		return ret;
	ret = call_inject_copy(c, fd, true);
	if (prlimit(pid, RLIMIT_NOFILE, &old, NULL) < 0)
		return -EIO;
	return ret;
}

/* The plan is written before the last image goes, since that is the answer. */
static int64_t inject_plan(struct call *c, struct exec_plan *p)
{
	bool two = p->interp != NULL;
	int64_t ret;

	p->plan.program.fd = PLAN_ANSWERED;
	if (two) {
		ret = inject_image(c, p->program->fd, false);
		if (ret < 0)
			return ret;
		p->plan.program.fd = (int32_t)ret;
		p->plan.interp.fd = PLAN_ANSWERED;
	}
	ret = call_write(c, c->args[1], &p->plan, PLAN_SIZE(&p->plan));
	if (ret)
		return ret;
	return inject_image(c, (two ? p->interp : p->program)->fd, true);
}

int64_t exec_answer_plan(struct call *c)
{
	struct exec_plan *p = c->task->tg->exec_plan;
	int64_t ret;

	if (!p || !p->committed)
		return -EBADF; /* what any other program gets */
	c->is_plan = true;
	c->task->tg->exec_plan = NULL;
	ret = inject_plan(c, p);
	exec_plan_destroy(p);
	return ret;
}
