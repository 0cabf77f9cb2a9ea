/*
 * ops_snapshot.c - snapshots of a kept sandbox: taken, gone back to, given to
 * a fork. All are slow operations, in threads of their own.
 *
 * "snapshot" {label, remove}: takes one ("" : the next free number), or
 *   removes it. "restore" {label, force}: the overlay goes back; refused while
 *   programs run, which `force` kills. "fork" {label}: what a new sandbox
 *   starts from, now or from a snapshot: a memfd with the bytes, and then in
 *   further packets a descriptor for each layer. The connection stays as long
 *   as the fork lives.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>

#include "../../fs/layer.h"
#include "../../fs/snapshot.h"
#include "../audit/audit.h"
#include "../baredir.h"
#include "../command.h"
#include "../exec.h"
#include "../task.h"
#include "../trace.h"
#include "place.h"
#include "snapshots.h"

enum {
	SNAPSHOTS_MAX = 1000,
	KILL_WAIT_MS = 10000,
	KILL_TICK_MS = 5,
	HOLD_WAIT_MS = 500, /* for calls that are under way */
};

/* ---- records --------------------------------------------------------- */

static void emit(struct server *sv, const char *call, const char *args, int ret)
{
	struct audit_event ev = {
		.call = call,
		.verdict = AUDIT_ALLOW,
		.args = args,
		.args_len = args ? strlen(args) : 0,
		.ret = ret,
	};

	audit_emit(sv->s->audit, &ev);
}

int server_record(struct server *sv, const char *call, json_t *args)
{
	AUTO_FREE char *text =
		args ? json_dumps(args, JSON_COMPACT | JSON_ENSURE_ASCII)
		     : NULL;

	json_decref(args);
	emit(sv, call, text, 0);
	return audit_flush(sv->s->audit) ? -EIO : 0;
}

void server_record_failure(struct server *sv, const char *call, int err)
{
	emit(sv, call, NULL, err);
}

static json_t *label_args(const char *label)
{
	json_t *o = json_object();

	if (label && *label)
		json_object_set_new(o, "label", control_string(label));
	return o;
}

int op_applying(struct control_conn *c, struct control_msg *m,
		struct strbuf *why)
{
	json_t *args = json_object();
	const char *root = control_text(m->root, "root", NULL);
	int ret;

	if (root)
		json_object_set_new(args, "root", control_string(root));
	json_object_set_new(
		args, "changes",
		json_integer(control_number(m->root, "changes", 0)));
	json_object_set(args, "paths", json_object_get(m->root, "paths"));
	ret = server_record(c->server, "apply", args);
	if (ret) {
		strbuf_puts(why, "the audit stream cannot be written");
		return ret;
	}
	conn_answer(c, json_pack("{s:b}", "ok", 1));
	return 0;
}

/* ---- taking ---------------------------------------------------------- */

/* Under the state lock: no process but init. */
static bool is_idle(struct sentry *s)
{
	list_for_each (p, &s->tgroups)
		if (list_entry(p, struct tgroup, list)->pid != s->init)
			return false;
	return true;
}

static void say_why(int ret, struct strbuf *why)
{
	if (ret == -ENOSPC)
		strbuf_puts(why, "no space is left in it for a copy of the "
				 "files that are open (--disk)");
	else if (ret == -EFBIG)
		strbuf_puts(why, "it has too many changes");
}

static int take(struct server *sv, struct snapshot **out, struct strbuf *why)
{
	struct sentry *s = sv->s;
	bool held;
	int ret;

	sentry_lock(s);
	held = !is_idle(s);
	sentry_unlock(s);
	/* All files are copied as they are at one moment. */
	if (held && !trace_hold(s, HOLD_WAIT_MS))
		log_debug("a snapshot is taken while a call goes on");
	sentry_lock(s);
	ret = snapshot_take(s->vfs, is_idle(s), out);
	sentry_unlock(s);
	if (held)
		trace_release(s);
	say_why(ret, why);
	return ret;
}

/* Under the state lock. */
static struct session_snapshot *find(struct server *sv, const char *label)
{
	list_for_each (p, &sv->snapshots) {
		struct session_snapshot *e =
			list_entry(p, struct session_snapshot, link);

		if (!strcmp(e->label, label))
			return e;
	}
	return NULL;
}

static int find_or_say(struct server *sv, const char *label,
		       struct session_snapshot **out, struct strbuf *why)
{
	*out = find(sv, label);
	if (*out)
		return 0;
	strbuf_puts(why, "it has no snapshot ");
	strbuf_visible(why, label, strlen(label));
	strbuf_printf(why,
		      list_empty(&sv->snapshots)
			      ? "; `cloche snapshot %s` takes one"
			      : "; `cloche snapshot --list %s` lists them",
		      sv->name);
	return -ENOENT;
}

static void forget(struct server *sv, struct session_snapshot *e)
{
	list_del(&e->link);
	sv->nsnapshots--;
	snapshot_free(e->s);
	free(e->label);
	free(e);
}

/* The label of a new one: as asked, or the next number. Owned. */
static char *new_label(struct server *sv, const char *asked, struct strbuf *why)
{
	if (sv->nsnapshots >= SNAPSHOTS_MAX) {
		strbuf_printf(why, "it has %d snapshots already",
			      SNAPSHOTS_MAX);
		return NULL;
	}
	if (*asked && find(sv, asked)) {
		strbuf_printf(why,
			      "it has a snapshot %s already; `cloche snapshot "
			      "--remove %s %s` removes it",
			      asked, sv->name, asked);
		return NULL;
	}
	if (*asked)
		return xstrdup(asked);
	for (unsigned i = 1;; i++) {
		AUTO_FREE char *label = xasprintf("%u", i);

		if (!find(sv, label))
			return xstrdup(label);
	}
}

static int keep(struct server *sv, const char *asked, struct snapshot *s,
		char **label, struct strbuf *why)
{
	struct session_snapshot *e;

	sentry_lock(sv->s);
	*label = new_label(sv, asked, why);
	if (!*label) {
		snapshot_free(s);
		sentry_unlock(sv->s);
		return -EEXIST;
	}
	e = xcalloc(1, sizeof(*e));
	e->label = xstrdup(*label);
	e->created = time(NULL);
	e->s = s;
	list_add_tail(&sv->snapshots, &e->link);
	sv->nsnapshots++;
	sentry_unlock(sv->s);
	return 0;
}

static int remove_one(struct control_conn *c, const char *label,
		      struct strbuf *why)
{
	struct server *sv = c->server;
	struct session_snapshot *e;
	int ret;

	sentry_lock(sv->s);
	ret = find_or_say(sv, label, &e, why);
	if (!ret) {
		forget(sv, e);
		snapshot_sweep(sv->s->vfs);
	}
	sentry_unlock(sv->s);
	if (!ret)
		conn_answer(c, json_pack("{s:b}", "ok", 1));
	return ret;
}

static bool label_is_good(const char *label, struct strbuf *why)
{
	if (!*label || place_name_valid(label))
		return true;
	strbuf_printf(why,
		      "a label has letters, digits and _ . -, up to %d, the "
		      "first a letter or digit",
		      PLACE_NAME_MAX);
	return false;
}

int op_snapshot(struct control_conn *c, struct control_msg *m,
		struct strbuf *why)
{
	const char *asked = control_text(m->root, "label", "");
	struct server *sv = c->server;
	AUTO_FREE char *label = NULL;
	struct snapshot *s;
	int ret;

	if (!label_is_good(asked, why))
		return -EINVAL;
	if (control_flag(m->root, "remove"))
		return remove_one(c, asked, why);
	ret = server_record(sv, "snapshot", label_args(asked));
	if (!ret)
		ret = take(sv, &s, why);
	if (!ret)
		ret = keep(sv, asked, s, &label, why);
	if (ret) {
		server_record_failure(sv, "snapshot", ret);
		return ret;
	}
	conn_answer(c, json_pack("{s:b,s:s}", "ok", 1, "label", label));
	return 0;
}

/* ---- going back ------------------------------------------------------ */

static int kill_all(struct server *sv, struct control_conn *c)
{
	for (int ms = 0; server_processes(sv); ms += KILL_TICK_MS) {
		if (ms >= KILL_WAIT_MS || atomic_load(&c->cancel))
			return -EBUSY;
		run_signal_all(sv->s, SIGKILL);
		usleep(KILL_TICK_MS * 1000);
	}
	return 0;
}

static int restore_idle(struct server *sv, const char *label,
			struct strbuf *why)
{
	struct session_snapshot *e;
	int ret;

	sentry_lock(sv->s);
	ret = find_or_say(sv, label, &e, why);
	if (!ret && !is_idle(sv->s)) {
		strbuf_puts(why, "a program runs in it; --force kills it");
		ret = -EBUSY;
	}
	if (!ret) {
		exec_images_forget(sv->s);
		ret = snapshot_restore(sv->s->vfs, e->s);
	}
	sentry_unlock(sv->s);
	return ret;
}

int op_restore(struct control_conn *c, struct control_msg *m,
	       struct strbuf *why)
{
	const char *label = control_text(m->root, "label", "");
	struct server *sv = c->server;
	struct session_snapshot *e;
	int ret;

	sentry_lock(sv->s);
	ret = find_or_say(sv, label, &e, why);
	sentry_unlock(sv->s);
	if (ret)
		return ret;
	ret = server_record(sv, "restore", label_args(label));
	atomic_fetch_add(&sv->restoring, 1); /* no new commands */
	if (!ret && control_flag(m->root, "force"))
		ret = kill_all(sv, c);
	if (!ret)
		ret = restore_idle(sv, label, why);
	atomic_fetch_sub(&sv->restoring, 1);
	if (ret) {
		server_record_failure(sv, "restore", ret);
		return ret;
	}
	conn_answer(c, json_pack("{s:b}", "ok", 1));
	return 0;
}

/* ---- forks ----------------------------------------------------------- */

static int send_fork(struct control_conn *c, const struct snapshot *s)
{
	AUTO_CLOSE int fd = memfd_create("snapshot", MFD_CLOEXEC);
	AUTO_FREE int *fds = xcalloc(s->nlayers + 1, sizeof(*fds));
	size_t done = 0;
	int ret;

	while (fd >= 0 && done < s->len) {
		ssize_t n = write(fd, s->data + done, s->len - done);

		if (n <= 0)
			return n < 0 ? -errno : -EIO;
		done += (size_t)n;
	}
	if (fd < 0)
		return -errno;
	ret = snapshot_share(s, fds);
	if (ret)
		return ret;
	c->forked = true;
	conn_answer_fds(c,
			json_pack("{s:b,s:I}", "ok", 1, "layers",
				  (json_int_t)s->nlayers),
			&fd, 1);
	for (size_t i = 0; i < s->nlayers; i += CONTROL_FDS) {
		size_t n = s->nlayers - i;

		n = n < CONTROL_FDS ? n : CONTROL_FDS;
		conn_answer_fds(c, json_pack("{s:b}", "ok", 1), fds + i,
				(unsigned)n);
	}
	for (size_t i = 0; i < s->nlayers; i++)
		close(fds[i]);
	return 0;
}

static int fork_labelled(struct control_conn *c, const char *label,
			 struct strbuf *why)
{
	struct session_snapshot *e;
	int ret;

	sentry_lock(c->server->s);
	ret = find_or_say(c->server, label, &e, why);
	if (!ret)
		ret = send_fork(c, e->s);
	sentry_unlock(c->server->s);
	return ret;
}

static int fork_now(struct control_conn *c, struct strbuf *why)
{
	struct server *sv = c->server;
	struct snapshot *s;
	int ret = take(sv, &s, why);

	if (ret)
		return ret;
	sentry_lock(sv->s);
	ret = send_fork(c, s);
	snapshot_free(s);
	sentry_unlock(sv->s);
	return ret;
}

int op_fork(struct control_conn *c, struct control_msg *m, struct strbuf *why)
{
	const char *label = control_text(m->root, "label", "");
	const char *name = control_text(m->root, "name", "");
	struct server *sv = c->server;
	json_t *args = label_args(label);
	int ret;

	json_object_set_new(args, "name", control_string(name));
	ret = server_record(sv, "fork", args);
	if (!ret)
		ret = *label ? fork_labelled(c, label, why) : fork_now(c, why);
	if (ret)
		server_record_failure(sv, "fork", ret);
	return ret;
}

int op_made(struct control_conn *c, struct control_msg *m UNUSED,
	    struct strbuf *why)
{
	const struct config *cfg = c->server->s->cfg;
	AUTO_CLOSE int fd = -1;
	int ret;

	if (!cfg->asked || !c->server->service.keeps) {
		strbuf_puts(why, "only a sandbox that is kept can be forked");
		return -EOPNOTSUPP;
	}
	ret = command_write(cfg->asked_cwd, cfg->asked, cfg->asked_env, &fd);
	if (ret)
		return ret;
	conn_answer_fds(
		c,
		json_pack("{s:b,s:b}", "ok", 1, "audited", cfg->audit != NULL),
		&fd, 1);
	return 0;
}

void snapshots_fork_gone(struct server *sv)
{
	sentry_lock(sv->s);
	snapshot_sweep(sv->s->vfs);
	sentry_unlock(sv->s);
}

void snapshots_end(struct server *sv)
{
	sentry_lock(sv->s);
	while (!list_empty(&sv->snapshots))
		forget(sv, list_entry(sv->snapshots.next,
				      struct session_snapshot, link));
	if (snapshot_is_shared(sv->s->vfs))
		layer_let_go(vfs_store(sv->s->vfs));
	sentry_unlock(sv->s);
	baredir_let_go();
}

json_t *snapshots_json(struct server *sv)
{
	json_t *list = json_array();

	sentry_lock(sv->s);
	list_for_each (p, &sv->snapshots) {
		struct session_snapshot *e =
			list_entry(p, struct session_snapshot, link);
		char text[32];
		struct tm tm;

		gmtime_r(&e->created, &tm);
		strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &tm);
		json_array_append_new(list, json_pack("{s:s,s:s,s:I}", "label",
						      e->label, "created", text,
						      "names",
						      (json_int_t)e->s->names));
	}
	sentry_unlock(sv->s);
	return list;
}
