/*
 * flock.c - flock(2), and descriptors made ready for locks; see flock.h.
 *
 * The lock is tried without blocking on the notify thread; a call that must
 * wait goes to a worker, which a pending signal of the guest interrupts.
 */
#include "flock.h"

#include "pathfd.h"

#include <sys/file.h>

void lock_fd_fini(struct lock_fd *l)
{
	vref_put(&l->ref);
}

int lock_fd_get(struct call *c, struct lock_fd *l)
{
	int err;

	l->fd = call_fd(c, arg_int(c, 0));
	if (l->fd < 0)
		return l->fd;
	err = vfs_identify(c->s->vfs, l->fd, &l->ref, &l->st, &l->opath);
	if (err && err != -ENOENT)
		return err;
	l->flags = fcntl(l->fd, F_GETFL);
	if (l->flags < 0)
		return -EBADF;
	return l->opath || (l->flags & O_PATH) ? -EBADF : 0;
}

/* The guest's descriptor becomes `fd` (consumed), at the same offset. */
static int lock_fd_swap(struct call *c, struct lock_fd *l, int fd)
{
	off_t at = lseek(l->fd, 0, SEEK_CUR);
	gfd_t number = arg_int(c, 0);
	bool cloexec = help_guest_cloexec(c, number);
	int err;

	if (at > 0 && lseek(fd, at, SEEK_SET) < 0) {
		close(fd);
		return -EIO;
	}
	err = call_inject_fd(c, fd, cloexec, number);
	if (err < 0)
		return err;
	l->fd = call_fd(c, number);
	if (l->fd < 0)
		return l->fd;
	vref_put(&l->ref);
	err = vfs_identify(c->s->vfs, l->fd, &l->ref, &l->st, &l->opath);
	/* Another thread may have put anything there meanwhile: what came
	 * back must be a file of ours that needs no swap. */
	return err == -ENOENT ? -EBADF : err;
}

int lock_fd_to_store(struct call *c, struct lock_fd *l, int64_t *ret)
{
	int mode = l->flags & (O_ACCMODE | O_APPEND | O_NONBLOCK);
	struct vfs_job *job = NULL;
	struct stat st;
	int fd = -1, err;

	if (!l->ref.inode || !S_ISREG(l->st.st_mode))
		return 0;
	/* What may only be read must not be kept from its writers. */
	if (ref_is_stdio(c, &l->ref) && (l->flags & O_ACCMODE) == O_RDONLY)
		return (int)help_refuse_args(c, ENOLCK,
					     "a lock of a host file");
	err = vfs_make_store_file(&c->vfs, &l->ref, mode, &fd, &job);
	if (err == -EINPROGRESS) {
		*ret = call_run_job(c, job);
		return 1;
	}
	if (err)
		return err;
	if (fstat(fd, &st) == 0 && st.st_dev == l->st.st_dev &&
	    st.st_ino == l->st.st_ino) {
		close(fd);
		return 0;
	}
	return lock_fd_swap(c, l, fd);
}

static int64_t flock_blocking(struct call *c, void *arg)
{
	const int *op = arg; /* [0] descriptor, [1] operation */

	while (!c->cancel) {
		if (flock(op[0], op[1]) == 0)
			return 0;
		if (errno != EINTR)
			return -errno;
	}
	return -EINTR;
}

int64_t h_flock(struct call *c)
{
	AUTO_LOCK_FD struct lock_fd l = {.fd = -1};
	int op = arg_int(c, 1), kind = op & ~LOCK_NB;
	int64_t ret = 0;
	int *arg, err;

	if (op & LOCK_MAND) /* as kernels from 5.16, before the descriptor */
		return 0;
	if (kind != LOCK_SH && kind != LOCK_EX && kind != LOCK_UN)
		return -EINVAL;
	err = lock_fd_get(c, &l);
	if (!err)
		err = lock_fd_to_store(c, &l, &ret);
	if (err)
		return err > 0 ? ret : err;
	if (flock(l.fd, kind | LOCK_NB) == 0)
		return 0;
	if (errno != EWOULDBLOCK || (op & LOCK_NB))
		return -errno;
	arg = call_alloc(c, 2 * sizeof(*arg));
	if (!arg)
		return -ENOLCK;
	arg[0] = l.fd;
	arg[1] = kind;
	return call_block(c, flock_blocking, arg);
}
