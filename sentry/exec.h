/*
 * exec.h - programs are started by the loader stub, on the tracer's word.
 *
 * The way of an exec (tracer thread): exec_stop at the seccomp stop resolves
 * program, script chain and interpreter in the virtual tree, prepares a plan
 * and rewrites the call to an exec of the stub; exec_event checks that the
 * kernel really ran the stub; the stub asks for the plan by a reserved openat
 * (exec_answer_plan, notify thread); exec_exit_stop mends the registers when
 * the kernel refused.
 *
 * LAW 1: decide on orig_rax and the architecture that the kernel reports, not
 *   on the filter's data, which a guest's own filter may have replaced.
 * LAW 2: after PTRACE_EVENT_EXEC what runs must be the stub: its very bytes
 *   where the process starts, or /proc/PID/exe by (dev, ino); otherwise the
 *   process is killed before its first instruction.
 * LAW 3: a plan is given out once, and only to the process it was made for.
 * LAW 4: an errno that an exec of the stub cannot give is an attack: kill.
 *   (tests: tests/escape, exec races)
 */
#ifndef CLOCHE_EXEC_H
#define CLOCHE_EXEC_H

#include "call.h"

struct sentry;

/* Tracer only. */
void exec_stop(struct sentry *s, pid_t tid);
void exec_event(struct sentry *s, pid_t tid);
void exec_exit_stop(struct sentry *s, pid_t tid);
/* Under the state lock; before the task leaves the table. */
void exec_audit_exit(struct sentry *s, struct task *t, int status);
/* Frees a plan that was never asked for. Under the state lock. */
void exec_plan_free(struct tgroup *tg);

/* Lets go of programs that are kept open (exec_image.c). Under the state lock.
 */
void exec_images_forget(struct sentry *s);

/* The stub's reserved openat: is it one, and its answer. */
bool exec_is_plan_request(struct call *c);
/* Has it been made by the stub, so that its buffer is no path? */
bool exec_awaits_plan(struct call *c);
int64_t exec_answer_plan(struct call *c);

#endif
