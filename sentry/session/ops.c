/*
 * ops.c - the table of what a kept sandbox can be asked, and the operations
 * that say what it is and end it.
 */
#include <stdio.h>

#include "../task.h"
#include "server.h"
#include "snapshots.h"

enum { PROCESSES_SHOWN = 1000, GRACE_MS = 10000, CHANGES_COUNTED = 1 << 20 };

static json_t *ok(void)
{
	json_t *o = json_object();

	json_object_set_new(o, "ok", json_true());
	return o;
}

static void put_text(json_t *o, const char *key, const char *text)
{
	json_object_set_new(o, key, text ? control_string(text) : json_null());
}

static void put_number(json_t *o, const char *key, uint64_t n)
{
	json_object_set_new(o, key, json_integer((json_int_t)n));
}

/* A limit that is not set is null. */
static void put_limit(json_t *o, const char *key, uint64_t n)
{
	json_object_set_new(o, key,
			    n ? json_integer((json_int_t)n) : json_null());
}

static const char *state(const struct server *sv)
{
	return sv->stop_at_ms ? "stopping" : "running";
}

static void put_created(json_t *o, const struct server *sv)
{
	char text[32];
	struct tm tm;

	gmtime_r(&sv->created, &tm);
	strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &tm);
	put_text(o, "created", text);
}

static int op_status(struct control_conn *c, struct control_msg *m UNUSED,
		     struct strbuf *why UNUSED)
{
	struct server *sv = c->server;
	uint64_t used, size;
	json_t *o = ok();

	put_text(o, "name", sv->name);
	put_text(o, "id", sv->s->id);
	put_text(o, "status", state(sv));
	put_number(o, "pid", (uint64_t)getpid());
	put_created(o, sv);
	put_number(o, "commands", sv->ncommands);
	put_number(o, "max_output", sv->s->cfg->limits.output);
	if (run_store_usage(sv->s, &used, &size))
		put_number(o, "stored", used);
	conn_answer(c, o);
	return 0;
}

static json_t *limits_of(const struct limits *l)
{
	json_t *o = json_object();

	put_limit(o, "memory", l->memory);
	put_limit(o, "disk", l->disk);
	put_limit(o, "pids", l->pids);
	put_limit(o, "output", l->output);
	put_limit(o, "timeout_ms", l->timeout_ms);
	put_limit(o, "cpu_time_ms", l->cpu_time_ms);
	json_object_set_new(o, "cpus",
			    l->cpus > 0 ? json_real(l->cpus) : json_null());
	return o;
}

/* Init is ours; the others as the sandbox numbers them. */
static json_t *processes_of(struct sentry *s)
{
	json_t *list = json_array();
	size_t n = 0;

	sentry_lock(s);
	list_for_each (p, &s->tgroups) {
		struct tgroup *tg = list_entry(p, struct tgroup, list);
		json_t *o;

		if (tg->pid == s->init || n++ >= PROCESSES_SHOWN)
			continue;
		o = json_object();
		put_number(o, "pid", (uint64_t)tgroup_vpid(tg));
		put_number(o, "host_pid", (uint64_t)tg->pid);
		put_text(o, "exe", tg->exe_path);
		put_number(o, "threads", tg->ntasks);
		json_array_append_new(list, o);
	}
	sentry_unlock(s);
	return list;
}

static json_t *commands_of(const struct server *sv)
{
	json_t *list = json_array();

	list_for_each (p, &sv->commands) {
		struct session_command *sc =
			list_entry(p, struct session_command, link);
		json_t *o = json_object();

		put_number(o, "id", sc->id);
		put_text(o, "command", sc->text);
		json_object_set_new(o, "detached", json_boolean(!sc->conn));
		json_object_set_new(o, "terminal",
				    json_boolean(sc->slave >= 0));
		json_array_append_new(list, o);
	}
	return list;
}

static json_t *store_of(struct sentry *s)
{
	json_t *o = json_object();
	uint64_t used, size;

	if (!run_store_usage(s, &used, &size)) {
		json_decref(o);
		return json_null();
	}
	put_number(o, "used", used);
	put_number(o, "size", size);
	return o;
}

static int op_inspect(struct control_conn *c, struct control_msg *m UNUSED,
		      struct strbuf *why UNUSED)
{
	struct server *sv = c->server;
	struct sentry *s = sv->s;
	const struct config *cfg = s->cfg;
	AUTO_FREE char *sock = xasprintf("%s/%s", sv->place, sv->name);
	json_t *o = ok();

	put_text(o, "name", sv->name);
	put_text(o, "id", s->id);
	put_text(o, "status", state(sv));
	put_number(o, "pid", (uint64_t)getpid());
	put_created(o, sv);
	put_text(o, "mode", s->bare ? "bare" : "jailed");
	put_text(o, "profile", cfg->profile);
	put_text(o, "cwd", cfg->workdir);
	put_text(o, "project", cfg->project);
	put_text(o, "root", cfg->root);
	put_text(o, "user", cfg->username);
	put_text(o, "socket", sock);
	json_object_set_new(o, "kept", json_boolean(sv->service.keeps));
	put_text(o, "audit", cfg->audit);
	json_object_set_new(o, "limits", limits_of(&cfg->limits));
	json_object_set_new(o, "store", store_of(s));
	json_object_set_new(o, "commands", commands_of(sv));
	json_object_set_new(o, "processes", processes_of(s));
	json_object_set_new(o, "snapshots", snapshots_json(sv));
	conn_answer(c, o);
	return 0;
}

static int count_one(void *arg, const struct vfs_change *change UNUSED)
{
	uint64_t *n = arg;

	return ++*n < CHANGES_COUNTED ? 0 : 1;
}

/* How many changes are in memory only. */
static int op_changes(struct control_conn *c, struct control_msg *m UNUSED,
		      struct strbuf *why UNUSED)
{
	struct sentry *s = c->server->s;
	uint64_t n = 0;
	json_t *o;
	int ret;

	sentry_lock(s);
	ret = vfs_diff(s->vfs, count_one, &n);
	sentry_unlock(s);
	if (ret < 0)
		return ret;
	o = ok();
	put_number(o, "changes", n);
	conn_answer(c, o);
	return 0;
}

/* The client is told when it has ended: by "ended", and by the end of the
 * connection. if_idle: only when nothing runs. */
static int op_stop(struct control_conn *c, struct control_msg *m,
		   struct strbuf *why)
{
	struct server *sv = c->server;
	int64_t grace = control_number(m->root, "grace_ms", GRACE_MS);
	size_t n = server_processes(sv);

	if (grace < 0)
		return -EINVAL;
	if (!sv->service.keeps)
		strbuf_puts(why, "it was not kept: it ends with its command");
	else if (control_flag(m->root, "if_idle") && n)
		strbuf_printf(why, "%zu process%s in it", n,
			      n == 1 ? " runs" : "es run");
	if (why->len)
		return -EBUSY;
	if (server_record(sv, "stop",
			  json_pack("{s:I}", "grace_ms", (json_int_t)grace)))
		log_debug("the audit stream cannot be written");
	conn_answer(c, ok());
	server_stop(sv, (uint64_t)grace);
	return 0;
}

const struct control_op control_ops[] = {
	{"exec", op_exec, false},
	{"signal", op_signal, false},
	{"status", op_status, false},
	{"inspect", op_inspect, false},
	{"changes", op_changes, true},
	{"stop", op_stop, false},
	{"list_changes", op_list_changes, true},
	{"open_change", op_open_change, false},
	{"snapshot", op_snapshot, true},
	{"restore", op_restore, true},
	{"fork", op_fork, true},
	{"made", op_made, false},
	{"applying", op_applying, true},
	{NULL, NULL, false},
};
