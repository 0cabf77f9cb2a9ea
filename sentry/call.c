/*
 * call.c - the request object of one call; see call.h.
 *
 * Calls are recycled, the notify thread's own at once and others' through a
 * small pool, since making the arena anew would cost more than answering.
 * Nothing in a recycled call is read before it is set.
 */
#include "call.h"

#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <time.h>

#include "base/costs.h"
#include "gmem.h"
#include "notify.h"
#include "sentry.h"

#include <fcntl.h>

enum { CALL_POOL = 32, CALL_ARGS_TEXT = 64u << 10 };

static struct {
	pthread_mutex_t lock;
	struct call *free[CALL_POOL];
	unsigned n;
} pool = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void call_reset(struct call *c, struct sentry *s)
{
	memset(c, 0, offsetof(struct call, kept));
	c->s = s;
	list_init(&c->link);
}

struct call *call_new(struct sentry *s)
{
	struct call *c = NULL;

	pthread_mutex_lock(&pool.lock);
	if (pool.n)
		c = pool.free[--pool.n];
	pthread_mutex_unlock(&pool.lock);
	if (!c) {
		c = xcalloc(1, sizeof(*c));
		c->arena = xmalloc(CALL_ARENA);
		strbuf_init(&c->args_text, CALL_ARGS_TEXT);
	}
	call_reset(c, s);
	return c;
}

void call_drop_view(struct call *c)
{
	for (unsigned i = 0; i < ARRAY_SIZE(c->view); i++) {
		dentry_put(c->view[i]);
		c->view[i] = NULL;
	}
}

void call_close_fds(struct call *c)
{
	for (unsigned i = 0; i < c->nfds; i++)
		close(c->fds[i]);
	c->nfds = 0;
}

static void call_fini(struct call *c)
{
	call_close_fds(c);
	if (c->stack.data)
		strbuf_fini(&c->stack);
}

void call_again(struct call *c)
{
	struct task *t = c->task;

	BUG_ON(c->view[0] || c->view[1]);
	call_fini(c);
	call_reset(c, c->s);
	c->task = t;
}

void call_free(struct call *c)
{
	call_fini(c);
	if (c->task) {
		sentry_lock(c->s);
		call_drop_view(c);
		task_put(c->task);
		sentry_unlock(c->s);
		c->task = NULL;
	}
	pthread_mutex_lock(&pool.lock);
	if (pool.n < CALL_POOL) {
		pool.free[pool.n++] = c;
		c = NULL;
	}
	pthread_mutex_unlock(&pool.lock);
	if (!c)
		return;
	strbuf_fini(&c->args_text);
	free(c->arena);
	free(c);
}

static size_t call_arena_at(const struct call *c)
{
	return (c->arena_used + 15) & ~(size_t)15;
}

void *call_room(struct call *c, size_t size)
{
	size_t at = call_arena_at(c);

	if (size > CALL_ARENA || at > CALL_ARENA - size)
		return NULL;
	return c->arena + at;
}

void call_keep(struct call *c, size_t size)
{
	c->arena_used = call_arena_at(c) + size;
}

void *call_alloc(struct call *c, size_t size)
{
	void *p = call_room(c, size);

	if (!p)
		return NULL;
	call_keep(c, size);
	return memset(p, 0, size);
}

int call_read(struct call *c, gaddr_t addr, void *buf, size_t len)
{
	return gmem_read(c->tid, addr, buf, len);
}

int call_write(struct call *c, gaddr_t addr, const void *buf, size_t len)
{
	/* A void call must not write into whoever has the number now. After
	 * RECV only death voids a call, and a number is free only when the
	 * tracer has reaped it and marked the task. */
	if (!c->task || __atomic_load_n(&c->task->dead, __ATOMIC_ACQUIRE))
		return -ESRCH;
	return gmem_write(c->tid, addr, buf, len);
}

ssize_t call_read_str(struct call *c, gaddr_t addr, char *buf, size_t size)
{
	return gmem_read_str(c->tid, addr, buf, size);
}

void call_out(struct call *c, gaddr_t addr, const void *data, size_t len)
{
	BUG_ON(c->nout == CALL_OUT_MAX);
	c->out[c->nout++] = (struct call_out){addr, data, len};
}

int call_fd(struct call *c, gfd_t gfd)
{
	int fd;

	if (gfd < 0)
		return -EBADF;
	if (!c->task || c->task->dead)
		return -ESRCH;
	BUG_ON(c->nfds == CALL_FD_MAX);
	fd = task_copy_fd(c->task, gfd);
	if (fd < 0)
		return fd == -ESRCH ? -ESRCH : fd == -EMFILE ? -ENFILE : -EBADF;
	c->fds[c->nfds++] = fd;
	return fd;
}

/* On a worker the tick's signal must not interrupt the injection: the call
 * would count as answered, with 0, though nothing was injected. */
static int addfd_uninterrupted(struct call *c, struct seccomp_notif_addfd *add)
{
	sigset_t urg, old;
	enum costs_part back;
	int ret;

	if (c->block_fn) {
		sigemptyset(&urg);
		sigaddset(&urg, SIGURG);
		pthread_sigmask(SIG_BLOCK, &urg, &old);
	}
	back = costs_enter(COSTS_ANSWER);
	ret = ioctl(c->s->listener, SECCOMP_IOCTL_NOTIF_ADDFD, add);
	if (ret < 0)
		ret = -errno;
	else
		costs_count(COSTS_DESCRIPTORS);
	costs_leave(back);
	if (c->block_fn)
		pthread_sigmask(SIG_SETMASK, &old, NULL);
	return ret;
}

static int call_addfd(struct call *c, int fd, bool cloexec, int at,
		      unsigned flags)
{
	struct seccomp_notif_addfd add = {
		.id = c->id,
		.flags = flags | (at >= 0 ? SECCOMP_ADDFD_FLAG_SETFD : 0),
		.srcfd = (uint32_t)fd,
		.newfd = at >= 0 ? (uint32_t)at : 0,
		.newfd_flags = cloexec ? O_CLOEXEC : 0,
	};

	if (c->start_ns && (flags & SECCOMP_ADDFD_FLAG_SEND))
		c->answered_ns = audit_now(c->s->audit);
	return addfd_uninterrupted(c, &add);
}

int64_t call_return_fd(struct call *c, int fd, bool cloexec)
{
	int64_t done;

	if (c->close_first)
		return call_inject_fd(c, fd, cloexec, -1);
	done = call_answer_copy(c, fd, cloexec);
	close(fd);
	return done;
}

int64_t call_answer_copy(struct call *c, int fd, bool cloexec)
{
	int ret = call_addfd(c, fd, cloexec, -1, SECCOMP_ADDFD_FLAG_SEND);

	if (ret >= 0) {
		if (c->ev.ret == 0)
			c->ev.ret = ret;
		return CALL_DONE;
	}
	/* ENOENT: the guest no longer waits; EINPROGRESS: it is being woken. */
	return ret == -ENOENT || ret == -EINPROGRESS ? CALL_DONE : ret;
}

int call_inject_fd(struct call *c, int fd, bool cloexec, int at)
{
	int ret = call_addfd(c, fd, cloexec, at, 0);

	close(fd);
	return ret;
}

int call_inject_copy(struct call *c, int fd, bool cloexec)
{
	return call_addfd(c, fd, cloexec, -1, 0);
}

bool call_lock(struct call *c)
{
	sentry_lock(c->s);
	return c->task && !c->task->dead;
}

void call_unlock(struct call *c)
{
	sentry_unlock(c->s);
}

void call_deny(struct call *c, const char *rule, const char *hint)
{
	c->ev.verdict = AUDIT_DENY;
	snprintf(c->ev.rule, sizeof(c->ev.rule), "%s", rule ? rule : "");
	c->ev.hint = hint;
}

void call_audit_path(struct call *c, const char *path)
{
	size_t len = strlen(path) + 1;
	char *p = call_alloc(c, len);

	if (p) {
		memcpy(p, path, len);
		c->ev.path = p;
	}
}
