/*
 * server.h - the sandbox's side of the control socket.
 *
 * One epoll descriptor, polled by the sentry's loop (run.h), watches the
 * listening socket and each connection. A request is a row of a table of
 * operations. Short ones are done by the loop thread; a slow one (a walk over
 * all changes, a copy) by a thread of its own, while its connection is not
 * read. A connection may have one command attached: the command's end is told
 * there, and when the connection goes, the command is sent SIGHUP.
 *
 * Who may connect: the user who started the sandbox, and root (SO_PEERCRED).
 */
#ifndef CLOCHE_SERVER_H
#define CLOCHE_SERVER_H

#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

#include "../base/list.h"
#include "../base/strbuf.h"
#include "../run.h"
#include "../sentry.h"
#include "control.h"

enum { SERVER_CONNS = 512, SERVER_SLOW = 16 };

struct server;

struct control_conn {
	struct list link; /* server.conns */
	struct server *server;
	int fd;
	bool dead;		/* closed as soon as no thread works for it */
	atomic_bool working;	/* a thread runs a slow operation for it */
	atomic_int cancel;	/* the client has gone: stop early */
	struct control_msg msg; /* of the slow operation */
	const struct control_op *op;
	bool forked; /* as long as it is there a fork may need our files */
	struct held_changes *changes; /* ops_changes.c; NULL: none listed */
};

/*
 * Does a request and answers it by conn_answer, or returns an error that the
 * caller answers with: -errno and, where it can say more, a text in `why`.
 * Borrows m, whose descriptors it may take.
 */
struct control_op {
	const char *name;
	int (*run)(struct control_conn *c, struct control_msg *m,
		   struct strbuf *why);
	bool slow; /* in a thread of its own; takes the state lock itself */
};

/* A command that was started here. */
struct session_command {
	struct list link; /* server.commands */
	uint32_t id;
	struct control_conn *conn; /* NULL: detached */
	int slave;		   /* kept open while it runs; -1: none */
	struct vref stdio[3];
	char *text;    /* for a person: its words */
	char *denials; /* what had been refused when it began */
};

struct server {
	struct run_service service;
	struct sentry *s;
	const char *name; /* borrowed */
	char *place;	  /* where its socket is, for a person */
	int listener, epoll, wake;
	bool released; /* its name is free, or somebody else's */
	int ready;     /* told when it can be used, -1: nobody waits */
	time_t created;
	struct list conns, commands, snapshots;
	unsigned nsnapshots;   /* with the list under the state lock */
	atomic_uint restoring; /* no command may start */
	unsigned nconns, ncommands, nslow;
	char *limited; /* why it ends, or NULL */
	int limited_status;
	uint64_t stop_at_ms; /* when SIGKILL follows SIGTERM; 0: not stopping */
	int stop_timer;
};

/* Claims the name. 0; -EEXIST, -EPERM and so on, after a message. keeps: the
 * sandbox stays without a command. ready: a pipe's end that gets one byte. */
int MUST_CHECK server_init(struct server *sv, const char *name, bool keeps,
			   int ready);

/* Answers; root is taken. */
void conn_answer(struct control_conn *c, json_t *root);
void conn_answer_fds(struct control_conn *c, json_t *root, const int *fds,
		     unsigned nfds);

/* The operations (ops.c, ops_exec.c). */
extern const struct control_op control_ops[];
int op_exec(struct control_conn *c, struct control_msg *m, struct strbuf *why);
int op_signal(struct control_conn *c, struct control_msg *m,
	      struct strbuf *why);
int op_list_changes(struct control_conn *c, struct control_msg *m,
		    struct strbuf *why);
int op_open_change(struct control_conn *c, struct control_msg *m,
		   struct strbuf *why);
void held_changes_free(struct control_conn *c);
void command_ended(struct server *sv, uint32_t id, int wait_status);
/* The connection has gone: its command is hung up. */
void command_hangup(struct server *sv, struct control_conn *c);
/* Processes in the sandbox, without init. */
size_t server_processes(struct server *sv);
/* Begins to stop: SIGTERM now, SIGKILL after grace_ms. */
void server_stop(struct server *sv, uint64_t grace_ms);

#endif
