/*
 * call.h - one notified system call on its way through the sentry.
 *
 * dispatch.c (syscalls/) decodes the arguments by the row's spec *once*, into
 * the call's arena: paths, strings and structures are read from the guest
 * there and nowhere else; handlers work on the copies and queue what is to be
 * written back. The handler runs with the state lock held (it may drop it by
 * call_unlock/call_lock) and returns what the guest's call returns.
 *
 * LAW 1 (copy once): a handler that needs more guest memory than its spec
 *   copied reads it by call_read before it decides, and never twice.
 * LAW 2 (no check-then-continue): CALL_CONTINUE is honoured only for rows
 *   whose class is `pass`; notify.c enforces that.
 */
#ifndef CLOCHE_CALL_H
#define CLOCHE_CALL_H

#include <linux/seccomp.h>
#include <sys/socket.h>

#include "audit/audit.h"
#include "base/base.h"
#include "task.h"

struct sentry;
struct sysrow; /* syscalls/table.h */
struct iovec;

/* Special results of a handler; outside the range of errno and of values. */
#define CALL_DONE     INT64_MIN	      /* already answered (descriptor) */
#define CALL_CONTINUE (INT64_MIN + 1) /* let the kernel run it */
#define CALL_DEFERRED (INT64_MIN + 2) /* a worker will finish it */

#define CALL_OUT_MAX 4 /* queued writes to the guest */
#define CALL_FD_MAX  8 /* copies of guest descriptors held */
#define CALL_ARENA   (64u << 10)

struct call_out {
	gaddr_t addr;
	const void *data; /* in the arena or static */
	size_t len;
};

struct call {
	struct sentry *s;
	struct task *task; /* NULL once the task is gone; check after relock */
	pid_t tid;
	uint64_t id;
	int nr;
	uint32_t arch;
	uint64_t args[6];
	const struct sysrow *row;
	struct vfs_ctx vfs;	/* filled by dispatch from the task */
	struct vcred vcred;	/* what vfs.cred points to */
	struct dentry *view[2]; /* counted: vfs.root and vfs.cwd, which another
				 * thread may change while the call waits;
				 * until the handler has ended */
	const char *str[6];	/* decoded path/string arguments, or NULL */
	size_t str_len[6];
	const void *mem[6]; /* decoded fixed-size structures, or NULL */
	size_t mem_len[6];
	struct call_out out[CALL_OUT_MAX];
	unsigned nout;
	int fds[CALL_FD_MAX];
	unsigned nfds;
	struct audit_event ev; /* ev.path etc. are set by helpers */
	struct strbuf stack;   /* observe.c: members for the record */
	uint64_t start_ns;     /* audit_now; 0: no records are written */
	uint64_t answered_ns;  /* with a descriptor: the guest runs from then
				* on, before we do; 0: not so */
	/* interruption: set by the loop while the call blocks in a worker */
	volatile int cancel;
	int64_t (*block_fn)(struct call *c, void *arg);
	void *block_arg;
	struct list link; /* queues of workers and of the loop */
	/* dispatch and pathfd (syscalls/): the decoded state of the call */
	int arg_err[6]; /* -EFAULT, -ENAMETOOLONG ... of a NULL str or mem */
	const char *resolved[6]; /* virtual paths for the record, or NULL */
	struct vref dirs[2];	 /* counted: what dirfds referred to */
	struct vfs_at at[2];	 /* what call_at gave out, bases in dirs */
	struct vfs_trail trail[VFS_TRAILS]; /* of at, where want_text */
	unsigned nat;
	const char *types; /* of the row's spec, once decoded; borrowed */
	bool is_plan;	   /* the stub asked for its plan */
	bool decoded, want_text, finished;
	bool ran;     /* the handler did, if only until it wanted a worker */
	bool in_root; /* openat2's RESOLVE_IN_ROOT: a base is the root, too */
	bool close_first; /* a descriptor given out is watched: our copy must
			   * not be the last one to be closed */
	bool by_fd; /* an empty path meant the descriptor: no name decided */
	size_t arena_mark; /* arena_used after decoding */
	size_t arena_used;
	/* What follows stays when the call is recycled. */
	char kept[0];
	struct strbuf args_text; /* emptied before use */
	unsigned char *arena;	 /* CALL_ARENA bytes, of former calls' data */
};

/* Closes our copies of guest descriptors. */
void call_close_fds(struct call *c);
/* Scratch memory of this call; gone at the reply. NULL if it does not fit
 * (a guest's size asked too much: return -ENOMEM). */
void *call_alloc(struct call *c, size_t size);
/* The same in two steps, and not zeroed: room for size bytes, or NULL; then how
 * many of them are kept. Nothing else is allocated in between. */
void *call_room(struct call *c, size_t size);
void call_keep(struct call *c, size_t size);

/* Guest memory, by process_vm_readv/writev: page protection is honoured.
 * -EFAULT. Never under the state lock longer than one copy. */
int MUST_CHECK call_read(struct call *c, gaddr_t addr, void *buf, size_t len);
int MUST_CHECK call_write(struct call *c, gaddr_t addr, const void *buf,
			  size_t len);
/* A NUL-terminated string: its length, -EFAULT, or -ENAMETOOLONG if there is
 * no NUL in the first `size` bytes. */
ssize_t MUST_CHECK call_read_str(struct call *c, gaddr_t addr, char *buf,
				 size_t size);
/* Queues a write that is done after the handler, before the reply; data must
 * be in the arena or static. A fault there makes the call return -EFAULT. */
void call_out(struct call *c, gaddr_t addr, const void *data, size_t len);

/* The sentry's own copy of a guest descriptor, closed at the end of the call.
 * >= 0, -EBADF. Decide and act on this copy only (law 2). */
int MUST_CHECK call_fd(struct call *c, gfd_t fd);
/* Injects fd (consumed) as the lowest free descriptor and answers the call
 * with its number: returns CALL_DONE, or -EMFILE and the like. */
int64_t call_return_fd(struct call *c, int fd, bool cloexec);
/* Injects fd (consumed) without answering: the new number or -errno. With
 * at >= 0 it replaces that number (dup2). */
int MUST_CHECK call_inject_fd(struct call *c, int fd, bool cloexec, int at);

/* As call_return_fd, but fd stays the caller's. */
int64_t call_answer_copy(struct call *c, int fd, bool cloexec);
/* As call_inject_fd at the lowest free number, but fd stays the caller's. */
int MUST_CHECK call_inject_copy(struct call *c, int fd, bool cloexec);

/* Runs fn(c, arg) on a worker without the state lock; it may block: c->cancel
 * is set and the thread gets a signal when a guest signal is pending, and fn
 * should then return -EINTR. Its result is the call's (including CALL_DONE).
 * Returns CALL_DEFERRED, or -EAGAIN/-ENOMEM when there are too many. */
int64_t call_block(struct call *c, int64_t (*fn)(struct call *, void *),
		   void *arg);
/* For workers: takes the lock and checks that the task still lives (false:
 * gone; the lock is held in both cases). */
bool call_lock(struct call *c);
void call_unlock(struct call *c);
/* With the lock: forgets the root and cwd that the call was made with. */
void call_drop_view(struct call *c);
/* Runs a vfs_job on a worker and then the handler again from the start. */
int64_t call_run_job(struct call *c, struct vfs_job *job);

/* Marks the record: verdict deny with a rule and the option that would help.
 * Refused by policy (c->vfs.refused_mask) is filled in by dispatch itself. */
void call_deny(struct call *c, const char *rule, const char *hint);
/* Makes `path` (resolved, virtual) the record's path. Copied. */
void call_audit_path(struct call *c, const char *path);

#endif
