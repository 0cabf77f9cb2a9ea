/*
 * opt.h - command-line options as rows of a table.
 *
 * A row names an option, says where its value goes in the target structure
 * and how it is checked. One reader serves all commands; it also prints the
 * help. Accepts "--name value", "--name=value" and "-x value", "-xvalue"; a
 * value that begins with "-" only as a part of its option's word, "-" aside;
 * stops at "--" and at the first word that is no option.
 */
#ifndef CLOCHE_OPT_H
#define CLOCHE_OPT_H

#include "../base/base.h"
#include "../base/strbuf.h"

enum opt_type {
	OPT_FLAG,     /* bool */
	OPT_STRING,   /* char *, borrowed from argv */
	OPT_SIZE,     /* uint64_t bytes: "512M", "2G" */
	OPT_DURATION, /* uint64_t milliseconds: "90", "1.5s", "10m" */
	OPT_COUNT,    /* uint64_t, at least 1 */
	OPT_DECIMAL,  /* double, above 0 */
	OPT_FD,	      /* int, an open descriptor: "fd:3" */
	OPT_CALL,     /* the check function takes the value */
	OPT_MISSING,  /* known, not in this version: an error that says so */
};

/* value is NULL for an OPT_CALL row without an argument name. Appends to err
 * what was expected and returns -EINVAL, or returns 0. */
typedef int (*opt_check)(void *target, const char *value, struct strbuf *err);

struct opt {
	const char *name; /* without its dashes; NULL ends the table */
	char letter;	  /* 0: none */
	const char *arg;  /* of the help: "PATH"; NULL: takes no value */
	enum opt_type type;
	size_t offset;	 /* in the target */
	opt_check check; /* may be NULL */
	/* OPT_MISSING: what is missing. NULL: our own use, not shown. */
	const char *help;
};

/*
 * Reads argv[1..]. Returns the index of the first word that is no option, or
 * -EINVAL with a message in err. "--help" and "-h" return OPT_HELP.
 */
#define OPT_HELP (-1000)
int MUST_CHECK opt_parse(const struct opt *table, void *target, int argc,
			 char **argv, struct strbuf *err);

/* One option by its name, as if it had been given: 0, or -EINVAL with a
 * message in err. value must live as long as the target where rows borrow. */
int MUST_CHECK opt_set(const struct opt *table, void *target, const char *name,
		       const char *value, struct strbuf *err);
/* The options of argv that have values, in order, without storing any. What
 * is wrong ends it: opt_parse will say so. fn returns nonzero to end it. */
int opt_each(const struct opt *table, int argc, char **argv,
	     int (*fn)(void *arg, const char *name, const char *value),
	     void *arg);

/* Moves the words of argv[1..] that are no options behind those that are, each
 * in its order; how many. After "--" all are words. */
int opt_permute(const struct opt *table, int argc, char **argv);

void opt_help(const struct opt *table, struct strbuf *out);

/* 0 or -EINVAL. */
int MUST_CHECK opt_read_size(const char *text, uint64_t *bytes);
int MUST_CHECK opt_read_duration(const char *text, uint64_t *ms);

/* Which of the words is most like `word`: NULL if none is near. next returns
 * the i-th, NULL at the end. */
const char *opt_nearest(const char *word,
			const char *(*next)(const void *list, size_t i),
			const void *list);

#endif
