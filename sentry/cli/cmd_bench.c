/*
 * cmd_bench.c - `cloche bench`: what interception costs on this machine, or
 * what it costs a command of the user's.
 */
#include <fcntl.h>
#include <stdio.h>

#include "cli.h"
#include "../../bench/cost/growth.h"
#include "../../bench/cost/suite.h"

struct bench_options {
	bool json, list, growth, quick;
	char *html, *only, *peers, *prepare, *guest;
	uint64_t ms, rounds, runs, warmup, guest_files;
};

#define AT(field) offsetof(struct bench_options, field)

const struct opt cli_bench_options[] = {
	{"json", 0, NULL, OPT_FLAG, AT(json), NULL, "as JSON"},
	{"html", 0, "FILE", OPT_STRING, AT(html), NULL,
	 "also a page with plots, complete in itself"},
	{"list", 0, NULL, OPT_FLAG, AT(list), NULL, "name the mechanisms"},
	{"only", 0, "NAME,...", OPT_STRING, AT(only), NULL,
	 "these mechanisms, and native"},
	{"growth", 0, NULL, OPT_FLAG, AT(growth), NULL,
	 "also: does a call's price grow with files, processes, threads and "
	 "rules"},
	{"quick", 0, NULL, OPT_FLAG, AT(quick), NULL,
	 "a quarter of the time, and less sure"},
	{"ms", 0, "N", OPT_COUNT, AT(ms), NULL, "of each measurement (50)"},
	{"rounds", 0, "N", OPT_COUNT, AT(rounds), NULL,
	 "each measurement so often (3; at most 64)"},
	{"runs", 'r', "N", OPT_COUNT, AT(runs), NULL,
	 "pairs of runs of CMD (10)"},
	{"warmup", 'w', "N", OPT_COUNT, AT(warmup), NULL,
	 "runs of CMD that are not counted (1)"},
	{"prepare", 'p', "COMMAND", OPT_STRING, AT(prepare), NULL,
	 "for /bin/sh, on the host, before each run of CMD"},
	{"peers", 0, "NAME,...", OPT_STRING, AT(peers), NULL,
	 "against these: bwrap strace proot runsc sandlock syd; none; all that "
	 "are installed"},
	{"guest", 0, "SPEC", OPT_STRING, AT(guest), NULL, NULL},
	{"guest-files", 0, "N", OPT_COUNT, AT(guest_files), NULL, NULL},
	{NULL, 0, NULL, OPT_FLAG, 0, NULL, NULL},
};

static int list(void)
{
	for (size_t i = 0; cost_mechs[i]; i++)
		printf("%-16s%s\n", cost_mechs[i]->name, cost_mechs[i]->what);
	return 0;
}

static int measure(json_t *root, const struct bench_options *o, char **argv)
{
	struct suite_options s = {
		.ms = o->ms	 ? (unsigned)o->ms
		      : o->quick ? 20
				 : 50,
		.rounds = o->rounds  ? (unsigned)o->rounds
			  : o->quick ? 1
				     : 3,
		.only = o->only,
		.growth = o->growth,
	};
	struct own_options own = {
		.argv = argv,
		.prepare = o->prepare,
		.peers = o->peers,
		.runs = o->runs	   ? (unsigned)o->runs
			: o->quick ? 5
				   : 10,
		.warmup = o->warmup ? (unsigned)o->warmup : 1,
	};
	int ret;

	if (argv)
		return suite_command(root, &own);
	ret = suite_mechanisms(root, &s);
	return !ret && o->growth ? suite_growth(root, &s) : ret;
}

/* Before minutes are spent on measuring. */
static int html_check(const char *path)
{
	AUTO_CLOSE int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0666);

	if (fd >= 0)
		return 0;
	log_info("bench: cannot write %s: %s%s", path, strerror(errno),
		 errno == ENOENT ? "; make its directory first" : "");
	return -EINVAL;
}

static int check(const struct bench_options *o, bool command)
{
	int ret = 0;

	if (o->ms > 10000 || o->rounds > 64 || o->runs > 10000 ||
	    o->warmup > 10000) {
		log_info("bench: at most --ms 10000, --rounds 64, --runs "
			 "10000, --warmup 10000");
		return -EINVAL;
	}
	if (command && (o->only || o->growth)) {
		log_info("bench: --only and --growth are for the mechanisms, "
			 "without a command");
		return -EINVAL;
	}
	if (!command && (o->prepare || o->peers)) {
		log_info("bench: --prepare and --peers need a command: cloche "
			 "bench [options] -- CMD");
		return -EINVAL;
	}
	if (o->peers)
		ret = suite_peers_known(o->peers);
	return ret || !o->html ? ret : html_check(o->html);
}

int cli_bench(int argc, char **argv)
{
	struct bench_options o = {0};
	int at = cli_options("bench", cli_bench_options, &o, argc, argv);
	json_t *root;
	int ret;

	if (at == OPT_HELP)
		return 0;
	if (at < 0)
		return CLI_FAILED;
	if (o.guest)
		return cost_guest_main(o.guest);
	if (o.guest_files)
		return cost_growth_guest((unsigned)o.guest_files);
	if (o.list)
		return list();
	if (check(&o, at < argc))
		return CLI_FAILED;
	root = suite_new();
	ret = measure(root, &o, at < argc ? argv + at : NULL);
	if (!ret && o.html)
		ret = show_html(root, o.html);
	if (!ret && o.json) {
		json_dumpf(root, stdout,
			   JSON_INDENT(2) | JSON_REAL_PRECISION(6));
		putchar('\n');
	} else if (!ret) {
		show_table(root);
	}
	json_decref(root);
	return ret ? CLI_FAILED : 0;
}
