/*
 * file.h - policy files (YAML, version 1): see docs/policy.md for the format.
 *
 * A file says nothing that options do not: each entry becomes the option that
 * means the same, with the entry's place as its origin. So there is one set
 * of checks, and what this version does not have is refused in a file as it
 * is on the command line. What is not understood is a mistake, never skipped.
 */
#ifndef CLOCHE_POLICY_FILE_H
#define CLOCHE_POLICY_FILE_H

#include "../base/base.h"
#include "../base/strbuf.h"

enum policy_missing { MISSING_FAILS, MISSING_SKIPPED, MISSING_MADE };

/* What an entry of the file means. The strings end with the call. */
struct policy_option {
	const char *name;	     /* without its dashes: "net-allow" */
	const char *value;	     /* as on a command line */
	const char *origin;	     /* where it stands: "policy.yaml:4" */
	enum policy_missing missing; /* ro, rw: where there is no such path */
};

/* 0, or -EINVAL with what was expected appended to err. */
struct policy_file_sink {
	int (*option)(void *arg, const struct policy_option *o,
		      struct strbuf *err);
	void *arg;
};

/* name is what messages call the file. 0, or -EINVAL with "NAME:LINE:COLUMN:
 * what was expected" in err. */
int MUST_CHECK policy_file_read(const char *name, const char *text, size_t len,
				const struct policy_file_sink *sink,
				struct strbuf *err);

#endif
