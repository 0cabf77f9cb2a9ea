/*
 * posixlock.c - record locks of processes, from the sentry's own table.
 *
 * A process owns its locks: fork does not pass them on, exec keeps them, exit
 * releases them (locks_release). close is never trapped, so a lock found in
 * the way is checked: if its holder has closed any of the descriptors of the
 * file that it had when it locked, the lock is stale and dropped.
 *
 * LIMIT: a descriptor opened after the lock and closed again natively drops
 * it; here the lock stays.
 *
 * Locks of open file descriptions are the kernel's: each side looks at the
 * other before it takes.
 */
#include "flock.h"

#include "../fs/store.h"

#include <dirent.h>
#include <stdio.h>

#define WAIT_MS 20 /* a closed descriptor wakes nobody: look again */

static void key_hold(void *inode)
{
	inode_get(inode);
}

static void key_drop(void *inode)
{
	inode_put(inode);
}

struct locktable *posixlock_table(struct sentry *s)
{
	if (!s->locks)
		s->locks = locktable_new(key_hold, key_drop);
	return s->locks;
}

void locks_release(struct sentry *s, struct tgroup *tg)
{
	if (s->locks)
		locktable_drop(s->locks, &tg->posix_locks, NULL);
}

void lock_fd_key(const struct lock_fd *l, struct lockkey *key)
{
	*key = (struct lockkey){.inode = l->ref.inode};
	if (!key->inode) {
		key->dev = l->st.st_dev;
		key->ino = l->st.st_ino;
	}
}

int lock_range(const struct lock_fd *l, const struct flock *fl, int64_t *start,
	       int64_t *end)
{
	int64_t base = 0, last;

	if (fl->l_whence == SEEK_CUR)
		base = lseek(l->fd, 0, SEEK_CUR);
	else if (fl->l_whence == SEEK_END)
		base = l->st.st_size;
	else if (fl->l_whence != SEEK_SET)
		return -EINVAL;
	if (base < 0)
		base = 0; /* pipes and the like */
	if (__builtin_add_overflow(base, fl->l_start, &base))
		return -EOVERFLOW;
	if (base < 0)
		return -EINVAL;
	last = LOCK_OFFSET_MAX;
	if (fl->l_len > 0) {
		if (__builtin_add_overflow(base, fl->l_len - 1, &last))
			return -EOVERFLOW;
	} else if (fl->l_len < 0) {
		last = base - 1;
		if (__builtin_add_overflow(base, fl->l_len, &base) || base < 0)
			return -EINVAL;
	}
	*start = base;
	*end = last;
	return 0;
}

/* What is looked for in a table of descriptors: those of an object. One of
 * them may be at hand, of which nothing need be asked; else via is -1. */
struct fd_wanted {
	uint64_t dev, ino;
	int via;
};

static bool fd_is_wanted(int table, const char *name, const struct fd_wanted *w)
{
	struct stat st;

	return name[0] != '.' && (atoi(name) == w->via ||
				  (fstatat(table, name, &st, 0) == 0 &&
				   st.st_dev == w->dev && st.st_ino == w->ino));
}

/* The thread's descriptors of an object. False if its table cannot be read,
 * which is no proof of anything unless it has *gone. */
static bool list_descriptors(struct sentry *s, struct task *t,
			     const struct fd_wanted *w, struct lockfds *out,
			     bool *gone)
{
	char buf[2048] __attribute__((aligned(__alignof__(struct dirent64))));
	enum { ENTRY_MAX = 64 }; /* more than one with a number as its name */
	int table = task_fd_table(s, t);
	ssize_t n = sizeof(buf);

	out->n = 0;
	*gone = table == -ENOENT;
	if (table < 0 || lseek(table, 0, SEEK_SET) < 0)
		return false;
	/* One that would have had room for another entry is the last. */
	while (n > (ssize_t)sizeof(buf) - ENTRY_MAX) {
		n = getdents64(table, buf, sizeof(buf));
		*gone = n < 0 && errno == ENOENT;
		if (n < 0)
			return false;
		for (char *p = buf; p < buf + n && out->n < LOCK_FDS_MAX;) {
			const struct dirent64 *e = (struct dirent64 *)p;

			if (fd_is_wanted(table, e->d_name, w))
				out->fd[out->n++] = atoi(e->d_name);
			p += e->d_reclen;
		}
	}
	return true;
}

/* Of the i-th descriptor that it had: 1 if it still is of the file, 0 if not,
 * -errno if that cannot be seen. */
static int still_open(struct sentry *s, struct task *t, const struct plock *l,
		      unsigned i)
{
	int table = task_fd_table(s, t);
	struct stat st;
	char name[16];

	if (table < 0)
		return table == -ENOENT ? 0 : table;
	snprintf(name, sizeof(name), "%d", l->seen_fds.fd[i]);
	if (fstatat(table, name, &st, 0) < 0)
		return errno == ENOENT ? 0 : -errno;
	return st.st_dev == l->seen_dev && st.st_ino == l->seen_ino;
}

static bool any_closed(struct sentry *s, struct task *t, const struct plock *l)
{
	for (unsigned i = 0; i < l->seen_fds.n; i++)
		if (!still_open(s, t, l, i))
			return true;
	return false;
}

static bool all_open(struct sentry *s, struct task *t, const struct plock *l,
		     int via)
{
	for (unsigned i = 0; i < l->seen_fds.n; i++)
		if (l->seen_fds.fd[i] != via && still_open(s, t, l, i) != 1)
			return false;
	return l->seen_fds.n > 0;
}

/* A failed look counts as held: a lock is dropped only when it is known to be
 * stale. The threads of a process share one table of descriptors. via: one of
 * them that is known to be of l's file, or -1. */
static bool lock_is_stale(struct sentry *s, const struct plock *l, int via)
{
	struct tgroup *tg = container_of(l->owner, struct tgroup, posix_locks);
	const struct fd_wanted w = {l->seen_dev, l->seen_ino, via};

	list_for_each (p, &tg->tasks) {
		struct task *t = list_entry(p, struct task, list);
		struct lockfds now;
		bool gone, seen;

		if (all_open(s, t, l, via))
			return false; /* a few calls, where a list is many */
		seen = list_descriptors(s, t, &w, &now, &gone);
		if (gone)
			continue;
		return seen && (!now.n || any_closed(s, t, l));
	}
	return true;
}

/* What the caller has of the file now, for a first lock on it. Locks that a
 * close has already ended go first. */
static void note_descriptors(struct call *c, struct lockreq *req)
{
	const struct fd_wanted w = {req->seen_dev, req->seen_ino,
				    arg_int(c, 0)};
	struct locktable *t = posixlock_table(c->s);
	struct plock *l = locktable_find(t, &req->key, req->owner);
	bool gone, same = l && l->seen_dev == w.dev && l->seen_ino == w.ino &&
			  !c->task->own_files;

	if (l && lock_is_stale(c->s, l, same ? w.via : -1)) {
		locktable_drop(t, req->owner, l->file);
		l = NULL;
	}
	if (l)
		req->seen_fds = l->seen_fds;
	else if (!list_descriptors(c->s, c->task, &w, &req->seen_fds, &gone))
		req->seen_fds.n = 0;
}

struct plock *posixlock_conflict(struct sentry *s, const struct lockreq *req)
{
	struct locktable *t = posixlock_table(s);
	struct plock *l;

	while ((l = locktable_conflict(t, req))) {
		if (!lock_is_stale(s, l, -1))
			return l;
		locktable_drop(t, l->owner, l->file);
	}
	return NULL;
}

/* Reads argument 2 and makes the request from it. */
static int request_make(struct call *c, const struct lock_fd *l,
			struct flock *fl, struct lockreq *req)
{
	int err = call_read(c, c->args[2], fl, sizeof(*fl));

	if (err)
		return err;
	*req = (struct lockreq){.owner = &c->task->tg->posix_locks,
				.type = fl->l_type,
				.seen_dev = l->st.st_dev,
				.seen_ino = l->st.st_ino};
	if (fl->l_type != F_RDLCK && fl->l_type != F_WRLCK &&
	    fl->l_type != F_UNLCK)
		return -EINVAL;
	lock_fd_key(l, &req->key);
	err = lock_range(l, fl, &req->start, &req->end);
	if (!err && fl->l_type != F_UNLCK)
		note_descriptors(c, req);
	return err;
}

/* Linux fs/locks.c check_fmode_for_setlk. */
static int access_check(const struct lock_fd *l, short type)
{
	int mode = l->flags & O_ACCMODE;

	if (type == F_RDLCK && mode != O_RDONLY && mode != O_RDWR)
		return -EBADF;
	if (type == F_WRLCK && mode != O_WRONLY && mode != O_RDWR)
		return -EBADF;
	return 0;
}

/* An OFD lock in the way? The sentry owns no record lock, so the kernel's
 * F_GETLK sees all of them. Fills *fl with it and returns true. There is none
 * on a file of the store as long as nobody here has asked for one. */
static bool ofd_conflict(struct sentry *s, int fd, const struct lockreq *req,
			 struct flock *fl)
{
	const struct stat st = {.st_dev = req->seen_dev,
				.st_ino = req->seen_ino};

	if (!s->ofd_locks && !s->bare &&
	    req->seen_dev == store_dev(vfs_store(s->vfs)) &&
	    !vfs_is_host(s->vfs, &st))
		return false;
	*fl = (struct flock){.l_type = req->type,
			     .l_whence = SEEK_SET,
			     .l_start = req->start};
	if (req->type == F_UNLCK)
		return false;
	fl->l_len = req->end == LOCK_OFFSET_MAX ? 0 : req->end - req->start + 1;
	return fcntl(fd, F_GETLK, fl) == 0 && fl->l_type != F_UNLCK;
}

static void flock_fill(struct flock *fl, const struct plock *l)
{
	struct tgroup *tg = container_of(l->owner, struct tgroup, posix_locks);

	fl->l_type = l->type;
	fl->l_whence = SEEK_SET;
	fl->l_start = l->start;
	fl->l_len = l->end == LOCK_OFFSET_MAX ? 0 : l->end - l->start + 1;
	fl->l_pid = tgroup_vpid(tg);
}

int64_t posixlock_get(struct call *c)
{
	AUTO_LOCK_FD struct lock_fd l = {.fd = -1};
	struct lockreq req;
	struct flock fl, other;
	struct plock *p;
	int err = lock_fd_get(c, &l);

	if (!err)
		err = request_make(c, &l, &fl, &req);
	if (err)
		return err;
	if (fl.l_type == F_UNLCK)
		return -EINVAL;
	p = posixlock_conflict(c->s, &req);
	if (p) {
		flock_fill(&fl, p);
	} else if (ofd_conflict(c->s, l.fd, &req, &other)) {
		fl = other;
		fl.l_pid = -1;
	} else {
		fl.l_type = F_UNLCK;
	}
	return help_out(c, c->args[2], &fl, sizeof(fl));
}

static int posix_try(struct sentry *s, int fd, const struct lockreq *req,
		     struct plock **in_way)
{
	struct flock fl;

	*in_way = posixlock_conflict(s, req);
	if (*in_way || ofd_conflict(s, fd, req, &fl))
		return -EAGAIN;
	return locktable_set(posixlock_table(s), req);
}

struct posix_wait {
	struct lockreq req;
	struct lockwait wait;
	struct vref ref; /* keeps the key's inode while we wait; counted */
	int fd;
};

/* One look with the state lock. -EAGAIN: wait for *generation to change. */
static int posix_wait_step(struct call *c, struct posix_wait *w,
			   uint64_t *generation)
{
	struct locktable *t = posixlock_table(c->s);
	struct plock *in_way;
	int err;

	locktable_wait_end(&w->wait);
	*generation = locktable_generation(t);
	err = posix_try(c->s, w->fd, &w->req, &in_way);
	if (err == -EAGAIN && in_way &&
	    locktable_wait_begin(t, &w->wait, w->req.owner, in_way->owner))
		err = -EDEADLK;
	return err;
}

static int64_t posix_wait(struct call *c, void *arg)
{
	struct posix_wait *w = arg;
	struct locktable *t = posixlock_table(c->s);
	uint64_t generation = 0;
	int err = -EAGAIN;

	while (err == -EAGAIN) {
		if (!call_lock(c))
			err = -EINTR;
		else if (c->cancel)
			err = -EINTR;
		else
			err = posix_wait_step(c, w, &generation);
		if (err != -EAGAIN) {
			locktable_wait_end(&w->wait);
			vref_put(&w->ref);
		}
		call_unlock(c);
		if (err == -EAGAIN)
			locktable_wait(t, generation, WAIT_MS);
	}
	return err;
}

static int64_t posix_set(struct call *c, bool wait)
{
	AUTO_LOCK_FD struct lock_fd l = {.fd = -1};
	struct posix_wait *w;
	struct lockreq req;
	struct flock fl;
	struct plock *p;
	int64_t ret;
	int err = lock_fd_get(c, &l);

	if (!err)
		err = request_make(c, &l, &fl, &req);
	if (!err)
		err = access_check(&l, fl.l_type);
	if (err)
		return err;
	err = posix_try(c->s, l.fd, &req, &p);
	if (err != -EAGAIN || !wait)
		return err;
	w = call_alloc(c, sizeof(*w));
	if (!w)
		return -ENOLCK;
	w->req = req;
	w->fd = l.fd;
	list_init(&w->wait.link);
	w->ref = l.ref;
	l.ref = (struct vref){0};
	ret = call_block(c, posix_wait, w);
	if (ret != CALL_DEFERRED)
		vref_put(&w->ref);
	return ret;
}

int64_t posixlock_set(struct call *c)
{
	return posix_set(c, false);
}

int64_t posixlock_setw(struct call *c)
{
	return posix_set(c, true);
}
