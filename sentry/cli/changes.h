/*
 * changes.h - what `cloche run --diff`, `diff`, `apply` and `export` share:
 * all work on a change source (fs/changes.h), of this process's VFS or of a
 * kept sandbox.
 */
#ifndef CLOCHE_CLI_CHANGES_H
#define CLOCHE_CLI_CHANGES_H

#include <stdio.h>

#include "../../fs/changes.h"
#include "cli.h"

struct diff_format {
	bool json, patch, stat, by;
	const char *root; /* patch: names are relative to it */
};

/* Prints the changes on stdout. 0 or -errno. */
int MUST_CHECK cli_diff(struct change_source *src, const struct diff_format *f);

struct apply_request {
	const char *root;   /* host directory */
	const char **paths; /* absolute host paths, or none */
	size_t npaths;
	const char *by; /* only what a program with this text wrote */
	bool force, dry_run;
	FILE *tty;     /* ask there; NULL: never ask */
	bool last;     /* the changes end with this process */
	bool declined; /* out: the answer was no */
	/* Called before the first step: the record of it must reach the audit
	 * stream. Nonzero, after a message: nothing is done. NULL: no stream.
	 */
	int (*announce)(void *arg, const struct apply_request *r,
			size_t changes);
	void *arg;
};

/* Applies, or says why not. 0, 1 (refused, or not wanted), or 125. */
int cli_apply_changes(struct change_source *src, struct apply_request *r);

/* Did a program whose command line has this text, or that has this pid, do
 * it? */
bool cli_change_by(const struct change *c, const char *text);

#endif
