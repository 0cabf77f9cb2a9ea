/*
 * snapshots.h - the labelled snapshots of a kept sandbox, its forks, and the
 * records of what was asked of it.
 */
#ifndef CLOCHE_SNAPSHOTS_H
#define CLOCHE_SNAPSHOTS_H

#include "server.h"

struct snapshot;

struct session_snapshot {
	struct list link; /* server.snapshots */
	char *label;
	time_t created;
	struct snapshot *s;
};

int op_snapshot(struct control_conn *c, struct control_msg *m,
		struct strbuf *why);
int op_restore(struct control_conn *c, struct control_msg *m,
	       struct strbuf *why);
int op_fork(struct control_conn *c, struct control_msg *m, struct strbuf *why);
/* How it was made: a block (command.h) of the options' words. */
int op_made(struct control_conn *c, struct control_msg *m, struct strbuf *why);
/* A client is about to bring changes to the host. */
int op_applying(struct control_conn *c, struct control_msg *m,
		struct strbuf *why);

/* A new array for `inspect`; takes the state lock. */
json_t *snapshots_json(struct server *sv);
/* A fork has gone: what it alone needed goes. */
void snapshots_fork_gone(struct server *sv);
/* At the end: what forks do not need goes. */
void snapshots_end(struct server *sv);

/*
 * Writes a record of something that is asked of the sandbox from outside; it
 * has reached the stream when this returns 0. args: taken, may be NULL.
 */
int MUST_CHECK server_record(struct server *sv, const char *call, json_t *args);
/* What became of it, where it failed. */
void server_record_failure(struct server *sv, const char *call, int err);

#endif
