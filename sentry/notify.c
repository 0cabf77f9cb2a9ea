/*
 * notify.c - one thread takes calls off the listener, has them dispatched and
 * answers; see notify.h. It never blocks on behalf of a guest: handlers hand
 * what can block to workers.c.
 *
 * A notification whose guest was killed or interrupted meanwhile is void: the
 * kernel answers ENOENT, and the call's effects, if any, are what they would
 * be had the signal come just after.
 */
#include "notify.h"

#include <linux/seccomp.h>
#include <poll.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>

#include "base/costs.h"
#include "base/rseq.h"
#include "dispatch.h"
#include "trace.h"
#include "workers.h"
#include "../syscalls/table.h"

#ifndef SECCOMP_IOCTL_NOTIF_SET_FLAGS
#define SECCOMP_IOCTL_NOTIF_SET_FLAGS SECCOMP_IOW(4, __u64)
#endif
#define NOTIF_FD_SYNC_WAKE_UP 1UL

int notify_check_sizes(void)
{
	struct seccomp_notif_sizes sz;

	if (syscall(SYS_seccomp, SECCOMP_GET_NOTIF_SIZES, 0, &sz) < 0)
		return -errno;
	if (sz.seccomp_notif > sizeof(struct seccomp_notif) ||
	    sz.seccomp_notif_resp > sizeof(struct seccomp_notif_resp))
		return -ENOSYS;
	return 0;
}

void notify_tune(int listener)
{
	if (ioctl(listener, SECCOMP_IOCTL_NOTIF_SET_FLAGS,
		  NOTIF_FD_SYNC_WAKE_UP) < 0)
		log_debug("no synchronous wake-up: %s", strerror(errno));
}

bool notify_alive(struct sentry *s, uint64_t id)
{
	return ioctl(s->listener, SECCOMP_IOCTL_NOTIF_ID_VALID, &id) == 0;
}

/* Rows of class pass; and calls that garbage in the unused high half of an int
 * argument kept from running natively: registers alone decided on them. */
static bool row_may_continue(const struct call *c)
{
	enum sysclass class;

	if (!c->row)
		return false;
	class = c->s->bare ? c->row->bare : c->row->jailed;
	if (class == SYS_ARGS)
		/* The former: where this sandbox's filter asks for more. */
		return filter_args_allow(c->nr, c->args, c->s->bare) ||
		       filter_args_truncated(c->nr, c->args, c->s->bare);
	return class == SYS_PASS;
}

static void notify_send(struct call *c, int64_t r)
{
	struct seccomp_notif_resp resp = {.id = c->id};
	enum costs_part back;

	if (r == CALL_CONTINUE) {
		BUG_ON(!row_may_continue(c));
		resp.flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE;
	} else if (r < 0 && r >= -4095) {
		resp.error = (int32_t)r;
	} else {
		resp.val = r;
	}
	back = costs_enter(COSTS_ANSWER);
	if (ioctl(c->s->listener, SECCOMP_IOCTL_NOTIF_SEND, &resp) < 0 &&
	    errno != ENOENT)
		log_host(errno, "answering a call");
	costs_leave(back);
}

static void notify_answer(struct call *c, int64_t r)
{
	if (c->task)
		c->task->continued_nr = r == CALL_CONTINUE ? c->nr : -1;
	if (r != CALL_DONE)
		notify_send(c, r);
}

void notify_reply(struct call *c, int64_t r)
{
	if (r == CALL_DEFERRED)
		return;
	notify_answer(c, r);
	call_free(c);
}

static int notify_recv(struct sentry *s, struct seccomp_notif *req)
{
	for (;;) {
		memset(req, 0, sizeof(*req));
		if (ioctl(s->listener, SECCOMP_IOCTL_NOTIF_RECV, req) == 0)
			return 0;
		if (errno == ENOENT) {
			/* A cancelled call leaves one stale wake-up; only a
			 * hang-up means that all guests have gone. */
			struct pollfd p = {.fd = s->listener, .events = POLLIN};

			if (poll(&p, 1, 0) == 1 && (p.revents & POLLHUP))
				return -ENOENT;
			continue;
		}
		if (errno != EINTR)
			return -errno;
	}
}

static void notify_find_task(struct call *c)
{
	/* Most calls come from the thread that made the one before. */
	if (c->task && task_still(c->task, c->tid) &&
	    affinity_settled(c->s, c->task))
		return;
	sentry_lock(c->s);
	task_put(c->task);
	c->task = task_find(c->s, c->tid);
	if (c->task) {
		c->task->refs++;
		c->task->released = false;
		affinity_call(c->s, c->task);
	}
	sentry_unlock(c->s);
}

/* c: new, or the last one again. */
static void notify_take(struct call *c, const struct seccomp_notif *req)
{
	if (c->s->cfg->audit)
		c->start_ns = audit_now(c->s->audit);
	c->tid = (pid_t)req->pid;
	c->id = req->id;
	c->nr = req->data.nr;
	c->arch = req->data.arch;
	memcpy(c->args, req->data.args, sizeof(c->args));
	notify_find_task(c);
}

static int64_t notify_run(struct call *c)
{
	const struct sysrow *row = sysrow_find(c->nr);

	/* Every guest thread is known before its first instruction. */
	if (!c->task)
		return -ESRCH;
	if (row && (row->flags & ROW_BLOCKS))
		workers_settle(c->s);
	return dispatch_call(c);
}

void *notify_main(void *arg)
{
	struct sentry *s = arg;
	struct seccomp_notif req;
	struct call *c = NULL;

	affinity_thread(s);
	rseq_leave();
	while (notify_recv(s, &req) == 0) {
		enum costs_part idle = costs_enter(COSTS_SENTRY);
		int64_t r;

		costs_count(COSTS_CALLS);
		if (!c)
			c = call_new(s);
		notify_take(c, &req);
		r = notify_run(c);
		if (r == CALL_DEFERRED) {
			c = NULL; /* a worker's now, or recycled already */
		} else {
			notify_answer(c, r);
			call_again(c);
		}
		costs_leave(idle);
	}
	if (c)
		call_free(c);
	return NULL;
}
