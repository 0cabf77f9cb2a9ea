/*
 * ops_exec.c - commands of a kept sandbox: starting them for a client,
 * passing signals on, telling their end.
 *
 * exec: descriptor 0 is a memfd with the command's block (command.h), then
 * come the command's descriptors 0-2 as far as "fds" has their bits. Those in
 * "tty" are not sent: they become a pty of the sandbox's, whose master comes
 * back with the answer. The client relays, knows the window's size and is
 * gone when its connection is.
 */
#include <fcntl.h>
#include <signal.h>
#include <sys/ioctl.h>

#include "../audit/audit.h"
#include "../command.h"
#include "../jail.h"
#include "../memfiles.h"
#include "../stdio.h"
#include "server.h"

enum { TEXT_MAX = 200, DENIALS_TEXT_MAX = 32 << 10, RECORDED_WORDS = 1000 };

/* The descriptors of a command that is being started; all owned. */
struct exec_fds {
	int fds[3];
	bool tty[3];
	int master, slave;
};

static void exec_fds_fini(struct exec_fds *x)
{
	for (int i = 0; i < 3; i++)
		if (x->fds[i] >= 0)
			close(x->fds[i]);
	if (x->master >= 0)
		close(x->master);
	if (x->slave >= 0)
		close(x->slave);
}

/* The clients' descriptors, looked at again: what a guest may not have is not
 * passed whoever asks. */
static int take_fds(struct control_msg *m, struct exec_fds *x,
		    struct strbuf *why)
{
	int64_t mask = control_number(m->root, "fds", 0);
	int64_t tty = control_number(m->root, "tty", 0);
	unsigned k = 1; /* 0: the block */

	if (mask < 0 || mask > 7 || tty < 0 || tty > 7 || mask & tty)
		return -EINVAL;
	for (int i = 0; i < 3; i++) {
		const char *refused;

		x->tty[i] = tty & 1 << i;
		if (!(mask & 1 << i))
			continue;
		x->fds[i] = control_take_fd(m, k++);
		refused = stdio_refused(x->fds[i]);
		if (!refused)
			continue;
		strbuf_printf(why,
			      "descriptor %d is %s, which is not passed "
			      "into a sandbox",
			      i, refused);
		return -EINVAL;
	}
	return 0;
}

static int open_pty(struct sentry *s, struct control_msg *m, struct exec_fds *x)
{
	struct winsize w = {
		.ws_row = (unsigned short)control_number(m->root, "rows", 0),
		.ws_col = (unsigned short)control_number(m->root, "columns", 0),
	};
	int ret;

	if (!x->tty[0] && !x->tty[1] && !x->tty[2])
		return 0;
	ret = run_open_pty(s, &x->master, &x->slave);
	if (ret)
		return ret;
	if (w.ws_row && w.ws_col)
		ioctl(x->master, TIOCSWINSZ, &w);
	return 0;
}

/* "make -j2 all", shortened. */
static char *command_text(const struct command *cmd)
{
	struct strbuf b;
	char *text;

	strbuf_init(&b, TEXT_MAX);
	for (size_t i = 0; i < cmd->argc && !b.truncated; i++) {
		if (i)
			strbuf_putc(&b, ' ');
		strbuf_visible(&b, cmd->argv[i], strlen(cmd->argv[i]));
	}
	text = xstrdup(b.data ? b.data : "");
	strbuf_fini(&b);
	return text;
}

static char *denials_text(struct sentry *s)
{
	struct strbuf text;

	strbuf_init(&text, DENIALS_TEXT_MAX);
	audit_denials(s->audit, &text);
	return text.data ? text.data : xstrdup("");
}

static void command_free(struct server *sv, struct session_command *sc)
{
	list_del(&sc->link);
	sv->ncommands--;
	if (sc->slave >= 0)
		close(sc->slave);
	sentry_lock(sv->s);
	for (int i = 0; i < 3; i++)
		vref_put(&sc->stdio[i]);
	sentry_unlock(sv->s);
	free(sc->text);
	free(sc->denials);
	free(sc);
}

static struct session_command *command_new(struct control_conn *c)
{
	struct session_command *sc = xcalloc(1, sizeof(*sc));

	sc->conn = c;
	sc->slave = -1;
	list_add_tail(&c->server->commands, &sc->link);
	c->server->ncommands++;
	return sc;
}

/* Regular files are known to the file system while the command runs. */
static int register_files(struct server *sv, struct session_command *sc,
			  const struct exec_fds *x)
{
	static const char *const names[] = {"stdin", "stdout", "stderr"};
	int ret = 0;

	sentry_lock(sv->s);
	for (int i = 0; i < 3 && !ret; i++) {
		struct stat st;

		if (x->fds[i] >= 0 && fstat(x->fds[i], &st) == 0 &&
		    S_ISREG(st.st_mode))
			ret = vfs_register_stdio(sv->s->vfs, x->fds[i],
						 names[i], &sc->stdio[i]);
	}
	sentry_unlock(sv->s);
	return ret;
}

/* A relative directory is meant from the sandbox's own. */
static char *command_cwd(const struct sentry *s, const struct command *cmd)
{
	if (cmd->cwd[0] == '/')
		return xstrdup(cmd->cwd);
	if (!cmd->cwd[0])
		return xstrdup(s->cfg->workdir);
	return xasprintf("%s/%s", s->cfg->workdir, cmd->cwd);
}

static int command_start(struct server *sv, struct session_command *sc,
			 const struct command *cmd, const struct exec_fds *x)
{
	AUTO_FREE char *cwd = command_cwd(sv->s, cmd);
	AUTO_FREE char **env = command_env(sv->s->cfg->envp, cmd->envp);
	struct run_command rc = {
		.cwd = cwd,
		.argv = cmd->argv,
		.envp = env,
		.tty = x->slave,
	};
	int ret = register_files(sv, sc, x);

	for (int i = 0; i < 3; i++)
		rc.fds[i] = x->tty[i] ? x->slave : x->fds[i];
	return ret ? ret : run_command(sv->s, &rc, &sc->id);
}

static int exec_with(struct control_conn *c, struct control_msg *m,
		     const struct command *cmd, struct exec_fds *x)
{
	struct server *sv = c->server;
	struct session_command *sc = command_new(c);
	json_t *answer;
	int ret = open_pty(sv->s, m, x);

	sc->denials = denials_text(sv->s);
	if (!ret)
		ret = command_start(sv, sc, cmd, x);
	if (ret) {
		command_free(sv, sc);
		return ret;
	}
	sc->text = command_text(cmd);
	sc->slave = fd_take(&x->slave);
	if (control_flag(m->root, "detach"))
		sc->conn = NULL;
	answer = json_pack("{s:b,s:I}", "ok", 1, "id", (json_int_t)sc->id);
	conn_answer_fds(c, answer, &x->master, x->master >= 0);
	return 0;
}

static bool has_command(struct server *sv, const struct control_conn *c)
{
	list_for_each (p, &sv->commands)
		if (list_entry(p, struct session_command, link)->conn == c)
			return true;
	return false;
}

/* It stays in the sandbox, so nobody waits for the stream. */
static void record_command(struct control_conn *c, const struct command *cmd)
{
	struct audit_event ev = {.call = "command", .verdict = AUDIT_ALLOW};
	struct strbuf args;

	strbuf_init(&args, 0);
	strbuf_puts(&args, "{\"argv\":[");
	for (size_t i = 0; i < cmd->argc && i < RECORDED_WORDS; i++) {
		if (i)
			strbuf_putc(&args, ',');
		strbuf_json_string(&args, cmd->argv[i], strlen(cmd->argv[i]));
	}
	strbuf_puts(&args, "]}");
	ev.args = args.data;
	ev.args_len = args.len;
	audit_emit(c->server->s->audit, &ev);
	strbuf_fini(&args);
}

int op_exec(struct control_conn *c, struct control_msg *m, struct strbuf *why)
{
	struct exec_fds x = {.fds = {-1, -1, -1}, .master = -1, .slave = -1};
	AUTO_CLOSE int block = control_take_fd(m, 0);
	struct command cmd;
	int ret;

	if (c->server->stop_at_ms)
		strbuf_puts(why, "the sandbox is being stopped");
	else if (atomic_load(&c->server->restoring))
		strbuf_puts(why, "it goes back to a snapshot just now");
	else if (c->server->ncommands == JAIL_COMMANDS)
		strbuf_printf(why, "%d commands run in it already",
			      JAIL_COMMANDS);
	if (why->len)
		return -EAGAIN;
	if (block < 0 || has_command(c->server, c))
		return -EINVAL;
	if (c->server->s->cfg->limits.output &&
	    !control_flag(m->root, "counted") &&
	    !control_flag(m->root, "detach"))
		return -CONTROL_COUNT;
	ret = command_read(block, &cmd);
	if (ret)
		return ret;
	record_command(c, &cmd);
	ret = take_fds(m, &x, why);
	for (int i = 0; i < 3 && !ret; i++)
		memfiles_expect_fd(c->server->s, x.fds[i]);
	if (!ret)
		ret = exec_with(c, m, &cmd, &x);
	exec_fds_fini(&x);
	command_fini(&cmd);
	return ret;
}

/* Of the connection's own command. No answer: a signal gives none. */
int op_signal(struct control_conn *c, struct control_msg *m,
	      struct strbuf *why UNUSED)
{
	int64_t sig = control_number(m->root, "signal", 0);

	if (sig < 1 || sig > 64)
		return -EINVAL;
	list_for_each (p, &c->server->commands) {
		struct session_command *sc =
			list_entry(p, struct session_command, link);

		if (sc->conn == c)
			run_signal(c->server->s, sc->id, (int)sig);
	}
	return 0;
}

void command_hangup(struct server *sv, struct control_conn *c)
{
	list_for_each (p, &sv->commands) {
		struct session_command *sc =
			list_entry(p, struct session_command, link);

		if (sc->conn != c)
			continue;
		sc->conn = NULL;
		run_signal(sv->s, sc->id, SIGHUP);
		/* a stopped one would not see it */
		run_signal(sv->s, sc->id, SIGCONT);
	}
}

static bool has_line(const char *text, const char *line, size_t len)
{
	for (const char *p = text; (p = strstr(p, line)) != NULL; p++)
		if ((p == text || p[-1] == '\n') && (p[len] == '\n' || !p[len]))
			return true;
	return false;
}

/* What was refused since the command began, for the client to say: lines that
 * were not there then, or whose count has grown. */
static void add_denials(struct sentry *s, const char *before, json_t *ev)
{
	AUTO_FREE char *now = denials_text(s);
	char *line, *save = NULL;
	struct strbuf text;

	strbuf_init(&text, DENIALS_TEXT_MAX);
	for (line = strtok_r(now, "\n", &save); line;
	     line = strtok_r(NULL, "\n", &save))
		if (!has_line(before, line, strlen(line)))
			strbuf_printf(&text, "%s\n", line);
	if (text.len)
		json_object_set_new(ev, "refused", control_string(text.data));
	strbuf_fini(&text);
}

void command_ended(struct server *sv, uint32_t id, int wait_status)
{
	list_for_each_safe (p, &sv->commands) {
		struct session_command *sc =
			list_entry(p, struct session_command, link);
		json_t *ev;

		if (sc->id != id)
			continue;
		if (sc->conn) {
			ev = json_pack("{s:s,s:i}", "event", "exited", "status",
				       wait_status);
			add_denials(sv->s, sc->denials, ev);
			conn_answer(sc->conn, ev);
		}
		command_free(sv, sc);
	}
}
