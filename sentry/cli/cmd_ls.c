/*
 * cmd_ls.c - `cloche ls`: the sandboxes that run.
 *
 * Each is asked in turn; one that does not answer within a moment is starting,
 * or too busy, and is listed as such.
 */
#include <stdio.h>
#include <sys/socket.h>
#include <time.h>

#include "cli.h"
#include "../session/place.h"
#include "../session/session.h"

enum { ANSWER_WAIT_S = 2 };

struct ls_options {
	bool json;
};

const struct opt cli_ls_options[] = {
	{"json", 0, NULL, OPT_FLAG, offsetof(struct ls_options, json), NULL,
	 "as JSON"},
	{NULL, 0, NULL, OPT_FLAG, 0, NULL, NULL},
};

/* What it says of itself; NULL: there is no such sandbox any more. */
static json_t *ask(const char *name)
{
	struct timeval wait = {.tv_sec = ANSWER_WAIT_S};
	json_t *req, *silent;
	struct control_msg m;
	AUTO_CLOSE int fd = -1;
	int ret = place_connect(name, &fd);

	if (ret == -ENOENT)
		return NULL;
	silent =
		json_pack("{s:s,s:s}", "name", name, "status", "not answering");
	if (ret ||
	    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof(wait)) < 0)
		return silent;
	req = json_pack("{s:s}", "op", "status");
	ret = control_send(fd, req, NULL, 0, false, 0);
	json_decref(req);
	if (!ret)
		ret = control_recv(fd, &m, true, 0);
	if (ret)
		return silent;
	json_decref(silent);
	silent = json_incref(m.root);
	control_msg_fini(&m);
	json_object_del(silent, "ok");
	json_object_del(silent, "v");
	return silent;
}

/* "2 hours ago", of a time like 2026-12-01T00:18:09Z. */
static void print_age(const char *created)
{
	static const struct {
		double seconds;
		const char *unit;
	} units[] = {
		{86400, "day"}, {3600, "hour"}, {60, "minute"}, {1, "second"}};
	struct tm tm = {0};
	char text[48] = "just now";

	if (strptime(created, "%Y-%m-%dT%H:%M:%SZ", &tm)) {
		double age = difftime(time(NULL), timegm(&tm));

		for (size_t i = 0; i < ARRAY_SIZE(units); i++) {
			int n = (int)(age / units[i].seconds);

			if (n < 1)
				continue;
			snprintf(text, sizeof(text), "%d %s%s ago", n,
				 units[i].unit, n == 1 ? "" : "s");
			break;
		}
	} else {
		snprintf(text, sizeof(text), "-");
	}
	printf("%-18s", text);
}

static void print_size(int64_t bytes)
{
	static const char units[] = "BKMGT";
	double n = (double)bytes;
	size_t u = 0;

	while (n >= 1024 && u + 1 < sizeof(units) - 1) {
		n /= 1024;
		u++;
	}
	if (bytes < 0)
		printf("-\n");
	else
		printf(n < 10 && u ? "%.1f%c\n" : "%.0f%c\n", n, units[u]);
}

static void print_row(const json_t *o)
{
	printf("%-20s  %-13s  ", control_text(o, "name", ""),
	       control_text(o, "status", ""));
	print_age(control_text(o, "created", ""));
	printf("  %8lld  ", (long long)control_number(o, "commands", 0));
	print_size(control_number(o, "stored", -1));
}

int cli_ls(int argc, char **argv)
{
	struct ls_options o = {0};
	int at = cli_options("ls", cli_ls_options, &o, argc, argv);
	char **names;
	json_t *list;

	if (at == OPT_HELP)
		return 0;
	if (at < 0)
		return CLI_FAILED;
	if (at < argc) {
		log_info("ls: no name was expected; `cloche inspect %s` says "
			 "all of one",
			 argv[at]);
		return CLI_FAILED;
	}
	names = place_list();
	list = json_array();
	for (char **p = names; *p; p++) {
		json_t *one = ask(*p);

		if (one)
			json_array_append_new(list, one);
	}
	place_list_free(names);
	if (o.json) {
		json_dumpf(list, stdout, JSON_INDENT(2) | JSON_ENSURE_ASCII);
		putchar('\n');
	} else {
		printf("%-20s  %-13s  %-18s  %8s  %s\n", "NAME", "STATUS",
		       "CREATED", "COMMANDS", "STORED");
		for (size_t i = 0; i < json_array_size(list); i++)
			print_row(json_array_get(list, i));
	}
	json_decref(list);
	return 0;
}
