/*
 * trace.c - the tracer thread; see trace.h.
 *
 * Stops are told apart by wait status (ptrace(2)): events of fork, vfork,
 * clone and exec; PTRACE_EVENT_SECCOMP for execve and execveat; group stops
 * (listened to, so that job control works); syscall-exit stops of a rewritten
 * execve; and signal-delivery stops. A new thread's first stop can come
 * before its parent's event: it then waits in `orphans`.
 */
#include "trace.h"

#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <time.h>

#include "base/costs.h"
#include "ctty.h"
#include "exec.h"
#include "observe.h"
#include "sentry.h"
#include "trace_priv.h"
#include "../syscalls/table.h"

enum {
	ORPHANS_MAX = 4096,
	ORPHAN_PATIENCE = 32,
	TRACE_WAKE_SIGNAL = SIGUSR2,
	RETRY_NS = 1000000
};

#define TRACE_OPTIONS                                                       \
	(PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK | \
	 PTRACE_O_TRACECLONE | PTRACE_O_TRACEEXEC | PTRACE_O_TRACESECCOMP | \
	 PTRACE_O_EXITKILL)

struct trace_request {
	struct list link;
	enum trace_wish wish;
	pid_t tid;
	sem_t done;
};

/* What a process killed in the middle of a fork leaves to its child. */
struct ghost {
	struct fsctx *fs;
	struct taskcred *cred;
};

struct trace {
	pthread_t thread;
	pid_t tid;
	pid_t init;
	int start_error;
	sem_t started;
	pthread_mutex_t lock;
	struct list requests;
	pid_t orphans[ORPHANS_MAX]; /* stopped, parent's event not yet seen */
	size_t norphans;
	unsigned patience;  /* looks for a parent's event before /proc */
	struct ghost ghost; /* of the process that was killed last */
	struct trace_hold hold;
};

static void wake_handler(int sig)
{
	(void)sig;
}

struct ttrace *ttrace_of(struct task *t)
{
	if (!t->trace)
		t->trace = xcalloc(1, sizeof(struct ttrace));
	return t->trace;
}

void trace_task_free(void *trace)
{
	struct ttrace *tt = trace;

	if (tt)
		strbuf_fini(&tt->stack);
	free(tt);
}

struct trace_hold *trace_hold_of(const struct sentry *s)
{
	return &((struct trace *)s->trace)->hold;
}

void trace_cont(const struct sentry *s, pid_t tid, int sig)
{
	int how = s->every_call ? PTRACE_SYSCALL : PTRACE_CONT;

	/* Any stop takes the place of an interrupt that was asked for. */
	if (atomic_load(&trace_hold_of(s)->on))
		(void)ptrace(PTRACE_INTERRUPT, tid, 0, 0);
	/* ESRCH: it was killed meanwhile; its exit will be seen. */
	if (ptrace((enum __ptrace_request)how, tid, 0, (long)sig) < 0 &&
	    errno != ESRCH)
		log_host(errno, "resuming thread %d", tid);
}

static bool orphan_take(struct trace *tr, pid_t tid)
{
	for (size_t i = 0; i < tr->norphans; i++) {
		if (tr->orphans[i] != tid)
			continue;
		tr->orphans[i] = tr->orphans[--tr->norphans];
		return true;
	}
	return false;
}

static unsigned long clone_flags_of(pid_t tid, int event)
{
	struct user_regs_struct r;

	if (event != PTRACE_EVENT_CLONE && event != PTRACE_EVENT_VFORK &&
	    event != PTRACE_EVENT_FORK)
		return 0;
	if (ptrace(PTRACE_GETREGS, tid, 0, &r) < 0)
		return 0;
	/* clone3 is refused by the filter, so flags are always in rdi. */
	return r.orig_rax == SYS_clone ? r.rdi : 0;
}

static void on_fork(struct sentry *s, struct trace *tr, pid_t tid, int event)
{
	unsigned long msg = 0, flags = clone_flags_of(tid, event);
	struct task *parent;
	pid_t child;

	if (ptrace(PTRACE_GETEVENTMSG, tid, 0, &msg) < 0)
		return;
	child = (pid_t)msg;
	sentry_lock(s);
	parent = task_find(s, tid);
	if (parent && !task_find(s, child))
		task_new(s, parent, child, flags);
	if (s->cfg->limits.pids && s->tasks.count >= s->cfg->limits.pids)
		s->pids_full = true;
	sentry_unlock(s);
	if (orphan_take(tr, child)) {
		sentry_lock(s);
		struct task *t = task_find(s, child);

		if (t)
			ttrace_of(t)->started = true;
		sentry_unlock(s);
		trace_cont(s, child, 0);
	}
	trace_cont(s, tid, 0);
}

static pid_t status_number(const char *text, const char *key)
{
	const char *p = strstr(text, key);

	return p ? (pid_t)strtol(p + strlen(key), NULL, 10) : 0;
}

static bool read_parents(pid_t tid, pid_t *tgid, pid_t *ppid)
{
	char buf[1024];

	if (base_read_proc(tid, "status", buf, sizeof(buf)) <= 0)
		return false;
	*tgid = status_number(buf, "\nTgid:");
	*ppid = status_number(buf, "\nPPid:");
	return true;
}

/* Under the state lock: a row for a thread whose parent was killed before its
 * event could be seen. True if tid is known now. */
static bool adopt(struct sentry *s, struct trace *tr, pid_t tid)
{
	struct task *init = task_find(s, s->init), *t;
	struct tgroup *tg;
	pid_t tgid, ppid;

	if (!init || !read_parents(tid, &tgid, &ppid))
		return false;
	tg = tgroup_find(s, tgid);
	if (tg && tgid != tid) {
		t = list_entry(tg->tasks.next, struct task, list);
		task_new(s, t, tid, CLONE_THREAD | CLONE_FS);
		return true;
	}
	if (ppid != s->init && tgroup_find(s, ppid))
		return false; /* alive: its event is still to come */
	t = task_new(s, init, tid, 0);
	if (tr->ghost.fs) {
		fsctx_put(t->fs);
		t->fs = fsctx_new(tr->ghost.fs->root, tr->ghost.fs->cwd,
				  tr->ghost.fs->umask);
		task_cred_set(t, tr->ghost.cred);
	}
	return true;
}

static void adopt_orphans(struct sentry *s, struct trace *tr)
{
	for (size_t i = tr->norphans; i-- > 0;) {
		pid_t tid = tr->orphans[i];
		bool known;

		sentry_lock(s);
		known = adopt(s, tr, tid);
		if (known)
			ttrace_of(task_find(s, tid))->started = true;
		sentry_unlock(s);
		if (known && orphan_take(tr, tid))
			trace_cont(s, tid, 0);
	}
}

/* Under the state lock. */
static void remember_ghost(struct trace *tr, struct task *t)
{
	fsctx_put(tr->ghost.fs);
	task_cred_put(tr->ghost.cred);
	tr->ghost.fs = t->fs;
	tr->ghost.fs->refs++;
	tr->ghost.cred = t->cred;
	tr->ghost.cred->refs++;
}

/* First stop of a new thread: true if it was one. */
static bool on_first_stop(struct sentry *s, struct trace *tr, pid_t tid)
{
	struct task *t;
	bool known, first;

	sentry_lock(s);
	t = task_find(s, tid);
	known = t != NULL;
	first = !t || !ttrace_of(t)->started;
	if (t)
		ttrace_of(t)->started = true;
	sentry_unlock(s);
	if (!known) {
		/* Full table: end it rather than run it unknown. */
		if (tr->norphans == ORPHANS_MAX)
			kill(tid, SIGKILL);
		else
			tr->orphans[tr->norphans++] = tid;
		tr->patience = ORPHAN_PATIENCE;
		return true;
	}
	if (first)
		trace_cont(s, tid, 0);
	return first;
}

static bool is_stop_signal(int sig)
{
	return sig == SIGSTOP || sig == SIGTSTP || sig == SIGTTIN ||
	       sig == SIGTTOU;
}

/* The stop that an interrupt asked for; or the exit of a call, which takes
 * the interrupt's place where every call stops. */
static void after_call(struct sentry *s, pid_t tid)
{
	struct ttrace *tt = NULL;
	struct task *t;

	sentry_lock(s);
	t = task_find(s, tid);
	if (t)
		tt = ttrace_of(t);
	sentry_unlock(s);
	if (tt && tt->want_ctty) {
		tt->want_ctty = false;
		if (ctty_inject(s, tid))
			return;
	}
	trace_mend_call(s, tid, 0);
	trace_cont(s, tid, 0);
}

static void on_call_stop(struct sentry *s, pid_t tid)
{
	if (ctty_syscall_stop(s, tid))
		return;
	switch (observe_stop(s, tid)) {
	case OBSERVE_NOT_MINE:
		exec_exit_stop(s, tid);
		break;
	case OBSERVE_ENTRY:
		trace_cont(s, tid, 0);
		break;
	case OBSERVE_EXIT:
		after_call(s, tid);
		break;
	}
}

static void on_event_stop(struct sentry *s, struct trace *tr, pid_t tid,
			  int sig)
{
	if (!on_first_stop(s, tr, tid) && !trace_hold_stop(s, tid, sig))
		trace_event_end(s, tid, sig);
}

void trace_event_end(struct sentry *s, pid_t tid, int sig)
{
	if (is_stop_signal(sig)) {
		if (ptrace(PTRACE_LISTEN, tid, 0, 0) < 0)
			log_debug("listen %d: %s", tid, strerror(errno));
		return;
	}
	after_call(s, tid);
}

static void on_gone(struct sentry *s, struct trace *tr, pid_t tid, int status)
{
	struct task *t;

	orphan_take(tr, tid);
	sentry_lock(s);
	t = task_find(s, tid);
	if (t) {
		if (WIFSIGNALED(status) && tid != s->init)
			remember_ghost(tr, t);
		exec_audit_exit(s, t, status);
		task_exit(s, t);
	}
	sentry_unlock(s);
	if (tr->norphans)
		adopt_orphans(s, tr);
}

/* The child of a fork comes to its own first stop and ends there. */
static bool on_ending(struct sentry *s, pid_t tid)
{
	return tid != s->init && kill(tid, SIGKILL) == 0;
}

static void on_stop(struct sentry *s, struct trace *tr, pid_t tid, int status)
{
	int sig = WSTOPSIG(status), event = status >> 16;

	/* A fork bomb would outrun whoever kills by a list. */
	if (s->ending && s->bare && on_ending(s, tid))
		return;
	switch (event) {
	case PTRACE_EVENT_FORK:
	case PTRACE_EVENT_VFORK:
	case PTRACE_EVENT_CLONE:
		on_fork(s, tr, tid, event);
		return;
	case PTRACE_EVENT_EXEC:
		(void)costs_enter(COSTS_EXEC);
		exec_event(s, tid);
		return;
	case PTRACE_EVENT_SECCOMP:
		(void)costs_enter(COSTS_EXEC);
		exec_stop(s, tid);
		return;
	case PTRACE_EVENT_STOP:
		on_event_stop(s, tr, tid, sig);
		return;
	}
	if (sig == (SIGTRAP | 0x80)) {
		on_call_stop(s, tid);
		return;
	}
	trace_mend_call(s, tid, sig);
	trace_mend_sender(s, tid, sig);
	trace_cont(s, tid, sig);
}

static void run_request(struct sentry *s, const struct trace_request *q)
{
	struct task *t;

	if (q->wish == TRACE_HOLD || q->wish == TRACE_RELEASE) {
		trace_hold_run(s, q->wish);
		return;
	}
	sentry_lock(s);
	t = task_find(s, q->tid);
	if (t && q->wish == TRACE_CTTY)
		ttrace_of(t)->want_ctty = true;
	sentry_unlock(s);
	if (t && ptrace(PTRACE_INTERRUPT, q->tid, 0, 0) < 0)
		log_debug("interrupt %d: %s", q->tid, strerror(errno));
}

static void run_requests(struct sentry *s, struct trace *tr)
{
	pthread_mutex_lock(&tr->lock);
	while (!list_empty(&tr->requests)) {
		struct trace_request *q = list_entry(
			tr->requests.next, struct trace_request, link);

		list_del(&q->link);
		run_request(s, q);
		sem_post(&q->done);
	}
	pthread_mutex_unlock(&tr->lock);
}

/* As waitpid. A child mostly stops just before its parent does, and reading
 * /proc costs more than that takes: so who is without a parent is looked into
 * when the event has not come for a while. */
static pid_t next_stop(struct sentry *s, struct trace *tr, int *status)
{
	while (tr->norphans && tr->patience) {
		pid_t tid = waitpid(-1, status, __WALL | __WNOTHREAD | WNOHANG);

		if (!--tr->patience)
			adopt_orphans(s, tr);
		if (tid)
			return tid;
		sched_yield();
	}
	return waitpid(-1, status, __WALL | __WNOTHREAD);
}

static void *trace_main(void *arg)
{
	struct sentry *s = arg;
	struct trace *tr = s->trace;

	tr->tid = (pid_t)syscall(SYS_gettid);
	if (ptrace(PTRACE_SEIZE, tr->init, 0, TRACE_OPTIONS) < 0)
		tr->start_error = -errno;
	sem_post(&tr->started);
	if (tr->start_error)
		return NULL;
	affinity_thread(s);
	for (;;) {
		enum costs_part idle;
		int status;
		pid_t tid = next_stop(s, tr, &status);

		if (tid < 0 && errno == ECHILD)
			break;
		if (tid < 0) {
			run_requests(s, tr);
			continue;
		}
		idle = costs_enter(COSTS_TRACE);
		affinity_stop(s);
		if (WIFSTOPPED(status)) {
			costs_count(COSTS_STOPS);
			on_stop(s, tr, tid, status);
		} else {
			on_gone(s, tr, tid, status);
		}
		costs_leave(idle);
	}
	return NULL;
}

int trace_start(struct sentry *s, pid_t init)
{
	struct trace *tr = xcalloc(1, sizeof(*tr));
	struct sigaction sa = {.sa_handler = wake_handler};

	BUG_ON(sigaction(TRACE_WAKE_SIGNAL, &sa, NULL) < 0);
	tr->init = init;
	sem_init(&tr->started, 0, 0);
	pthread_mutex_init(&tr->lock, NULL);
	pthread_mutex_init(&tr->hold.lock, NULL);
	list_init(&tr->requests);
	s->trace = tr;
	if (pthread_create(&tr->thread, NULL, trace_main, s))
		return -EAGAIN;
	while (sem_wait(&tr->started) < 0 && errno == EINTR)
		;
	return tr->start_error;
}

static struct timespec deadline_in(long ns)
{
	struct timespec ts;

	clock_gettime(CLOCK_REALTIME, &ts);
	ts.tv_nsec += ns;
	ts.tv_sec += ts.tv_nsec / 1000000000;
	ts.tv_nsec %= 1000000000;
	return ts;
}

bool trace_join(struct sentry *s, unsigned ms)
{
	struct trace *tr = s->trace;
	struct timespec ts = deadline_in((long)ms * 1000000);

	return pthread_timedjoin_np(tr->thread, NULL, &ts) == 0;
}

void trace_ask(struct sentry *s, pid_t tid, enum trace_wish wish)
{
	struct trace *tr = s->trace;
	struct trace_request q = {.tid = tid, .wish = wish};
	struct timespec ts;

	sem_init(&q.done, 0, 0);
	pthread_mutex_lock(&tr->lock);
	list_add_tail(&tr->requests, &q.link);
	pthread_mutex_unlock(&tr->lock);
	do {
		/* Repeated: the tracer may be just about to wait. */
		if (pthread_kill(tr->thread, TRACE_WAKE_SIGNAL))
			break;
		ts = deadline_in(RETRY_NS);
	} while (sem_timedwait(&q.done, &ts) < 0);
	sem_destroy(&q.done);
}

void trace_interrupt(struct sentry *s, pid_t tid)
{
	trace_ask(s, tid, TRACE_INTERRUPT);
}

void trace_make_ctty(struct sentry *s, pid_t tid)
{
	trace_ask(s, tid, TRACE_CTTY);
}
