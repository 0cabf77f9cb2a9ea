/*
 * open.c - open, openat, openat2, creat.
 *
 * Flags are judged as build_open_flags of the kernel's fs/open.c does, before
 * the path is looked at; the VFS opens; the descriptor is injected. What can
 * block (a FIFO without its other end) or takes long (a copy-up) goes to a
 * worker.
 *
 * The kernel reserves a number when it has copied the path, before it walks.
 * Here a full table shows at injection: what cannot be taken back asks first
 * (a truncation, a file in a directory that is watched), what fails asks
 * afterwards, and a file that was made goes again.
 */
#include <linux/openat2.h>
#include <stdio.h>

#include "../sentry/ctty.h"
#include "../sentry/exec.h"
#include "handlers.h"
#include "pathfd.h"

#define OPEN_LARGEFILE 0100000 /* O_LARGEFILE is 0 in 64-bit headers */
#define OPEN_TMPFILE   (O_TMPFILE & ~O_DIRECTORY)
#define OPEN_VALID                                                             \
	(O_ACCMODE | O_CREAT | O_EXCL | O_NOCTTY | O_TRUNC | O_APPEND |        \
	 O_NONBLOCK | O_SYNC | O_DSYNC | O_ASYNC | O_DIRECT | OPEN_LARGEFILE | \
	 O_DIRECTORY | O_NOFOLLOW | O_NOATIME | O_CLOEXEC | O_PATH |           \
	 OPEN_TMPFILE)
#define OPEN_PATH_FLAGS (O_DIRECTORY | O_NOFOLLOW | O_PATH | O_CLOEXEC)
#define OPEN_MODE	07777

enum { ROOM_ASKED_OFTEN = 16 };

#ifndef RESOLVE_CACHED
#define RESOLVE_CACHED 0x20
#endif

static const struct {
	uint64_t resolve;
	unsigned walk;
} resolve_bits[] = {
	{RESOLVE_NO_XDEV, VFS_NO_XDEV},
	{RESOLVE_NO_MAGICLINKS, VFS_NO_MAGIC},
	{RESOLVE_NO_SYMLINKS, VFS_NO_SYMLINKS | VFS_NO_MAGIC},
	{RESOLVE_BENEATH, VFS_BENEATH},
	{RESOLVE_IN_ROOT, VFS_IN_ROOT},
	{RESOLVE_CACHED, 0},
};

/* What open() and openat() make of their arguments: unknown bits go. */
static struct open_how how_from_flags(int flags, mode_t mode)
{
	struct open_how how = {
		.flags = (uint64_t)(flags & OPEN_VALID),
		.mode = mode & OPEN_MODE,
	};

	if (how.flags & O_PATH)
		how.flags &= OPEN_PATH_FLAGS;
	if (!(how.flags & (O_CREAT | OPEN_TMPFILE)))
		how.mode = 0;
	return how;
}

static int how_check_flags(const struct open_how *how)
{
	uint64_t flags = how->flags;
	bool creates = flags & (O_CREAT | OPEN_TMPFILE);

	if (flags & ~(uint64_t)OPEN_VALID)
		return -EINVAL;
	if (creates ? how->mode & ~(uint64_t)OPEN_MODE : how->mode != 0)
		return -EINVAL;
	if ((flags & O_DIRECTORY) && (flags & O_CREAT))
		return -EINVAL;
	if ((flags & OPEN_TMPFILE) &&
	    (!(flags & O_DIRECTORY) || (flags & O_ACCMODE) == O_RDONLY))
		return -EINVAL;
	if ((flags & O_PATH) && (flags & ~(uint64_t)OPEN_PATH_FLAGS))
		return -EINVAL;
	return 0;
}

static int how_check_resolve(const struct open_how *how, unsigned *walk)
{
	uint64_t left = how->resolve;

	*walk = 0;
	for (size_t i = 0; i < ARRAY_SIZE(resolve_bits); i++) {
		if (left & resolve_bits[i].resolve)
			*walk |= resolve_bits[i].walk;
		left &= ~resolve_bits[i].resolve;
	}
	if (left || ((*walk & VFS_BENEATH) && (*walk & VFS_IN_ROOT)))
		return -EINVAL;
	/* A walk of ours waits for no disk that the kernel would not have
	 * cached by then; what makes a file is refused as the kernel does. */
	return (how->resolve & RESOLVE_CACHED) &&
			       (how->flags & (O_CREAT | O_TRUNC | OPEN_TMPFILE))
		       ? -EAGAIN
		       : 0;
}

/* An open that waits for a FIFO's other end. */
struct open_wait {
	struct vfs_opened o;
	bool cloexec;
};

static void open_wait_free(struct open_wait *w)
{
	vfs_opened_fini(&w->o);
	free(w);
}

/* The node in the store, by its name there: which may by now be another's, so
 * nothing is truncated, and only a FIFO is given out. */
static int open_fifo(const struct vfs_opened *o)
{
	int flags = (o->block_flags & ~O_TRUNC) | O_CLOEXEC | O_NOFOLLOW;
	AUTO_CLOSE int fd = openat(o->block_dir, o->block_name, flags);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		return -errno;
	return S_ISFIFO(st.st_mode) ? fd_take(&fd) : -ENOENT;
}

/* On a worker. */
static int64_t open_blocking(struct call *c, void *arg)
{
	struct open_wait *w = arg;
	bool cloexec = w->cloexec;
	int fd;

	do {
		fd = open_fifo(&w->o);
	} while (fd == -EINTR && !c->cancel);
	call_lock(c);
	open_wait_free(w);
	call_unlock(c);
	return fd < 0 ? fd : call_return_fd(c, fd, cloexec);
}

static int64_t open_park(struct call *c, struct vfs_opened *o, int flags)
{
	struct open_wait *w = malloc(sizeof(*w));
	int64_t ret;

	if (!w)
		return -ENOMEM;
	w->o = *o;
	w->cloexec = flags & O_CLOEXEC;
	memset(o, 0, sizeof(*o));
	o->fd = o->block_dir = -1;
	ret = call_block(c, open_blocking, w);
	if (ret != CALL_DEFERRED)
		open_wait_free(w);
	return ret;
}

/* Are there fewer descriptors than numbers? The size of /proc/TID/fd is their
 * count (Linux 6.2; before, 0), and to ask for it costs half of a pidfd_getfd,
 * once the directory is open: so where a thread asks often. */
static bool table_is_short(struct sentry *s, struct task *t, int max)
{
	struct stat st;
	int fd;

	if (t->room_asked < ROOM_ASKED_OFTEN) {
		t->room_asked++;
		return false;
	}
	fd = task_fd_table(s, t);
	return fd >= 0 && fstat(fd, &st) == 0 && st.st_size > 0 &&
	       st.st_size < max;
}

/* Has the process a number left? The highest one is free nearly always. */
static bool table_has_room(struct call *c)
{
	rlim_t limit = c->task->tg->nofile.rlim_cur;
	const int max = limit > INT32_MAX ? INT32_MAX : (int)limit;
	char path[64];
	struct stat st;

	if (table_is_short(c->s, c->task, max) || call_fd(c, max - 1) < 0)
		return true;
	for (int fd = 0; fd < max - 1; fd++) {
		snprintf(path, sizeof(path), "/proc/%d/fd/%d", c->task->tg->pid,
			 fd);
		if (lstat(path, &st) < 0)
			return true;
	}
	return false;
}

/* The VFS asks. */
static bool open_room(void *call)
{
	return table_has_room(call);
}

static int64_t open_deliver(struct call *c, struct vfs_opened *o, int flags)
{
	int64_t ret;
	int fd;

	if ((flags & O_NONBLOCK) && !(flags & O_PATH) && !o->as_asked) {
		int now = fcntl(o->fd, F_GETFL);

		if (now < 0 || (!(now & O_NONBLOCK) &&
				fcntl(o->fd, F_SETFL, now | O_NONBLOCK) < 0)) {
			log_host(errno, "fcntl");
			return -EIO;
		}
	}
	fd = o->fd;
	o->fd = -1;
	c->close_first = o->watched;
	ret = call_return_fd(c, fd, flags & O_CLOEXEC);
	if (ret == -EMFILE)
		vfs_open_undo(&c->vfs, o);
	return ret;
}

static int64_t open_finish(struct call *c, struct vfs_opened *o, int flags)
{
	struct vfs_job *job;

	switch (o->kind) {
	case VFS_OPEN_JOB:
		job = o->job;
		o->job = NULL;
		return call_run_job(c, job);
	case VFS_OPEN_BLOCKS:
		return open_park(c, o, flags);
	case VFS_OPEN_TTY:
		return terminal_open(c, o, flags);
	case VFS_OPENED:
		break;
	}
	return open_deliver(c, o, flags);
}

static int64_t open_how(struct call *c, gfd_t dirfd, const char *path,
			const struct open_how *how)
{
	struct vfs_opened o; /* large: made by vfs_open */
	int flags = (int)how->flags;
	const bool asks = path && path[0];
	struct vfs_at at;
	unsigned walk;
	int64_t ret;

	ret = how_check_flags(how);
	if (!ret)
		ret = how_check_resolve(how, &walk);
	if (ret)
		return ret;
	c->in_root = walk & VFS_IN_ROOT;
	ret = call_at(c, dirfd, path, &at);
	c->vfs.ask_room = open_room;
	if (!ret)
		ret = vfs_open(&c->vfs, &at, flags, (mode_t)how->mode, walk,
			       &o);
	if (ret)
		return asks && !table_has_room(c) ? -EMFILE : ret;
	call_resolved(c, path, &o.ref);
	ret = open_finish(c, &o, flags);
	vfs_opened_fini(&o);
	return ret;
}

int64_t h_open(struct call *c)
{
	struct open_how how =
		how_from_flags((int)c->args[1], (mode_t)c->args[2]);

	return open_how(c, AT_FDCWD, c->str[0], &how);
}

int64_t h_creat(struct call *c)
{
	struct open_how how = how_from_flags(O_CREAT | O_WRONLY | O_TRUNC,
					     (mode_t)c->args[1]);

	return open_how(c, AT_FDCWD, c->str[0], &how);
}

int64_t h_openat(struct call *c)
{
	struct open_how how =
		how_from_flags((int)c->args[2], (mode_t)c->args[3]);

	if (exec_is_plan_request(c))
		return exec_answer_plan(c);
	return open_how(c, (gfd_t)c->args[0], c->str[1], &how);
}

/* copy_struct_from_user: bytes that we do not know must be zero. */
static int tail_is_zero(struct call *c, gaddr_t addr, uint64_t from,
			uint64_t size)
{
	unsigned char buf[256];

	while (from < size) {
		size_t n = size - from < sizeof(buf) ? (size_t)(size - from)
						     : sizeof(buf);
		int ret = call_read(c, addr + from, buf, n);

		if (ret)
			return ret;
		for (size_t i = 0; i < n; i++)
			if (buf[i])
				return -E2BIG;
		from += n;
	}
	return 0;
}

int64_t h_openat2(struct call *c)
{
	enum { HOW_SIZE_MAX = 4096 };
	uint64_t size = c->args[3];
	int ret;

	if (size < sizeof(struct open_how))
		return -EINVAL;
	if (size > HOW_SIZE_MAX)
		return -E2BIG;
	if (!c->mem[2])
		return c->arg_err[2] ? c->arg_err[2] : -EFAULT;
	ret = tail_is_zero(c, c->args[2], sizeof(struct open_how), size);
	if (ret)
		return ret;
	return open_how(c, (gfd_t)c->args[0], c->str[1], c->mem[2]);
}
