/*
 * trace_hold.c - all guests stopped for a moment, as a freezer would do it.
 *
 * Each thread is interrupted, and every later stop of it asks for one more
 * interrupt (trace_cont), so that it stops for good before its next
 * instruction. A thread that sleeps in a call is taken out of it and starts it
 * again; one that the sentry has a call of, or whose vfork child has not yet
 * exec'd, sleeps unkillably and counts as stopped: it comes to its stop as soon
 * as that call ends.
 *
 * What it costs a guest: a transfer through a pipe or socket that was half
 * done returns what it has done, and a time limit of epoll_wait or of a
 * socket begins anew, as after ^Z and fg.
 *
 * LIMIT: a call that runs in the kernel for longer than the caller waits (one
 * huge write) goes on meanwhile.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <time.h>

#include "sentry.h"
#include "trace.h"
#include "trace_priv.h"

enum { HOLD_TICK_US = 100 };

/* ---- in the tracer --------------------------------------------------- */

struct stopped {
	pid_t tid;
	int sig;
};

/* Threads that are (not) held; owned, *count of them. */
static struct stopped *collect(struct sentry *s, bool held, size_t *count)
{
	struct stopped *all = NULL;
	size_t cap = 0;

	*count = 0;
	sentry_lock(s);
	list_for_each (p, &s->tgroups) {
		struct tgroup *tg = list_entry(p, struct tgroup, list);

		if (tg->pid == s->init)
			continue; /* it only waits, and writes nothing */
		list_for_each (q, &tg->tasks) {
			struct task *t = list_entry(q, struct task, list);
			struct ttrace *tt = ttrace_of(t);

			if (tt->held != held)
				continue;
			if (*count == cap) {
				cap = cap ? 2 * cap : 64;
				all = realloc(all, cap * sizeof(*all));
				BUG_ON(!all);
			}
			all[(*count)++] =
				(struct stopped){t->tid, tt->held_sig};
			if (held)
				tt->held = false;
		}
	}
	sentry_unlock(s);
	return all;
}

void trace_hold_run(struct sentry *s, enum trace_wish wish)
{
	bool release = wish == TRACE_RELEASE;
	AUTO_FREE struct stopped *all = NULL;
	size_t count;

	atomic_store(&trace_hold_of(s)->on, !release);
	all = collect(s, release, &count);
	for (size_t i = 0; i < count; i++)
		if (release)
			trace_event_end(s, all[i].tid, all[i].sig);
		else
			(void)ptrace(PTRACE_INTERRUPT, all[i].tid, 0, 0);
}

bool trace_hold_stop(struct sentry *s, pid_t tid, int sig)
{
	struct task *t;

	if (tid == s->init || !atomic_load(&trace_hold_of(s)->on))
		return false;
	sentry_lock(s);
	t = task_find(s, tid);
	if (t) {
		ttrace_of(t)->held = true;
		ttrace_of(t)->held_sig = sig;
	}
	sentry_unlock(s);
	return t != NULL;
}

/* ---- by who wants them held ------------------------------------------ */

static bool proc_read(pid_t tid, const char *name, char *buf, size_t size)
{
	char path[64];
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%d/%s", tid, name);
	AUTO_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);
	n = fd < 0 ? -1 : read(fd, buf, size - 1);
	if (n <= 0)
		return false;
	buf[n] = '\0';
	return true;
}

/* Is that call one in which the thread waits for the sentry or for a child?
 * It then comes to its stop before the next instruction. */
static bool waits_for_others(const struct sentry *s, const char *call)
{
	unsigned long long a[6];
	struct user_regs_struct r = {0};
	int nr;

	if (sscanf(call, "%d %llx %llx %llx %llx %llx %llx", &nr, &a[0], &a[1],
		   &a[2], &a[3], &a[4], &a[5]) != 7 ||
	    nr < 0)
		return false;
	if (nr == SYS_vfork || nr == SYS_clone)
		return true;
	r.orig_rax = (unsigned long long)nr;
	r.rdi = a[0];
	r.rsi = a[1];
	r.rdx = a[2];
	r.r10 = a[3];
	r.r8 = a[4];
	r.r9 = a[5];
	return trace_call_notified(&r, s->bare);
}

static bool may_run(const struct sentry *s, pid_t tid)
{
	char buf[1024], *state;

	if (!proc_read(tid, "stat", buf, sizeof(buf)))
		return false; /* gone */
	state = strrchr(buf, ')');
	if (!state || !state[1])
		return true;
	switch (state[2]) {
	case 't': /* the tracer is about to see it */
	case 'T':
	case 'Z':
	case 'X':
		return false;
	case 'D':
		return !proc_read(tid, "syscall", buf, sizeof(buf)) ||
		       !waits_for_others(s, buf);
	}
	return true;
}

static bool all_stopped(struct sentry *s)
{
	AUTO_FREE struct stopped *all = NULL;
	size_t count;

	all = collect(s, false, &count);
	for (size_t i = 0; i < count; i++)
		if (may_run(s, all[i].tid))
			return false;
	return true;
}

bool trace_hold(struct sentry *s, unsigned ms)
{
	pthread_mutex_lock(&trace_hold_of(s)->lock);
	trace_ask(s, 0, TRACE_HOLD);
	for (unsigned us = 0; us <= ms * 1000; us += HOLD_TICK_US) {
		if (all_stopped(s))
			return true;
		usleep(HOLD_TICK_US);
	}
	return false;
}

void trace_release(struct sentry *s)
{
	trace_ask(s, 0, TRACE_RELEASE);
	pthread_mutex_unlock(&trace_hold_of(s)->lock);
}
