/*
 * config_git.c - --git HOST: the user's own credential for a host, as git on
 * this machine has it, is put into requests to that host outside the sandbox.
 *
 * `git credential fill` runs here, before the sandbox is made, in a directory
 * that nobody else writes: in the work directory its author's .git/config
 * could name a helper, and that would run as the user. What it gives goes
 * into memory and from there to the gateway (net/secret.h); the sandbox's git
 * asks for no password, since the server does not.
 */
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "config_priv.h"
#include "../../net/addr.h"

enum { ANSWER_MAX = 16384 };

NORETURN static void git_child(int in, int out)
{
	static const char *const argv[] = {"git", "credential", "fill", NULL};

	if (chdir("/") < 0 || dup2(in, 0) < 0 || dup2(out, 1) < 0)
		_exit(126);
	/* nobody is asked, and no repository counts */
	setenv("GIT_TERMINAL_PROMPT", "0", 1);
	setenv("GIT_ASKPASS", "", 1);
	setenv("SSH_ASKPASS", "", 1);
	unsetenv("GIT_DIR");
	unsetenv("GIT_WORK_TREE");
	setenv("GIT_CEILING_DIRECTORIES", "/", 1);
	execvp("git", (char *const *)(uintptr_t)argv);
	_exit(127);
}

/* git's answer into buf, NUL-terminated: 0 or -errno. */
static int git_ask(const char *question, char *buf)
{
	int in[2], out[2], status = 0;
	size_t len = 0;
	ssize_t n = 0;
	pid_t pid;

	if (pipe2(in, O_CLOEXEC) < 0 || pipe2(out, O_CLOEXEC) < 0)
		return -errno;
	pid = fork();
	if (pid == 0)
		git_child(in[0], out[1]);
	close(in[0]);
	close(out[1]);
	if (pid > 0 && write(in[1], question, strlen(question)) < 0)
		log_debug("git: %s", strerror(errno));
	close(in[1]);
	while (pid > 0 && len < ANSWER_MAX - 1 &&
	       (n = read(out[0], buf + len, ANSWER_MAX - 1 - len)) > 0)
		len += (size_t)n;
	buf[len] = '\0';
	close(out[0]);
	if (pid < 0 || waitpid(pid, &status, 0) < 0 || n < 0)
		return -EIO;
	return WIFEXITED(status) && !WEXITSTATUS(status) ? 0 : -ENOENT;
}

/* The value of a line "key=value", owned by buf; its end is cut. */
static char *answer_find(char *buf, const char *key)
{
	size_t n = strlen(key);

	for (char *p = buf; p && *p; p = strchr(p, '\n'), p += p ? 1 : 0)
		if (strncmp(p, key, n) == 0 && p[n] == '=')
			return p + n + 1;
	return NULL;
}

static int keep_password(const char *password, size_t len)
{
	int fd = memfd_create("git", MFD_CLOEXEC);

	if (fd < 0 || write(fd, password, len) != (ssize_t)len ||
	    lseek(fd, 0, SEEK_SET) < 0)
		die("--git: %s", strerror(errno));
	return fd;
}

static int inject(struct run_options *o, const char *host, char *answer,
		  struct strbuf *err)
{
	char *user = answer_find(answer, "username");
	char *password = answer_find(answer, "password");
	AUTO_FREE char *secret = NULL;
	AUTO_FREE char *rule = NULL;
	size_t n = o->cfg.secrets.count;
	int ret;

	if (!user || !password || !strcspn(password, "\n"))
		return -ENOENT;
	user[strcspn(user, "\n")] = '\0';
	if (!*user || user[strcspn(user, " \t:{}")]) {
		strbuf_printf(err,
			      "--git %s: the user's name has characters "
			      "that cannot be sent",
			      host);
		return -EINVAL;
	}
	secret = xasprintf("git_%zu=fd:%d", n,
			   keep_password(password, strcspn(password, "\n")));
	rule = xasprintf("%s basic:%s git_%zu", host, user, n);
	ret = opt_secret(o, secret, err);
	return ret ? ret : opt_inject(o, rule, err);
}

int opt_git(void *t, const char *value, struct strbuf *err)
{
	struct run_options *o = t;
	char host[NETHOST_SIZE], *answer;
	AUTO_FREE char *question = NULL;
	AUTO_FREE char *net = NULL;
	int ret;

	if (nethost_canon(value, strlen(value), host)) {
		strbuf_puts(err, "--git: a host's name was expected");
		return -EINVAL;
	}
	net = xasprintf("%s:443", host);
	ret = config_add_net(o, true, net, err);
	if (ret || o->asks)
		return ret;
	question = xasprintf("protocol=https\nhost=%s\n\n", host);
	answer = xmalloc(ANSWER_MAX);
	ret = git_ask(question, answer);
	if (!ret)
		ret = inject(o, host, answer, err);
	explicit_bzero(answer, ANSWER_MAX);
	free(answer);
	if (ret == -ENOENT || ret == -EIO)
		strbuf_printf(err,
			      "--git %s: `git credential fill` gives nothing "
			      "for it: log in there first, or use --net-allow",
			      host);
	return ret ? -EINVAL : 0;
}
