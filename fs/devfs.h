/*
 * devfs.h - /dev of a sandbox: a handful of devices, pseudo terminals, links.
 *
 * Devices are opened on the host, after their numbers were checked, and the
 * real descriptor is given out; terminals come from a devpts instance of the
 * sandbox's own.
 */
#ifndef CLOCHE_DEVFS_H
#define CLOCHE_DEVFS_H

#include "vfs.h"

struct devfs_config {
	int host_dev; /* the host's /dev, O_DIRECTORY; taken */
	int devpts;   /* root of the sandbox's devpts, -1: none; taken. Mount
		       * it with ptmxmode=0666 */
	uid_t uid;    /* whom its terminals belong to */
	/* The pty number of the viewer's controlling terminal, or -ENXIO. */
	int (*ctty)(void *arg, const struct vfs_ctx *ctx);
	void *arg;
};

int MUST_CHECK devfs_mount(struct vfs *vfs, const char *guest,
			   const struct devfs_config *cfg);

#endif
