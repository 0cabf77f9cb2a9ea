/*
 * cmd_stop.c - `cloche stop`: SIGTERM, a time of grace, SIGKILL.
 *
 * A kept sandbox is memory, so nothing of it is left. On a terminal a person
 * is asked before changes are lost; elsewhere what was lost is said.
 */
#include <stdio.h>

#include "cli.h"
#include "../session/session.h"

enum { GRACE_MS = 10000 };

struct stop_options {
	uint64_t grace_ms;
	bool discard;
};

const struct opt cli_stop_options[] = {
	{"time", 't', "TIME", OPT_DURATION,
	 offsetof(struct stop_options, grace_ms), NULL,
	 "how long programs may take to end, like 2s (default: 10s)"},
	{"discard", 0, NULL, OPT_FLAG, offsetof(struct stop_options, discard),
	 NULL, "do not ask about changes"},
	{NULL, 0, NULL, OPT_FLAG, 0, NULL, NULL},
};

/* -1 if it cannot be told. */
static int64_t count_changes(int fd, const char *name)
{
	struct control_msg m;
	int64_t n;

	if (session_ask(fd, name, "changes", NULL, &m))
		return -1;
	n = control_number(m.root, "changes", -1);
	control_msg_fini(&m);
	return n;
}

static bool agreed(const char *name, int64_t changes)
{
	char line[16];

	fprintf(stderr,
		"%s has %lld change%s in memory only (`cloche diff %s` lists "
		"them). Lose them? [y/N] ",
		name, (long long)changes, changes == 1 ? "" : "s", name);
	return fgets(line, sizeof(line), stdin) &&
	       (line[0] == 'y' || line[0] == 'Y');
}

static int stop(void *target, const char *name)
{
	const struct stop_options *o = target;
	AUTO_CLOSE int fd = -1;
	struct control_msg m;
	int64_t changes = 0;

	if (session_connect(name, &fd))
		return CLI_FAILED;
	if (!o->discard)
		changes = count_changes(fd, name);
	if (changes > 0 && isatty(0) && isatty(2)) {
		if (!agreed(name, changes)) {
			log_info("%s was not stopped", name);
			return 1;
		}
		changes = 0;
	}
	if (session_ask(fd, name, "stop",
			json_pack("{s:I}", "grace_ms", (json_int_t)o->grace_ms),
			&m))
		return CLI_FAILED;
	control_msg_fini(&m);
	session_wait_end(fd);
	if (changes > 0)
		log_info("%s: %lld change%s in memory only %s lost", name,
			 (long long)changes, changes == 1 ? "" : "s",
			 changes == 1 ? "is" : "are");
	return 0;
}

int cli_stop(int argc, char **argv)
{
	struct stop_options o = {.grace_ms = GRACE_MS};

	return cli_each_name("stop", cli_stop_options, &o, argc, argv, argc,
			     stop);
}
