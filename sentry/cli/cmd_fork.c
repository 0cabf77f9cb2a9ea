/*
 * cmd_fork.c - `cloche fork`: a second kept sandbox that begins with the files
 * of another, now or as they were at a snapshot.
 *
 * It is made by the options of the first (asked.c), of which some can be given
 * anew. Its audit stream is its own: where the first has one, it needs one.
 */
#include <stdio.h>

#include "cli.h"
#include "../command.h"
#include "../session/session.h"

extern char **environ;

struct fork_options {
	char **words; /* for the options of run; owned, as its strings are */
	size_t count;
	bool audit;
};

static void add_word(struct fork_options *o, char *word)
{
	o->words = realloc(o->words, (o->count + 1) * sizeof(*o->words));
	BUG_ON(!o->words);
	o->words[o->count++] = word;
}

#define PASS_ON(fn, option)                                            \
	static int fn(void *target, const char *value,                 \
		      struct strbuf *err UNUSED)                       \
	{                                                              \
		add_word(target, xasprintf("--" option "=%s", value)); \
		return 0;                                              \
	}

PASS_ON(opt_audit_head, "audit-head")
PASS_ON(opt_memory, "memory")
PASS_ON(opt_cpus, "cpus")
PASS_ON(opt_pids, "pids")
PASS_ON(opt_disk, "disk")
PASS_ON(opt_timeout, "timeout")
PASS_ON(opt_cpu_time, "cpu-time")
PASS_ON(opt_max_output, "max-output")
PASS_ON(opt_publish, "publish")

static int opt_audit(void *target, const char *value, struct strbuf *err UNUSED)
{
	struct fork_options *o = target;

	o->audit = true;
	add_word(o, xasprintf("--audit=%s", value));
	return 0;
}

const struct opt cli_fork_options[] = {
	{"audit", 0, "FILE|fd:N|unix:PATH", OPT_CALL, 0, opt_audit,
	 "its own audit stream; needed where the first has one"},
	{"audit-head", 0, "fd:N", OPT_CALL, 0, opt_audit_head,
	 "write the stream's last hash there"},
	{"memory", 0, "SIZE", OPT_CALL, 0, opt_memory,
	 "these as of run, in the place of the first one's"},
	{"cpus", 0, "N", OPT_CALL, 0, opt_cpus, ""},
	{"pids", 0, "N", OPT_CALL, 0, opt_pids, ""},
	{"disk", 0, "SIZE", OPT_CALL, 0, opt_disk, ""},
	{"timeout", 0, "TIME", OPT_CALL, 0, opt_timeout, ""},
	{"cpu-time", 0, "TIME", OPT_CALL, 0, opt_cpu_time, ""},
	{"max-output", 0, "SIZE", OPT_CALL, 0, opt_max_output, ""},
	{"publish", 'p', "[IP:]HOST:GUEST", OPT_CALL, 0, opt_publish,
	 "ports of its own; those of the first are not taken over"},
	{NULL, 0, NULL, OPT_FLAG, 0, NULL, NULL},
};

/* The first one's directory and environment become ours; where the sandboxes
 * are found stays what it is. */
static int be_there(struct command *made)
{
	const char *run = getenv("XDG_RUNTIME_DIR");
	char *more[] = {run ? xasprintf("XDG_RUNTIME_DIR=%s", run) : NULL,
			NULL};

	if (*made->cwd && chdir(made->cwd) < 0) {
		log_host(errno, "fork: %s, where it was made", made->cwd);
		return -errno;
	}
	environ = command_env(made->envp, more); /* for good */
	return 0;
}

static int fork_with(const struct fork_options *o, struct command *made,
		     const char *from, const char *label, const char *name,
		     int fd)
{
	size_t n = made->argc + o->count;
	char **words = xcalloc(n + 2, sizeof(*words));
	char *none[] = {NULL};
	struct config cfg;
	int rest, status;

	/* Both live as long as the process: the new sandbox's own words. */
	for (size_t i = 0; i < made->argc; i++)
		words[i] = made->argv[i];
	for (size_t i = 0; i < o->count; i++)
		words[made->argc + i] = o->words[i];
	status = be_there(made);
	if (!status)
		status = cli_config(&cfg, "fork", (int)n, words, &rest);
	if (status)
		return CLI_FAILED;
	cfg.argv = none;
	cfg.name = xstrdup(name);
	cfg.keep = true;
	status = session_fork(&cfg, from, label, fd);
	if (!status)
		puts(name);
	return status;
}

static int fork_named(const struct fork_options *o, char *from,
		      const char *name)
{
	char *label = strchr(from, '@');
	struct command made;
	bool audited;
	int fd, status = CLI_FAILED;

	if (label)
		*label++ = '\0';
	if (session_check_name("fork", name) ||
	    session_fork_ask(from, &fd, &made, &audited))
		return CLI_FAILED;
	if (audited && !o->audit)
		log_info("fork: %s has an audit stream; give the fork one by "
			 "--audit FILE",
			 from);
	else
		status = fork_with(o, &made, from, label, name, fd);
	close(fd);
	return status;
}

int cli_fork(int argc, char **argv)
{
	struct fork_options o = {0};
	int at = cli_options("fork", cli_fork_options, &o, argc, argv);

	if (at == OPT_HELP)
		return 0;
	if (at < 0)
		return CLI_FAILED;
	if (argc - at != 2) {
		log_info("fork: two names were expected: cloche fork [options] "
			 "NAME[@LABEL] NEW");
		return CLI_FAILED;
	}
	return fork_named(&o, argv[at], argv[at + 1]);
}
