/*
 * run_priv.h - what run.c and run_service.c share: the state of the loop.
 */
#ifndef CLOCHE_RUN_PRIV_H
#define CLOCHE_RUN_PRIV_H

#include <signal.h>
#include <sys/resource.h>

#include "jail.h"
#include "memfiles.h"
#include "run.h"
#include "sentry.h"
#include "stdio.h"
#include "terminal.h"

struct run {
	struct sentry s;
	struct jail jail;
	struct stdio io;
	struct terminal term;
	bool term_on;
	int slave; /* kept open until the last guest has gone */
	int sigfd, timer;
	uint32_t first, last_id; /* commands: the first one, the newest */
	bool ended;		 /* the sandbox is to end */
	volatile bool audit_broken;
	unsigned asked_to_end; /* SIGTERM, SIGHUP, SIGQUIT so far */
	char limit_note[160];  /* said at the end */
	bool timed_out, limited;
	bool disk_said, pids_said; /* these only fail a call: noted once */
	uint64_t sampled_ms;	   /* when limits were last looked at */
	struct memfiles memfiles;  /* by the sampling */
	pthread_t notify;
	sigset_t old_mask;
	int host_net;	    /* the host's network, if it was left early; -1 */
	struct rlimit core; /* the caller's, before jail_build raised it */
};

/* Everything in the sandbox ends. */
void run_kill(struct run *r);
/* Has init start a command; last: the sandbox ends with it. */
int MUST_CHECK run_start(struct run *r, const struct run_command *c, bool last);

#endif
