/*
 * peer.c - calls that look into another process of the sandbox: its memory,
 * its descriptors, which of its objects it shares, its robust list.
 *
 * Both columns. A number means a process of the sandbox's task table or
 * nothing (ESRCH); init is nobody's to look into. Whether the caller may is
 * decided on the virtual credentials, as kernel/ptrace.c does on real ones
 * (law 8); then the sentry acts, since the guests cannot.
 *
 * LIMIT: a real Yama would narrow it to descendants.
 */
#include <fcntl.h>
#include <limits.h>
#include <linux/capability.h>
#include <linux/kcmp.h>
#include <linux/mempolicy.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "help.h"
#include "../sentry/gmem.h"

enum { PEER_PAGE = 4096 };

#define PEER_BYTES_MAX (INT_MAX & ~(size_t)(PEER_PAGE - 1)) /* MAX_RW_COUNT */

/* PTRACE_MODE_REALCREDS of kernel/ptrace.c; the set of capabilities first. */
static bool peer_ids_match(const struct taskcred *a, const struct taskcred *b)
{
	return !(b->cap_permitted & ~a->cap_permitted) && a->ruid == b->euid &&
	       a->ruid == b->suid && a->ruid == b->ruid && a->rgid == b->egid &&
	       a->rgid == b->sgid && a->rgid == b->rgid;
}

/* An image that the caller may not read stays unread (would_dump). */
static bool peer_readable(struct call *c, const struct tgroup *tg)
{
	struct vfs_ctx ctx = c->vfs; /* a refusal here is not the call's */

	return !tg->exe.inode || vfs_permission(&ctx, &tg->exe, R_OK) == 0;
}

static bool peer_allowed(struct call *c, const struct task *t)
{
	if (t->tg == c->task->tg)
		return true;
	if (t->tg->pid == c->s->init) {
		call_deny(c, "init of the sandbox", NULL);
		return false;
	}
	if (help_capable(c, CAP_SYS_PTRACE))
		return true;
	return peer_ids_match(c->task->cred, t->cred) && t->tg->dumpable &&
	       peer_readable(c, t->tg);
}

/* The thread that a number means, to be looked into. */
static int peer_find(struct call *c, pid_t vpid, struct task **out)
{
	struct task *t = vpid > 0 ? task_find_virtual(c->s, vpid) : NULL;

	if (!t)
		return -ESRCH;
	*out = t;
	return peer_allowed(c, t) ? 0 : -EPERM;
}

int64_t h_get_robust_list(struct call *c)
{
	struct {
		uint64_t head, len;
	} list;
	pid_t pid = arg_int(c, 0);
	struct task *t;
	int err;

	/* of the caller itself: registers alone decide */
	if (!pid || pid == task_vtid(c->task))
		return CALL_CONTINUE;
	err = peer_find(c, pid, &t);
	if (err)
		return err;
	if (syscall(SYS_get_robust_list, t->tid, &list.head, &list.len) < 0)
		return -errno;
	err = help_out(c, c->args[2], &list.len, sizeof(list.len));
	return err ? err
		   : help_out(c, c->args[1], &list.head, sizeof(list.head));
}

int64_t h_kcmp(struct call *c)
{
	unsigned long idx2 = c->args[4];
	struct kcmp_epoll_slot slot;
	int type = arg_int(c, 2);
	struct task *a, *b;
	int ea = peer_find(c, arg_int(c, 0), &a);
	int eb = peer_find(c, arg_int(c, 1), &b);
	long ret;

	if (ea == -ESRCH || eb == -ESRCH)
		return -ESRCH;
	if (ea || eb)
		return -EPERM;
	if (type == KCMP_EPOLL_TFD) {
		int err = call_read(c, c->args[4], &slot, sizeof(slot));

		if (err)
			return err;
		idx2 = (unsigned long)(uintptr_t)&slot;
	}
	ret = syscall(SYS_kcmp, a->tid, b->tid, type, c->args[3], idx2);
	return ret < 0 ? -errno : ret;
}

int64_t h_pidfd_getfd(struct call *c)
{
	struct task *t;
	struct tgroup *tg;
	pid_t pid;
	int fd;

	if ((unsigned)c->args[2])
		return -EINVAL;
	fd = call_fd(c, arg_int(c, 0));
	if (fd < 0)
		return fd;
	pid = help_pidfd_pid(fd);
	if (!pid)
		return -EBADF;
	tg = pid > 0 ? tgroup_find(c->s, pid) : NULL;
	if (!tg || list_empty(&tg->tasks))
		return -ESRCH;
	t = list_entry(tg->tasks.next, struct task, list);
	if (!peer_allowed(c, t))
		return -EPERM;
	fd = arg_int(c, 1) < 0 ? -EBADF : task_copy_fd(t, arg_int(c, 1));
	return fd < 0 ? fd : call_return_fd(c, fd, true);
}

/* ---- memory ---------------------------------------------------------- */

struct peer_copy {
	struct task *peer;	      /* counted */
	struct iovec *local, *remote; /* in the arena; guest addresses */
	size_t nlocal, nremote;
	uint32_t execs; /* the memory is that of the program it was asked of */
	bool to_peer;
};

/* As lib/iov_iter.c: at most UIO_MAXIOV, no length below 0. */
static int peer_iov(struct call *c, int arg, struct iovec **iov, size_t *n)
{
	uint64_t count = c->args[arg + 1];
	int err;

	*n = 0;
	if (count > UIO_MAXIOV)
		return -EINVAL;
	*iov = call_alloc(c, (count + 1) * sizeof(**iov));
	if (!*iov)
		return -ENOMEM;
	err = call_read(c, c->args[arg], *iov, count * sizeof(**iov));
	if (err)
		return err;
	for (size_t i = 0; i < count; i++)
		if ((ssize_t)(*iov)[i].iov_len < 0)
			return -EINVAL;
	*n = count;
	return 0;
}

/* What is left of the first part that is not empty; NULL at the end. */
static struct iovec *peer_next(struct iovec **iov, size_t *n)
{
	while (*n && !(*iov)->iov_len) {
		(*iov)++;
		(*n)--;
	}
	return *n ? *iov : NULL;
}

static size_t page_left(const struct iovec *v)
{
	size_t left = PEER_PAGE - ((uintptr_t)v->iov_base & (PEER_PAGE - 1));

	return v->iov_len < left ? v->iov_len : left;
}

static void iov_skip(struct iovec *v, size_t n)
{
	v->iov_base = (char *)v->iov_base + n;
	v->iov_len -= n;
}

/* A piece within one page on either side: all of it, or a fault. */
static int peer_piece(struct call *c, const struct peer_copy *p,
		      const struct iovec *l, const struct iovec *r, size_t n)
{
	gaddr_t local = (uintptr_t)l->iov_base;
	gaddr_t remote = (uintptr_t)r->iov_base;
	unsigned char buf[PEER_PAGE];
	bool same;
	int err;

	call_lock(c);
	same = !p->peer->dead && p->peer->tg->execs == p->execs;
	call_unlock(c);
	if (!same)
		return -ESRCH;
	if (p->to_peer) {
		err = call_read(c, local, buf, n);
		return err ? err : gmem_write(p->peer->tid, remote, buf, n);
	}
	err = gmem_read(p->peer->tid, remote, buf, n);
	return err ? err : call_write(c, local, buf, n);
}

static int64_t peer_copy(struct call *c, void *arg)
{
	struct peer_copy *p = arg;
	struct iovec *l, *r;
	size_t done = 0;
	int err = 0;

	while (done < PEER_BYTES_MAX &&
	       (l = peer_next(&p->local, &p->nlocal)) &&
	       (r = peer_next(&p->remote, &p->nremote))) {
		size_t a = page_left(l), b = page_left(r);
		size_t n = a < b ? a : b;

		if (n > PEER_BYTES_MAX - done)
			n = PEER_BYTES_MAX - done;
		err = peer_piece(c, p, l, r, n);
		if (err)
			break;
		iov_skip(l, n);
		iov_skip(r, n);
		done += n;
	}
	call_lock(c);
	task_put(p->peer);
	call_unlock(c);
	return done ? (int64_t)done : err;
}

static size_t iov_total(const struct iovec *iov, size_t n)
{
	size_t sum = 0;

	for (size_t i = 0; i < n; i++)
		if (__builtin_add_overflow(sum, iov[i].iov_len, &sum))
			return SIZE_MAX;
	return sum;
}

static int64_t peer_memory(struct call *c, bool to_peer)
{
	struct peer_copy *p = call_alloc(c, sizeof(*p));
	struct task *t;
	int64_t ret;
	int err;

	if (!p)
		return -ENOMEM;
	if (c->args[5])
		return -EINVAL;
	p->to_peer = to_peer;
	err = peer_iov(c, 1, &p->local, &p->nlocal);
	if (err || !iov_total(p->local, p->nlocal))
		return err;
	err = peer_iov(c, 3, &p->remote, &p->nremote);
	if (err || !iov_total(p->remote, p->nremote))
		return err;
	err = peer_find(c, arg_int(c, 0), &t);
	if (err)
		return err;
	t->refs++;
	p->peer = t;
	p->execs = t->tg->execs;
	ret = call_block(c, peer_copy, p);
	if (ret != CALL_DEFERRED)
		task_put(t);
	return ret;
}

int64_t h_process_vm_readv(struct call *c)
{
	return peer_memory(c, false);
}

int64_t h_process_vm_writev(struct call *c)
{
	return peer_memory(c, true);
}

/* ---- placement ------------------------------------------------------- */

/* Of the caller: registers alone decide, and the kernel does the rest.
 * LIMIT: of another process EPERM, as without CAP_SYS_NICE. */
static int64_t peer_pages(struct call *c)
{
	pid_t pid = arg_int(c, 0);

	if (!pid || pid == task_vtid(c->task))
		return CALL_CONTINUE;
	return task_find_virtual(c->s, pid) ? -EPERM : -ESRCH;
}

int64_t h_move_pages(struct call *c)
{
	int flags = arg_int(c, 5);

	if (flags & ~(MPOL_MF_MOVE | MPOL_MF_MOVE_ALL))
		return -EINVAL;
	return flags & MPOL_MF_MOVE_ALL ? -EPERM : peer_pages(c);
}

int64_t h_migrate_pages(struct call *c)
{
	return peer_pages(c);
}
