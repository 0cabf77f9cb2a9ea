/*
 * onetask.h - a sentry with one task and a VFS of one tmpfs at /tmp, for the
 * tests of system calls. Included by one .c file per program; needs root or
 * not, and no namespaces: the store is a directory in the host's /tmp.
 */
#ifndef CLOCHE_TEST_ONETASK_H
#define CLOCHE_TEST_ONETASK_H

#include <criterion/criterion.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>

#include "../../sentry/notify.h"
#include "../../sentry/policy/policy.h"

static struct sentry sentry;
static struct config cfg = {
	.profile = "agent",
	.home = "/nonexistent",
	.workdir = "/tmp",
	.project = "/nonexistent",
	.username = "user",
	.audit_head_fd = -1,
};
static struct fsctx fs;
static struct taskcred cred;
static struct tgroup tg;
static struct task task;

static char store[] = "/tmp/filecalls-XXXXXX";

/* One rule: /tmp/secret is hidden. */
static unsigned mask_test(void *arg, const char *path, unsigned inherited,
			  uint32_t *rule)
{
	(void)arg;
	if (strcmp(path, "/tmp/secret"))
		return inherited;
	*rule = 1;
	return VFS_MASK_HIDE;
}

static void start(void)
{
	struct vfs_config vc = {.store_emulated = true,
				.mask = mask_test,
				.owner_uid = getuid(),
				.owner_gid = getgid(),
				.quota_bytes = 1 << 20};

	cr_assert(mkdtemp(store));
	vc.store_fd = open(store, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	pthread_mutex_init(&sentry.lock, NULL);
	sentry.cfg = &cfg;
	sentry.listener = -1;
	list_init(&sentry.tgroups);
	htable_init(&sentry.tasks);
	htable_init(&sentry.tgroups_by_pid);
	cr_assert_eq(policy_new(&cfg, &sentry.policy), 0);
	cr_assert_eq(audit_open(cfg.audit, "t", -1, &sentry.audit), 0);
	cr_assert_eq(vfs_new(&vc, &sentry.vfs), 0);
	cr_assert_eq(vfs_mount_tmpfs(sentry.vfs, "/tmp", 01777, 0), 0);
	fs.root = dentry_get(vfs_root(sentry.vfs));
	fs.cwd = dentry_get(vfs_root(sentry.vfs));
	fs.umask = 022;
	cred.ruid = cred.euid = cred.fsuid = 1000;
	cred.rgid = cred.egid = cred.fsgid = 1000;
	tg.pid = tg.vpid = getpid();
	tg.pidfd = -1;
	tg.nofile.rlim_cur = 1024;
	task.refs = 100;
	task.tg = &tg;
	task.tid = task.vtid = gettid();
	task.fs = &fs;
	task.cred = &cred;
	list_init(&tg.tasks);
	list_add_tail(&tg.tasks, &task.list);
	htable_add(&sentry.tasks, &task.by_tid, 0);
}

static int store_remove(const char *path, const struct stat *st, int type,
			struct FTW *ftw)
{
	(void)st, (void)type, (void)ftw;
	return remove(path);
}

static void stop(void)
{
	nftw(store, store_remove, 16, FTW_DEPTH | FTW_PHYS);
}

#endif
