/*
 * script.h - parses the "#!" line of a script as the kernel does.
 *
 * Rules of fs/binfmt_script.c since 5.1: of the first 256 bytes, an
 * interpreter path that may be truncated is ENOEXEC, one optional argument
 * holds the rest of the line, blanks at its end are dropped, and an argument
 * that is cut by the 256 bytes is passed on as it is.
 */
#ifndef CLOCHE_SCRIPT_H
#define CLOCHE_SCRIPT_H

#include "filehead.h"

#define SCRIPT_HEAD	 256 /* BINPRM_BUF_SIZE */
#define SCRIPT_DEPTH_MAX 5   /* interpreters that are scripts: then ELOOP */

struct script_line {
	char interp[SCRIPT_HEAD];
	char arg[SCRIPT_HEAD];
	bool has_arg;
};

/* The first bytes of a file, padded with NULs. */
void script_take_head(const struct file_head *h, char head[SCRIPT_HEAD]);

/* 0, or -ENOEXEC: not a script, or one without a usable interpreter. */
int MUST_CHECK script_parse(const char head[SCRIPT_HEAD],
			    struct script_line *out);

#endif
