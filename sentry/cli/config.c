/*
 * config.c - the options of `cloche run`, and the struct config they make.
 *
 * One table row per option. What is not in this version has an OPT_MISSING
 * row, so that it is refused by name and never silently ignored. Nothing is
 * read from the work directory: the guest's author may have written it.
 */
#include <fcntl.h>
#include <stdio.h>
#include <strings.h>
#include <sys/stat.h>

#include "config_priv.h"
#include "../../net/gateway.h"
#include "../session/session.h"

extern char **environ;

/* ---- words ----------------------------------------------------------- */

static int one_of(const char *option, const char *value,
		  const char *const *words, struct strbuf *err)
{
	for (size_t i = 0; words[i]; i++)
		if (strcmp(words[i], value) == 0)
			return (int)i;
	strbuf_printf(err, "--%s: \"", option);
	strbuf_visible(err, value, strlen(value));
	strbuf_puts(err, "\" is none of");
	for (size_t i = 0; words[i]; i++)
		strbuf_printf(err, " %s", words[i]);
	return -EINVAL;
}

static int opt_profile(void *t, const char *value, struct strbuf *err)
{
	static const char *const words[] = {"agent", "home", "strict",
					    "observe", NULL};
	int i = one_of("profile", value, words, err);

	if (i < 0)
		return i;
	((struct config *)t)->profile = words[i];
	return 0;
}

static int opt_audit_level(void *t, const char *value, struct strbuf *err)
{
	static const char *const words[] = {"decisions", "all", NULL};
	int i = one_of("audit-level", value, words, err);

	if (i < 0)
		return i;
	((struct config *)t)->audit_all = i == 1;
	return 0;
}

static int opt_apply(void *t, const char *value, struct strbuf *err)
{
	static const char *const words[] = {"none", "ask", NULL};
	int i = one_of("apply", value, words, err);

	if (i < 0)
		return i;
	((struct config *)t)->apply = i == 1 ? APPLY_ASK : APPLY_NONE;
	return 0;
}

static int opt_user(void *t, const char *value, struct strbuf *err)
{
	if (!*value || *value == ':') {
		strbuf_puts(err, "--user: NAME or UID was expected, perhaps "
				 "with :GROUP or :GID");
		return -EINVAL;
	}
	((struct run_options *)t)->user = value;
	return 0;
}

static int opt_env(void *t, const char *value, struct strbuf *err)
{
	struct run_options *o = t;

	if (!*value || *value == '=') {
		strbuf_puts(err, "-e: VAR or VAR=VALUE was expected");
		return -EINVAL;
	}
	/* a file is for many runs: what is set here and now is passed */
	if (o->entry && !strchr(value, '=') && !getenv(value))
		return 0;
	o->env = realloc(o->env, (o->nenv + 1) * sizeof(*o->env));
	BUG_ON(!o->env);
	o->env[o->nenv++] = (char *)value;
	return 0;
}

static int opt_audit_sink(void *t, const char *value, struct strbuf *err)
{
	if (!*value) {
		strbuf_puts(err, "--audit: FILE, fd:N, unix:PATH or - was "
				 "expected");
		return -EINVAL;
	}
	((struct config *)t)->audit = (char *)value;
	return 0;
}

int config_add_net(struct run_options *o, bool allow, const char *value,
		   struct strbuf *err)
{
	struct config *cfg = &o->cfg;
	struct allow scratch = {0};
	struct allow_error e;
	int ret = allow_add(&scratch, allow, value, &e);

	allow_fini(&scratch);
	if (ret) {
		strbuf_printf(err, "--net-%s ", allow ? "allow" : "deny");
		strbuf_visible(err, value, strlen(value));
		strbuf_printf(err, ": at character %zu, expected %s", e.at + 1,
			      e.expected);
		return ret;
	}
	cfg->net = realloc(cfg->net, (cfg->nnet + 1) * sizeof(*cfg->net));
	BUG_ON(!cfg->net);
	cfg->net[cfg->nnet++] = (struct net_rule){
		.allow = allow,
		.text = xstrdup(value),
		.origin = o->entry ? xstrdup(o->entry->origin) : NULL,
	};
	return 0;
}

/* The host's own loopback has a name inside; its address would mean the
 * sandbox's. */
static int not_loopback(const char *value, struct strbuf *err)
{
	static const char *const hosts[] = {"127.", "localhost", "[::1]"};
	const char *host = strstr(value, "://"), *port;
	size_t len = 0;

	host = host ? host + 3 : value;
	for (size_t i = 0; i < ARRAY_SIZE(hosts) && !len; i++)
		if (strncasecmp(host, hosts[i], strlen(hosts[i])) == 0)
			len = strlen(hosts[i]);
	if (!len || (len == 4 && host[strspn(host, "0123456789.")] &&
		     host[strspn(host, "0123456789.")] != ':'))
		return 0;
	if (len != 4 && host[len] && host[len] != ':')
		return 0;
	port = strchr(host + (*host == '[' ? len : 0), ':');
	strbuf_puts(err, "--net-allow ");
	strbuf_visible(err, value, strlen(value));
	strbuf_puts(err, ": that is the sandbox's own loopback, always open; "
			 "the host's is --net-allow " ALLOW_HOST_INTERNAL);
	if (port)
		strbuf_visible(err, port, strlen(port));
	return -EINVAL;
}

static int opt_net_allow(void *t, const char *value, struct strbuf *err)
{
	int ret = config_add_net(t, true, value, err);

	return ret ? ret : not_loopback(value, err);
}

static int opt_net_deny(void *t, const char *value, struct strbuf *err)
{
	return config_add_net(t, false, value, err);
}

static int opt_publish(void *t, const char *value, struct strbuf *err)
{
	struct config *cfg = t;
	struct gateway_publish p;

	if (gateway_publish_parse(value, &p)) {
		strbuf_puts(err, "--publish ");
		strbuf_visible(err, value, strlen(value));
		strbuf_puts(err, ": [IP:]PORT:GUESTPORT was expected, like "
				 "8080:80");
		return -EINVAL;
	}
	if (cfg->npublish == GATEWAY_PUBLISH_MAX) {
		strbuf_puts(err, "--publish: too many ports");
		return -E2BIG;
	}
	cfg->publish = realloc(cfg->publish,
			       (cfg->npublish + 1) * sizeof(*cfg->publish));
	BUG_ON(!cfg->publish);
	cfg->publish[cfg->npublish++] = xstrdup(value);
	return 0;
}

static int opt_dns(void *t, const char *value, struct strbuf *err)
{
	struct config *cfg = t;
	struct netaddr a;

	if (netaddr_parse(value, strlen(value), &a)) {
		strbuf_puts(err, "--dns: an address like 192.0.2.1 was "
				 "expected");
		return -EINVAL;
	}
	free(cfg->dns);
	cfg->dns = xstrdup(value);
	return 0;
}

#define AT(field) offsetof(struct run_options, field)

const struct opt cli_run_options[] = {
	{"ro", 0, "PATH[:GUEST]", OPT_CALL, 0, opt_ro,
	 "show a path, read-only"},
	{"rw", 0, "PATH[:GUEST]", OPT_CALL, 0, opt_rw,
	 "show a path; changes there go to the host at once"},
	{"hide", 0, "GLOB", OPT_CALL, 0, opt_hide,
	 "a path that does not exist "
	 "inside; a bare name hides it everywhere"},
	{"tmpfs", 0, "PATH", OPT_CALL, 0, opt_tmpfs,
	 "an empty directory in memory"},
	{"root", 0, "DIR", OPT_CALL, 0, opt_root,
	 "take the tree from DIR instead of the host's /"},
	{"workdir", 'w', "PATH", OPT_STRING, AT(host_workdir), NULL,
	 "the work directory (default: where you are)"},
	{"profile", 0, "NAME", OPT_CALL, 0, opt_profile,
	 "agent (default), home, strict or observe"},
	{"env", 'e', "VAR[=VALUE]", OPT_CALL, 0, opt_env,
	 "pass a variable; the environment is cleaned otherwise"},
	{"user", 'u', "USER[:GROUP]", OPT_CALL, 0, opt_user,
	 "who the program is to itself: root (a virtual one), a name, a uid"},
	{"memory", 'm', "SIZE", OPT_SIZE, AT(cfg.limits.memory), NULL,
	 "limit of memory, like 2G"},
	{"cpus", 0, "NUMBER", OPT_MISSING, 0, NULL,
	 "a limit of processors; --cpu-time limits the computing"},
	{"pids", 0, "COUNT", OPT_COUNT, AT(cfg.limits.pids), NULL,
	 "limit of processes and threads"},
	{"disk", 0, "SIZE", OPT_SIZE, AT(cfg.limits.disk), NULL,
	 "limit of what is written, like 1G"},
	{"timeout", 0, "TIME", OPT_DURATION, AT(cfg.limits.timeout_ms), NULL,
	 "end the run after a time, like 10m (status 124)"},
	{"cpu-time", 0, "TIME", OPT_DURATION, AT(cfg.limits.cpu_time_ms), NULL,
	 "end the run after that much computing"},
	{"max-output", 0, "SIZE", OPT_SIZE, AT(cfg.limits.output), NULL,
	 "limit of what is printed, like 20k; the rest is dropped"},
	{"audit", 0, "WHERE", OPT_CALL, 0, opt_audit_sink,
	 "write the audit stream to FILE, fd:N, unix:PATH or -"},
	{"audit-level", 0, "LEVEL", OPT_CALL, 0, opt_audit_level,
	 "decisions (default) or all"},
	{"stacks", 0, NULL, OPT_FLAG, AT(cfg.stacks), NULL,
	 "with --audit: add call stacks and instructions (slow)"},
	{"audit-head", 0, "fd:N", OPT_FD, AT(cfg.audit_head_fd), NULL,
	 "give out the stream's final hash"},
	{"costs", 0, "fd:N", OPT_FD, AT(cfg.costs_fd), NULL,
	 "afterwards, where the sentry's time went, as JSON"},
	{"quiet", 'q', NULL, OPT_FLAG, AT(cfg.quiet), NULL,
	 "do not list what was refused"},
	{"diff", 0, NULL, OPT_FLAG, AT(cfg.diff), NULL,
	 "list what changed, afterwards"},
	{"json", 0, NULL, OPT_FLAG, AT(cfg.json), NULL, "with --diff: as JSON"},
	{"patch", 0, NULL, OPT_FLAG, AT(cfg.patch), NULL,
	 "print what changed in the work directory as a patch, afterwards"},
	{"stat", 0, NULL, OPT_FLAG, AT(cfg.stat), NULL,
	 "print how many lines changed, afterwards"},
	{"by", 0, NULL, OPT_FLAG, AT(cfg.by), NULL,
	 "with --diff: grouped by the program that wrote"},
	{"apply", 0, "ask", OPT_CALL, 0, opt_apply,
	 "offer to bring the changes to the host, afterwards"},
	{"insecure-no-userns", 0, NULL, OPT_FLAG, AT(cfg.insecure_no_userns),
	 NULL, "run without user namespaces: a weaker wall"},
	{"name", 0, "NAME", OPT_STRING, AT(cfg.name), NULL,
	 "a name, by which exec, inspect and others reach it"},
	{"keep", 0, NULL, OPT_FLAG, AT(cfg.keep), NULL,
	 "the sandbox stays when the command has ended, until stop or rm"},
	{"policy", 0, "FILE", OPT_CALL, 0, opt_policy,
	 "rules from a file; none: not even those of your own"},
	{"git", 0, "HOST", OPT_CALL, 0, opt_git,
	 "your own git's credential for a host, put into requests outside"},
	{"agent", 0, "NAME", OPT_CALL, 0, opt_agent,
	 "a preset for a coding agent: its state, service and key"},
	{"net-allow", 0, "HOST[:PORTS]", OPT_CALL, 0, opt_net_allow,
	 "let a host, *.host, address or network be reached"},
	{"net-deny", 0, "HOST[:PORTS]", OPT_CALL, 0, opt_net_deny,
	 "an exception to an earlier --net-allow"},
	{"dns", 0, "ADDRESS", OPT_CALL, 0, opt_dns,
	 "ask this name server instead of the host's"},
	{"net-rate", 0, "SIZE", OPT_SIZE, AT(cfg.limits.net_rate), NULL,
	 "limit of bytes a second to and from the outside, like 1M"},
	{"net-connections", 0, "COUNT", OPT_COUNT,
	 AT(cfg.limits.net_connections), NULL,
	 "limit of connections at the same time"},
	{"net-opens", 0, "COUNT", OPT_COUNT, AT(cfg.limits.net_opens), NULL,
	 "limit of connections in all"},
	{"net-idle", 0, "TIME", OPT_DURATION, AT(cfg.limits.net_idle_ms), NULL,
	 "end a connection on which nothing has moved for a time"},
	{"net-time", 0, "TIME", OPT_DURATION, AT(cfg.limits.net_time_ms), NULL,
	 "end a connection after a time"},
	{"http-allow", 0, "RULE", OPT_CALL, 0, opt_http_allow,
	 "of a host, only these requests: 'GET,HEAD example.org/path/**'"},
	{"net-ca", 0, "FILE", OPT_CALL, 0, opt_net_ca,
	 "more authorities that servers' certificates may come from"},
	{"publish", 'p', "[IP:]PORT:GUEST", OPT_CALL, 0, opt_publish,
	 "lead a port of the host to a server inside"},
	{"secret", 0, "NAME=FROM", OPT_CALL, 0, opt_secret,
	 "a secret from env:VAR, file:PATH, fd:N or exec:CMD"},
	{"inject", 0, "RULE", OPT_CALL, 0, opt_inject,
	 "put it into requests, outside: 'api.example.org bearer NAME'"},
	{"secret-env", 0, "VAR=NAME", OPT_CALL, 0, opt_secret_env,
	 "a variable inside that holds a placeholder of a secret"},
	{"stacks", 0, NULL, OPT_MISSING, 0, NULL,
	 "call stacks in the audit stream"},
	{NULL, 0, NULL, OPT_FLAG, 0, NULL, NULL},
};

/* ---- environment and work directory ----------------------------------------
 */

static void env_put(struct config *cfg, size_t *n, char *entry)
{
	size_t len = strcspn(entry, "=");

	for (size_t i = 0; i < *n; i++)
		if (strncmp(cfg->envp[i], entry, len) == 0 &&
		    cfg->envp[i][len] == '=') {
			free(cfg->envp[i]);
			cfg->envp[i] = entry;
			return;
		}
	cfg->envp = realloc(cfg->envp, (*n + 2) * sizeof(*cfg->envp));
	BUG_ON(!cfg->envp);
	cfg->envp[(*n)++] = entry;
	cfg->envp[*n] = NULL;
}

static bool env_kept(const char *entry)
{
	static const char *const names[] = {
		"PATH", "HOME", "USER",	 "LOGNAME", "LANG",
		"TERM", "TZ",	"SHELL", "TMPDIR",
	};
	size_t len = strcspn(entry, "=");

	if (strncmp(entry, "LC_", 3) == 0)
		return true;
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (strlen(names[i]) == len &&
		    strncmp(names[i], entry, len) == 0)
			return true;
	return false;
}

#define SYSTEM_PATH \
	"/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

static void config_env(struct run_options *o)
{
	struct config *cfg = &o->cfg;
	size_t n = 0;

	env_put(cfg, &n, xstrdup("PATH=" SYSTEM_PATH));
	env_put(cfg, &n, xasprintf("HOME=%s", cfg->home));
	for (char **e = environ; e && *e; e++)
		if (env_kept(*e) && strchr(*e, '='))
			env_put(cfg, &n, xstrdup(*e));
	if (o->guest_home)
		env_put(cfg, &n, xasprintf("HOME=%s", o->guest_home));
	if (cfg->root) { /* the caller's may not be there */
		env_put(cfg, &n, xstrdup("SHELL=/bin/sh"));
		env_put(cfg, &n, xstrdup("PATH=" SYSTEM_PATH));
	}
	env_put(cfg, &n, xasprintf("USER=%s", cfg->username));
	env_put(cfg, &n, xasprintf("LOGNAME=%s", cfg->username));
	for (size_t i = 0; i < o->nenv; i++) {
		const char *e = o->env[i], *value;

		if (strchr(e, '=')) {
			env_put(cfg, &n, xstrdup(e));
			continue;
		}
		value = getenv(e);
		if (value)
			env_put(cfg, &n, xasprintf("%s=%s", e, value));
		else
			log_warn("-e %s: not set here, so not inside", e);
	}
}

/* Does an option show something at path, or above it? */
static bool is_bound(const struct config *cfg, const char *path)
{
	for (size_t i = 0; i < cfg->nfiles; i++) {
		const struct file_rule *r = &cfg->files[i];
		size_t len = r->guest ? strlen(r->guest) : 0;

		if ((r->access == FILE_RO || r->access == FILE_RW) && len > 1 &&
		    !strncmp(path, r->guest, len) &&
		    (!path[len] || path[len] == '/'))
			return true;
	}
	return false;
}

static int config_workdir(struct run_options *o)
{
	struct config *cfg = &o->cfg;
	AUTO_FREE char *cwd = getcwd(NULL, 0);
	AUTO_FREE char *path = NULL;
	struct stat st;

	if (cfg->root) {
		/* a tree of its own: nothing of the host's is mounted */
		if (o->host_workdir && *o->host_workdir != '/') {
			log_info("--workdir %s: with --root it must be an "
				 "absolute path inside",
				 o->host_workdir);
			return -EINVAL;
		}
		cfg->workdir = xstrdup(o->host_workdir ? o->host_workdir
				       : cwd && is_bound(cfg, cwd) ? cwd
								   : "/");
		return 0;
	}
	if (!o->host_workdir && !cwd) {
		log_info("the current directory is gone (%s): go to another, "
			 "or give --workdir",
			 strerror(errno));
		return -EINVAL;
	}
	path = config_absolute(o, o->host_workdir ? o->host_workdir : cwd);
	cfg->project = realpath(path, NULL);
	if (!cfg->project || stat(cfg->project, &st) < 0) {
		log_info("work directory %s: %s", path, strerror(errno));
		return -EINVAL;
	}
	if (!S_ISDIR(st.st_mode)) {
		log_info("work directory %s: not a directory", path);
		return -EINVAL;
	}
	cfg->workdir = xstrdup(cfg->project);
	return 0;
}

static int config_name(const struct config *cfg)
{
	if (cfg->name && session_check_name("--name", cfg->name))
		return -EINVAL;
	if (!cfg->keep)
		return 0;
	if (!cfg->name) {
		log_info("run: --keep needs a --name to find it again");
		return -EINVAL;
	}
	if (cfg->diff || cfg->apply != APPLY_NONE) {
		log_info("run: %s is for a sandbox that ends; with --keep, use "
			 "`cloche %s %s` afterwards",
			 cfg->diff ? "--diff" : "--apply",
			 cfg->diff ? "diff" : "apply", cfg->name);
		return -EINVAL;
	}
	return 0;
}

/* Asked before the command runs: its work would be lost for want of an
 * answer. */
static int config_apply(const struct config *cfg)
{
	int fd;

	if (cfg->apply != APPLY_ASK)
		return 0;
	fd = open("/dev/tty", O_RDWR | O_CLOEXEC);
	if (fd < 0) {
		log_info("run: --apply ask: no terminal to ask on; with --name "
			 "NAME --keep the changes stay, for `cloche apply "
			 "NAME`");
		return -EINVAL;
	}
	close(fd);
	return 0;
}

int cli_config(struct config *cfg, const char *command, int argc, char **argv,
	       int *rest)
{
	struct run_options o = {0};
	int first, got;

	o.cfg.audit_head_fd = -1;
	o.cfg.costs_fd = -1;
	o.cfg.profile = "agent";
	o.asks = strcmp(command, "policy") == 0;
	first = config_policies(&o, argc, argv);
	if (!first)
		first = cli_options(command, cli_run_options, &o, argc, argv);
	if (first < 0)
		goto fail;
	*rest = first;
	if ((o.cfg.json || o.cfg.by) && !o.cfg.diff) {
		log_info("run: --json and --by go with --diff");
		first = -EINVAL;
		goto fail;
	}
	if (o.cfg.audit_head_fd >= 0 && !o.cfg.audit) {
		log_info("%s: --audit-head needs --audit: without a stream "
			 "there is no hash of it",
			 command);
		first = -EINVAL;
		goto fail;
	}
	if (o.cfg.stacks && !o.cfg.audit) {
		log_info("%s: --stacks needs --audit: they are in its records",
			 command);
		first = -EINVAL;
		goto fail;
	}
	if (config_name(&o.cfg) ||
	    (strcmp(command, "run") == 0 && config_apply(&o.cfg))) {
		first = -EINVAL;
		goto fail;
	}
	o.cfg.argv = argv + first;
	got = config_identity(&o);
	if (!got)
		got = config_workdir(&o);
	if (got) {
		first = got;
		goto fail;
	}
	if (config_http(&o)) {
		first = -EINVAL;
		goto fail;
	}
	config_env(&o);
	free(o.env);
	free(o.guest_home);
	o.cfg.after = cli_after;
	cli_config_asked(&o.cfg, argv, first);
	*cfg = o.cfg;
	return 0;
fail:
	free(o.env);
	free(o.guest_home);
	cli_config_fini(&o.cfg);
	return first;
}

void cli_config_fini(struct config *cfg)
{
	for (size_t i = 0; i < cfg->nfiles; i++) {
		free(cfg->files[i].path);
		free(cfg->files[i].guest);
		free(cfg->files[i].origin);
	}
	free(cfg->files);
	for (char **e = cfg->envp; e && *e; e++)
		free(*e);
	free(cfg->envp);
	for (size_t i = 0; i < cfg->nnet; i++) {
		free(cfg->net[i].text);
		free(cfg->net[i].origin);
	}
	free(cfg->net);
	for (size_t i = 0; i < cfg->npublish; i++)
		free(cfg->publish[i]);
	free(cfg->publish);
	free(cfg->dns);
	config_http_fini(cfg);
	free(cfg->workdir);
	free(cfg->project);
	free(cfg->root);
	free(cfg->groups);
	free(cfg->home);
	free(cfg->username);
	for (size_t i = 0; i < cfg->nkept; i++)
		free(cfg->kept[i]);
	free(cfg->kept);
	memset(cfg, 0, sizeof(*cfg));
}
