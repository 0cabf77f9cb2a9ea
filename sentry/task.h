/*
 * task.h - guest threads and processes as the sentry sees them.
 *
 * A struct task is a thread, a struct tgroup a process, a struct fsctx what
 * CLONE_FS shares. They are made by the tracer at fork/clone/exec events,
 * before the new thread runs its first instruction, so a notification always
 * finds its task. All fields are under the state lock (sentry.h) unless said.
 */
#ifndef CLOCHE_TASK_H
#define CLOCHE_TASK_H

#include <sys/resource.h>

#include "base/base.h"
#include "base/hash.h"
#include "base/list.h"
#include "affinity.h"
#include "../fs/vfs.h"

struct sentry;

/* cwd, root and umask; shared by CLONE_FS, copied by fork. */
struct fsctx {
	unsigned refs;
	struct dentry *root, *cwd; /* counted */
	mode_t umask;
};

/* Virtual credentials; copied on write, shared by reference. */
struct taskcred {
	unsigned refs;
	uid_t ruid, euid, suid, fsuid;
	gid_t rgid, egid, sgid, fsgid;
	gid_t groups[64];
	size_t ngroups;
	uint64_t cap_effective, cap_permitted, cap_inheritable, cap_bounding,
		cap_ambient;
	unsigned securebits;
	bool no_new_privs; /* as the guest sees it; really it always is */
};

struct tgroup {
	unsigned refs;	  /* one per task in the table */
	struct list list; /* sentry.tgroups */
	struct hnode by_pid;
	struct list tasks;
	unsigned ntasks;
	pid_t pid;  /* host */
	pid_t vpid; /* in the sandbox's pid namespace; 0: not yet asked */
	int pidfd;  /* kept open for pidfd_getfd */
	struct tgroup *parent; /* borrowed; init's children: init; or NULL */
	struct vref exe;       /* the running program; counted */
	char *exe_path;	       /* its virtual path at exec time */
	uint32_t writer;       /* vfs_writer; 0: it has changed nothing yet */
	uint32_t execs;	       /* programs that it has run so far */
	char *comm_args;       /* NULL; reserved for /proc cmdline */
	struct rlimit nofile, core; /* virtual values */
	bool dumpable;		    /* PR_SET_DUMPABLE, virtual */
	uint64_t aio_events;	    /* asked of io_setup since the last exec */
	bool persona_set; /* personality(2) was called, here or before */
	uint64_t start_ns;
	gaddr_t stub_path; /* where its memory names the stub; 0: not known */
	struct list posix_locks; /* locks.c */
	void *exec_plan;	 /* exec.c: pending plan of this exec */
};

struct task {
	unsigned refs;	  /* the table's and one per call in flight */
	bool dead;	  /* left the table; ids are void */
	struct list list; /* tgroup.tasks */
	struct hnode by_tid;
	struct tgroup *tg;
	pid_t tid;  /* host */
	pid_t vtid; /* 0: not yet asked; use task_vtid() */
	struct fsctx *fs;
	struct taskcred *cred;
	int continued_nr; /* call that was last let run natively; -1: answered
			   */
	bool own_files;	  /* unshared its descriptors from its process */
	bool released;	  /* a blocked call was just given back with -512 */
	int fd_table;	  /* /proc/TID/fd, once it was needed; or -1 */
	struct list fd_table_list; /* sentry.fd_tables, while it is open */
	uint8_t room_asked;	   /* failed opens, up to some */
	void *trace;		   /* tracer's own state (trace.c) */
	struct affinity_task affinity;
};

/* The table. task_new makes the first thread of a process (tg == NULL; parent
 * may be NULL) or one more thread of tg; flags are clone(2)'s. task_exit takes
 * it out (and its process with the last thread). task_put frees. */
struct task *task_new(struct sentry *s, struct task *parent, pid_t tid,
		      unsigned long flags);
struct task *task_new_first(struct sentry *s, pid_t tid, struct fsctx *fs,
			    struct taskcred *cred);
void task_exit(struct sentry *s, struct task *t);
void task_put(struct task *t);
/* A non-leader thread called exec: it takes over the process's number, every
 * other thread is gone. */
void task_exec_rename(struct sentry *s, struct task *t, pid_t tid);
/* Its own fsctx after exec or unshare-like events. */
struct fsctx *fsctx_new(struct dentry *root, struct dentry *cwd, mode_t umask);
void fsctx_put(struct fsctx *fs);

/* Without the lock, by who holds a reference: is tid this thread, now that it
 * makes a call, and nothing of its last call left to be settled? A number is
 * given to another thread only when the tracer has marked the one before. */
static inline bool task_still(const struct task *t, pid_t tid)
{
	return __atomic_load_n(&t->tid, __ATOMIC_RELAXED) == tid &&
	       !__atomic_load_n(&t->dead, __ATOMIC_ACQUIRE) &&
	       !__atomic_load_n(&t->released, __ATOMIC_RELAXED);
}

/* Borrowed; NULL if unknown. */
struct task *task_find(struct sentry *s, pid_t tid);
struct tgroup *tgroup_find(struct sentry *s, pid_t pid);
struct tgroup *tgroup_find_virtual(struct sentry *s, pid_t vpid);
struct task *task_find_virtual(struct sentry *s, pid_t vtid);
/* Host to pid-namespace ids (0 if it has gone); caches. */
pid_t task_vtid(struct task *t);
pid_t tgroup_vpid(struct tgroup *tg);
/* Any host pid to the sandbox's number for it: 0 if it is not in there. */
pid_t task_pid_to_virtual(struct sentry *s, pid_t host_pid);

/* A copy of the thread's descriptor: owned, or -errno. */
int task_copy_fd(struct task *t, int gfd);
/* Its table of descriptors as a directory of /proc, kept open while few others
 * are asked for: borrowed until the next call, or -errno. */
int task_fd_table(struct sentry *s, struct task *t);

/* Copy on write: returns t's own, writable credentials. */
struct taskcred *task_cred_own(struct task *t);
/* Takes a reference to cred in place of t's own; drops a reference. */
void task_cred_set(struct task *t, struct taskcred *cred);
void task_cred_put(struct taskcred *cred);
/* Fills a vcred that borrows from t->cred. use_real: as access(2) does. */
void task_vcred(const struct task *t, bool use_real, struct vcred *out);

#endif
