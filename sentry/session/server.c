/*
 * server.c - see server.h.
 *
 * Threads: all but slow_main is the loop thread's. A slow operation's thread
 * touches its own connection's socket and message only, and says by the wake
 * eventfd that it is done; the loop frees.
 */
#include "server.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/timerfd.h>

#include "../audit/audit.h"
#include "../task.h"
#include "place.h"
#include "snapshots.h"

enum { STOP_TICK_MS = 10, SLOW_WAIT_MS = 30000, EVENTS = 16 };

/* ---- connections ----------------------------------------------------- */

static void conn_watch(struct control_conn *c, bool read)
{
	struct epoll_event ev = {.events = read ? EPOLLIN : 0, .data.ptr = c};

	if (epoll_ctl(c->server->epoll, EPOLL_CTL_MOD, c->fd, &ev) < 0)
		log_host(errno, "epoll_ctl of a control connection");
}

static void conn_free(struct control_conn *c)
{
	struct server *sv = c->server;

	command_hangup(sv, c);
	held_changes_free(c);
	if (c->op && c->op->slow) /* done, but not yet seen by on_wake */
		sv->nslow--;
	if (c->forked)
		snapshots_fork_gone(sv);
	list_del(&c->link);
	sv->nconns--;
	close(c->fd); /* leaves the epoll set */
	free(c);
}

/* A thread may still work for it: then it goes when that is done. */
static void conn_close(struct control_conn *c)
{
	c->dead = true;
	atomic_store(&c->cancel, 1);
	if (c->working) {
		struct epoll_event ev = {0};

		epoll_ctl(c->server->epoll, EPOLL_CTL_DEL, c->fd, &ev);
		return;
	}
	conn_free(c);
}

void conn_answer_fds(struct control_conn *c, json_t *root, const int *fds,
		     unsigned nfds)
{
	/* A client that does not read must not stop the sandbox. */
	int ret = control_send(c->fd, root, fds, nfds, true, MSG_DONTWAIT);

	json_decref(root);
	if (ret) {
		log_debug("answering: %s", strerror(-ret));
		shutdown(c->fd, SHUT_RDWR);
	}
}

void conn_answer(struct control_conn *c, json_t *root)
{
	conn_answer_fds(c, root, NULL, 0);
}

static void answer_error(struct control_conn *c, int err, const char *why)
{
	json_t *root = json_object();

	json_object_set_new(root, "error",
			    control_string(why && *why ? why : strerror(-err)));
	json_object_set_new(root, "errno", json_integer(-err));
	conn_answer(c, root);
}

static bool peer_allowed(int fd)
{
	struct ucred peer;
	socklen_t len = sizeof(peer);

	return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) == 0 &&
	       (peer.uid == geteuid() || peer.uid == 0);
}

static void server_accept(struct server *sv)
{
	struct epoll_event ev = {.events = EPOLLIN};
	struct control_conn *c;
	int fd =
		accept4(sv->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

	if (fd < 0)
		return;
	if (!peer_allowed(fd) || sv->nconns == SERVER_CONNS) {
		close(fd);
		return;
	}
	c = xcalloc(1, sizeof(*c));
	c->server = sv;
	c->fd = fd;
	ev.data.ptr = c;
	if (epoll_ctl(sv->epoll, EPOLL_CTL_ADD, fd, &ev) < 0) {
		close(fd);
		free(c);
		return;
	}
	list_add_tail(&sv->conns, &c->link);
	sv->nconns++;
}

/* ---- requests -------------------------------------------------------- */

static const struct control_op *op_find(const char *name)
{
	for (const struct control_op *op = control_ops; op->name; op++)
		if (strcmp(op->name, name) == 0)
			return op;
	return NULL;
}

static void op_run(struct control_conn *c, struct control_msg *m)
{
	struct strbuf why;
	int ret;

	strbuf_init(&why, 0);
	ret = c->op->run(c, m, &why);
	if (ret)
		answer_error(c, ret, why.data);
	strbuf_fini(&why);
	control_msg_fini(m);
}

static void *slow_main(void *arg)
{
	struct control_conn *c = arg;
	struct server *sv = c->server;
	const uint64_t one = 1;

	op_run(c, &c->msg);
	atomic_store(&c->working, false);
	if (write(sv->wake, &one, sizeof(one)) < 0)
		log_host(errno, "waking the loop");
	return NULL;
}

static int slow_start(struct control_conn *c, struct control_msg *m)
{
	struct server *sv = c->server;
	pthread_t thread;

	if (sv->nslow == SERVER_SLOW)
		return -EBUSY;
	c->msg = *m;
	c->working = true;
	conn_watch(c, false);
	if (pthread_create(&thread, NULL, slow_main, c)) {
		c->working = false;
		conn_watch(c, true);
		return -EAGAIN;
	}
	pthread_detach(thread);
	sv->nslow++;
	return 0;
}

static void on_request(struct control_conn *c, struct control_msg *m)
{
	const char *name = control_text(m->root, "op", "");
	int ret;

	c->op = op_find(name);
	if (!c->op) {
		answer_error(c, -EOPNOTSUPP,
			     "this sandbox was started by a "
			     "version of cloche that does not know that");
		control_msg_fini(m);
		return;
	}
	if (!c->op->slow) {
		op_run(c, m);
		return;
	}
	ret = slow_start(c, m);
	if (ret) {
		c->op = NULL;
		answer_error(c, ret, "too much is asked of it at once");
		control_msg_fini(m);
	}
}

static void on_conn(struct control_conn *c)
{
	struct control_msg m;
	int ret;

	if (c->working) { /* not read meanwhile: it has hung up */
		conn_close(c);
		return;
	}
	ret = control_recv(c->fd, &m, false, MSG_DONTWAIT);
	if (ret == -EAGAIN)
		return;
	if (ret == 0) {
		on_request(c, &m);
		return;
	}
	if (ret != -EPIPE)
		answer_error(c, ret,
			     ret == -EPROTO
				     ? "this sandbox was started by another "
				       "version of cloche"
				     : NULL);
	conn_close(c);
}

/* Slow operations that are done: their connections are read again. */
static void on_wake(struct server *sv)
{
	uint64_t n;

	if (read(sv->wake, &n, sizeof(n)) < 0)
		return;
	list_for_each_safe (p, &sv->conns) {
		struct control_conn *c =
			list_entry(p, struct control_conn, link);

		if (!c->op || !c->op->slow || atomic_load(&c->working))
			continue;
		c->op = NULL;
		sv->nslow--;
		if (c->dead)
			conn_free(c);
		else
			conn_watch(c, true);
	}
}

/* ---- stopping -------------------------------------------------------- */

static uint64_t now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000 + (uint64_t)ts.tv_nsec / 1000000;
}

void server_stop(struct server *sv, uint64_t grace_ms)
{
	struct itimerspec it = {.it_value = {0, STOP_TICK_MS * 1000000},
				.it_interval = {0, STOP_TICK_MS * 1000000}};

	if (!sv->stop_at_ms)
		run_signal_all(sv->s, SIGTERM);
	sv->stop_at_ms = now_ms() + grace_ms;
	if (timerfd_settime(sv->stop_timer, 0, &it, NULL) < 0)
		run_end(sv->s, 0);
}

size_t server_processes(struct server *sv)
{
	size_t n = 0;

	sentry_lock(sv->s);
	list_for_each (p, &sv->s->tgroups)
		n += list_entry(p, struct tgroup, list)->pid != sv->s->init;
	sentry_unlock(sv->s);
	return n;
}

static void on_stop_timer(struct server *sv)
{
	uint64_t n;

	if (read(sv->stop_timer, &n, sizeof(n)) < 0)
		return;
	if (now_ms() >= sv->stop_at_ms || !server_processes(sv))
		run_end(sv->s, 0);
}

/* ---- what the loop calls --------------------------------------------- */

static int watch_own(struct server *sv, int *fd)
{
	struct epoll_event ev = {.events = EPOLLIN, .data.ptr = fd};

	return epoll_ctl(sv->epoll, EPOLL_CTL_ADD, *fd, &ev) < 0 ? -errno : 0;
}

static int server_start(void *arg, struct sentry *s)
{
	struct server *sv = arg;
	int null;

	sv->s = s;
	if (watch_own(sv, &sv->listener) || watch_own(sv, &sv->wake) ||
	    watch_own(sv, &sv->stop_timer))
		die("cannot serve the control socket: %s", strerror(errno));
	if (sv->ready < 0)
		return 0;
	null = open("/dev/null", O_RDWR | O_CLOEXEC);
	if (null < 0 || dup2(null, STDERR_FILENO) < 0 ||
	    write(sv->ready, "", 1) != 1)
		return -EIO; /* whoever started it has gone */
	close(null);
	close(sv->ready);
	sv->ready = -1;
	return 0;
}

static void server_poll(void *arg)
{
	struct server *sv = arg;
	struct epoll_event ev[EVENTS];
	int n = epoll_wait(sv->epoll, ev, EVENTS, 0);

	for (int i = 0; i < n; i++) {
		if (ev[i].data.ptr == &sv->listener)
			server_accept(sv);
		else if (ev[i].data.ptr == &sv->wake)
			on_wake(sv);
		else if (ev[i].data.ptr == &sv->stop_timer)
			on_stop_timer(sv);
		else
			on_conn(ev[i].data.ptr);
	}
}

static void server_exited(void *arg, uint32_t id, int wait_status)
{
	command_ended(arg, id, wait_status);
}

static void server_limited(void *arg, const char *why, int status)
{
	struct server *sv = arg;

	free(sv->limited);
	sv->limited = xstrdup(why);
	sv->limited_status = status;
}

static bool any_works(struct server *sv)
{
	list_for_each (p, &sv->conns)
		if (list_entry(p, struct control_conn, link)->working)
			return true;
	return false;
}

/* What was begun on the host's side is brought to its end. */
static void wait_for_slow(struct server *sv)
{
	struct pollfd p = {.fd = sv->wake, .events = POLLIN};
	uint64_t n;

	while (any_works(sv)) {
		if (poll(&p, 1, SLOW_WAIT_MS) <= 0)
			return; /* it waits for a client that takes nothing */
		if (read(sv->wake, &n, sizeof(n)) < 0)
			return;
	}
}

/* The name is free before anybody is told that the sandbox has ended. */
static void server_end(void *arg)
{
	struct server *sv = arg;

	place_release(sv->name);
	sv->released = true;
	close(sv->listener);
	list_for_each (p, &sv->conns) {
		struct control_conn *c =
			list_entry(p, struct control_conn, link);
		json_t *ev = json_pack("{s:s,s:i}", "event", "ended", "status",
				       sv->limited ? sv->limited_status
						   : 128 + SIGKILL);

		if (sv->limited)
			json_object_set_new(ev, "why",
					    control_string(sv->limited));
		conn_answer(c, ev);
		atomic_store(&c->cancel, 1);
	}
	wait_for_slow(sv);
	snapshots_end(sv);
}

int server_init(struct server *sv, const char *name, bool keeps, int ready)
{
	int dir, ret;

	memset(sv, 0, sizeof(*sv));
	list_init(&sv->conns);
	list_init(&sv->commands);
	list_init(&sv->snapshots);
	sv->name = name;
	sv->ready = ready;
	sv->created = time(NULL);
	dir = place_open(&sv->place);
	if (dir >= 0)
		close(dir);
	ret = place_claim(name, &sv->listener);
	if (ret == -EEXIST)
		log_info("a sandbox named %s exists: `cloche exec %s -- CMD` "
			 "runs a command in it, `cloche rm %s` removes it",
			 name, name, name);
	else if (ret == -EPERM)
		log_info("%s does not belong to you, or others may use it; "
			 "remove it, or set XDG_RUNTIME_DIR",
			 sv->place);
	else if (ret)
		log_info("cannot make the socket %s/%s: %s", sv->place, name,
			 strerror(-ret));
	if (ret)
		return ret;
	sv->epoll = epoll_create1(EPOLL_CLOEXEC);
	sv->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	sv->stop_timer =
		timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	BUG_ON(sv->epoll < 0 || sv->wake < 0 || sv->stop_timer < 0);
	sv->service = (struct run_service){
		.arg = sv,
		.keeps = keeps,
		.fd = sv->epoll,
		.start = server_start,
		.poll = server_poll,
		.exited = server_exited,
		.limited = server_limited,
		.end = server_end,
	};
	return 0;
}
