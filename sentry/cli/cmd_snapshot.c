/*
 * cmd_snapshot.c - `cloche snapshot` and `cloche restore`: the state of a kept
 * sandbox's files, kept in it under labels.
 */
#include <stdio.h>

#include "cli.h"
#include "../session/session.h"

struct snapshot_options {
	bool remove, list, json;
};

#define AT(field) offsetof(struct snapshot_options, field)

const struct opt cli_snapshot_options[] = {
	{"list", 'l', NULL, OPT_FLAG, AT(list), NULL, "list them"},
	{"json", 0, NULL, OPT_FLAG, AT(json), NULL, "with --list: as JSON"},
	{"remove", 'd', NULL, OPT_FLAG, AT(remove), NULL,
	 "remove the one with this LABEL"},
	{NULL, 0, NULL, OPT_FLAG, 0, NULL, NULL},
};

struct restore_options {
	bool force;
};

const struct opt cli_restore_options[] = {
	{"force", 'f', NULL, OPT_FLAG, offsetof(struct restore_options, force),
	 NULL, "even if a program runs in it; it is killed"},
	{NULL, 0, NULL, OPT_FLAG, 0, NULL, NULL},
};

/* The name and up to one more word, options before, between or after. The
 * number of words, OPT_HELP or -EINVAL. */
static int two_words(const char *command, const struct opt *table, void *target,
		     int argc, char **argv, const char *words[2])
{
	int n = 0;

	while (argc > 1) {
		int at = cli_options(command, table, target, argc, argv);

		if (at < 0)
			return at;
		if (at < argc && n == 2) {
			log_info("%s: a name and a label were expected",
				 command);
			return -EINVAL;
		}
		if (at < argc)
			words[n++] = argv[at];
		argv += at;
		argc -= at;
	}
	if (!n) {
		log_info("%s: no name given; `cloche ls` lists the sandboxes",
			 command);
		return -EINVAL;
	}
	return n;
}

static int list(int fd, const char *name, bool as_json)
{
	struct control_msg m;
	const json_t *all;

	if (session_ask(fd, name, "inspect", NULL, &m))
		return CLI_FAILED;
	all = json_object_get(m.root, "snapshots");
	if (as_json) {
		json_dumpf(all, stdout, JSON_INDENT(2) | JSON_ENSURE_ASCII);
		putchar('\n');
	} else {
		printf("%-20s  %-20s  %s\n", "LABEL", "CREATED", "NAMES");
	}
	for (size_t i = 0; !as_json && i < json_array_size(all); i++) {
		const json_t *o = json_array_get(all, i);

		printf("%-20s  %-20s  %lld\n", control_text(o, "label", ""),
		       control_text(o, "created", ""),
		       (long long)control_number(o, "names", 0));
	}
	control_msg_fini(&m);
	return 0;
}

static int snapshot(int fd, const struct snapshot_options *o, const char *name,
		    const char *label)
{
	struct control_msg m;
	json_t *req = json_pack("{s:o,s:b}", "label",
				control_string(label ? label : ""), "remove",
				o->remove);

	if (session_ask(fd, name, "snapshot", req, &m))
		return CLI_FAILED;
	if (!o->remove)
		puts(control_text(m.root, "label", ""));
	control_msg_fini(&m);
	return 0;
}

int cli_snapshot(int argc, char **argv)
{
	struct snapshot_options o = {0};
	const char *words[2] = {NULL, NULL};
	AUTO_CLOSE int fd = -1;
	int n = two_words("snapshot", cli_snapshot_options, &o, argc, argv,
			  words);

	if (n == OPT_HELP)
		return 0;
	if (n < 0)
		return CLI_FAILED;
	if (o.remove && n < 2) {
		log_info("snapshot --remove: no label given");
		return CLI_FAILED;
	}
	if (session_connect(words[0], &fd))
		return CLI_FAILED;
	return o.list ? list(fd, words[0], o.json)
		      : snapshot(fd, &o, words[0], words[1]);
}

int cli_restore(int argc, char **argv)
{
	struct restore_options o = {0};
	const char *words[2] = {NULL, NULL};
	AUTO_CLOSE int fd = -1;
	struct control_msg m;
	int n = two_words("restore", cli_restore_options, &o, argc, argv,
			  words);

	if (n == OPT_HELP)
		return 0;
	if (n < 0)
		return CLI_FAILED;
	if (n < 2) {
		log_info("restore: no label given; `cloche snapshot --list %s` "
			 "lists them",
			 words[0]);
		return CLI_FAILED;
	}
	if (session_connect(words[0], &fd) ||
	    session_ask(fd, words[0], "restore",
			json_pack("{s:o,s:b}", "label",
				  control_string(words[1]), "force", o.force),
			&m))
		return CLI_FAILED;
	control_msg_fini(&m);
	return 0;
}
