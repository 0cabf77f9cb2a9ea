/*
 * session.c - starting a sandbox that stays, or one with a name; see
 * session.h.
 *
 * The daemon is a child that never executes another program. Until it can be
 * used its stderr is the caller's, so that what cannot be done is said there;
 * it then writes one byte to the pipe and lets go of that too.
 */
#include "session.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>

#include "../run.h"
#include "place.h"
#include "server.h"

enum { EXIT_CLOCHE = 125 };

int session_check_name(const char *command, const char *name)
{
	struct strbuf b;

	if (place_name_valid(name))
		return 0;
	strbuf_init(&b, 0);
	strbuf_visible(&b, name, strlen(name));
	log_info("%s: \"%s\" cannot be a sandbox's name: letters, digits and "
		 "_ . - were expected, up to %d, the first a letter or digit",
		 command, b.len ? b.data : "", PLACE_NAME_MAX);
	strbuf_fini(&b);
	return -EINVAL;
}

static int audit_fd(const struct config *cfg)
{
	if (!cfg->audit || strncmp(cfg->audit, "fd:", 3) != 0)
		return -1;
	return atoi(cfg->audit + 3);
}

/* Nothing of the caller's stays open but stderr, for now, and what it was
 * given to write to. */
static int let_go(const struct config *cfg, int *ready)
{
	int keep[] = {*ready, audit_fd(cfg), cfg->audit_head_fd, cfg->costs_fd,
		      cfg->seed ? cfg->seed_fd : -1};
	int null = open("/dev/null", O_RDWR | O_CLOEXEC), next = 3;

	if (null < 0 || dup2(null, 0) < 0 || dup2(null, 1) < 0)
		return -errno;
	close(null);
	for (;;) { /* the lowest of them that is not below `next` */
		int low = -1;

		for (int i = 0; i < (int)ARRAY_SIZE(keep); i++)
			if (keep[i] >= next && (low < 0 || keep[i] < low))
				low = keep[i];
		if (low < 0)
			break;
		if (low > next)
			close_range((unsigned)next, (unsigned)low - 1, 0);
		next = low + 1;
	}
	close_range((unsigned)next, ~0U, 0);
	return chdir("/") < 0 ? -errno : 0;
}

static void default_signals(void)
{
	static const int sigs[] = {SIGINT,  SIGTERM, SIGHUP,  SIGQUIT, SIGCHLD,
				   SIGPIPE, SIGTSTP, SIGALRM, SIGUSR1, SIGUSR2};
	sigset_t none;

	for (size_t i = 0; i < ARRAY_SIZE(sigs); i++)
		signal(sigs[i], SIG_DFL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

NORETURN static void daemon_main(struct config *cfg, int ready)
{
	struct server *sv = xcalloc(1, sizeof(*sv));
	int ret;

	setsid();
	default_signals();
	ret = let_go(cfg, &ready);
	if (ret) {
		log_host(ret, "becoming a daemon");
		_exit(EXIT_CLOCHE);
	}
	if (server_init(sv, cfg->name, true, ready))
		_exit(EXIT_CLOCHE);
	cfg->service = &sv->service;
	cfg->after = NULL; /* its clients say what there is to say */
	ret = sentry_run(cfg);
	if (!sv->released)
		place_release(cfg->name);
	exit(ret);
}

/* A path of the caller's, before the daemon leaves the directory. */
static void absolute_sink(struct config *cfg)
{
	AUTO_FREE char *cwd = getcwd(NULL, 0);
	const char *a = cfg->audit, *prefix = "";

	if (!a || !cwd || strcmp(a, "-") == 0 || strncmp(a, "fd:", 3) == 0)
		return;
	if (strncmp(a, "unix:", 5) == 0) {
		prefix = "unix:";
		a += 5;
	}
	if (*a != '/') /* lives as long as the configuration */
		cfg->audit = xasprintf("%s%s/%s", prefix, cwd, a);
}

/* Waits for the byte that says that it can be used. */
static int wait_ready(int fd, pid_t pid)
{
	int status;
	ssize_t n;
	char c;

	do {
		n = read(fd, &c, 1);
	} while (n < 0 && errno == EINTR);
	if (n == 1)
		return 0;
	if (waitpid(pid, &status, 0) == pid && WIFSIGNALED(status))
		log_info("the sandbox was killed by signal %d as it started",
			 WTERMSIG(status));
	return EXIT_CLOCHE;
}

int session_create(struct config *cfg)
{
	int p[2], ret;
	pid_t pid;

	if (cfg->audit && strcmp(cfg->audit, "-") == 0) {
		log_info("--audit -: a sandbox that stays has no stderr; give "
			 "a FILE, fd:N or unix:PATH");
		return EXIT_CLOCHE;
	}
	absolute_sink(cfg);
	if (pipe2(p, O_CLOEXEC) < 0) {
		log_host(errno, "pipe2");
		return EXIT_CLOCHE;
	}
	fflush(NULL);
	pid = fork();
	if (pid == 0) {
		close(p[0]);
		daemon_main(cfg, p[1]);
	}
	close(p[1]);
	if (pid < 0) {
		log_host(errno, "fork");
		ret = EXIT_CLOCHE;
	} else {
		ret = wait_ready(p[0], pid);
	}
	close(p[0]);
	if (ret) { /* what it left of its name */
		int fd;

		if (place_connect(cfg->name, &fd) == 0)
			close(fd);
	}
	return ret;
}

int session_run(struct config *cfg)
{
	AUTO_FREE struct server *sv = xcalloc(1, sizeof(*sv));
	int ret;

	if (server_init(sv, cfg->name, false, -1))
		return EXIT_CLOCHE;
	cfg->service = &sv->service;
	ret = sentry_run(cfg);
	if (!sv->released)
		place_release(cfg->name);
	return ret;
}
