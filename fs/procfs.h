/*
 * procfs.h - /proc of a sandbox: its own processes and nothing else.
 *
 * fs/ knows no task. What a process is comes from a struct proc_source, a
 * table of callbacks given by the sentry; all pids here are the numbers that
 * the guest sees. The tree is made of tables only: no name reaches the host's
 * /proc unless a row says so, and what is read there is copied into a
 * snapshot, except for a few system-wide files that hold nothing private.
 *
 * Called under the sentry's state lock, like all of the VFS.
 */
#ifndef CLOCHE_PROCFS_H
#define CLOCHE_PROCFS_H

#include "vfs.h"
#include "../sentry/base/strbuf.h"

/* The text of /proc/filesystems. */
extern const char procfs_filesystems[];

/* A process (tid 0) or one of its threads, in the guest's numbers. */
struct proc_key {
	pid_t pid, tid;
};

/* Per-process files whose content comes from the source. */
enum proc_file {
	PROC_STAT,
	PROC_STATUS,
	PROC_STATM,
	PROC_CMDLINE,
	PROC_COMM,
	PROC_ENVIRON,
	PROC_MAPS,
	PROC_SMAPS,
	PROC_SMAPS_ROLLUP,
	PROC_LIMITS,
	PROC_AUXV,
	PROC_IO,
	PROC_OOM_SCORE,
	PROC_OOM_SCORE_ADJ,
	PROC_OOM_ADJ,
	PROC_SCHED,
	PROC_SCHEDSTAT,
	PROC_PERSONALITY,
	PROC_TIMERSLACK,
	PROC_COREDUMP_FILTER,
	PROC_ATTR_CURRENT,
	PROC_CHILDREN,
	PROC_MOUNTS,
	PROC_MOUNTINFO,
	PROC_MOUNTSTATS,
	PROC_FDINFO,
	PROC_CLEAR_REFS, /* written only */
	PROC_KSM_PAGES,
	PROC_KSM_STAT,
	PROC_NUMA_MAPS,
	PROC_TIMERS,
	PROC_FILES
};

enum proc_link { PROC_EXE, PROC_CWD, PROC_ROOT };

/* System-wide texts that need the source. */
enum proc_global { PROC_LOADAVG, PROC_NET, PROC_LOCKS, PROC_PRESSURE };

/* One descriptor of a guest process. */
struct proc_fd {
	struct vref ref;	      /* counted; inode NULL if not the VFS's */
	int copy;		      /* owned copy of it, -1 if ref is set */
	int flags;		      /* F_GETFL of it */
	struct stat st;		      /* of copy */
	char text[PATH_LEN_MAX + 16]; /* what readlink(2) shows */
};

struct proc_owner {
	uid_t uid; /* effective */
	gid_t gid;
	bool dumpable;	     /* else all but its directories are root's */
	uint64_t generation; /* tells it from a later one of this pid */
};

struct proc_source {
	/* Once, by procfs_mount: the host's /proc, borrowed. May be NULL. */
	void (*attach)(void *arg, int host_proc);
	/* The next process (tid 0 at first) or thread after `after`, in
	 * ascending order; 0 at the end. */
	pid_t (*next_pid)(void *arg, pid_t after);
	pid_t (*next_tid)(void *arg, pid_t pid, pid_t after);
	/* Who looks: guest's numbers of ctx->viewer_*; -ENOENT if none. */
	int (*viewer)(void *arg, const struct vfs_ctx *ctx,
		      struct proc_key *out);
	/* Who a process is; -ESRCH once it is gone. */
	int (*owner)(void *arg, struct proc_key key, struct proc_owner *out);
	/* May the viewer look into it (ptrace(2), PTRACE_MODE_READ)? 0 or
	 * -EACCES, -ESRCH. */
	int (*may_access)(void *arg, const struct vfs_ctx *ctx,
			  struct proc_key key);
	/* The whole text of a file; fd is for PROC_FDINFO only. */
	int (*text)(void *arg, struct vfs_ctx *ctx, struct proc_key key,
		    enum proc_file what, int fd, struct strbuf *out);
	/* A descriptor of the host's file, for what is written through it
	 * (comm, oom_score_adj): the kernel checks who writes. */
	int (*open_host)(void *arg, struct proc_key key, enum proc_file what,
			 int flags, int *fd);
	/* The object behind exe, cwd, root (counted), and its text. */
	int (*link)(void *arg, struct vfs_ctx *ctx, struct proc_key key,
		    enum proc_link what, struct vref *out, char *text,
		    size_t size);
	/* The lowest descriptor number >= from, or -1; not itself checked. */
	int (*next_fd)(void *arg, struct proc_key key, int from);
	int (*fd)(void *arg, struct vfs_ctx *ctx, struct proc_key key, int fd,
		  struct proc_fd *out);
	int (*global)(void *arg, struct vfs_ctx *ctx, enum proc_global what,
		      const char *name, struct strbuf *out);
};

struct procfs_config {
	const struct proc_source *src; /* borrowed, lives as long as the vfs */
	void *arg;
	int host_proc; /* the host's /proc, O_DIRECTORY; taken */
};

/* Mounts it at guest ("/proc"). */
int MUST_CHECK procfs_mount(struct vfs *vfs, const char *guest,
			    const struct procfs_config *cfg);

/* Text of /proc/mounts and the like for the whole tree as seen from root. */
void procfs_mounts_text(struct vfs *vfs, const struct dentry *root,
			enum proc_file what, struct strbuf *out);

#endif
