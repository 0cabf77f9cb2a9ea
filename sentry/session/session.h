/*
 * session.h - kept sandboxes as the commands use them (docs/sessions.md).
 *
 * A kept sandbox is its sentry, left running as a daemon: in a session of its
 * own, with nothing of the caller's but what it was told to write to. Its
 * memory is all that there is of it: when it ends, its changes are gone.
 *
 * Every function prints what went wrong; what is returned then is -errno, or
 * the exit status 125.
 */
#ifndef CLOCHE_SESSION_H
#define CLOCHE_SESSION_H

#include "../config.h"
#include "control.h"

struct command;

/* Starts a sandbox that stays, named cfg->name; returns when it can be used.
 * 0 or 125. */
int session_create(struct config *cfg);
/* One command in this process, reachable by cfg->name while it lasts: as
 * sentry_run. */
int session_run(struct config *cfg);

/*
 * How the kept sandbox `name` was made: a block of its options, directory and
 * environment (command_fini frees), and a connection to it (*fd, owned).
 */
int MUST_CHECK session_fork_ask(const char *name, int *fd, struct command *made,
				bool *audited);
/* Starts cfg's sandbox with what `from` has, now or at a snapshot (label NULL:
 * now). fd of session_fork_ask stays open. 0 or 125. */
int session_fork(struct config *cfg, const char *from, const char *label,
		 int fd);

/* The name is well formed, or a message and -EINVAL. */
int MUST_CHECK session_check_name(const char *command, const char *name);

/* A connection to the sandbox, or a message (with the nearest name). */
int MUST_CHECK session_connect(const char *name, int *fd);
/* Asks `op` with req's members (taken; NULL: none). 0: m holds the answer. */
int MUST_CHECK session_ask(int fd, const char *name, const char *op,
			   json_t *req, struct control_msg *m);
/* The same with descriptors (borrowed). */
int MUST_CHECK session_ask_fds(int fd, const char *name, const char *op,
			       json_t *req, const int *fds, unsigned nfds,
			       struct control_msg *m);
/* Waits until the sandbox has ended and its name is free. */
void session_wait_end(int fd);

struct session_exec {
	const char *name;
	char *const *argv;
	char *const *env; /* "VAR=VALUE" over the sandbox's; may be NULL */
	const char *cwd;  /* as the sandbox sees it; NULL: its own */
	bool detach;	  /* do not wait; no descriptors */
	bool quiet;	  /* do not list what was refused */
};

/* Runs a command, relaying the terminal and passing signals on, until it ends:
 * its status as of `run`. */
int session_exec(const struct session_exec *x);

#endif
