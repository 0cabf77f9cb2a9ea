/*
 * affinity.c - see affinity.h.
 *
 * Three states. REST: nobody is packed and the loop does not look. PACKED:
 * threads are packed as they make calls; children inherit it. SPREAD: two
 * guests wanted to run, so nobody is packed for a while. The loop looks every
 * AFFINITY_TICK_MS while there are calls: how many threads want to run on this
 * machine (one line of /proc/loadavg), and only where that is more than one,
 * how many of them are guests.
 *
 * A sandbox that shares its processor with somebody else's work lets go for
 * one tick now and then, so that the kernel may choose another.
 *
 * Threads: `lock` is the state lock but where a field says otherwise.
 */
#include "affinity.h"

#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/syscall.h>

#include "sentry.h"
#include "task.h"
#include "workers.h"

enum {
	AFFINITY_TICK_MS = 3,
	AFFINITY_THREADS = 16, /* of the sentry; more are not packed */
	AFFINITY_TASKS = 64,   /* guests; more are not packed */
	AFFINITY_REST_CALLS = 8,
	AFFINITY_IDLE_TICKS = 8, /* without calls: REST */
	AFFINITY_HOLD_MIN = 16,	 /* ticks in SPREAD, doubled each time */
	AFFINITY_HOLD_MAX = 256,
	AFFINITY_SHARED_TICKS = 32, /* beside others' work: let go once */
	ONE = 256,		    /* a thread, in `wanting` */
	WANTING_MANY = 400,	    /* 1.55 */
	WANTING_FEW = 300,	    /* 1.2 */
};

enum affinity_state {
	AFFINITY_OFF,
	AFFINITY_REST,
	AFFINITY_PACKED,
	AFFINITY_SPREAD
};

struct affinity {
	_Atomic enum affinity_state state; /* written with the lock */
	cpu_set_t all;			   /* what the sandbox may use */
	cpu_set_t one;			   /* PACKED: where */
	int cpu;			   /* it */
	int loadavg;
	pid_t threads[AFFINITY_THREADS];
	unsigned nthreads;
	atomic_uint calls; /* calls and stops; no lock */
	/* the loop's: */
	unsigned seen, idle, shared;
	unsigned wanting; /* guests that want to run, a moving mean */
	unsigned hold, next_hold;
};

static enum affinity_state state_of(const struct sentry *s)
{
	return s->affinity ? atomic_load(&s->affinity->state) : AFFINITY_OFF;
}

void affinity_task_fini(struct affinity_task *pt)
{
	free(pt->mask);
	pt->mask = NULL;
}

static int mask_get(pid_t tid, cpu_set_t *set)
{
	CPU_ZERO(set);
	return sched_getaffinity(tid, sizeof(*set), set) < 0 ? -errno : 0;
}

static void mask_set(pid_t tid, const cpu_set_t *set)
{
	/* ESRCH: it has gone. Whatever else: it runs where it ran. */
	if (sched_setaffinity(tid, sizeof(*set), set) < 0 && errno != ESRCH)
		log_debug("affinity of %d: %s", tid, strerror(errno));
}

void affinity_init(struct sentry *s)
{
	struct affinity *p = xcalloc(1, sizeof(*p));

	s->affinity = p;
	p->next_hold = AFFINITY_HOLD_MIN;
	p->loadavg = open("/proc/loadavg", O_RDONLY | O_CLOEXEC);
	if (p->loadavg < 0 || mask_get(0, &p->all) || CPU_COUNT(&p->all) < 2)
		return;
	atomic_store(&p->state, AFFINITY_REST);
}

void affinity_thread(struct sentry *s)
{
	struct affinity *p = s->affinity;
	pid_t tid = (pid_t)syscall(SYS_gettid);

	sentry_lock(s);
	if (state_of(s) != AFFINITY_OFF) {
		bool room = p->nthreads < AFFINITY_THREADS;

		if (room)
			p->threads[p->nthreads++] = tid;
		/* Whoever started it may have been packed. */
		mask_set(tid, room && state_of(s) == AFFINITY_PACKED ? &p->one
								     : &p->all);
	}
	sentry_unlock(s);
}

/* ---- one guest ------------------------------------------------------------
 */

static void mask_keep(struct affinity_task *pt, const cpu_set_t *mask)
{
	if (!mask) {
		affinity_task_fini(pt);
		return;
	}
	if (!pt->mask)
		pt->mask = xmalloc(sizeof(*mask));
	*pt->mask = *mask;
}

static void pack(struct affinity *p, struct task *t)
{
	cpu_set_t now;

	if (mask_get(t->tid, &now))
		return;
	/* A program that chose its processors before the sandbox was packed,
	 * or one that may not run here. */
	if (CPU_COUNT(&now) < 2 || !CPU_ISSET(p->cpu, &now)) {
		t->affinity.own = true;
		return;
	}
	mask_keep(&t->affinity, CPU_EQUAL(&now, &p->all) ? NULL : &now);
	mask_set(t->tid, &p->one);
	t->affinity.packed = true;
}

static void unpack(struct affinity *p, struct task *t)
{
	if (!t->affinity.packed)
		return;
	mask_set(t->tid, t->affinity.mask ? t->affinity.mask : &p->all);
	t->affinity.packed = false; /* and its mask stays for affinity_child */
}

void affinity_show(struct sentry *s, struct task *t)
{
	unpack(s->affinity, t);
	t->affinity.rest = AFFINITY_REST_CALLS;
}

void affinity_leave(struct sentry *s, struct task *t)
{
	unpack(s->affinity, t);
	t->affinity.own = true;
}

bool affinity_own(struct sentry *s, const struct task *t, cpu_set_t *mask)
{
	if (state_of(s) == AFFINITY_OFF || !t->affinity.packed)
		return false;
	*mask = t->affinity.mask ? *t->affinity.mask : s->affinity->all;
	return true;
}

/* The parent may have been unpacked between the fork and the tracer's news of
 * it, even to have its mask set by a guest: then the child has the narrow one,
 * and the parent has not. What the parent was packed from is kept. */
void affinity_child(struct sentry *s, const struct task *parent,
		    struct task *child)
{
	struct affinity *p = s->affinity;
	const struct affinity_task *pt = &parent->affinity;
	cpu_set_t now, theirs;

	child->affinity.own = pt->own;
	if (state_of(s) == AFFINITY_OFF || CPU_COUNT(&p->one) == 0 ||
	    mask_get(child->tid, &now) || CPU_COUNT(&now) != 1)
		return;
	if (pt->own &&
	    (!mask_get(parent->tid, &theirs) && CPU_EQUAL(&now, &theirs)))
		return; /* it is the parent's own */
	mask_keep(&child->affinity, pt->mask);
	child->affinity.packed = true;
	if (pt->own || state_of(s) != AFFINITY_PACKED ||
	    !CPU_EQUAL(&now, &p->one))
		unpack(p, child);
}

/* ---- all of them ----------------------------------------------------------
 */

static void threads_to(struct affinity *p, const cpu_set_t *set)
{
	for (unsigned i = 0; i < p->nthreads; i++)
		mask_set(p->threads[i], set);
}

static void let_go(struct sentry *s, enum affinity_state to)
{
	struct affinity *p = s->affinity;

	if (atomic_load(&p->state) == AFFINITY_PACKED) {
		threads_to(p, &p->all);
		list_for_each (g, &s->tgroups) {
			struct tgroup *tg = list_entry(g, struct tgroup, list);

			list_for_each (q, &tg->tasks)
				unpack(p, list_entry(q, struct task, list));
		}
	}
	atomic_store(&p->state, to);
}

/* From the notify thread, which the kernel has just woken where the guest
 * waits (SYNC_WAKE_UP). */
static void begin(struct sentry *s)
{
	struct affinity *p = s->affinity;
	int cpu = sched_getcpu();

	if (cpu < 0 || cpu >= CPU_SETSIZE || !CPU_ISSET(cpu, &p->all))
		return;
	p->cpu = cpu;
	CPU_ZERO(&p->one);
	CPU_SET(cpu, &p->one);
	atomic_store(&p->state, AFFINITY_PACKED);
	threads_to(p, &p->one);
}

void affinity_stop(struct sentry *s)
{
	struct affinity *p = s->affinity;

	atomic_fetch_add_explicit(&p->calls, 1, memory_order_relaxed);
}

/* Read without the lock: what changes meanwhile is seen at the next call. */
bool affinity_settled(struct sentry *s, const struct task *t)
{
	enum affinity_state state = state_of(s);

	if (state == AFFINITY_OFF)
		return true;
	if (state == AFFINITY_REST || (state == AFFINITY_PACKED &&
				       !t->affinity.packed && !t->affinity.own))
		return false;
	affinity_stop(s);
	return true;
}

void affinity_call(struct sentry *s, struct task *t)
{
	struct affinity *p = s->affinity;
	enum affinity_state state = state_of(s);

	if (state == AFFINITY_OFF)
		return;
	atomic_fetch_add_explicit(&p->calls, 1, memory_order_relaxed);
	if (state == AFFINITY_REST) {
		begin(s);
		workers_wake_loop(s);
		state = atomic_load(&p->state);
	}
	if (state != AFFINITY_PACKED || t->affinity.packed || t->affinity.own)
		return;
	if (t->affinity.rest)
		t->affinity.rest--;
	else
		pack(p, t);
}

/* ---- the loop --------------------------------------------------------------
 */

int affinity_timeout(struct sentry *s)
{
	enum affinity_state state = state_of(s);

	return state == AFFINITY_PACKED || state == AFFINITY_SPREAD
		       ? AFFINITY_TICK_MS
		       : -1;
}

/* Threads of the machine that want to run, but for the one that asks. */
static unsigned machine_wanting(const struct affinity *p)
{
	char buf[128];
	ssize_t n = pread(p->loadavg, buf, sizeof(buf) - 1, 0);
	unsigned running;

	if (n <= 0)
		return 0;
	buf[n] = '\0';
	if (sscanf(buf, "%*s %*s %*s %u", &running) != 1 || !running)
		return 0;
	return running - 1;
}

static bool wants_to_run(pid_t tid)
{
	char buf[256], *p;

	if (base_read_proc(tid, "stat", buf, sizeof(buf)) <= 0)
		return false;
	p = strrchr(buf, ')');
	return p && p[1] == ' ' && p[2] == 'R';
}

/* With the lock: AFFINITY_TASKS at most, which is all of them. */
static size_t guest_tids(struct sentry *s, pid_t *tids)
{
	size_t n = 0;

	list_for_each (g, &s->tgroups) {
		struct tgroup *tg = list_entry(g, struct tgroup, list);

		list_for_each (q, &tg->tasks)
			if (n < AFFINITY_TASKS)
				tids[n++] =
					list_entry(q, struct task, list)->tid;
	}
	return n;
}

/* Guests that want to run, two at most. /proc is read without the lock: calls
 * are answered meanwhile. */
static unsigned guests_wanting(struct sentry *s)
{
	pid_t tids[AFFINITY_TASKS];
	unsigned wanting = 0;
	size_t n = 0;
	bool many;

	sentry_lock(s);
	many = s->tasks.count > AFFINITY_TASKS;
	if (!many)
		n = guest_tids(s, tids);
	sentry_unlock(s);
	if (many)
		return 2;
	for (size_t i = 0; i < n && wanting < 2; i++)
		wanting += wants_to_run(tids[i]);
	return wanting;
}

/* One look; with the lock. */
static void look(struct sentry *s, unsigned machine, unsigned guests)
{
	struct affinity *p = s->affinity;

	p->wanting = (3 * p->wanting + ONE * guests) / 4;
	if (atomic_load(&p->state) == AFFINITY_SPREAD) {
		if (p->hold)
			p->hold--;
		else if (p->wanting < WANTING_FEW)
			atomic_store(&p->state, AFFINITY_REST); /* packs anew */
		return;
	}
	p->shared = machine > guests ? p->shared + 1 : 0;
	if (p->wanting > WANTING_MANY) {
		let_go(s, AFFINITY_SPREAD);
		p->hold = p->next_hold;
		if (p->next_hold < AFFINITY_HOLD_MAX)
			p->next_hold *= 2;
	} else if (p->shared >= AFFINITY_SHARED_TICKS) {
		p->shared = 0;
		let_go(s, AFFINITY_SPREAD);
		p->hold = 0;
	}
}

void affinity_tick(struct sentry *s)
{
	struct affinity *p = s->affinity;
	unsigned calls, machine, guests;

	if (affinity_timeout(s) < 0)
		return;
	machine = machine_wanting(p);
	guests = machine < 2 ? machine : guests_wanting(s);
	sentry_lock(s);
	calls = atomic_load_explicit(&p->calls, memory_order_relaxed);
	if (calls != p->seen)
		p->idle = 0;
	else if (++p->idle >= AFFINITY_IDLE_TICKS) {
		p->idle = p->wanting = 0;
		p->next_hold = AFFINITY_HOLD_MIN;
		let_go(s, AFFINITY_REST);
		sentry_unlock(s);
		return;
	}
	p->seen = calls;
	look(s, machine, guests);
	sentry_unlock(s);
}
