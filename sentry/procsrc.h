/*
 * procsrc.h - what the sandbox's /proc and /dev say about tasks: the struct
 * proc_source of fs/procfs.h, made from the task table and from the host's
 * /proc with its pids turned into the sandbox's.
 */
#ifndef CLOCHE_PROCSRC_H
#define CLOCHE_PROCSRC_H

#include "sentry.h"

struct cgroupfs_use;
struct proc_source;
struct strbuf;

/* Callbacks for procfs_mount; their arg is the struct sentry. Tasks are asked
 * for when a guest looks, so it may be mounted before there are any. */
const struct proc_source *procsrc_ops(void);

/* For devfs: the pty number of the viewer's controlling terminal, or -ENXIO.
 * arg is the struct sentry. */
int procsrc_ctty(void *arg, const struct vfs_ctx *ctx);

/* For cgroupfs; arg is the struct sentry. */
void procsrc_use(void *arg, struct cgroupfs_use *out);
void procsrc_list(void *arg, bool threads, struct strbuf *out);

#endif
