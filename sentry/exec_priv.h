/*
 * exec_priv.h - what exec.c and exec_resolve.c share.
 */
#ifndef CLOCHE_EXEC_PRIV_H
#define CLOCHE_EXEC_PRIV_H

#include "task.h"
#include "../loader/planmake.h"

/* A program that has been resolved and opened, and how to start it. */
/* The effective ids of the program, decided with its image. */
struct exec_ids {
	uid_t euid;
	gid_t egid;
	bool changed; /* not the real ones: AT_SECURE */
};

struct exec_plan {
	struct exec_ids ids;
	struct plan plan;
	int program_fd, interp_fd; /* the sentry's; -1: none */
	struct vref exe;	   /* counted */
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

/*
 * Resolves program, "#!" chain and interpreter in the virtual tree and fills
 * *out (owned; exec_plan_destroy). 0 or the errno that execve(2) gives.
 * Takes and drops the state lock.
 */
int MUST_CHECK exec_resolve(struct sentry *s, pid_t tid,
			    struct exec_request *req, struct exec_plan **out);
void exec_plan_destroy(struct exec_plan *p);

#endif
