/*
 * cgroupfs.h - /sys/fs/cgroup: one unified cgroup, the sandbox's own, from
 * which runtimes learn their limits and use. Read-only; nothing of the host's
 * cgroups shows.
 */
#ifndef CLOCHE_CGROUPFS_H
#define CLOCHE_CGROUPFS_H

#include "vfs.h"
#include "../sentry/base/strbuf.h"

struct cgroupfs_use {
	uint64_t anon, shmem; /* bytes */
	uint64_t tasks;
	uint64_t user_us, system_us;
};

struct cgroupfs_config {
	uint64_t memory, pids; /* the sandbox's limits, 0: none */
	double cpus;
	/* What is used now, and the processes or threads, a number a line.
	 * NULL: nothing. */
	void (*use)(void *arg, struct cgroupfs_use *out);
	void (*list)(void *arg, bool threads, struct strbuf *out);
	void *arg;
};

int MUST_CHECK cgroupfs_mount(struct vfs *vfs, const char *guest,
			      const struct cgroupfs_config *cfg);

#endif
