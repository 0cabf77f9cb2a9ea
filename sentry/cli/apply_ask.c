/*
 * apply_ask.c - `run --apply ask`: lists what changed in the work directory
 * and, if a person says yes on the terminal, brings it to the host.
 *
 * Contents are read through the virtual file system, never from a path that
 * the guest could have bent. On the host side every step starts from a
 * descriptor of the work directory and goes by openat2 with RESOLVE_BENEATH
 * and RESOLVE_NO_SYMLINKS. A file is staged under a temporary name beside its
 * place, synced, and renamed over it. Set-id bits are not brought back.
 *
 * What the host would run later by itself (git hooks and configuration, shell
 * start-up, editor and CI files) is asked for one by one.
 *
 * LIMIT: not all or nothing: a failure in the middle leaves what was done.
 * LIMIT: that a host file changed during the run is only seen where a file
 *        was to be added or deleted and something else is there now.
 * LIMIT: changes of type (a file that became a directory) and of names
 *        outside the work directory are listed and not applied.
 */
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/fs.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "../../fs/vfs.h"
#include "cli.h"

struct change {
	enum vfs_change_kind kind;
	char *path, *old_path; /* relative to the work directory */
	mode_t mode;
	bool skip;
};

struct apply {
	const struct config *cfg;
	struct vfs *vfs;
	struct change *all;
	size_t count, outside;
	int project; /* O_PATH descriptor of the work directory */
	FILE *tty;
};

/* ---- what there is to do --------------------------------------------- */

static const char *apply_relative(const struct apply *a, const char *path)
{
	size_t len = strlen(a->cfg->project);

	if (len == 1)
		len = 0; /* "/" */
	if (strncmp(path, a->cfg->project, len) != 0 || path[len] != '/')
		return NULL;
	return path + len + 1;
}

static int apply_collect(void *arg, const struct vfs_change *c)
{
	struct apply *a = arg;
	const char *path = apply_relative(a, c->path);
	const char *old = c->old_path ? apply_relative(a, c->old_path) : NULL;
	struct change *x;

	if (!path || !*path || (c->old_path && !old)) {
		a->outside++;
		return 0;
	}
	x = realloc(a->all, (a->count + 1) * sizeof(*a->all));
	if (!x)
		return -ENOMEM;
	a->all = x;
	a->all[a->count++] = (struct change){
		.kind = c->kind, .mode = c->mode, .path = xstrdup(path),
		.old_path = old ? xstrdup(old) : NULL,
	};
	return 0;
}

static bool has_prefix(const char *s, const char *prefix)
{
	return strncmp(s, prefix, strlen(prefix)) == 0;
}

/* What other programs of the user would execute or obey later. */
static bool is_delicate(const char *path)
{
	static const char *const anywhere[] = {
		".git", ".hg", ".svn", ".vscode", ".idea", ".github",
		".gitlab-ci.yml", ".circleci", ".husky", ".envrc", ".env",
		".bashrc", ".bash_profile", ".bash_login", ".bash_logout",
		".profile", ".zshrc", ".zshenv", ".zprofile", ".zlogin",
		".login", ".cshrc", ".tcshrc", ".kshrc", ".inputrc", ".ssh",
		".gitconfig", ".gitmodules", ".gitattributes", ".vimrc",
		".exrc", ".nvim.lua", ".nvimrc", ".emacs", ".emacs.d",
		".dir-locals.el", ".gdbinit", ".lldbinit", ".mise.toml",
		".tool-versions", ".pre-commit-config.yaml", ".npmrc",
		".yarnrc.yml", ".travis.yml", "Jenkinsfile", ".config",
		".devcontainer", ".local", ".claude", ".cursor", ".mcp.json",
		".cargo", "autostart", ".xinitrc", ".xprofile", ".xsession",
	};
	static const char *const git_data[] = {
		"objects/", "refs/", "logs/", "index", "HEAD", "ORIG_HEAD",
		"packed-refs", "COMMIT_EDITMSG", "FETCH_HEAD",
	};

	if (has_prefix(path, ".git/"))
		for (size_t i = 0; i < ARRAY_SIZE(git_data); i++)
			if (has_prefix(path + 5, git_data[i]))
				return false;
	for (const char *p = path; *p;) {
		size_t len = strcspn(p, "/");

		for (size_t i = 0; i < ARRAY_SIZE(anywhere); i++)
			if (strlen(anywhere[i]) == len &&
			    strncasecmp(p, anywhere[i], len) == 0)
				return true;
		p += len + (p[len] != '\0');
	}
	return false;
}

static bool apply_yes(struct apply *a, const char *question, const char *path)
{
	struct strbuf b;
	char answer[64];

	strbuf_init(&b, 0);
	strbuf_puts(&b, question);
	strbuf_visible(&b, path, strlen(path));
	fprintf(a->tty, "cloche: %s? [y/N] ", b.data);
	fflush(a->tty);
	strbuf_fini(&b);
	if (!fgets(answer, sizeof(answer), a->tty))
		return false;
	return strcasecmp(answer, "y\n") == 0 ||
	       strcasecmp(answer, "yes\n") == 0;
}

static void apply_list(struct apply *a)
{
	struct strbuf b;

	strbuf_init(&b, 0);
	for (size_t i = 0; i < a->count; i++) {
		struct change *c = &a->all[i];

		strbuf_printf(&b, "  %c ", (char)c->kind);
		if (c->old_path) {
			strbuf_visible(&b, c->old_path, strlen(c->old_path));
			strbuf_puts(&b, " -> ");
		}
		strbuf_visible(&b, c->path, strlen(c->path));
		if (c->kind == VFS_TYPE) {
			strbuf_puts(&b, " (another type: not applied)");
			c->skip = true;
		}
		strbuf_putc(&b, '\n');
	}
	if (a->outside)
		strbuf_printf(&b, "  (and %zu outside of the work directory, "
			      "not applied)\n", a->outside);
	fputs(b.data, a->tty);
	strbuf_fini(&b);
}

/* ---- the host side --------------------------------------------------- */

/* Opens beneath the work directory without following any link. */
static int host_open(const struct apply *a, const char *path, uint64_t flags)
{
	struct open_how how = {
		.flags = flags | O_CLOEXEC,
		.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS |
			   RESOLVE_NO_MAGICLINKS,
	};
	long fd = syscall(SYS_openat2, a->project, path, &how, sizeof(how));

	return fd < 0 ? -errno : (int)fd;
}

/* The directory that holds path, and the last component in *name. */
static int host_parent(const struct apply *a, const char *path,
		       const char **name)
{
	const char *slash = strrchr(path, '/');
	AUTO_FREE char *dir = slash ? strndup(path, (size_t)(slash - path)) :
				      xstrdup(".");

	*name = slash ? slash + 1 : path;
	return host_open(a, dir, O_PATH | O_DIRECTORY);
}

static int host_rename(int dir, const char *from, const char *to, bool replace)
{
	if (renameat2(dir, from, dir, to, replace ? 0 : RENAME_NOREPLACE) == 0)
		return 0;
	return -errno;
}

static void apply_ctx(const struct apply *a, struct vcred *cred,
		      struct vfs_ctx *ctx)
{
	memset(cred, 0, sizeof(*cred));
	memset(ctx, 0, sizeof(*ctx));
	cred->uid = a->cfg->uid;
	cred->gid = a->cfg->gid;
	cred->caps = 1ULL << CAP_DAC_OVERRIDE | 1ULL << CAP_DAC_READ_SEARCH;
	ctx->vfs = a->vfs;
	ctx->cred = cred;
	ctx->root = vfs_root(a->vfs);
	ctx->cwd = ctx->root;
}

static char *apply_virtual(const struct apply *a, const char *path)
{
	const char *project = a->cfg->project;

	return xasprintf("%s/%s", strcmp(project, "/") ? project : "", path);
}

/* A read-only descriptor of the virtual file, or -errno. */
static int guest_open(const struct apply *a, const char *path)
{
	AUTO_FREE char *full = apply_virtual(a, path);
	struct vfs_at at = {.path = full};
	struct vfs_opened opened = {.fd = -1, .block_dir = -1};
	struct vcred cred;
	struct vfs_ctx ctx;
	int err, fd = -EIO;

	apply_ctx(a, &cred, &ctx);
	err = vfs_open(&ctx, &at, O_RDONLY | O_NOFOLLOW, 0, VFS_NO_SYMLINKS,
		       &opened);
	if (err)
		return err;
	if (opened.fd >= 0)
		fd = fd_take(&opened.fd);
	vfs_opened_fini(&opened);
	return fd;
}

static int copy_all(int from, int to)
{
	char buf[64 << 10];
	ssize_t n;

	while ((n = read(from, buf, sizeof(buf))) != 0) {
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		for (ssize_t done = 0, w; done < n; done += w) {
			w = write(to, buf + done, (size_t)(n - done));
			if (w < 0)
				return -errno;
		}
	}
	return 0;
}

static int put_regular(struct apply *a, const struct change *c, int dir,
		       const char *temp)
{
	AUTO_CLOSE int from = guest_open(a, c->path);
	AUTO_CLOSE int to = -1;
	int err;

	if (from < 0)
		return from;
	to = openat(dir, temp, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW |
			       O_CLOEXEC, 0600);
	if (to < 0)
		return -errno;
	err = copy_all(from, to);
	if (!err && (fchmod(to, c->mode & 0777) < 0 || fsync(to) < 0))
		err = -errno;
	return err;
}

static int put_symlink(struct apply *a, const struct change *c, int dir,
		       const char *temp)
{
	AUTO_FREE char *full = apply_virtual(a, c->path);
	struct vfs_at at = {.path = full};
	AUTO_PUT_VREF struct vref ref = {0};
	char target[PATH_LEN_MAX];
	struct vcred cred;
	struct vfs_ctx ctx;
	ssize_t n;
	int err;

	apply_ctx(a, &cred, &ctx);
	err = vfs_lookup(&ctx, &at, 0, &ref);
	if (err)
		return err;
	n = vfs_readlink(&ctx, &ref, target, sizeof(target) - 1);
	if (n < 0)
		return (int)n;
	target[n] = '\0';
	return symlinkat(target, dir, temp) < 0 ? -errno : 0;
}

/* Adds or replaces one object. */
static int apply_put(struct apply *a, const struct change *c, bool replace)
{
	const char *name;
	AUTO_CLOSE int dir = host_parent(a, c->path, &name);
	AUTO_FREE char *temp = xasprintf(".cloche-staged-%d", getpid());
	int err;

	if (dir < 0)
		return dir;
	if (S_ISDIR(c->mode))
		return mkdirat(dir, name, c->mode & 0777) < 0 ? -errno : 0;
	if (S_ISREG(c->mode))
		err = put_regular(a, c, dir, temp);
	else if (S_ISLNK(c->mode))
		err = put_symlink(a, c, dir, temp);
	else
		return -EOPNOTSUPP;
	if (!err)
		err = host_rename(dir, temp, name, replace);
	if (err)
		(void)unlinkat(dir, temp, 0);
	return err;
}

static int apply_delete(struct apply *a, const char *path)
{
	const char *name;
	AUTO_CLOSE int dir = host_parent(a, path, &name);
	struct stat st;

	if (dir < 0)
		return dir;
	if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return errno == ENOENT ? 0 : -errno;
	if (unlinkat(dir, name, S_ISDIR(st.st_mode) ? AT_REMOVEDIR : 0) < 0)
		return -errno;
	return 0;
}

static int apply_rename(struct apply *a, const struct change *c)
{
	const char *from_name, *to_name;
	AUTO_CLOSE int from = host_parent(a, c->old_path, &from_name);
	AUTO_CLOSE int to = host_parent(a, c->path, &to_name);
	int err;

	if (from < 0 || to < 0)
		return from < 0 ? from : to;
	if (S_ISDIR(c->mode))
		return renameat2(from, from_name, to, to_name,
				 RENAME_NOREPLACE) < 0 ? -errno : 0;
	/* contents may have changed too: write the new, remove the old */
	err = apply_put(a, c, true);
	return err ? err : apply_delete(a, c->old_path);
}

static int apply_mode(struct apply *a, const struct change *c)
{
	AUTO_CLOSE int fd = host_open(a, c->path, O_PATH | O_NOFOLLOW);
	char self[64];

	if (fd < 0)
		return fd;
	if (S_ISLNK(c->mode))
		return 0;
	snprintf(self, sizeof(self), "/proc/self/fd/%d", fd);
	return chmod(self, c->mode & 0777) < 0 ? -errno : 0;
}

static int apply_one(struct apply *a, const struct change *c)
{
	switch (c->kind) {
	case VFS_ADDED: return apply_put(a, c, false);
	case VFS_MODIFIED: return apply_put(a, c, true);
	case VFS_RENAMED: return apply_rename(a, c);
	case VFS_METADATA: return apply_mode(a, c);
	case VFS_DELETED: return apply_delete(a, c->path);
	case VFS_TYPE: break;
	}
	return -EOPNOTSUPP;
}

/* Additions in order (parents first), then deletions backwards. */
static size_t apply_all(struct apply *a)
{
	size_t failed = 0;

	for (size_t i = 0; i < 2 * a->count; i++) {
		bool second = i >= a->count;
		struct change *c = second ? &a->all[2 * a->count - 1 - i] :
					    &a->all[i];
		struct strbuf b;
		int err;

		if (c->skip || (c->kind == VFS_DELETED) != second)
			continue;
		err = apply_one(a, c);
		if (!err)
			continue;
		failed++;
		strbuf_init(&b, 0);
		strbuf_visible(&b, c->path, strlen(c->path));
		log_warn("%s was not applied: %s", b.data,
			 err == -EEXIST ? "the host has one by now" :
					  strerror(-err));
		strbuf_fini(&b);
	}
	return failed;
}

static void apply_confirm(struct apply *a)
{
	for (size_t i = 0; i < a->count; i++) {
		struct change *c = &a->all[i];

		if (!c->skip && (is_delicate(c->path) ||
				 (c->old_path && is_delicate(c->old_path))))
			c->skip = !apply_yes(a, "the host may later run or obey "
					     "this file; apply ", c->path);
	}
}

static void apply_free(struct apply *a)
{
	for (size_t i = 0; i < a->count; i++) {
		free(a->all[i].path);
		free(a->all[i].old_path);
	}
	free(a->all);
	if (a->tty)
		fclose(a->tty);
	auto_close_fd(&a->project);
}

int cli_apply_ask(const struct config *cfg, struct vfs *vfs)
{
	struct apply a = {.cfg = cfg, .vfs = vfs, .project = -1};
	size_t failed = 0;
	int err;

	if (!cfg->project) {
		log_warn("--apply: no work directory of the host is shown");
		return 0;
	}
	err = vfs_diff(vfs, apply_collect, &a);
	if (err || !a.count)
		goto out;
	a.tty = fopen("/dev/tty", "r+e");
	if (!a.tty) {
		log_warn("--apply ask: no terminal to ask on; nothing was "
			 "applied");
		goto out;
	}
	a.project = open(cfg->project, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (a.project < 0) {
		err = -errno;
		goto out;
	}
	fputs("cloche: changes in the work directory:\n", a.tty);
	apply_list(&a);
	if (!apply_yes(&a, "apply them to ", cfg->project))
		goto out;
	apply_confirm(&a);
	failed = apply_all(&a);
	if (failed)
		log_warn("%zu changes were not applied", failed);
out:
	if (err)
		log_host(err, "--apply");
	apply_free(&a);
	return err ? err : failed ? -EIO : 0;
}
