/*
 * procsrc_fd.c - what /proc shows of a process's objects: descriptors, exe,
 * cwd, root, and the files behind its mappings.
 *
 * A descriptor is copied by pidfd_getfd and identified by the VFS; the text of
 * the host's own link is used only for kinds of objects whose text holds no
 * path of the host.
 */
#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>

#include "../fs/proctext.h"
#include "../fs/pseudo.h"
#include "procsrc_priv.h"

#ifndef PIDFD_THREAD
#define PIDFD_THREAD O_EXCL /* Linux 6.9 */
#endif

enum { PROC_MAGIC = 0x9fa0 };

/* ---- exe, cwd, root -------------------------------------------------- */

static void ref_set(struct vref *out, struct inode *i, struct dentry *d)
{
	out->inode = i ? inode_get(i) : NULL;
	out->dentry = d ? dentry_get(d) : NULL;
}

int procsrc_link(void *arg, struct vfs_ctx *ctx, struct proc_key key,
		 enum proc_link what, struct vref *out, char *text, size_t size)
{
	struct proctarget t;
	struct dentry *d;
	struct inode *i;
	int err = procsrc_target(procsrc_of(arg), key, &t);

	if (err || !t.tg || !t.t->fs)
		return err ? err : -ENOENT;
	if (what == PROC_EXE) {
		d = t.tg->exe.dentry;
		i = t.tg->exe.inode;
	} else {
		d = what == PROC_CWD ? t.t->fs->cwd : t.t->fs->root;
		i = d ? dentry_inode(d) : NULL;
	}
	if (!i)
		return -ENOENT;
	if (d) {
		ssize_t n = dentry_path(d, ctx->root, text, size);

		if (n < 0)
			return (int)n;
	} else {
		snprintf(text, size, "%s",
			 t.tg->exe_path ? t.tg->exe_path : "/");
	}
	ref_set(out, i, d);
	return 0;
}

/* ---- descriptors ----------------------------------------------------- */

static int scan_fds(struct procsrc *ps, const char *path, int from)
{
	int fd = openat(ps->proc, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *e;
	long best = -1;

	if (!d) {
		if (fd >= 0)
			close(fd);
		return -1;
	}
	while ((e = readdir(d))) {
		long n = pseudo_parse_number(e->d_name, INT_MAX, true);

		if (n >= from && (best < 0 || n < best))
			best = n;
	}
	closedir(d);
	return (int)best;
}

int procsrc_next_fd(void *arg, struct proc_key key, int from)
{
	struct procsrc *ps = procsrc_of(arg);
	struct proctarget t;
	struct stat st;
	char path[96], name[32];

	if (procsrc_target(ps, key, &t) || !t.tg)
		return -1;
	snprintf(name, sizeof(name), "fd/%d", from);
	procsrc_path(&t, name, path, sizeof(path));
	if (!fstatat(ps->proc, path, &st, AT_SYMLINK_NOFOLLOW))
		return from;
	procsrc_path(&t, "fd", path, sizeof(path));
	return scan_fds(ps, path, from);
}

static bool starts(const char *s, const char *prefix)
{
	return !strncmp(s, prefix, strlen(prefix));
}

/* Texts of the kernel that name no file of the host. */
static bool text_safe(const char *s)
{
	static const char *const safe[] = {
		"pipe:[",    "socket:[", "anon_inode:", "/memfd:",
		"/dev/zero", "/SYSV",	 "[",		"net:[",
		"mnt:[",     "pid:[",	 "user:[",	"uts:[",
		"ipc:[",     "cgroup:[", "time:[",	"/dmabuf:"};

	for (size_t i = 0; i < ARRAY_SIZE(safe); i++)
		if (starts(s, safe[i]))
			return true;
	return false;
}

/* "/123/comm" or "/proc/123/task/124/comm" of the host, as the guest would
 * name it. */
static void text_of_proc(struct procsrc *ps, const char *host, char *out,
			 size_t size)
{
	const char *p = starts(host, "/proc/") ? host + 5 : host;
	const char *name = strrchr(host, '/');
	long pid = strtol(p + 1, NULL, 10);
	pid_t v = pid > 0 ? task_pid_to_virtual(ps->s, (pid_t)pid) : 0;

	if (v)
		snprintf(out, size, "/proc/%d%s", v, name ? name : "");
	else
		snprintf(out, size, "/proc%s", name ? name : "");
}

static bool text_of_tty(const struct stat *st, struct proc_fd *f)
{
	if (!S_ISCHR(st->st_mode) || major(st->st_rdev) != 136)
		return false;
	snprintf(f->text, sizeof(f->text), "/dev/pts/%u", minor(st->st_rdev));
	return true;
}

static void fd_text_unknown(struct procsrc *ps, const struct proctarget *t,
			    int fd, struct proc_fd *f)
{
	char path[96], name[32], host[sizeof(f->text)];
	struct statfs sfs;
	ssize_t n;

	snprintf(name, sizeof(name), "fd/%d", fd);
	procsrc_path(t, name, path, sizeof(path));
	n = readlinkat(ps->proc, path, host, sizeof(host) - 1);
	host[n < 0 ? 0 : n] = '\0';
	if (text_of_tty(&f->st, f))
		return;
	if (text_safe(host))
		memcpy(f->text, host, sizeof(host));
	else if (!fstatfs(f->copy, &sfs) && sfs.f_type == PROC_MAGIC)
		text_of_proc(ps, host, f->text, sizeof(f->text));
	else
		snprintf(f->text, sizeof(f->text), "anon_inode:[unknown]");
}

/* A process whose leader has exited is asked by another of its threads. */
static int copy_fd(const struct proctarget *t, int fd)
{
	AUTO_CLOSE int thread = -1;
	struct tgroup *tg = t->tg;
	int pidfd, copy;

	if (tg->pidfd < 0)
		tg->pidfd = (int)syscall(SYS_pidfd_open, tg->pid, 0);
	pidfd = tg->pidfd;
	if (t->t->tid != tg->pid)
		pidfd = thread =
			(int)syscall(SYS_pidfd_open, t->t->tid, PIDFD_THREAD);
	if (pidfd < 0)
		return -errno;
	copy = (int)syscall(SYS_pidfd_getfd, pidfd, fd, 0);
	return copy < 0 ? -errno : copy;
}

int procsrc_fd(void *arg, struct vfs_ctx *ctx, struct proc_key key, int fd,
	       struct proc_fd *out)
{
	struct procsrc *ps = procsrc_of(arg);
	AUTO_CLOSE int copy = -1;
	struct proctarget t;
	bool opath = false;
	int err = procsrc_target(ps, key, &t);

	out->copy = -1;
	out->ref = (struct vref){NULL, NULL};
	if (err || !t.tg)
		return err ? err : -EACCES;
	copy = copy_fd(&t, fd);
	if (copy < 0)
		return copy;
	out->flags = fcntl(copy, F_GETFL);
	if (out->flags < 0)
		return -errno;
	err = vfs_identify(ps->s->vfs, copy, &out->ref, &out->st, &opath);
	if (opath)
		out->flags |= O_PATH;
	if (!err && out->ref.dentry &&
	    dentry_path(out->ref.dentry, ctx->root, out->text,
			sizeof(out->text)) >= 0)
		return 0;
	if (!err) {
		if (!text_of_tty(&out->st, out))
			snprintf(out->text, sizeof(out->text), "/ (deleted)");
		return 0;
	}
	if (err != -ENOENT)
		return err;
	out->copy = fd_take(&copy);
	fd_text_unknown(ps, &t, fd, out);
	return 0;
}

/* ---- mappings -------------------------------------------------------- */

struct maps_walk {
	struct procsrc *ps;
	struct vfs_ctx ctx; /* may see all: paths only */
	dev_t stub_dev;
	ino_t stub_ino;
	/* mappings of one file follow each other: the last answer */
	unsigned last_major, last_minor;
	uint64_t last_ino, shown_ino;
	dev_t shown_dev;
	char path[PATH_LEN_MAX + 32];
};

/* Lower files that are mapped but no longer open: by their path, if what is
 * there now is the same file. */
static int find_by_path(struct maps_walk *w, const struct proctext_map *m,
			struct vref *ref)
{
	struct vfs_at at = {NULL, m->path};
	int err;

	if (m->path[0] != '/' || strlen(m->path) >= PATH_LEN_MAX)
		return -ENOENT;
	err = vfs_lookup(&w->ctx, &at, 0, ref);
	if (err)
		return err;
	if (ref->inode->ino == m->ino && ref->inode->type == S_IFREG)
		return 0;
	vref_put(ref);
	return -ENOENT;
}

static void map_resolve(struct maps_walk *w, const struct proctext_map *m)
{
	struct vref ref = {NULL, NULL};
	int err = vfs_object_find(w->ps->s->vfs,
				  makedev(m->dev_major, m->dev_minor), m->ino,
				  &ref);

	w->last_major = m->dev_major;
	w->last_minor = m->dev_minor;
	w->last_ino = m->ino;
	w->path[0] = '\0';
	w->shown_ino = 0;
	w->shown_dev = 0;
	if (err)
		err = find_by_path(w, m, &ref);
	if (err)
		return;
	w->shown_ino = ref.inode->ino;
	w->shown_dev = ref.inode->sb->dev;
	if (!ref.dentry ||
	    dentry_path(ref.dentry, w->ctx.root, w->path, sizeof(w->path)) < 0)
		snprintf(w->path, sizeof(w->path), "/ (deleted)");
	vref_put(&ref);
}

static int map_line(void *arg, struct proctext_map *m)
{
	struct maps_walk *w = arg;

	if (!m->ino)
		return m->path[0] != '/' ? 1 : 0;
	if (m->ino == w->stub_ino &&
	    makedev(m->dev_major, m->dev_minor) == w->stub_dev)
		return 0;
	if (text_safe(m->path))
		return 1;
	if (m->ino != w->last_ino || m->dev_major != w->last_major ||
	    m->dev_minor != w->last_minor)
		map_resolve(w, m);
	memcpy(m->path, w->path, sizeof(m->path));
	m->ino = w->shown_ino;
	m->dev_major = major(w->shown_dev);
	m->dev_minor = minor(w->shown_dev);
	return 1;
}

int procsrc_maps(struct procsrc *ps, struct vfs_ctx *ctx,
		 const struct proctarget *t, const char *name,
		 struct strbuf *out)
{
	static const struct vcred all = {.caps = ~0ULL};
	AUTO_FREE struct maps_walk *w = xcalloc(1, sizeof(*w));
	struct stat st;
	struct strbuf b;
	char path[96];
	int err;

	snprintf(path, sizeof(path), "%d/exe", t->pid);
	if (!fstatat(ps->proc, path, &st, 0)) {
		w->stub_dev = st.st_dev;
		w->stub_ino = st.st_ino;
	}
	w->ps = ps;
	w->ctx = *ctx;
	w->ctx.cred = &all;
	strbuf_init(&b, PSEUDO_TEXT_MAX);
	err = procsrc_read(ps, t, name, &b);
	if (!err)
		proctext_maps(b.data ? b.data : "", b.len, map_line, w, out);
	strbuf_fini(&b);
	return err;
}
