/*
 * exec_priv.h - what exec.c and exec_resolve.c share.
 */
#ifndef CLOCHE_EXEC_PRIV_H
#define CLOCHE_EXEC_PRIV_H

#include "exec.h"
#include "task.h"
#include "../loader/elf.h"
#include "../loader/planmake.h"

enum { EXEC_STUB_MAX = 4096 };

/* A program or an interpreter, opened. */
struct exec_image {
	struct list link; /* sentry.images, latest first; else alone */
	unsigned refs;
	int fd;
	struct inode *inode; /* counted; NULL: not kept */
	/* By exec_image_read: */
	bool is_interp;
	struct stat st; /* before it was read */
	struct elf_info info;
};

/* The effective ids of the program, decided with its image. */
struct exec_ids {
	uid_t euid;
	gid_t egid;
	bool changed; /* not the real ones: AT_SECURE */
};

/* A program that has been resolved and opened, and how to start it. */
struct exec_plan {
	struct exec_ids ids;
	struct plan plan;
	struct exec_image *program, *interp; /* counted; or NULL */
	struct vref exe;		     /* counted */
	char exe_path[PATH_LEN_MAX + 16];
	bool committed; /* the kernel has run the stub for it */
};

/* What a guest asked to execute, copied from it once. */
struct exec_request {
	struct task *task; /* under the state lock */
	int dirfd;
	int flags; /* AT_* of execveat */
	char path[PATH_LEN_MAX];
	unsigned refused_mask; /* set if policy was the reason */
	uint32_t refused_rule;
};

/* exec_stub.c. The stopped call becomes execve of the stub; known: where the
 * guest's memory has its path, or 0. 0 or -errno. */
struct __ptrace_syscall_info;
struct ttrace;
int MUST_CHECK exec_enter_stub(struct sentry *s, pid_t tid, struct ttrace *tt,
			       const struct __ptrace_syscall_info *i,
			       gaddr_t known);
/* The kernel refused it: registers and memory are as they were. *again: it was
 * the known path's fault, and the call will be made anew. -errno: kill. */
int MUST_CHECK exec_leave_stub(struct sentry *s, pid_t tid, struct ttrace *tt,
			       bool *again);
/* At the exec event: LAW 2. *path: where its memory has the stub's path. */
bool exec_runs_stub(struct sentry *s, pid_t tid, gaddr_t *path);

/*
 * Resolves program, "#!" chain and interpreter in the virtual tree and fills
 * *out (owned; exec_plan_destroy). 0 or the errno that execve(2) gives.
 * Takes and drops the state lock.
 */
int MUST_CHECK exec_resolve(struct sentry *s, pid_t tid,
			    struct exec_request *req, struct exec_plan **out);
void exec_plan_destroy(struct exec_plan *p);

/* exec_image.c, under the state lock. fd is taken. */
struct exec_image *exec_image_new(int fd);
void exec_image_put(struct exec_image *im);
/* A kept image of what was looked up, counted. 0; 1: there is none; -errno: it
 * may not be executed. */
int MUST_CHECK exec_image_find(struct sentry *s, struct vfs_ctx *ctx,
			       const struct vref *ref, bool interp,
			       struct exec_image **out);
/* For later, if it may be. */
void exec_image_keep(struct sentry *s, struct exec_image *im,
		     struct inode *inode);
/* Not under the lock: reads the headers of a new image. 1: a script, whose
 * SCRIPT_HEAD bytes are in head, if that was given. Else as elf_read_*. */
int MUST_CHECK exec_image_read(struct exec_image *im, bool interp, char *head);

#endif
