/*
 * cmd_create.c - sandboxes that stay: `cloche create`, `cloche run --keep`.
 */
#include <stdio.h>

#include "cli.h"
#include "../session/session.h"

int cli_run_kept(struct config *cfg)
{
	struct session_exec x = {
		.name = cfg->name,
		.argv = cfg->argv,
		.quiet = cfg->quiet,
	};
	int status = session_create(cfg);

	return status ? status : session_exec(&x);
}

static int check(struct config *cfg, int left, char **words)
{
	if (left < 1 && !cfg->name) {
		log_info("create: no name given: cloche create [options] NAME");
		return -EINVAL;
	}
	if (left > 1 || (left == 1 && cfg->name)) {
		log_info("create: one name was expected; a command is run by "
			 "`cloche exec NAME -- CMD`, or at once by `cloche run "
			 "--name NAME --keep -- CMD`");
		return -EINVAL;
	}
	if (cfg->diff || cfg->apply != APPLY_NONE) {
		log_info("create: %s is for a sandbox that ends",
			 cfg->diff ? "--diff" : "--apply");
		return -EINVAL;
	}
	if (left == 1)
		cfg->name = words[0];
	return session_check_name("create", cfg->name);
}

int cli_create(int argc, char **argv)
{
	char *none[] = {NULL};
	struct config cfg;
	int rest, status = cli_config(&cfg, "create", argc, argv, &rest);

	if (status == OPT_HELP)
		return 0;
	if (status)
		return CLI_FAILED;
	status = CLI_FAILED;
	if (check(&cfg, argc - rest, argv + rest) == 0) {
		cfg.argv = none;
		cfg.keep = true;
		status = session_create(&cfg);
		if (!status)
			puts(cfg.name);
	}
	cli_config_fini(&cfg);
	return status;
}
