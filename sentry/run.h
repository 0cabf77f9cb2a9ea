/*
 * run.h - a sandbox from start to end: what `cloche run` calls, and what a
 * service that keeps one reachable (session/) needs of it.
 *
 * Without a service there is one command, cfg->argv, and the sandbox ends with
 * it. With one, commands are started while it lasts; if the service keeps it,
 * there is no first command and it lasts until run_end.
 *
 * All functions but sentry_run are for the loop thread: the service's own
 * functions are called by it.
 */
#ifndef CLOCHE_RUN_H
#define CLOCHE_RUN_H

#include "config.h"

struct sentry;

/* What else the loop serves. Every function is called by the loop thread. */
struct run_service {
	void *arg;
	bool keeps; /* no first command; the sandbox stays without any */
	int fd;	    /* polled once start was called; poll when readable */
	/* Everything stands, no command has been started yet. 0 or -errno. */
	int (*start)(void *arg, struct sentry *s);
	void (*poll)(void *arg);
	/* A command started by run_command has ended. */
	void (*exited)(void *arg, uint32_t id, int wait_status);
	/* The sandbox is about to end; why, for a person; status: 124 for a
	 * time limit, else 128 + SIGKILL. */
	void (*limited)(void *arg, const char *why, int status);
	/* The last guest has gone; s is still whole. */
	void (*end)(void *arg);
};

/* A command to start; descriptors are borrowed. */
struct run_command {
	const char *cwd; /* virtual path */
	char *const *argv, *const *envp;
	int fds[3]; /* -1: closed */
	int tty;    /* a slave that becomes its controlling terminal, or -1 */
};

/* Runs cfg->argv in a new sandbox and returns cloche's exit status. Calls
 * cfg->after, if set, when the last guest has ended. */
int sentry_run(struct config *cfg);

/* *id is given back by service->exited. 0 or -errno. */
int MUST_CHECK run_command(struct sentry *s, const struct run_command *c,
			   uint32_t *id);
/* To the command's process group. */
void run_signal(struct sentry *s, uint32_t id, int sig);
/* To every process but init. */
void run_signal_all(struct sentry *s, int sig);
/* A pty of the sandbox's own; both are owned by the caller. 0 or -errno. */
int MUST_CHECK run_open_pty(struct sentry *s, int *master, int *slave);
/* Ends the sandbox: everything in it is killed. */
void run_end(struct sentry *s, int status);
/* Bytes that the store holds, and may hold; false if that is not known. */
bool run_store_usage(struct sentry *s, uint64_t *used, uint64_t *size);

#endif
