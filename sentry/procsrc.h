/*
 * procsrc.h - what the sandbox's /proc, /dev, /sys and /run/cloche say about
 * tasks: the struct proc_source of fs/procfs.h, made from the task table and
 * from the host's /proc with its pids turned into the sandbox's.
 */
#ifndef CLOCHE_PROCSRC_H
#define CLOCHE_PROCSRC_H

#include "sentry.h"

/* Directory descriptors of the host, opened before the sentry confines
 * itself; all are taken, in failure too. */
struct procsrc_fds {
	int proc, sys, dev; /* O_RDONLY | O_DIRECTORY */
	int devpts;	    /* the sandbox's own instance, -1: none */
};

/* Mounts /proc, /dev, /sys and /run/cloche into s->vfs. Only s->vfs and
 * s->cfg need to be set; tasks are asked for when a guest looks. */
int MUST_CHECK procsrc_mount(struct sentry *s, const struct procsrc_fds *fds);

#endif
