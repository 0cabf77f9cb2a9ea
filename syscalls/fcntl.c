/*
 * fcntl.c - the fcntl commands that concern an object's identity.
 *
 * What concerns only the descriptor table and pipes runs natively
 * (filter_args.c). Here: F_SETFL, F_GETFL (stand-ins of O_PATH descriptors
 * look like O_PATH), locks, leases, owners. The sentry acts on its own copy
 * of the description throughout.
 */
#include "flock.h"

#include "filter_args.h"

#ifndef F_GETOWNER_UIDS
#define F_GETOWNER_UIDS 17
#endif

static int64_t fcntl_getfl(struct call *c)
{
	AUTO_PUT_VREF struct vref ref = {0};
	int fd = call_fd(c, arg_int(c, 0));
	bool opath = false;
	struct stat st;
	int flags, err;

	if (fd < 0)
		return fd;
	flags = fcntl(fd, F_GETFL);
	if (flags < 0)
		return -errno;
	/* Neither a stand-in for O_PATH nor a host file: nothing of ours. */
	if ((flags & O_ACCMODE) != O_ACCMODE && !(flags & O_NOATIME))
		return flags;
	err = vfs_identify(c->s->vfs, fd, &ref, &st, &opath);
	if (err == 0 && opath)
		return O_PATH | (flags & (O_DIRECTORY | O_NOFOLLOW));
	return err ? flags : vfs_shown_flags(c->s->vfs, &st, flags);
}

/*
 * On our copy, since the flags are the description's. A host file keeps
 * O_NOATIME, or reading it would leave a mark on the host.
 * LIMIT: with O_ASYNC a signal's si_fd is not the guest's number.
 */
static int64_t fcntl_setfl(struct call *c)
{
	int fd = call_fd(c, arg_int(c, 0));
	int flags = arg_int(c, 2), now;
	struct stat st;

	if (fd < 0)
		return fd;
	now = fcntl(fd, F_GETFL);
	if (now < 0 || fstat(fd, &st) < 0)
		return -EBADF;
	if ((now & O_ACCMODE) == 3)
		return -EBADF; /* a stand-in for O_PATH */
	if (vfs_shown_flags(c->s->vfs, &st, now) != now)
		flags |= now & O_NOATIME;
	return fcntl(fd, F_SETFL, flags) < 0 ? -errno : 0;
}

/* The range of an OFD request checked against record locks. */
static int ofd_prepare(struct call *c, const struct lock_fd *l,
		       struct flock *fl, struct lockreq *req)
{
	int err = call_read(c, c->args[2], fl, sizeof(*fl));

	if (err)
		return err;
	if (fl->l_pid != 0)
		return -EINVAL;
	*req = (struct lockreq){.type = fl->l_type};
	lock_fd_key(l, &req->key);
	return lock_range(l, fl, &req->start, &req->end);
}

int64_t ofdlock_get(struct call *c)
{
	AUTO_LOCK_FD struct lock_fd l = {.fd = -1};
	struct lockreq req;
	struct plock *p;
	struct flock fl;
	int err = lock_fd_get(c, &l);

	if (!err)
		err = ofd_prepare(c, &l, &fl, &req);
	if (err)
		return err;
	p = posixlock_conflict(c->s, &req);
	if (p) {
		fl.l_type = p->type;
		fl.l_whence = SEEK_SET;
		fl.l_start = p->start;
		fl.l_len =
			p->end == LOCK_OFFSET_MAX ? 0 : p->end - p->start + 1;
		fl.l_pid = tgroup_vpid(
			container_of(p->owner, struct tgroup, posix_locks));
	} else if (fcntl(l.fd, F_OFD_GETLK, &fl) < 0) {
		return -errno;
	}
	return help_out(c, c->args[2], &fl, sizeof(fl));
}

struct ofd_wait {
	int fd;
	struct flock fl;
	struct lockreq req;
	struct vref ref; /* counted */
};

#define OFD_WAIT_MS 20

/* Waits for record locks by looking, for OFD locks in the kernel. */
static int64_t ofd_wait(struct call *c, void *arg)
{
	struct ofd_wait *w = arg;
	int64_t ret = -EAGAIN;

	while (ret == -EAGAIN) {
		bool alive = call_lock(c), clear;
		struct locktable *t = posixlock_table(c->s);
		uint64_t generation = locktable_generation(t);

		clear = alive && !posixlock_conflict(c->s, &w->req);
		call_unlock(c);
		if (!alive || c->cancel)
			ret = -EINTR;
		else if (!clear)
			locktable_wait(t, generation, OFD_WAIT_MS);
		else if (fcntl(w->fd, F_OFD_SETLKW, &w->fl) == 0)
			ret = 0;
		else if (errno != EINTR)
			ret = -errno;
	}
	call_lock(c);
	vref_put(&w->ref);
	call_unlock(c);
	return ret;
}

static int64_t ofd_block(struct call *c, struct lock_fd *l,
			 const struct flock *fl, const struct lockreq *req)
{
	struct ofd_wait *w = call_alloc(c, sizeof(*w));
	int64_t ret;

	if (!w)
		return -ENOLCK;
	*w = (struct ofd_wait){
		.fd = l->fd, .fl = *fl, .req = *req, .ref = l->ref};
	l->ref = (struct vref){0};
	ret = call_block(c, ofd_wait, w);
	if (ret != CALL_DEFERRED)
		vref_put(&w->ref);
	return ret;
}

static int64_t ofd_set(struct call *c, bool wait)
{
	AUTO_LOCK_FD struct lock_fd l = {.fd = -1};
	struct lockreq req;
	struct flock fl;
	int64_t ret = 0;
	int err = lock_fd_get(c, &l);

	if (!err)
		err = lock_fd_to_store(c, &l, &ret);
	if (err)
		return err > 0 ? ret : err;
	err = ofd_prepare(c, &l, &fl, &req);
	if (err)
		return err;
	c->s->ofd_locks = true;
	if (posixlock_conflict(c->s, &req))
		err = -EAGAIN;
	else if (fcntl(l.fd, F_OFD_SETLK, &fl) < 0)
		err = -errno;
	if (err != -EAGAIN || !wait)
		return err;
	return ofd_block(c, &l, &fl, &req);
}

int64_t ofdlock_set(struct call *c)
{
	return ofd_set(c, false);
}

int64_t ofdlock_setw(struct call *c)
{
	return ofd_set(c, true);
}

/* A lease would rest on the store's inode for nobody's use.
 * LIMIT: never granted; programs see a file that others have open. */
static int64_t fcntl_setlease(struct call *c)
{
	AUTO_LOCK_FD struct lock_fd l = {.fd = -1};
	int err = lock_fd_get(c, &l), type = arg_int(c, 2);
	struct stat st;

	if (err)
		return err;
	if (type != F_RDLCK && type != F_WRLCK && type != F_UNLCK)
		return -EINVAL;
	return fstat(l.fd, &st) == 0 && S_ISREG(st.st_mode) ? -EAGAIN : -EINVAL;
}

static int64_t fcntl_getlease(struct call *c)
{
	AUTO_LOCK_FD struct lock_fd l = {.fd = -1};
	int err = lock_fd_get(c, &l);

	return err ? err : F_UNLCK;
}

/* As a kernel without dnotify. */
static int64_t fcntl_notify(struct call *c)
{
	int fd = help_fd(c, arg_int(c, 0));

	return fd < 0 ? fd : help_refuse_args(c, EINVAL, "F_NOTIFY");
}

/* Host pid of an owner that the guest names; 0 clears; -ESRCH. */
static pid_t owner_to_host(struct call *c, int type, pid_t vpid)
{
	struct tgroup *tg;

	if (vpid == 0)
		return 0;
	if (type == F_OWNER_TID) {
		list_for_each (p, &c->task->tg->tasks) {
			struct task *t = list_entry(p, struct task, list);

			if (task_vtid(t) == vpid)
				return t->tid;
		}
	}
	tg = tgroup_find_virtual(c->s, vpid);
	return tg ? tg->pid : -ESRCH;
}

static int64_t owner_set(struct call *c, struct f_owner_ex ex)
{
	int fd = call_fd(c, arg_int(c, 0));
	pid_t host;

	if (fd < 0)
		return fd;
	if (ex.type != F_OWNER_TID && ex.type != F_OWNER_PID &&
	    ex.type != F_OWNER_PGRP)
		return -EINVAL;
	host = owner_to_host(c, ex.type, ex.pid);
	if (host < 0)
		return host;
	ex.pid = host;
	return fcntl(fd, F_SETOWN_EX, &ex) < 0 ? -errno : 0;
}

static int64_t fcntl_setown(struct call *c)
{
	pid_t who = arg_int(c, 2);
	struct f_owner_ex ex = {.type = F_OWNER_PID, .pid = who};

	if (who == INT32_MIN)
		return -EINVAL;
	if (who < 0) {
		ex.type = F_OWNER_PGRP;
		ex.pid = -who;
	}
	return owner_set(c, ex);
}

static int64_t fcntl_setown_ex(struct call *c)
{
	struct f_owner_ex ex;
	int err = call_read(c, c->args[2], &ex, sizeof(ex));

	return err ? err : owner_set(c, ex);
}

static int owner_get(struct call *c, struct f_owner_ex *ex)
{
	int fd = call_fd(c, arg_int(c, 0));

	if (fd < 0)
		return fd;
	if (fcntl(fd, F_GETOWN_EX, ex) < 0)
		return -errno;
	if (ex->pid > 0)
		ex->pid = task_pid_to_virtual(c->s, ex->pid);
	return 0;
}

static int64_t fcntl_getown(struct call *c)
{
	struct f_owner_ex ex = {0};
	int err = owner_get(c, &ex);

	if (err)
		return err;
	return ex.type == F_OWNER_PGRP ? -ex.pid : ex.pid;
}

static int64_t fcntl_getown_ex(struct call *c)
{
	struct f_owner_ex ex = {0};
	int err = owner_get(c, &ex);

	return err ? err : help_out(c, c->args[2], &ex, sizeof(ex));
}

/* The signal number is the description's alone. */
static int64_t fcntl_sig(struct call *c)
{
	int fd = call_fd(c, arg_int(c, 0));
	int ret;

	if (fd < 0)
		return fd;
	ret = fcntl(fd, arg_int(c, 1), arg_int(c, 2));
	return ret < 0 ? -errno : ret;
}

static const struct {
	int cmd;
	int64_t (*fn)(struct call *c);
} commands[] = {
	{F_GETFL, fcntl_getfl},		{F_SETFL, fcntl_setfl},
	{F_GETLK, posixlock_get},	{F_SETLK, posixlock_set},
	{F_SETLKW, posixlock_setw},	{F_OFD_GETLK, ofdlock_get},
	{F_OFD_SETLK, ofdlock_set},	{F_OFD_SETLKW, ofdlock_setw},
	{F_SETLEASE, fcntl_setlease},	{F_GETLEASE, fcntl_getlease},
	{F_NOTIFY, fcntl_notify},	{F_SETOWN, fcntl_setown},
	{F_GETOWN, fcntl_getown},	{F_SETOWN_EX, fcntl_setown_ex},
	{F_GETOWN_EX, fcntl_getown_ex}, {F_SETSIG, fcntl_sig},
	{F_GETSIG, fcntl_sig},
};

int64_t h_fcntl(struct call *c)
{
	int cmd = arg_int(c, 1), fd;

	for (size_t i = 0; i < ARRAY_SIZE(commands); i++)
		if (commands[i].cmd == cmd)
			return commands[i].fn(c);
	fd = help_fd(c, arg_int(c, 0));
	return fd < 0 ? fd : help_refuse_args(c, EINVAL, "fcntl command");
}
