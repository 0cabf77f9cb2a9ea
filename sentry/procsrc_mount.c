/*
 * procsrc_mount.c - mounts the file systems that speak of the sandbox itself.
 */
#include "../fs/devfs.h"
#include "../fs/procfs.h"
#include "../fs/runfs.h"
#include "../fs/sysfs.h"
#include "audit/audit.h"
#include "procsrc.h"

static void denials(void *arg, struct strbuf *out)
{
	const struct sentry *s = arg;

	if (s->audit)
		audit_denials(s->audit, out);
}

static int mount_dev(struct sentry *s, const struct procsrc_fds *fds)
{
	const struct devfs_config cfg = {
		.host_dev = fds->dev,
		.devpts = fds->devpts,
		.uid = s->cfg->uid,
		.ctty = procsrc_ctty,
		.arg = s,
	};

	return devfs_mount(s->vfs, "/dev", &cfg);
}

static int mount_sys(struct sentry *s, int fd)
{
	const struct sysfs_config cfg = {
		.host_sys = fd,
		.memory = s->cfg->limits.memory,
		.pids = s->cfg->limits.pids,
		.cpus = s->cfg->limits.cpus,
	};

	return sysfs_mount(s->vfs, "/sys", &cfg);
}

int procsrc_mount(struct sentry *s, const struct procsrc_fds *fds)
{
	const struct procfs_config proc = {procsrc_ops(), s, fds->proc};
	const struct runfs_config run = {denials, s};
	int err = procfs_mount(s->vfs, "/proc", &proc);

	if (!err)
		err = mount_dev(s, fds);
	if (!err)
		err = mount_sys(s, fds->sys);
	if (!err)
		err = runfs_mount(s->vfs, "/run/cloche", &run);
	return err;
}
