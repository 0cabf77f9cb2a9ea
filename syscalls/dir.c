/*
 * dir.c - directories: getdents, getdents64, chdir, fchdir, getcwd, chroot,
 * umask, unshare of these; and sync, syncfs, which have nothing to write back.
 *
 * The cursor of an open directory is the real file offset of its descriptor,
 * so dup, fork, lseek and rewinddir are the kernel's. A read of entries takes
 * it from our copy of the descriptor and puts it forward there, after the
 * guest has the entries.
 */
#include <dirent.h>
#include <linux/capability.h>
#include <sched.h>

#include "handlers.h"
#include "pathfd.h"

/* ---- getdents -------------------------------------------------------- */

enum { DENTS_MAX = 64 << 10 }; /* per call, whatever the guest asks for */

/* linux_dirent64: ino, off, reclen, type, name. linux_dirent: ino, off,
 * reclen, name ..., type in the last byte. */
enum { DENT64_NAME = 19, DENT_NAME = 18 };

struct dents {
	unsigned char *buf;
	size_t len, size;
	bool old;
	bool full; /* an entry did not fit */
};

static int dents_add(void *arg, const char *name, size_t len, uint64_t ino,
		     unsigned char type, off_t off)
{
	struct dents *d = arg;
	size_t head = d->old ? DENT_NAME : DENT64_NAME;
	size_t need = (head + len + 1 + (d->old ? 1 : 0) + 7) & ~(size_t)7;
	unsigned char *p = d->buf + d->len;
	uint16_t reclen = (uint16_t)need;

	BUG_ON(len > NAME_LEN_MAX);
	if (need > d->size - d->len) {
		d->full = true;
		return 1;
	}
	memset(p, 0, need); /* no byte of ours shows between entries */
	memcpy(p, &ino, 8);
	memcpy(p + 8, &off, 8);
	memcpy(p + 16, &reclen, 2);
	memcpy(p + head, name, len);
	p[d->old ? need - 1 : 18] = type;
	d->len += need;
	return 0;
}

static int64_t dents_read(struct call *c, struct target *t, struct dents *d)
{
	off_t start = lseek(t->fd, 0, SEEK_CUR), pos = start;
	int ret;

	if (start < 0)
		return -errno;
	ret = vfs_readdir(&c->vfs, &t->ref, &pos, dents_add, d);
	if (ret < 0)
		return ret;
	if (!d->len && d->full)
		return -EINVAL;
	vfs_tell_listing(&t->ref, t->fd);
	ret = d->len ? call_write(c, c->args[1], d->buf, d->len) : 0;
	if (ret)
		pos = start;
	if (pos != start && lseek(t->fd, pos, SEEK_SET) != pos) {
		log_host(errno, "lseek of a directory");
		return -EIO;
	}
	return ret ? ret : (int64_t)d->len;
}

static int64_t dents(struct call *c, bool old)
{
	AUTO_PUT_TARGET struct target t = {.fd = -1};
	unsigned count = (unsigned)c->args[2];
	struct dents d = {.size = count < DENTS_MAX ? count : DENTS_MAX,
			  .old = old};
	AUTO_FREE unsigned char *buf = NULL;
	int ret = call_fd_data(c, (gfd_t)c->args[0], &t);

	if (ret)
		return ret;
	if (!target_is_dir(c, &t))
		return -ENOTDIR;
	buf = malloc(d.size + 1);
	if (!buf)
		return -ENOMEM;
	d.buf = buf;
	return dents_read(c, &t, &d);
}

int64_t h_getdents(struct call *c)
{
	return dents(c, true);
}

int64_t h_getdents64(struct call *c)
{
	return dents(c, false);
}

/* ---- where a process is ---------------------------------------------- */

static void dentry_replace(struct dentry **slot, struct dentry *d)
{
	struct dentry *before = *slot;

	*slot = dentry_get(d);
	dentry_put(before);
}

static int dir_enter(struct call *c, const struct vref *ref)
{
	if (!ref->dentry)
		return -ENOTDIR;
	return vfs_permission(&c->vfs, ref, X_OK);
}

int64_t h_chdir(struct call *c)
{
	AUTO_PUT_VREF struct vref ref = {0};
	int ret = call_ref(c, AT_FDCWD, c->str[0], VFS_FOLLOW | VFS_DIRECTORY,
			   &ref);

	if (!ret)
		ret = dir_enter(c, &ref);
	if (ret)
		return ret;
	dentry_replace(&c->task->fs->cwd, ref.dentry);
	return 0;
}

int64_t h_fchdir(struct call *c)
{
	AUTO_PUT_TARGET struct target t = {.fd = -1};
	int ret = call_fd_target(c, (gfd_t)c->args[0], &t);

	if (ret)
		return ret;
	if (!target_is_dir(c, &t))
		return -ENOTDIR;
	ret = dir_enter(c, &t.ref);
	if (ret)
		return ret;
	dentry_replace(&c->task->fs->cwd, t.ref.dentry);
	return 0;
}

int64_t h_chroot(struct call *c)
{
	AUTO_PUT_VREF struct vref ref = {0};
	int ret = call_ref(c, AT_FDCWD, c->str[0], VFS_FOLLOW | VFS_DIRECTORY,
			   &ref);

	if (!ret)
		ret = dir_enter(c, &ref);
	if (ret)
		return ret;
	if (!(c->vcred.caps & (1ULL << CAP_SYS_CHROOT)))
		return -EPERM;
	dentry_replace(&c->task->fs->root, ref.dentry);
	return 0;
}

int64_t h_getcwd(struct call *c)
{
	const struct dentry *cwd = c->task->fs->cwd;
	uint64_t size = c->args[1];
	char *buf;
	ssize_t n;

	if (dentry_deleted(cwd))
		return -ENOENT;
	buf = call_room(c, PATH_LEN_MAX);
	if (!buf)
		return -ENOMEM;
	n = dentry_path(cwd, c->task->fs->root, buf, PATH_LEN_MAX);
	if (n < 0)
		return n;
	if ((uint64_t)n + 1 > size)
		return -ERANGE;
	call_keep(c, (size_t)n + 1);
	call_out(c, c->args[0], buf, (size_t)n + 1);
	return n + 1;
}

int64_t h_umask(struct call *c)
{
	mode_t before = c->task->fs->umask;

	c->task->fs->umask = (mode_t)c->args[0] & 0777;
	return before;
}

/* The process's pidfd stands for its leader's table. */
static void unshare_files(struct task *t)
{
	if (t->tid != t->tg->pid) {
		t->own_files = true;
		return;
	}
	list_for_each (p, &t->tg->tasks) {
		struct task *other = list_entry(p, struct task, list);

		other->own_files = other != t;
	}
}

/*
 * Only registers are decided on, so the kernel may go on (law 2): it parts
 * the descriptor table; root, cwd and umask are parted here.
 */
int64_t h_unshare(struct call *c)
{
	const uint64_t own = CLONE_FS | CLONE_FILES | CLONE_SYSVSEM;
	/* granted to a process of one thread, for which they do nothing */
	const uint64_t alone = CLONE_THREAD | CLONE_VM | CLONE_SIGHAND;
	const uint64_t known = own | alone | CLONE_NEWNS | CLONE_NEWUTS |
			       CLONE_NEWIPC | CLONE_NEWUSER | CLONE_NEWPID |
			       CLONE_NEWNET | CLONE_NEWCGROUP | CLONE_NEWTIME;
	uint64_t flags = c->args[0];
	struct fsctx *fs = c->task->fs;

	if (flags & ~known)
		return -EINVAL;
	if (flags & ~(own | alone)) {
		call_deny(c, "namespaces", NULL);
		return -EPERM;
	}
	if ((flags & alone) && c->task->tg->ntasks > 1)
		return -EINVAL;
	if (flags & CLONE_FS) {
		c->task->fs = fsctx_new(fs->root, fs->cwd, fs->umask);
		fsctx_put(fs);
	}
	if (flags & CLONE_FILES)
		unshare_files(c->task);
	return CALL_CONTINUE;
}

/* ---- writing back ---------------------------------------------------- */

int64_t h_sync(struct call *c)
{
	(void)c; /* the overlay is memory */
	return 0;
}

int64_t h_syncfs(struct call *c)
{
	AUTO_PUT_TARGET struct target t = {.fd = -1};

	return call_fd_data(c, (gfd_t)c->args[0], &t);
}
