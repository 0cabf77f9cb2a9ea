/*
 * mounts.c - see mounts.h.
 *
 * The root is an overlay of the host's tree; what belongs to a running system
 * (/proc, /sys, /dev, /run) is never the host's but made by our own file
 * systems.
 */
#include "mounts.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>

#include "audit/audit.h"
#include "procsrc.h"
#include "task.h"
#include "../fs/cgroupfs.h"
#include "../fs/devfs.h"
#include "../fs/procfs.h"
#include "../fs/runfs.h"
#include "../fs/sysfs.h"
#include "../fs/textfs.h"
#include "task.h"

static void must(int ret, const char *what)
{
	if (ret)
		die("cannot make %s in the sandbox: %s", what, strerror(-ret));
}

static int open_dir(const char *path)
{
	return open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

/* Making the skeleton is our own doing: with all virtual rights. */
static void as_root(struct sentry *s, struct vcred *cred, struct vfs_ctx *ctx)
{
	memset(cred, 0, sizeof(*cred));
	memset(ctx, 0, sizeof(*ctx));
	cred->caps = ~0ULL;
	ctx->vfs = s->vfs;
	ctx->cred = cred;
	ctx->root = ctx->cwd = vfs_root(s->vfs);
}

static void make_dir(struct sentry *s, const char *path, mode_t mode,
		     bool owned)
{
	struct vfs_attr attr = {
		.valid = VFS_ATTR_MODE | VFS_ATTR_UID | VFS_ATTR_GID,
		.mode = mode,
		.uid = owned ? s->cfg->uid : 0,
		.gid = owned ? s->cfg->gid : 0,
	};
	struct vfs_at at = {.path = path};
	struct vref ref = {0};
	struct vfs_ctx ctx;
	struct vcred cred;
	int ret;

	as_root(s, &cred, &ctx);
	ret = vfs_mkdir(&ctx, &at, mode);
	if (ret && ret != -EEXIST)
		die("cannot make %s in the sandbox: %s", path, strerror(-ret));
	ret = vfs_lookup(&ctx, &at, VFS_FOLLOW, &ref);
	if (!ret)
		ret = vfs_setattr(&ctx, &ref, &attr);
	vref_put(&ref);
	must(ret, path);
}

static void mount_run(struct sentry *s)
{
	struct runfs_config run = {
		.denials = (void (*)(void *, struct strbuf *))audit_denials,
		.arg = s->audit,
	};
	char user[64];

	must(vfs_mount_tmpfs(s->vfs, "/run", 0755, 0), "/run");
	make_dir(s, "/run/lock", 01777, false);
	make_dir(s, "/run/user", 0755, false);
	snprintf(user, sizeof(user), "/run/user/%u", s->cfg->uid);
	make_dir(s, user, 0700, true);
	must(runfs_mount(s->vfs, "/run/cloche", &run), "/run/cloche");
}

static void mount_system(struct sentry *s, int devpts_fd)
{
	struct procfs_config proc = {
		.src = procsrc_ops(),
		.arg = s,
		.host_proc = open_dir("/proc"),
	};
	struct devfs_config dev = {
		.host_dev = open_dir("/dev"),
		.devpts = devpts_fd,
		.uid = s->cfg->uid,
		.ctty = procsrc_ctty,
		.arg = s,
	};
	struct sysfs_config sys = {
		.host_sys = open_dir("/sys"),
	};
	struct cgroupfs_config cgroup = {
		.memory = s->cfg->limits.memory,
		.pids = s->cfg->limits.pids,
		.cpus = s->cfg->limits.cpus,
		.use = procsrc_use,
		.list = procsrc_list,
		.arg = s,
	};

	must(procfs_mount(s->vfs, "/proc", &proc), "/proc");
	must(sysfs_mount(s->vfs, "/sys", &sys), "/sys");
	must(cgroupfs_mount(s->vfs, "/sys/fs/cgroup", &cgroup),
	     "/sys/fs/cgroup");
	must(devfs_mount(s->vfs, "/dev", &dev), "/dev");
	must(vfs_mount_tmpfs(s->vfs, "/dev/shm", 01777, 0), "/dev/shm");
	mount_run(s);
}

static int look_up(struct sentry *s, const char *path, unsigned flags)
{
	struct vfs_at at = {.path = path};
	struct vref ref = {0};
	struct vfs_ctx ctx;
	struct vcred cred;
	int ret;

	as_root(s, &cred, &ctx);
	ret = vfs_lookup(&ctx, &at, VFS_FOLLOW | flags, &ref);
	vref_put(&ref);
	return ret;
}

/* What programs rely on and a tree of --root need not have. */
static void mount_missing(struct sentry *s)
{
	char name[65] = "", text[192];

	if (look_up(s, "/tmp", 0) == -ENOENT)
		must(vfs_mount_tmpfs(s->vfs, "/tmp", 01777, 0), "/tmp");
	if (look_up(s, "/etc", VFS_DIRECTORY) ||
	    look_up(s, "/etc/hosts", 0) != -ENOENT)
		return;
	if (gethostname(name, sizeof(name) - 1) < 0)
		name[0] = '\0';
	snprintf(text, sizeof(text),
		 "127.0.0.1 localhost %s\n"
		 "::1 localhost ip6-localhost ip6-loopback\n",
		 name);
	must(textfs_mount(s->vfs, "/etc/hosts", text), "/etc/hosts");
}

static void mount_rule(struct sentry *s, const struct file_rule *r)
{
	int ret = 0;

	if (r->access == FILE_TMPFS)
		ret = vfs_mount_tmpfs(s->vfs, r->guest, 01777, 0);
	else if (r->access == FILE_RW)
		ret = vfs_mount_host(s->vfs, r->path, r->guest, VFS_MNT_DIRECT);
	else if (r->access == FILE_RO &&
		 (s->cfg->root || strcmp(r->path, r->guest)))
		ret = vfs_mount_host(s->vfs, r->path, r->guest, VFS_MNT_RO);
	if (ret)
		die("%s: cannot show %s at %s: %s", r->origin, r->path,
		    r->guest, strerror(-ret));
}

void mounts_build(struct sentry *s, int devpts_fd)
{
	const struct config *cfg = s->cfg;
	const char *root = cfg->root ? cfg->root : "/";
	int ret = vfs_mount_host(s->vfs, root, "/", 0);

	if (ret)
		die("cannot show %s as the root: %s", root, strerror(-ret));
	mount_system(s, devpts_fd);
	if (cfg->root)
		mount_missing(s);
	for (size_t i = 0; i < cfg->nfiles; i++)
		mount_rule(s, &cfg->files[i]);
	/* System trees are taken as fixed, what is worked on is not. Where it
	 * is missing, the start says so. */
	if (strcmp(cfg->workdir, "/"))
		(void)!vfs_host_changes(s->vfs, cfg->workdir);
}
