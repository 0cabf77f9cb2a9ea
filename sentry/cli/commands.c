/*
 * commands.c - the table of commands, their help, and the choice of one.
 */
#include <stdio.h>

#include "cli.h"
#include "../run.h"
#include "../session/session.h"
#include "version.h"

static int cli_help(int argc, char **argv)
{
	return cli_print_help(argc > 1 ? argv[1] : NULL);
}

static int cli_version(int argc UNUSED, char **argv UNUSED)
{
	puts("cloche " CLOCHE_VERSION);
	return 0;
}

const struct cli_command cli_commands[] = {
	{"run", cli_run, "run [options] [--] CMD [ARG...]",
	 "run one command in a sandbox", cli_run_options,
	 "The status is the command's; 128+N if signal N killed it; 124 at the "
	 "time limit; 125\nif cloche itself failed; 126 if CMD cannot be "
	 "executed; 127 if it was not found.\n"
	 "125 also if --apply ask was agreed to and could not be done.\n"},
	{"create", cli_create, "create [options] NAME",
	 "make a sandbox that stays", cli_run_options,
	 "The options are those of run. The sandbox stays in memory until "
	 "stop, "
	 "rm or reboot;\n\"cloche run --name NAME --keep -- CMD\" makes one "
	 "and runs a command in it.\n"},
	{"exec", cli_exec, "exec [options] NAME [--] CMD [ARG...]",
	 "run another command in a sandbox", cli_exec_options,
	 "The status is the command's, as of run.\n"},
	{"ls", cli_ls, "ls [--json]", "list the sandboxes that run",
	 cli_ls_options, NULL},
	{"inspect", cli_inspect, "inspect NAME...",
	 "what a sandbox is, and what runs in it, as JSON", NULL, NULL},
	{"stop", cli_stop, "stop [options] NAME...",
	 "end the programs of a sandbox, and with them the sandbox",
	 cli_stop_options,
	 "Its changes are in memory only: what was not applied or exported is "
	 "gone. On a\nterminal it asks first if there are any.\n"},
	{"rm", cli_rm, "rm [options] NAME...",
	 "remove a sandbox and its changes", cli_rm_options,
	 "Refused while a program runs in it, unless --force.\n"},
	{"diff", cli_diff_command, "diff [options] NAME",
	 "what a sandbox changed", cli_diff_options,
	 "A added, M modified, D deleted, R renamed, T another type, P "
	 "permissions, owner or\nattributes.\n"},
	{"apply", cli_apply_command, "apply [options] NAME [PATH...]",
	 "bring a sandbox's changes to the host, all or nothing",
	 cli_apply_options,
	 "With PATHs only those, and what is below them; a relative PATH "
	 "begins where you are.\nA file that has changed on the host is "
	 "refused, and one that the host would later\nrun or obey unless its "
	 "own PATH is given. The status is 1 if something was refused;\n"
	 "nothing is changed then.\n"},
	{"export", cli_export_command, "export [options] NAME",
	 "a sandbox's changes as a tar layer", cli_export_options, NULL},
	{"snapshot", cli_snapshot, "snapshot [options] NAME [LABEL]",
	 "keep the state of a sandbox's files under a label",
	 cli_snapshot_options,
	 "Without LABEL it is the next number, which is printed.\n"},
	{"restore", cli_restore, "restore [options] NAME LABEL",
	 "bring a sandbox's files back to a snapshot", cli_restore_options,
	 "Refused while a program runs in it, unless --force. What is newer "
	 "is lost, but for\nother snapshots.\n"},
	{"fork", cli_fork, "fork [options] NAME[@LABEL] NEW",
	 "make a second sandbox that begins with the files of another",
	 cli_fork_options,
	 "As they are now, or at a snapshot. Both go on apart; either may be "
	 "removed. The fork\nhas the options by which NAME was made.\n"},
	{"audit", cli_audit, "audit show|summary|verify [options] FILE",
	 "read, count and check an audit stream", cli_audit_options,
	 "FILE may be -, for standard input. verify finds any damage and, with "
	 "--head, any\nchange; its status is 1 then.\n"},
	{"policy", cli_policy,
	 "policy show [options] | policy check [options] [FILE] WHAT",
	 "what a program is shown and may reach, and why", NULL,
	 "The options are those of run (--profile, --ro, --net-allow, --policy "
	 "...); FILE is a\npolicy file. WHAT is read, write or exec with a "
	 "PATH, net HOST:PORT, or http METHOD URL.\n"
	 "check exits 0 if allowed, 1 if refused.\n"},
	{"doctor", cli_doctor, "doctor [--json]",
	 "what this machine allows, and which walls will stand",
	 cli_doctor_options, NULL},
	{"bench", cli_bench, "bench [options] [-- CMD [ARG...]]",
	 "what interception costs here, or costs CMD", cli_bench_options,
	 "Without CMD: each mechanism that can intercept a call, in ns. With "
	 "CMD: natively,\nby cloche, and by the peers that are installed, in "
	 "pairs, with medians and ratios.\nNatively and by a peer CMD changes "
	 "what it changes: --prepare can undo that.\n"},
	{"help", cli_help, "help [COMMAND]", "this text, or a command's", NULL,
	 NULL},
	{"version", cli_version, "version", "print the version", NULL, NULL},
	{NULL, NULL, NULL, NULL, NULL, NULL},
};

static const char *command_at(const void *list, size_t i)
{
	return ((const struct cli_command *)list)[i].name;
}

static const struct cli_command *command_find(const char *name)
{
	for (const struct cli_command *c = cli_commands; c->name; c++)
		if (strcmp(c->name, name) == 0)
			return c;
	return NULL;
}

static int command_unknown(const char *name)
{
	const char *near = opt_nearest(name, command_at, cli_commands);
	struct strbuf b;

	strbuf_init(&b, 0);
	strbuf_visible(&b, name, strlen(name));
	if (near)
		log_info("unknown command %s; did you mean \"cloche %s\"?",
			 b.data, near);
	else
		log_info("unknown command %s; \"cloche help\" lists them, and "
			 "a program is run by \"cloche run -- %s\"",
			 b.data, b.data);
	strbuf_fini(&b);
	return CLI_FAILED;
}

int cli_print_help(const char *name)
{
	const struct cli_command *c = name ? command_find(name) : NULL;
	struct strbuf b;

	if (name && !c)
		return command_unknown(name);
	if (c) {
		printf("usage: cloche %s\n\n%s\n", c->usage, c->summary);
		strbuf_init(&b, 0);
		if (c->options)
			opt_help(c->options, &b);
		if (b.len)
			printf("\n%s", b.data);
		if (c->more)
			printf("\n%s", c->more);
		strbuf_fini(&b);
		return 0;
	}
	puts("usage: cloche COMMAND ...\n\n"
	     "Runs programs that you do not trust: they see a whole Linux, "
	     "write into memory\nonly, and every decision is recorded.\n");
	for (c = cli_commands; c->name; c++)
		printf("  %-10s %s\n", c->name, c->summary);
	puts("\n\"cloche help COMMAND\" says more; cloche(1) says all.");
	return 0;
}

int cli_options(const char *command, const struct opt *table, void *target,
		int argc, char **argv)
{
	struct strbuf err;
	int got;

	strbuf_init(&err, 0);
	got = opt_parse(table, target, argc, argv, &err);
	if (got == OPT_HELP)
		cli_print_help(command);
	else if (got < 0)
		log_info("%s: %s", command, err.data ? err.data : "bad option");
	strbuf_fini(&err);
	return got;
}

int cli_main(int argc, char **argv)
{
	const struct cli_command *c;

	if (argc < 2) {
		cli_print_help(NULL);
		return CLI_FAILED;
	}
	if (strcmp(argv[1], "--version") == 0 || strcmp(argv[1], "-V") == 0)
		return cli_version(0, NULL);
	if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0)
		return cli_print_help(NULL);
	c = command_find(argv[1]);
	if (!c)
		return command_unknown(argv[1]);
	return c->run(argc - 1, argv + 1);
}

int cli_run(int argc, char **argv)
{
	struct config cfg;
	int rest, after = 0;
	int status = cli_config(&cfg, "run", argc, argv, &rest);

	if (status == OPT_HELP)
		return 0;
	if (status)
		return CLI_FAILED;
	if (rest >= argc) {
		log_info(
			"run: no command given: cloche run [options] [--] CMD");
		cli_config_fini(&cfg);
		return CLI_FAILED;
	}
	cfg.after_status = &after;
	status = cfg.keep   ? cli_run_kept(&cfg)
		 : cfg.name ? session_run(&cfg)
			    : sentry_run(&cfg);
	cli_config_fini(&cfg);
	return after ? after : status;
}
