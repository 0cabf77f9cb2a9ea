/*
 * audit.c - the audit stream's queue and writer; see audit.h.
 *
 * Emitters append to the open batch under the lock. A batch that is full goes
 * to the writer's queue; the writer also takes an open batch that is older
 * than AUDIT_DELAY_MS, or at once when somebody flushes. It formats outside
 * the lock, writes, and closes the block with a chain record, so all that has
 * reached the destination is under the chain.
 *
 * A wake-up is dear to who gives it (another processor's is tens of
 * microseconds on a virtual machine), and emitters are on the way of a call. So
 * a writer that has work looks for more by itself, every AUDIT_TICK_MS, and is
 * woken only from idleness, by AUDIT_QUEUE_WAKE full batches, and to flush.
 *
 * LAW: a record is never dropped. When the queue is full emitters wait; the
 *   tracer does not (ptrace stops would deadlock with it) and its batches
 *   queue without bound. When the destination fails for good, the failure is
 *   told (audit_on_failure) and the sandbox has to stop.
 *
 * The writer thread starts at the first event, not in audit_open, so that the
 * caller may still unshare and confine itself.
 *
 * Trust: the destination is the operator's; events hold guest strings, which
 * are escaped by format. Lock order: audit.lock is innermost.
 */
#include "audit.h"

#include <pthread.h>
#include <signal.h>
#include <time.h>

#include "../base/costs.h"
#include "../base/ticks.h"
#include "batch.h"
#include "chain.h"
#include "denials.h"
#include "format.h"
#include "sink.h"

enum {
	AUDIT_QUEUE_WAKE = 4, /* full batches before the writer is woken */
	AUDIT_QUEUE_MAX = 12, /* and before emitters wait */
	AUDIT_SPARE_MAX = 4,  /* empty batches kept */
	AUDIT_DELAY_MS = 100,
	AUDIT_TICK_MS = 10,
};

#define MS_NS 1000000ull

struct audit {
	pthread_mutex_t lock;
	pthread_cond_t work, done; /* for the writer; for those who wait */
	struct batch *open;	   /* not full; under lock */
	struct list queue;	   /* full batches, under lock */
	struct list spare;	   /* empty ones, under lock */
	size_t queued, spares;	   /* under lock */
	bool asleep; /* the writer, until it is woken; under lock */
	uint64_t handed, written; /* batches, under lock */
	uint64_t count;		  /* events, under lock */
	unsigned flushing;	  /* waiters that want all out, under lock */
	bool started, stopping;	  /* under lock */
	bool inlined;		  /* audit_flush writes itself; under lock */
	int error;		  /* under lock */
	struct denials denials;	  /* under lock */
	void (*on_failure)(void *arg, int err);
	void *on_failure_arg;
	/* the writer's, or of who writes in its place (inlined), and
	 * audit_close's after the join */
	pthread_t writer;
	struct chain chain;
	struct format format;
	struct strbuf line;
	uint64_t seq;
	bool lively; /* full batches came lately */
	int fd, head_fd;
	struct ticks ticks; /* constant once there are threads */
	char *id, *sink;
};

/* What is wrong with a destination, and what to do about it. */
static const char *sink_advice(const char *sink, int err)
{
	bool fd = strncmp(sink, "fd:", 3) == 0;
	bool peer = strncmp(sink, "unix:", 5) == 0;

	switch (err) {
	case EBADF:
		return "; open it before, as in 3>audit.jsonl";
	case EINVAL:
		return fd ? "; a number that is open for writing was expected"
			  : "; PATH is missing, or it cannot be written";
	case ECONNREFUSED:
		return "; start who listens there first";
	case ENOENT:
		return peer ? "; start who listens there first"
			    : "; make its directory first";
	case EISDIR:
		return "; give a file in it";
	case ELOOP:
		return "; links are not followed: give the file itself";
	case ENXIO:
		return "; nobody reads there: start the reader first";
	}
	return "";
}

static void sink_failed(const char *option, const char *sink, int err)
{
	struct strbuf b;

	strbuf_init(&b, 0);
	strbuf_visible(&b, sink, strlen(sink));
	log_info("%s %s: %s%s", option, b.data ? b.data : "", strerror(-err),
		 sink_advice(sink, -err));
	strbuf_fini(&b);
}

int audit_open(const char *sink, const char *id, int head_fd,
	       struct audit **out)
{
	struct audit *a = xcalloc(1, sizeof(*a));
	pthread_condattr_t attr;
	int err = 0;

	a->fd = -1;
	a->head_fd = -1;
	if (sink)
		err = sink_open(sink, &a->fd);
	if (err)
		sink_failed("--audit", sink, err);
	chain_init(&a->chain);
	if (!err && head_fd >= 0) {
		err = sink_dup(head_fd, &a->head_fd);
		if (err)
			sink_failed("--audit-head", "fd:", err);
	}
	if (err) {
		auto_close_fd(&a->fd);
		free(a);
		return err;
	}
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_mutex_init(&a->lock, NULL);
	pthread_cond_init(&a->work, &attr);
	pthread_cond_init(&a->done, NULL);
	pthread_condattr_destroy(&attr);
	list_init(&a->queue);
	list_init(&a->spare);
	denials_init(&a->denials);
	strbuf_init(&a->line, SIZE_MAX / 2);
	if (sink)
		ticks_begin(&a->ticks);
	a->id = xstrdup(id);
	format_init(&a->format, id);
	a->sink = xstrdup(sink ? sink : "none");
	*out = a;
	return 0;
}

/* ---- the writer ------------------------------------------------------ */

static void audit_put_chain(struct audit *a, uint64_t from, size_t block)
{
	char prev[CHAIN_HEX_SIZE], hash[CHAIN_HEX_SIZE];

	chain_hex(&a->chain, prev);
	chain_add(&a->chain, a->line.data + block, a->line.len - block);
	chain_close(&a->chain);
	chain_hex(&a->chain, hash);
	strbuf_puts(&a->line, "{\"call\":\"chain\",\"id\":");
	strbuf_json_string(&a->line, a->id, strlen(a->id));
	strbuf_printf(&a->line,
		      ",\"from\":%llu,\"to\":%llu,\"prev\":\"%s\","
		      "\"hash\":\"%s\"}\n",
		      (unsigned long long)from, (unsigned long long)a->seq,
		      prev, hash);
}

static int audit_write_batch(struct audit *a, const struct batch *b)
{
	uint64_t from = a->seq + 1;

	strbuf_reset(&a->line);
	for (size_t i = 0; i < b->count; i++)
		format_record(&a->format, b, &b->rec[i], ++a->seq, &a->line);
	audit_put_chain(a, from, 0);
	return sink_write(a->fd, a->line.data, a->line.len);
}

/* Moves the open batch to the queue; called with the lock. */
static void audit_hand_over(struct audit *a)
{
	list_add_tail(&a->queue, &a->open->link);
	a->queued++;
	a->handed++;
	a->open = NULL;
}

/* Called with the lock, as the two below. */
static struct batch *audit_take_spare(struct audit *a)
{
	struct batch *b;

	if (list_empty(&a->spare))
		return batch_new();
	b = list_entry(a->spare.next, struct batch, link);
	list_del(&b->link);
	a->spares--;
	return b;
}

static void audit_give_spare(struct audit *a, struct batch *b)
{
	if (a->spares == AUDIT_SPARE_MAX) {
		batch_free(b);
		return;
	}
	batch_reset(b);
	list_add_tail(&a->spare, &b->link);
	a->spares++;
}

/* Until somebody wakes the writer, or there may be work by itself. */
static void audit_doze(struct audit *a)
{
	uint64_t tick = ticks_clock(CLOCK_MONOTONIC) + AUDIT_TICK_MS * MS_NS;
	uint64_t until =
		a->open ? a->open->born + AUDIT_DELAY_MS * MS_NS : UINT64_MAX;
	struct timespec ts;

	if (a->lively && tick < until)
		until = tick;
	if (until == UINT64_MAX) {
		a->asleep = true;
		pthread_cond_wait(&a->work, &a->lock);
		a->asleep = false;
		return;
	}
	ts.tv_sec = (time_t)(until / 1000000000u);
	ts.tv_nsec = (long)(until % 1000000000u);
	(void)pthread_cond_timedwait(&a->work, &a->lock, &ts);
	/* after a whole tick with no full batch it need not look so often */
	a->lively = !list_empty(&a->queue);
}

static bool audit_open_due(const struct audit *a)
{
	return a->open && (a->flushing || a->stopping ||
			   ticks_clock(CLOCK_MONOTONIC) >=
				   a->open->born + AUDIT_DELAY_MS * MS_NS);
}

/* Waits for work; false when there is none and the stream is closing. */
static bool audit_wait_work(struct audit *a)
{
	while (list_empty(&a->queue)) {
		if (audit_open_due(a))
			audit_hand_over(a);
		else if (a->stopping)
			return false;
		else
			audit_doze(a);
	}
	return true;
}

static void audit_fail(struct audit *a, int err)
{
	pthread_mutex_lock(&a->lock);
	a->error = -err;
	pthread_cond_broadcast(&a->done);
	pthread_mutex_unlock(&a->lock);
	log_host(err, "write of the audit stream to %s; the sandbox must stop",
		 a->sink);
	if (a->on_failure)
		a->on_failure(a->on_failure_arg, -err);
}

static void *audit_writer(void *arg)
{
	struct audit *a = arg;
	int err = 0;

	pthread_mutex_lock(&a->lock);
	while (audit_wait_work(a)) {
		struct batch *b;

		while (a->inlined)
			pthread_cond_wait(&a->work, &a->lock);
		b = list_entry(a->queue.next, struct batch, link);
		list_del(&b->link);
		a->queued--;
		pthread_cond_broadcast(&a->done);
		pthread_mutex_unlock(&a->lock);
		if (!err) {
			err = audit_write_batch(a, b);
			if (err)
				audit_fail(a, err);
		}
		pthread_mutex_lock(&a->lock);
		audit_give_spare(a, b);
		a->written++;
		pthread_cond_broadcast(&a->done);
	}
	pthread_mutex_unlock(&a->lock);
	return NULL;
}

/* Called with the lock. All signals stay blocked in the writer: EPIPE comes
 * as an error, and the caller's handlers run elsewhere. */
static void audit_start(struct audit *a)
{
	sigset_t all, old;

	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, &old);
	a->started = pthread_create(&a->writer, NULL, audit_writer, a) == 0;
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (!a->started)
		a->error = EAGAIN;
}

/* ---- emitters -------------------------------------------------------- */

/* Makes sure that there is an open batch. Called with the lock, which it may
 * drop while it waits. False: the stream has failed. */
static bool audit_room(struct audit *a, bool may_wait)
{
	if (!a->started && !a->error)
		audit_start(a);
	for (;;) {
		if (a->error)
			return false;
		if (a->open)
			return true;
		if (a->queued < AUDIT_QUEUE_MAX || !may_wait)
			break;
		pthread_cond_wait(&a->done, &a->lock);
	}
	a->open = audit_take_spare(a);
	a->open->born = ticks_clock(CLOCK_MONOTONIC);
	/* their clock may drift, so each batch says anew what it means */
	a->open->epoch = ticks_clock(CLOCK_REALTIME) - ticks_ns(&a->ticks);
	return true;
}

static void audit_record(struct audit *a, const struct audit_event *ev)
{
	if (!audit_room(a, !ev->tracer))
		return;
	batch_add(a->open, ev, ev->coalesce || ev->verdict == AUDIT_DENY);
	if (batch_full(a->open))
		audit_hand_over(a);
	if (a->asleep || a->queued >= AUDIT_QUEUE_WAKE)
		pthread_cond_signal(&a->work);
	a->asleep = false;
}

void audit_emit(struct audit *a, const struct audit_event *ev)
{
	enum costs_part back = costs_enter(COSTS_AUDIT);

	pthread_mutex_lock(&a->lock);
	a->count++;
	if (ev->verdict == AUDIT_DENY && !ev->probe)
		denials_add(&a->denials, ev);
	if (a->fd >= 0)
		audit_record(a, ev);
	pthread_mutex_unlock(&a->lock);
	costs_leave(back);
}

void audit_clock_settle(struct audit *a)
{
	ticks_settle(&a->ticks);
}

uint64_t audit_now(const struct audit *a)
{
	return ticks_ns(&a->ticks);
}

/* With the lock, which it drops: nothing is before the open batch, so that the
 * caller writes it in the writer's place. Two switches less. */
static void audit_write_open(struct audit *a)
{
	const struct timespec now = {0};
	struct batch *b = a->open;
	sigset_t pipe_set, old;
	int err;

	a->open = NULL;
	a->handed++;
	a->inlined = true;
	pthread_mutex_unlock(&a->lock);
	/* EPIPE comes as an error, and not as a signal too */
	sigemptyset(&pipe_set);
	sigaddset(&pipe_set, SIGPIPE);
	pthread_sigmask(SIG_BLOCK, &pipe_set, &old);
	err = audit_write_batch(a, b);
	if (err == -EPIPE)
		sigtimedwait(&pipe_set, NULL, &now);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (err)
		audit_fail(a, err);
	pthread_mutex_lock(&a->lock);
	audit_give_spare(a, b);
	a->inlined = false;
	a->written++;
	pthread_cond_broadcast(&a->done);
	pthread_cond_signal(&a->work);
}

int audit_flush(struct audit *a)
{
	uint64_t target;
	int err;

	pthread_mutex_lock(&a->lock);
	if (a->started && a->open && !a->error && !a->stopping &&
	    a->handed == a->written) {
		audit_write_open(a);
		err = -a->error;
		pthread_mutex_unlock(&a->lock);
		return err;
	}
	target = a->handed + (a->open ? 1 : 0);
	a->flushing++;
	pthread_cond_signal(&a->work);
	while (a->started && a->written < target && !a->error)
		pthread_cond_wait(&a->done, &a->lock);
	a->flushing--;
	err = -a->error;
	pthread_mutex_unlock(&a->lock);
	return err;
}

/* ---- the end --------------------------------------------------------- */

static int audit_put_end(struct audit *a, int status)
{
	static const char verdict[] = ",\"call\":\"end\",\"verdict\":\"pass\"";
	char hash[CHAIN_HEX_SIZE];
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	a->seq++;
	strbuf_reset(&a->line);
	strbuf_printf(&a->line, "{\"seq\":%llu,\"t\":%lld%09ld,\"id\":",
		      (unsigned long long)a->seq, (long long)now.tv_sec,
		      now.tv_nsec);
	strbuf_json_string(&a->line, a->id, strlen(a->id));
	strbuf_printf(&a->line, "%s,\"ret\":%d,\"count\":%llu,\"events\":%llu",
		      verdict, status, (unsigned long long)a->seq,
		      (unsigned long long)a->count);
	chain_add(&a->chain, a->line.data, a->line.len);
	chain_close(&a->chain);
	chain_hex(&a->chain, hash);
	strbuf_printf(&a->line, ",\"hash\":\"%s\"}\n", hash);
	return sink_write(a->fd, a->line.data, a->line.len);
}

static void audit_put_head(struct audit *a)
{
	char hash[CHAIN_HEX_SIZE];
	int err;

	chain_hex(&a->chain, hash);
	strbuf_reset(&a->line);
	strbuf_puts(&a->line, "{\"id\":");
	strbuf_json_string(&a->line, a->id, strlen(a->id));
	strbuf_printf(&a->line, ",\"count\":%llu,\"hash\":\"%s\"}\n",
		      (unsigned long long)a->seq, hash);
	err = sink_write(a->head_fd, a->line.data, a->line.len);
	if (err)
		log_host(err, "write of the audit head (--audit-head)");
}

void audit_close(struct audit *a, int status)
{
	sigset_t pipe_set, old;
	int err = 0;

	pthread_mutex_lock(&a->lock);
	a->stopping = true;
	pthread_cond_signal(&a->work);
	pthread_mutex_unlock(&a->lock);
	if (a->started)
		pthread_join(a->writer, NULL);
	pthread_mutex_lock(&a->lock);
	while (a->inlined)
		pthread_cond_wait(&a->done, &a->lock);
	pthread_mutex_unlock(&a->lock);
	sigemptyset(&pipe_set);
	sigaddset(&pipe_set, SIGPIPE);
	pthread_sigmask(SIG_BLOCK, &pipe_set, &old);
	if (a->fd >= 0 && !a->error) {
		err = audit_put_end(a, status);
		if (err)
			log_host(err, "write of the end of the audit stream");
		else if (a->head_fd >= 0)
			audit_put_head(a);
	}
	/* a SIGPIPE that came meanwhile would kill us at the unblocking */
	if (err == -EPIPE || a->error == EPIPE)
		sigtimedwait(&pipe_set, NULL, &(struct timespec){0});
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	auto_close_fd(&a->fd);
	auto_close_fd(&a->head_fd);
	if (a->open)
		batch_free(a->open);
	list_for_each_safe (l, &a->spare)
		batch_free(list_entry(l, struct batch, link));
	format_fini(&a->format);
	denials_fini(&a->denials);
	strbuf_fini(&a->line);
	free(a->id);
	free(a->sink);
	free(a);
}

void audit_denials(struct audit *a, struct strbuf *out)
{
	pthread_mutex_lock(&a->lock);
	denials_text(&a->denials, out);
	pthread_mutex_unlock(&a->lock);
}

uint64_t audit_count(struct audit *a)
{
	uint64_t n;

	pthread_mutex_lock(&a->lock);
	n = a->count;
	pthread_mutex_unlock(&a->lock);
	return n;
}

int audit_failed(struct audit *a)
{
	int err;

	pthread_mutex_lock(&a->lock);
	err = a->error;
	pthread_mutex_unlock(&a->lock);
	return err;
}

void audit_on_failure(struct audit *a, void (*fn)(void *arg, int err),
		      void *arg)
{
	a->on_failure = fn;
	a->on_failure_arg = arg;
}

const char *audit_sink_name(const struct audit *a)
{
	return a->sink;
}
