/*
 * workers.c - see workers.h.
 *
 * Threads are made on demand, up to WORKERS_MAX, and stay for reuse. One more
 * call than that is refused with -EAGAIN: a full table never waits.
 */
#include "workers.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/eventfd.h>
#include <fcntl.h>
#include <time.h>

#include "dispatch.h"
#include "notify.h"
#include "sentry.h"
#include "trace.h"

enum { SETTLE_TRIES = 50 }; /* of 100 us */
enum { WORKER_STACK = 1 << 20, TICK_MIN_US = 8000 };

struct worker {
	struct list link; /* workers.busy */
	struct call *call;
	pthread_t thread;
};

struct workers {
	pthread_mutex_t lock;
	pthread_cond_t work;
	struct list queue; /* calls */
	struct list busy;
	unsigned nthreads, nidle, nqueued;
	_Atomic unsigned nbusy; /* in busy: asked without the lock */
	int wake_fd;
	bool ticking; /* the loop looks again soon: it need not be woken */
	uint64_t next_tick_us; /* of the loop thread */
};

static void worker_signal(int sig)
{
	(void)sig; /* only there to end a blocking host call */
}

void workers_init(struct sentry *s)
{
	struct workers *w = xcalloc(1, sizeof(*w));
	struct sigaction sa = {.sa_handler = worker_signal};

	pthread_mutex_init(&w->lock, NULL);
	pthread_cond_init(&w->work, NULL);
	list_init(&w->queue);
	list_init(&w->busy);
	w->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	BUG_ON(w->wake_fd < 0);
	BUG_ON(sigaction(SIGURG, &sa, NULL) < 0);
	s->workers = w;
}

int workers_wake_fd(struct sentry *s)
{
	return ((struct workers *)s->workers)->wake_fd;
}

void workers_wake_loop(struct sentry *s)
{
	uint64_t one = 1;

	if (write(workers_wake_fd(s), &one, sizeof(one)) < 0)
		log_debug("wake: %s", strerror(errno));
}

/* Gives a cancelled call back to the kernel. With no signal pending any more
 * the guest would see errno 512, so the thread is interrupted just before. */
static int64_t worker_release(struct call *c)
{
	sentry_lock(c->s);
	if (c->task && !c->task->dead) {
		c->task->released = true;
		sentry_unlock(c->s);
		trace_interrupt(c->s, c->tid);
	} else {
		sentry_unlock(c->s);
	}
	return -512;
}

/* From here on the tick leaves the call alone: it may be recycled. */
static void worker_detach(struct workers *w, struct worker *self)
{
	pthread_mutex_lock(&w->lock);
	list_del(&self->link);
	w->nbusy--;
	self->call = NULL;
	pthread_mutex_unlock(&w->lock);
}

static void worker_run(struct workers *w, struct worker *self)
{
	struct call *c = self->call;
	int64_t r = c->block_fn(c, c->block_arg);

	worker_detach(w, self);
	if (r == CALL_DEFERRED)
		return; /* another worker may hold it already */
	if (r == -EINTR && c->cancel)
		r = worker_release(c);
	else
		r = dispatch_finish(c, r);
	notify_reply(c, r);
}

static void *worker_main(void *arg)
{
	struct sentry *s = arg;
	struct workers *w = s->workers;
	struct worker self = {.thread = pthread_self()};

	affinity_thread(s);
	pthread_mutex_lock(&w->lock);
	for (;;) {
		while (list_empty(&w->queue)) {
			w->nidle++;
			pthread_cond_wait(&w->work, &w->lock);
			w->nidle--;
		}
		self.call = list_entry(w->queue.next, struct call, link);
		list_del(&self.call->link);
		w->nqueued--;
		list_add_tail(&w->busy, &self.link);
		w->nbusy++;
		pthread_mutex_unlock(&w->lock);
		worker_run(w, &self);
		pthread_mutex_lock(&w->lock);
	}
	return NULL;
}

static int worker_start(struct sentry *s, struct workers *w)
{
	pthread_attr_t attr;
	pthread_t t;
	int err;

	if (w->nthreads >= WORKERS_MAX)
		return -EAGAIN;
	pthread_attr_init(&attr);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	pthread_attr_setstacksize(&attr, WORKER_STACK);
	err = pthread_create(&t, &attr, worker_main, s);
	pthread_attr_destroy(&attr);
	if (err)
		return -EAGAIN;
	w->nthreads++;
	return 0;
}

/* With w->lock. A worker that passes its call on may outlive it. */
static void busy_forget(struct workers *w, const struct call *c)
{
	list_for_each (p, &w->busy) {
		struct worker *k = list_entry(p, struct worker, link);

		if (k->call == c)
			k->call = NULL;
	}
}

int64_t call_block(struct call *c, int64_t (*fn)(struct call *, void *),
		   void *arg)
{
	struct workers *w = c->s->workers;
	bool ticking;
	int ret = 0;

	c->block_fn = fn;
	c->block_arg = arg;
	c->cancel = 0;
	pthread_mutex_lock(&w->lock);
	busy_forget(w, c);
	if (w->nidle <= w->nqueued)
		ret = worker_start(c->s, w);
	if (!ret) {
		list_add_tail(&w->queue, &c->link);
		w->nqueued++;
		pthread_cond_signal(&w->work);
	}
	ticking = w->ticking;
	pthread_mutex_unlock(&w->lock);
	if (ret)
		return ret;
	if (!ticking)
		workers_wake_loop(c->s);
	return CALL_DEFERRED;
}

static int64_t job_then_again(struct call *c, void *arg)
{
	struct vfs_job *job = arg;
	int ret = vfs_job_run(job, &c->cancel);

	sentry_lock(c->s);
	ret = vfs_job_finish(c->s->vfs, job, ret);
	sentry_unlock(c->s);
	if (ret)
		return ret;
	return dispatch_again(c);
}

int64_t call_run_job(struct call *c, struct vfs_job *job)
{
	int64_t r = call_block(c, job_then_again, job);

	if (r != CALL_DEFERRED) {
		int ret = vfs_job_finish(c->s->vfs, job, -ECANCELED);

		(void)ret; /* the job is void; the call reports its own error */
	}
	return r;
}

bool workers_busy(struct sentry *s)
{
	struct workers *w = s->workers;
	bool busy;

	pthread_mutex_lock(&w->lock);
	busy = !list_empty(&w->busy) || !list_empty(&w->queue);
	w->ticking = busy;
	pthread_mutex_unlock(&w->lock);
	return busy;
}

static uint64_t status_mask(const char *text, const char *key)
{
	const char *p = strstr(text, key);

	return p ? strtoull(p + strlen(key), NULL, 16) : 0;
}

/* Ignored by default: SIGCHLD, SIGCONT, SIGURG, SIGWINCH. */
#define SIG_BIT(n) (1ULL << ((n)-1))
#define DEFAULT_IGNORED                                          \
	(SIG_BIT(SIGCHLD) | SIG_BIT(SIGCONT) | SIG_BIT(SIGURG) | \
	 SIG_BIT(SIGWINCH))

/* Would the kernel interrupt an interruptible sleep of this thread now? True
 * as well when it has gone. */
static bool signal_deliverable(pid_t tid)
{
	char buf[4096];
	uint64_t pending;

	if (base_read_proc(tid, "status", buf, sizeof(buf)) <= 0)
		return true;
	pending = status_mask(buf, "\nSigPnd:") | status_mask(buf, "\nShdPnd:");
	pending &= ~status_mask(buf, "\nSigBlk:");
	pending &= ~status_mask(buf, "\nSigIgn:");
	pending &= ~(DEFAULT_IGNORED & ~status_mask(buf, "\nSigCgt:"));
	return pending != 0;
}

/* Cancels what nobody waits for any more, and with `pending` what a signal
 * ends. True if a void call is still under way. */
static bool workers_cancel(struct sentry *s, bool pending)
{
	struct workers *w = s->workers;
	bool any = false;

	pthread_mutex_lock(&w->lock);
	list_for_each (p, &w->busy) {
		struct worker *k = list_entry(p, struct worker, link);
		bool gone;

		if (!k->call)
			continue;
		gone = !notify_alive(s, k->call->id);
		any |= gone;
		if (!k->call->cancel &&
		    (gone || (pending && signal_deliverable(k->call->tid))))
			k->call->cancel = 1;
		/* Repeated until it is done: the signal may come just before
		 * the host call. */
		if (k->call->cancel)
			pthread_kill(k->thread, SIGURG);
	}
	pthread_mutex_unlock(&w->lock);
	return any;
}

static uint64_t now_us(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000 + (uint64_t)ts.tv_nsec / 1000;
}

void workers_tick(struct sentry *s)
{
	struct workers *w = s->workers;
	uint64_t start = now_us();

	if (start < w->next_tick_us)
		return;
	workers_cancel(s, true);
	/* With hundreds of blocked calls a look is not cheap: a tenth of the
	 * time at most. */
	w->next_tick_us = start + (now_us() - start) * 10;
	if (w->next_tick_us < start + TICK_MIN_US)
		w->next_tick_us = start + TICK_MIN_US;
}

void workers_settle(struct sentry *s)
{
	const struct timespec pause = {.tv_nsec = 100000};
	struct workers *w = s->workers;

	if (!w->nbusy)
		return;
	for (int i = 0; i < SETTLE_TRIES && workers_cancel(s, false); i++)
		nanosleep(&pause, NULL);
}
