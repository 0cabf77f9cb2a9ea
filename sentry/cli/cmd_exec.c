/*
 * cmd_exec.c - `cloche exec`: another command in a sandbox.
 */
#include "cli.h"
#include "../session/session.h"

struct exec_options {
	char **env; /* "VAR=VALUE"; owned, as its strings are */
	size_t nenv;
	char *workdir;
	bool detach, quiet;
};

static int opt_env(void *target, const char *value, struct strbuf *err)
{
	struct exec_options *o = target;
	const char *set = strchr(value, '=') ? value : getenv(value);

	if (!*value || *value == '=') {
		strbuf_puts(err, "-e: VAR or VAR=VALUE was expected");
		return -EINVAL;
	}
	if (!set) {
		log_warn("-e %s: not set here, so not inside", value);
		return 0;
	}
	o->env = realloc(o->env, (o->nenv + 2) * sizeof(*o->env));
	BUG_ON(!o->env);
	o->env[o->nenv++] =
		set == value ? xstrdup(value) : xasprintf("%s=%s", value, set);
	o->env[o->nenv] = NULL;
	return 0;
}

#define AT(field) offsetof(struct exec_options, field)

const struct opt cli_exec_options[] = {
	{"env", 'e', "VAR[=VALUE]", OPT_CALL, 0, opt_env,
	 "set a variable over those of the sandbox"},
	{"workdir", 'w', "PATH", OPT_STRING, AT(workdir), NULL,
	 "where to run it, as the sandbox sees it (default: its own)"},
	{"detach", 'd', NULL, OPT_FLAG, AT(detach), NULL,
	 "do not wait for it; its input and output are /dev/null"},
	{"quiet", 'q', NULL, OPT_FLAG, AT(quiet), NULL,
	 "do not list what was refused"},
	{NULL, 0, NULL, OPT_FLAG, 0, NULL, NULL},
};

int cli_exec(int argc, char **argv)
{
	struct exec_options o = {0};
	struct session_exec x = {0};
	int at = cli_options("exec", cli_exec_options, &o, argc, argv);
	int status = CLI_FAILED;

	if (at == OPT_HELP)
		return 0;
	if (at < 0)
		goto out;
	x.name = at < argc ? argv[at++] : NULL;
	if (at < argc && strcmp(argv[at], "--") == 0)
		at++;
	if (!x.name || at >= argc) {
		log_info("exec: %s: cloche exec [options] NAME [--] CMD",
			 x.name ? "no command given" : "no name given");
		goto out;
	}
	x.argv = argv + at;
	x.env = o.env;
	x.cwd = o.workdir;
	x.detach = o.detach;
	x.quiet = o.quiet;
	status = session_exec(&x);
out:
	for (size_t i = 0; i < o.nenv; i++)
		free(o.env[i]);
	free(o.env);
	return status;
}
