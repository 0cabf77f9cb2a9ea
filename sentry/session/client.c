/*
 * client.c - talking to a kept sandbox: asking it, and running a command in
 * it as if that were a child of ours.
 *
 * The command's descriptors are ours, passed as they are; a terminal's place
 * is taken by a pty of the sandbox's, which we relay; a socket's by a
 * socketpair, for the reasons that stdio.h gives.
 */
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "../cli/opt.h"
#include "../command.h"
#include "../stdio.h"
#include "../terminal.h"
#include "place.h"
#include "session.h"

enum { EXIT_CLOCHE = 125 };

/* ---- asking ---------------------------------------------------------- */

static const char *name_at(const void *list, size_t i)
{
	return ((char *const *)list)[i];
}

static void say_none(const char *name)
{
	char **names = place_list();
	const char *near = opt_nearest(name, name_at, names);

	if (near)
		log_info("there is no sandbox named %s; did you mean %s?", name,
			 near);
	else if (*names)
		log_info("there is no sandbox named %s; `cloche ls` lists them",
			 name);
	else
		log_info("there is no sandbox named %s, nor any other; "
			 "`cloche create %s` makes one",
			 name, name);
	place_list_free(names);
}

int session_connect(const char *name, int *fd)
{
	AUTO_FREE char *path = NULL;
	int ret = session_check_name("cloche", name), dir;

	if (ret)
		return ret;
	dir = place_open(&path);
	if (dir >= 0)
		close(dir);
	ret = dir < 0 ? dir : place_connect(name, fd);
	if (ret == -ENOENT)
		say_none(name);
	else if (ret == -EPERM || ret == -EACCES)
		log_info("%s does not belong to you, or others may use it",
			 path);
	else if (ret)
		log_info("cannot reach the sandbox %s: %s", name,
			 strerror(-ret));
	return ret;
}

int session_ask_fds(int fd, const char *name, const char *op, json_t *req,
		    const int *fds, unsigned nfds, struct control_msg *m)
{
	const char *error;
	int ret;

	req = req ? req : json_object();
	json_object_set_new(req, "op", json_string(op));
	ret = control_send(fd, req, fds, nfds, false, 0);
	json_decref(req);
	if (!ret)
		ret = control_recv(fd, m, true, 0);
	if (ret) {
		log_info("the sandbox %s does not answer: %s", name,
			 ret == -EPIPE ? "it has ended" : strerror(-ret));
		return ret;
	}
	error = control_text(m->root, "error", NULL);
	if (!error && !control_text(m->root, "event", NULL))
		return 0;
	ret = (int)control_number(m->root, "errno", EIO);
	if (ret != CONTROL_COUNT) /* the caller knows what to do */
		log_info("%s: %s", name, error ? error : "it has ended");
	control_msg_fini(m);
	return ret > 0 ? -ret : -EIO;
}

int session_ask(int fd, const char *name, const char *op, json_t *req,
		struct control_msg *m)
{
	return session_ask_fds(fd, name, op, req, NULL, 0, m);
}

void session_wait_end(int fd)
{
	struct control_msg m;
	int ret;

	while ((ret = control_recv(fd, &m, true, 0)) == 0)
		control_msg_fini(&m);
	if (ret != -EPIPE)
		log_debug("waiting for the end: %s", strerror(-ret));
}

/* ---- running a command ----------------------------------------------- */

struct attach {
	const struct session_exec *x;
	int conn, sigfd, master;
	struct stdio io;
	struct terminal term;
	bool term_on;
	int status; /* -1: it runs */
	uint64_t max_output;
};

static void say_refused(const struct attach *a, const json_t *ev)
{
	const char *p = control_text(ev, "refused", "");

	while (!a->x->quiet && *p) {
		size_t len = strcspn(p, "\n");

		fprintf(stderr, "cloche: %.*s\n", (int)len, p);
		p += len + (p[len] != '\0');
	}
}

static int exit_status(int64_t wait_status)
{
	int w = (int)wait_status;

	return WIFSIGNALED(w) ? 128 + WTERMSIG(w) : WEXITSTATUS(w);
}

static void on_message(struct attach *a, struct control_msg *last)
{
	struct control_msg m;
	const char *event;
	int ret = control_recv(a->conn, &m, true, 0);

	if (ret) {
		a->status = 128 + SIGKILL;
		return;
	}
	event = control_text(m.root, "event", "");
	if (strcmp(event, "exited") == 0)
		a->status = exit_status(control_number(m.root, "status", 0));
	else if (strcmp(event, "ended") == 0)
		a->status =
			(int)control_number(m.root, "status", 128 + SIGKILL);
	if (a->status >= 0)
		*last = m; /* to be said when the terminal is itself again */
	else
		control_msg_fini(&m);
}

static void on_signal(struct attach *a)
{
	struct signalfd_siginfo si;

	while (read(a->sigfd, &si, sizeof(si)) == (ssize_t)sizeof(si)) {
		json_t *req = json_pack("{s:s,s:i}", "op", "signal", "signal",
					(int)si.ssi_signo);

		if (control_send(a->conn, req, NULL, 0, false, 0))
			log_debug("signal %u not passed on", si.ssi_signo);
		json_decref(req);
	}
}

enum { P_CONN, P_SIGNAL, P_TERM, P_COUNT = P_TERM + TERMINAL_POLLFDS };

static void attach_once(struct attach *a, struct control_msg *last)
{
	struct pollfd p[P_COUNT] = {
		[P_CONN] = {.fd = a->conn, .events = POLLIN},
		[P_SIGNAL] = {.fd = a->sigfd, .events = POLLIN},
	};

	if (a->term_on)
		terminal_pollfds(&a->term, p + P_TERM);
	if (poll(p, a->term_on ? P_COUNT : P_TERM, -1) < 0)
		return;
	if (a->term_on)
		terminal_handle(&a->term, p + P_TERM);
	if (p[P_SIGNAL].revents)
		on_signal(a);
	if (p[P_CONN].revents)
		on_message(a, last);
}

static void wake_relay(int sig)
{
	(void)sig; /* only there to end a blocking read */
}

/* Others in the sandbox may hold a relay's far end and run on: what they have
 * written so far is passed on, and no more is waited for. */
static void relays_end(struct stdio *io)
{
	struct sigaction sa = {.sa_handler = wake_relay};

	sigaction(SIGUSR1, &sa, NULL);
	for (int i = 0; i < 3; i++) {
		if (io->relay_local[i] < 0)
			continue;
		if (io->counted[i]) /* a pipe */
			fcntl(io->relay_local[i], F_SETFL, O_NONBLOCK);
		else
			shutdown(io->relay_local[i], SHUT_RD);
	}
	for (unsigned i = 0; i < io->nrelays; i++)
		pthread_kill(io->relay_thread[i], SIGUSR1);
	stdio_relay_finish(io);
}

static void block_signals(struct attach *a)
{
	static const int sigs[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
	sigset_t set;

	sigemptyset(&set);
	for (size_t i = 0; i < ARRAY_SIZE(sigs); i++)
		sigaddset(&set, sigs[i]);
	sigprocmask(SIG_BLOCK, &set, NULL);
	signal(SIGPIPE, SIG_IGN);
	a->sigfd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	BUG_ON(a->sigfd < 0);
}

static int attach_wait(struct attach *a)
{
	struct control_msg last = {0};
	const char *why;

	block_signals(a);
	if (stdio_relay_start(&a->io))
		die("cannot start a relay thread");
	if (a->master >= 0)
		a->term_on = terminal_start(&a->term, a->master) == 0;
	while (a->status < 0)
		attach_once(a, &last);
	if (a->term_on)
		terminal_stop(&a->term);
	relays_end(&a->io);
	why = control_text(last.root, "why", NULL);
	if (why)
		log_info("%s", why);
	else if (!last.root ||
		 !strcmp(control_text(last.root, "event", ""), "ended"))
		log_info("the sandbox %s has ended", a->x->name);
	say_refused(a, last.root);
	control_msg_fini(&last);
	return a->status;
}

/* The request, and the descriptors that go with it, the block first. */
static json_t *request(struct attach *a, int *fds, unsigned *nfds)
{
	struct winsize w = {0};
	int mask = 0, tty = 0;

	for (int i = 0; i < 3; i++) {
		if (a->io.tty[i]) {
			tty |= 1 << i;
			ioctl(i, TIOCGWINSZ, &w);
		} else if (a->io.fds[i] >= 0) {
			mask |= 1 << i;
			fds[(*nfds)++] = a->io.fds[i];
		}
	}
	return json_pack("{s:i,s:i,s:i,s:i,s:b,s:b}", "fds", mask, "tty", tty,
			 "rows", w.ws_row, "columns", w.ws_col, "detach",
			 a->x->detach, "counted", a->max_output > 0);
}

/* Without anybody who waits there is nobody to read. */
static void no_descriptors(struct stdio *io)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	stdio_none(io);
	for (int i = 0; i < 3; i++)
		io->fds[i] = null;
}

/* A terminal inside knows what it is by TERM. */
static char **with_term(const struct attach *a, char **term)
{
	const char *t = getenv("TERM");
	char *more[2] = {NULL, NULL};

	*term = NULL;
	if (a->io.want_tty && t)
		more[0] = *term = xasprintf("TERM=%s", t);
	return command_env(more, a->x->env);
}

static int send_exec(struct attach *a)
{
	int fds[4], ret;
	unsigned n = 1;
	AUTO_FREE char *term = NULL;
	AUTO_FREE char **env = with_term(a, &term);
	struct control_msg m;
	json_t *req;

	ret = command_write(a->x->cwd, a->x->argv, env, &fds[0]);
	if (ret) {
		log_info("exec: %s", strerror(-ret));
		return ret;
	}
	req = request(a, fds, &n);
	ret = session_ask_fds(a->conn, a->x->name, "exec", req, fds, n, &m);
	close(fds[0]);
	if (ret)
		return ret;
	a->master = control_take_fd(&m, 0);
	control_msg_fini(&m);
	return 0;
}

/* The limit of output is kept by who passes it on. */
static int ask_output(struct attach *a)
{
	struct control_msg m;
	int ret = session_ask(a->conn, a->x->name, "status", NULL, &m);

	if (ret)
		return ret;
	a->max_output = (uint64_t)control_number(m.root, "max_output", 0);
	control_msg_fini(&m);
	return 0;
}

int session_exec(const struct session_exec *x)
{
	AUTO_FREE struct attach *a = xcalloc(1, sizeof(*a));
	int status = EXIT_CLOCHE, ret;

	a->x = x;
	a->master = a->sigfd = -1;
	a->status = -1;
	if (session_connect(x->name, &a->conn))
		return EXIT_CLOCHE;
	if (x->detach)
		no_descriptors(&a->io);
	else
		stdio_classify(&a->io, 0);
	ret = send_exec(a);
	if (ret == -CONTROL_COUNT && ask_output(a) == 0) {
		stdio_classify(&a->io, a->max_output);
		ret = send_exec(a);
	}
	if (ret == 0)
		status = x->detach ? 0 : attach_wait(a);
	auto_close_fd(&a->master);
	auto_close_fd(&a->sigfd);
	close(a->conn);
	return status;
}
