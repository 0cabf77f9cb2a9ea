/*
 * cmd_rm.c - `cloche rm`: a sandbox and its changes go.
 */
#include <stdio.h>

#include "cli.h"
#include "../session/session.h"

struct rm_options {
	bool force;
};

const struct opt cli_rm_options[] = {
	{"force", 'f', NULL, OPT_FLAG, offsetof(struct rm_options, force), NULL,
	 "even if a program runs in it; it is killed"},
	{NULL, 0, NULL, OPT_FLAG, 0, NULL, NULL},
};

static int remove_one(void *target, const char *name)
{
	const struct rm_options *o = target;
	AUTO_CLOSE int fd = -1;
	struct control_msg m;
	json_t *req;

	if (session_connect(name, &fd))
		return CLI_FAILED;
	req = json_pack("{s:i,s:b}", "grace_ms", 0, "if_idle", !o->force);
	if (session_ask(fd, name, "stop", req, &m)) {
		if (!o->force)
			log_info("`cloche rm --force %s` removes it in any "
				 "case",
				 name);
		return CLI_FAILED;
	}
	control_msg_fini(&m);
	session_wait_end(fd);
	return 0;
}

int cli_rm(int argc, char **argv)
{
	struct rm_options o = {0};

	return cli_each_name("rm", cli_rm_options, &o, argc, argv, argc,
			     remove_one);
}
