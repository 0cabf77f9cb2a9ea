/*
 * planmake.h - the sentry's side of plan.h: from validated images to a plan.
 *
 * A script chain is collected in a struct plan_args while the program is
 * resolved; then plan_fill makes the plan. Descriptor numbers may be put in
 * later (plan->program.fd, plan->interp.fd), once they have been injected.
 */
#ifndef CLOCHE_PLANMAKE_H
#define CLOCHE_PLANMAKE_H

#include "../sentry/base/base.h"
#include "elf.h"
#include "plan.h"
#include "script.h"

/* Arguments that replace argv[0]; grows from the end of buf to its front. */
struct plan_args {
	char buf[PLAN_STRINGS];
	size_t start;
	uint32_t count;
};

void plan_args_init(struct plan_args *a);
/* Puts s before the others. 0 or -E2BIG. */
int MUST_CHECK plan_args_push(struct plan_args *a, const char *s);
/* One "#!" step: `path` is the script as exec named it (for execveat
 * "/dev/fd/N"); for an interpreter that is a script, call it again with that
 * one's line. 0 or -E2BIG. */
int MUST_CHECK plan_args_push_script(struct plan_args *a, const char *path,
				     const struct script_line *line);

/* All borrowed for the call. */
struct plan_request {
	const struct elf_info *program;
	const struct elf_info *interp; /* NULL: none */
	int program_fd, interp_fd;     /* numbers in the guest */
	const char *execfn;	       /* as the guest's exec named it */
	const char *comm; /* path to name it by; NULL: execfn. For execveat of
			   * a descriptor: its file (the kernel since 6.14) */
	const struct plan_args *args; /* NULL: no script */
	bool randomize; /* neither ADDR_NO_RANDOMIZE nor the sysctl at 0 */
	uint32_t naux;	/* at most PLAN_AUX */
	struct plan_aux aux[PLAN_AUX];
};

/* 0, -E2BIG (strings), -EINVAL (naux). */
int MUST_CHECK plan_fill(struct plan *p, const struct plan_request *r);

/* A plan that prints a line on stderr and exits with `status` (126, 127). */
void plan_refuse(struct plan *p, int status, const char *fmt, ...) PRINTF(3, 4);

#endif
