/*
 * cli.h - the commands, and what they share.
 */
#ifndef CLOCHE_CLI_H
#define CLOCHE_CLI_H

#include "../base/base.h"
#include "../base/strbuf.h"
#include "../config.h"
#include "opt.h"

struct audit;
struct vfs;

#define CLI_FAILED 125 /* cloche itself failed, or was asked nonsense */

/* argv[0] is the command's name; returns the exit status. */
typedef int (*cli_fn)(int argc, char **argv);

struct cli_command {
	const char *name; /* NULL ends the table */
	cli_fn run;
	const char *usage;   /* after "cloche ": "run [options] [--] CMD" */
	const char *summary; /* one line */
	const struct opt *options; /* NULL: none */
	const char *more;	   /* further help, or NULL */
};

extern const struct cli_command cli_commands[];
extern const struct opt cli_run_options[], cli_audit_options[],
	cli_doctor_options[], cli_exec_options[], cli_ls_options[],
	cli_stop_options[], cli_rm_options[], cli_diff_options[],
	cli_apply_options[], cli_export_options[], cli_snapshot_options[],
	cli_restore_options[], cli_fork_options[], cli_bench_options[];

int cli_run(int argc, char **argv);
int cli_bench(int argc, char **argv);
int cli_audit(int argc, char **argv);
int cli_policy(int argc, char **argv);
int cli_doctor(int argc, char **argv);
int cli_create(int argc, char **argv);
int cli_exec(int argc, char **argv);
int cli_ls(int argc, char **argv);
int cli_inspect(int argc, char **argv);
int cli_stop(int argc, char **argv);
int cli_rm(int argc, char **argv);
int cli_diff_command(int argc, char **argv);
int cli_apply_command(int argc, char **argv);
int cli_export_command(int argc, char **argv);
int cli_snapshot(int argc, char **argv);
int cli_restore(int argc, char **argv);
int cli_fork(int argc, char **argv);
/* run --keep: makes a sandbox that stays and runs the command in it. */
int cli_run_kept(struct config *cfg);

/* All of it: chooses the command and runs it. */
int cli_main(int argc, char **argv);
/* Prints a command's help on stdout; 0. */
int cli_print_help(const char *name);
/* Reads options; on a mistake prints the message and returns -EINVAL; on
 * --help prints that and returns OPT_HELP. */
int MUST_CHECK cli_options(const char *command, const struct opt *table,
			   void *target, int argc, char **argv);

/*
 * For commands that take sandboxes' names: options before and after them, then
 * fn for each, at least one and at most max. The first failure's status.
 */
int cli_each_name(const char *command, const struct opt *table, void *target,
		  int argc, char **argv, int max,
		  int (*fn)(void *target, const char *name));

/* Fills cfg from the options of `run` in argv[1..] and from the caller's
 * environment; argv[*rest] is the first word that is none. 0, -EINVAL after a
 * message, or OPT_HELP. cfg->argv borrows argv. cli_config_fini frees. */
int MUST_CHECK cli_config(struct config *cfg, const char *command, int argc,
			  char **argv, int *rest);
void cli_config_fini(struct config *cfg);
/* asked.c: cfg->asked of argv[1 .. first). */
void cli_config_asked(struct config *cfg, char **argv, int first);

/* config.after: what is said and offered when the program has ended. */
void cli_after(const struct config *cfg, struct vfs *vfs, struct audit *audit);
/* Refusal lines (audit_denials) on stderr, each with "cloche: ". */
void cli_print_denials(const struct strbuf *text);
/* Lists the changes, asks on the terminal, and brings them to the host. 0 (also
 * when the answer was no), or 125: a conflict or a failure. */
int cli_apply_ask(const struct config *cfg, struct vfs *vfs,
		  struct audit *audit);

#endif
