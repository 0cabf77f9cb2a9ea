/*
 * cmd_inspect.c - `cloche inspect`: all that a sandbox says of itself.
 */
#include <stdio.h>

#include "cli.h"
#include "../session/session.h"

int cli_each_name(const char *command, const struct opt *table, void *target,
		  int argc, char **argv, int max,
		  int (*fn)(void *target, const char *name))
{
	static const struct opt none[] = {
		{NULL, 0, NULL, OPT_FLAG, 0, NULL, NULL},
	};
	AUTO_FREE const char **names = xcalloc((size_t)argc, sizeof(*names));
	int n = 0, status = 0, at;

	while (argc > 1) {
		at = cli_options(command, table ? table : none, target, argc,
				 argv);
		if (at < 0)
			return at == OPT_HELP ? 0 : CLI_FAILED;
		if (at < argc)
			names[n++] = argv[at];
		/* on with what follows the name, behind a stand-in for it */
		argv += at;
		argc -= at;
	}
	if (n < 1 || n > max) {
		log_info("%s: %s", command,
			 n ? "one name was expected"
			   : "no name given; `cloche ls` "
			     "lists the sandboxes");
		return CLI_FAILED;
	}
	for (int i = 0; i < n; i++) {
		int ret = fn(target, names[i]);

		status = status ? status : ret;
	}
	return status;
}

static int inspect(void *target, const char *name)
{
	json_t *list = target;
	struct control_msg m;
	AUTO_CLOSE int fd = -1;

	if (session_connect(name, &fd) ||
	    session_ask(fd, name, "inspect", NULL, &m))
		return CLI_FAILED;
	json_object_del(m.root, "ok");
	json_object_del(m.root, "v");
	json_array_append(list, m.root);
	control_msg_fini(&m);
	return 0;
}

/* One sandbox is an object, more are an array. */
int cli_inspect(int argc, char **argv)
{
	json_t *list = json_array(), *out;
	int status =
		cli_each_name("inspect", NULL, list, argc, argv, argc, inspect);

	out = json_array_size(list) == 1 ? json_array_get(list, 0) : list;
	if (json_array_size(list)) {
		json_dumpf(out, stdout, JSON_INDENT(2) | JSON_ENSURE_ASCII);
		putchar('\n');
	}
	json_decref(list);
	return status;
}
