/*
 * notify.h - the seccomp listener: receiving calls, answering them.
 *
 * LAW 2: SECCOMP_USER_NOTIF_FLAG_CONTINUE is sent only here, and only for rows
 *   whose class in the column in force is SYS_PASS.
 */
#ifndef CLOCHE_NOTIFY_H
#define CLOCHE_NOTIFY_H

#include "call.h"
#include "sentry.h"

/* Checks the kernel's structure sizes against ours; -ENOSYS if too new. */
int MUST_CHECK notify_check_sizes(void);
/* Asks for synchronous wake-ups where the kernel has them. */
void notify_tune(int listener);
/* The thread's main function: runs until every guest has gone. */
void *notify_main(void *sentry);

/* Answers and recycles c. r as dispatch_call returns it. */
void notify_reply(struct call *c, int64_t r);
/* True while the guest still waits for this call. */
bool notify_alive(struct sentry *s, uint64_t id);

struct call *call_new(struct sentry *s);
void call_free(struct call *c);
/* An answered call becomes one that is not yet filled in, but for its task. */
void call_again(struct call *c);

#endif
