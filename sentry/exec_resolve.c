/*
 * exec_resolve.c - from the path that a guest gave to a plan for the stub.
 *
 * Everything is opened through the VFS with the guest's virtual credentials,
 * so that a file which only exists in the overlay runs, and one that the view
 * hides does not exist. File contents are read after the state lock is
 * dropped: from descriptors, which cannot change what they refer to. Some
 * files are kept open and need no reading (exec_image.c).
 */
#include <fcntl.h>
#include <stdio.h>
#include <sys/auxv.h>
#include <sys/personality.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "exec_priv.h"
#include "sentry.h"

/* A script's interpreter is a program like the first. */
enum image_role { IMAGE_FIRST, IMAGE_NEXT, IMAGE_INTERP };

struct resolver {
	struct sentry *s;
	pid_t tid;
	struct exec_request *req;
	struct plan_args args;
	struct vref ref; /* of the image last opened */
	char execfn[PATH_LEN_MAX];
	char exe_path[PATH_LEN_MAX + 16];
	struct plan_aux aux[4];
};

void exec_plan_destroy(struct exec_plan *p)
{
	if (!p)
		return;
	exec_image_put(p->program);
	exec_image_put(p->interp);
	if (p->exe.inode)
		vfs_text_put(p->exe.inode);
	vref_put(&p->exe);
	free(p);
}

static void resolver_ctx(struct resolver *r, struct task *t, struct vcred *cred,
			 struct vfs_ctx *ctx)
{
	memset(ctx, 0, sizeof(*ctx));
	task_vcred(t, false, cred);
	ctx->vfs = r->s->vfs;
	ctx->cred = cred;
	ctx->root = t->fs->root;
	ctx->cwd = t->fs->cwd;
	ctx->umask = t->fs->umask;
	ctx->viewer_tgid = t->tg->pid;
	ctx->viewer_tid = t->tid;
}

/* Our copy of the descriptor that execveat names. */
static int copy_guest_fd(struct task *t, int gfd)
{
	int fd = task_copy_fd(t, gfd);

	return fd < 0 ? -EBADF : fd;
}

/* What r->ref is: kept from before, or opened. */
static int open_looked_up(struct resolver *r, struct vfs_ctx *ctx, bool interp,
			  struct exec_image **out)
{
	int fd, ret = exec_image_find(r->s, ctx, &r->ref, interp, out);

	if (ret <= 0)
		return ret;
	ret = vfs_open_exec(ctx, &r->ref, &fd);
	if (!ret)
		*out = exec_image_new(fd);
	return ret;
}

/* execveat(fd, "", AT_EMPTY_PATH): the descriptor itself. A memfd is ours to
 * run too: nothing names it, and its content is the guest's own. */
static int open_descriptor(struct resolver *r, struct vfs_ctx *ctx,
			   struct task *t, struct exec_image **out)
{
	AUTO_CLOSE int fd = copy_guest_fd(t, r->req->dirfd);
	struct stat st;
	bool opath;
	int ret;

	if (fd < 0)
		return fd;
	ret = vfs_identify(ctx->vfs, fd, &r->ref, &st, &opath);
	if (!ret)
		return open_looked_up(r, ctx, false, out);
	if (ret != -ENOENT)
		return ret;
	if (!S_ISREG(st.st_mode) || !(st.st_mode & 0111))
		return -EACCES;
	*out = exec_image_new(fd_take(&fd));
	return 0;
}

/* One path of the chain: looked up and opened for execution. */
static int open_named(struct resolver *r, struct vfs_ctx *ctx, struct task *t,
		      const char *path, enum image_role role,
		      struct exec_image **out)
{
	bool first = role == IMAGE_FIRST;
	struct vref base = {0};
	struct vfs_at at = {.path = path};
	unsigned flags = VFS_FOLLOW;
	int ret = 0;

	if (first && r->req->flags & AT_SYMLINK_NOFOLLOW)
		flags = 0;
	if (first && path[0] != '/' && r->req->dirfd != AT_FDCWD) {
		AUTO_CLOSE int fd = copy_guest_fd(t, r->req->dirfd);
		struct stat st;
		bool opath;

		if (fd < 0)
			return fd;
		ret = vfs_identify(ctx->vfs, fd, &base, &st, &opath);
		if (ret)
			return ret == -ENOENT ? -ENOTDIR : ret;
		if (!base.dentry || !S_ISDIR(st.st_mode)) {
			vref_put(&base);
			return -ENOTDIR;
		}
		at.base = base.dentry;
	}
	vref_put(&r->ref);
	ret = vfs_lookup(ctx, &at, flags, &r->ref);
	if (!ret && !flags) {
		struct statx stx;

		ret = vfs_getattr(ctx, &r->ref, &stx);
		if (!ret && S_ISLNK(stx.stx_mode))
			ret = -ELOOP;
	}
	if (!ret)
		ret = open_looked_up(r, ctx, role == IMAGE_INTERP, out);
	vref_put(&base);
	return ret;
}

/* Opens one image under the state lock. */
static int resolver_open(struct resolver *r, const char *path,
			 enum image_role role, struct exec_image **out)
{
	struct vfs_ctx ctx;
	struct vcred cred;
	struct task *t;
	int ret = -ESRCH;

	sentry_lock(r->s);
	t = task_find(r->s, r->tid);
	if (t) {
		resolver_ctx(r, t, &cred, &ctx);
		if (role == IMAGE_FIRST && !path[0])
			ret = open_descriptor(r, &ctx, t, out);
		else
			ret = open_named(r, &ctx, t, path, role, out);
		r->req->refused_mask = ctx.refused_mask;
		r->req->refused_rule = ctx.refused_rule;
	}
	sentry_unlock(r->s);
	return ret;
}

/* AT_EXECFN and the name of a script, as the kernel makes it (fs/exec.c,
 * alloc_bprm). */
static void make_execfn(struct resolver *r)
{
	const struct exec_request *q = r->req;

	if (q->dirfd == AT_FDCWD || q->path[0] == '/')
		snprintf(r->execfn, sizeof(r->execfn), "%s", q->path);
	else if (!q->path[0])
		snprintf(r->execfn, sizeof(r->execfn), "/dev/fd/%d", q->dirfd);
	else
		snprintf(r->execfn, sizeof(r->execfn), "/dev/fd/%d/%.4000s",
			 q->dirfd, q->path);
}

static bool guest_fd_cloexec(struct resolver *r)
{
	char file[32], buf[256], *p;

	if (r->req->path[0] == '/' || r->req->dirfd == AT_FDCWD)
		return false;
	snprintf(file, sizeof(file), "fdinfo/%d", r->req->dirfd);
	if (base_read_proc(r->tid, file, buf, sizeof(buf)) <= 0)
		return false;
	p = strstr(buf, "flags:");
	return p && strtoul(p + 6, NULL, 8) & O_CLOEXEC;
}

/* Opens an image and knows its headers. 1: a script, with its head. */
static int resolver_image(struct resolver *r, const char *path,
			  enum image_role role, char *head,
			  struct exec_image **out)
{
	bool interp = role == IMAGE_INTERP;
	struct exec_image *im = NULL;
	int ret = resolver_open(r, path, role, &im);

	if (ret)
		return ret;
	*out = im;
	if (im->inode)
		return 0;
	ret = exec_image_read(im, interp, head);
	if (ret)
		return ret;
	sentry_lock(r->s);
	if (r->ref.inode)
		exec_image_keep(r->s, im, r->ref.inode);
	sentry_unlock(r->s);
	return 0;
}

static void image_release(struct resolver *r, struct exec_image **im)
{
	sentry_lock(r->s);
	exec_image_put(*im);
	sentry_unlock(r->s);
	*im = NULL;
}

/* Follows "#!" lines until an ELF file: *out, which may be set on failure. */
static int resolve_chain(struct resolver *r, struct exec_image **out)
{
	const char *path = r->req->path;
	char name[PATH_LEN_MAX];
	int ret;

	snprintf(name, sizeof(name), "%s", r->execfn);
	for (int depth = 0;; depth++) {
		char head[SCRIPT_HEAD];
		struct script_line line;

		ret = resolver_image(r, depth ? name : path,
				     depth ? IMAGE_NEXT : IMAGE_FIRST, head,
				     out);
		if (ret <= 0)
			return ret;
		image_release(r, out);
		ret = script_parse(head, &line);
		if (ret)
			return ret;
		if (depth == SCRIPT_DEPTH_MAX)
			return -ELOOP;
		/* A script that its interpreter could not open again. */
		if (!depth && guest_fd_cloexec(r))
			return -ENOENT;
		ret = plan_args_push_script(&r->args, name, &line);
		if (ret)
			return ret;
		snprintf(name, sizeof(name), "%s", line.interp);
	}
}

static void note_exe(struct resolver *r, struct vref *exe)
{
	sentry_lock(r->s);
	*exe = r->ref;
	memset(&r->ref, 0, sizeof(r->ref));
	/* From now on, since a guest may see that the exec has happened before
	 * the tracer does. */
	if (exe->inode)
		vfs_text_get(exe->inode);
	if (!exe->dentry ||
	    dentry_path(exe->dentry, NULL, r->exe_path, PATH_LEN_MAX) < 0)
		snprintf(r->exe_path, sizeof(r->exe_path), "/memfd: (deleted)");
	sentry_unlock(r->s);
}

static bool aslr_wanted(struct resolver *r)
{
	char path[64], buf[16];
	struct task *t;
	bool asked;
	ssize_t n;

	sentry_lock(r->s);
	t = task_find(r->s, r->tid);
	asked = t && t->tg->persona_set;
	sentry_unlock(r->s);
	if (!asked)
		return r->s->aslr;
	snprintf(path, sizeof(path), "/proc/%d/personality", r->tid);
	AUTO_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);
	n = fd < 0 ? -1 : read(fd, buf, sizeof(buf) - 1);
	if (n <= 0)
		return true;
	buf[n] = '\0';
	return !(strtoul(buf, NULL, 16) & ADDR_NO_RANDOMIZE);
}

/* Linux fs/exec.c bprm_fill_uid: what the program's set-id bits make of the
 * virtual ids. The kernel's stay what they are. */
static void set_ids(struct resolver *r, struct task *t, struct exec_plan *p)
{
	struct exec_ids *ids = &p->ids;
	const struct taskcred *k = t->cred;
	struct vfs_ctx ctx;
	struct vcred cred;
	struct statx x;

	*ids = (struct exec_ids){.euid = k->euid, .egid = k->egid};
	if (!k->no_new_privs && p->exe.inode) {
		resolver_ctx(r, t, &cred, &ctx);
		if (vfs_getattr(&ctx, &p->exe, &x))
			return;
		if (x.stx_mode & S_ISUID)
			ids->euid = x.stx_uid;
		if ((x.stx_mode & (S_ISGID | S_IXGRP)) == (S_ISGID | S_IXGRP))
			ids->egid = x.stx_gid;
	}
	ids->changed = ids->euid != k->ruid || ids->egid != k->rgid;
}

static void fill_ids(struct resolver *r, struct exec_plan *p,
		     struct plan_request *q)
{
	struct task *t;

	sentry_lock(r->s);
	t = task_find(r->s, r->tid);
	if (t) {
		set_ids(r, t, p);
		q->aux[0] = (struct plan_aux){AT_UID, t->cred->ruid};
		q->aux[1] = (struct plan_aux){AT_EUID, p->ids.euid};
		q->aux[2] = (struct plan_aux){AT_GID, t->cred->rgid};
		q->aux[3] = (struct plan_aux){AT_EGID, p->ids.egid};
		q->aux[4] = (struct plan_aux){AT_SECURE, p->ids.changed};
		q->naux = 5;
	}
	sentry_unlock(r->s);
}

static int resolve(struct resolver *r, struct exec_plan *p)
{
	struct plan_request q = {
		.program_fd = -1,
		.interp_fd = -1,
	};
	int ret;

	make_execfn(r);
	plan_args_init(&r->args);
	ret = resolve_chain(r, &p->program);
	if (ret)
		return ret;
	q.program = &p->program->info;
	note_exe(r, &p->exe);
	if (q.program->interp[0]) {
		ret = resolver_image(r, q.program->interp, IMAGE_INTERP, NULL,
				     &p->interp);
		if (ret)
			return ret;
		q.interp = &p->interp->info;
	}
	q.execfn = r->execfn;
	q.comm = r->req->path[0] ? NULL : r->exe_path;
	q.args = r->args.count ? &r->args : NULL;
	q.randomize = aslr_wanted(r);
	fill_ids(r, p, &q);
	snprintf(p->exe_path, sizeof(p->exe_path), "%s", r->exe_path);
	return plan_fill(&p->plan, &q);
}

int exec_resolve(struct sentry *s, pid_t tid, struct exec_request *req,
		 struct exec_plan **out)
{
	/* Not zeroed: both are large, most is not used, and plan_fill sets what
	 * it is to fill. */
	struct resolver *r = xmalloc(sizeof(*r));
	struct exec_plan *p = xmalloc(sizeof(*p));
	int ret;

	r->s = s;
	r->tid = tid;
	r->req = req;
	r->ref = (struct vref){0};
	r->exe_path[0] = '\0';
	p->ids = (struct exec_ids){0};
	p->program = p->interp = NULL;
	p->exe = (struct vref){0};
	p->exe_path[0] = '\0';
	p->committed = false;
	ret = resolve(r, p);
	sentry_lock(s);
	vref_put(&r->ref);
	if (ret) {
		exec_plan_destroy(p);
		p = NULL;
	}
	sentry_unlock(s);
	free(r);
	*out = p;
	return ret;
}
