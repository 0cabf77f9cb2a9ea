/*
 * procsrc_priv.h - shared by procsrc*.c only.
 */
#ifndef CLOCHE_PROCSRC_PRIV_H
#define CLOCHE_PROCSRC_PRIV_H

#include "../fs/procfs.h"
#include "task.h"
#include "sentry.h"

struct procsrc {
	struct sentry *s;
	int proc; /* the host's /proc; borrowed */
};

/* From the arg of a callback. */
static inline struct procsrc *procsrc_of(void *arg)
{
	return ((struct sentry *)arg)->procsrc;
}

/* A process or thread, found. For the sandbox's init, of whom a guest learns
 * no more than that it is there, tg and t are NULL. */
struct proctarget {
	struct tgroup *tg;
	struct task *t; /* the thread asked for, or the first one */
	pid_t pid, tid; /* host; tid 0: the process as a whole */
	pid_t vpid, vtid;
};

int MUST_CHECK procsrc_target(struct procsrc *ps, struct proc_key key,
			      struct proctarget *out);
pid_t procsrc_init_pid(const struct procsrc *ps);
/* "PID/NAME" or "PID/task/TID/NAME" of the host. */
void procsrc_path(const struct proctarget *t, const char *name, char *buf,
		  size_t size);
int MUST_CHECK procsrc_read(struct procsrc *ps, const struct proctarget *t,
			    const char *name, struct strbuf *out);

/* proc_source's text, global, link, next_fd, fd: arg is the sentry. */
int procsrc_text(void *arg, struct vfs_ctx *ctx, struct proc_key key,
		 enum proc_file what, int fd, struct strbuf *out);
int procsrc_global(void *arg, struct vfs_ctx *ctx, enum proc_global what,
		   const char *name, struct strbuf *out);
int procsrc_link(void *arg, struct vfs_ctx *ctx, struct proc_key key,
		 enum proc_link what, struct vref *out, char *text,
		 size_t size);
int procsrc_next_fd(void *arg, struct proc_key key, int from);
int procsrc_fd(void *arg, struct vfs_ctx *ctx, struct proc_key key, int fd,
	       struct proc_fd *out);
/* maps and smaps. */
int procsrc_maps(struct procsrc *ps, struct vfs_ctx *ctx,
		 const struct proctarget *t, const char *name,
		 struct strbuf *out);
/* What the host says of nodes, with the guest's paths. */
int procsrc_numa_maps(struct procsrc *ps, struct vfs_ctx *ctx,
		      const struct proctarget *t, struct strbuf *out);

#endif
