/*
 * sysfs.h - the part of /sys from which runtimes learn CPU counts and memory
 * layout. Read-only.
 */
#ifndef CLOCHE_SYSFS_H
#define CLOCHE_SYSFS_H

#include "vfs.h"

struct sysfs_config {
	int host_sys; /* the host's /sys, O_DIRECTORY; taken */
};

int MUST_CHECK sysfs_mount(struct vfs *vfs, const char *guest,
			   const struct sysfs_config *cfg);

#endif
