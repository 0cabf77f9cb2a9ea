/*
 * suite.h - what `cloche bench` runs, and how it is shown.
 *
 * All results are one JSON value (schema 1), from which the table and the
 * page are drawn:
 *
 *   {"bench": 1, "machine": {...}, "warnings": [TEXT...],
 *    "mechanisms": [{"name", "what", "calls": {OP: {"min", "median", "p99",
 *       "guest_cpu", "supervisor_cpu", "per_second"}},
 *       "threads": [[N, PER_SECOND]...], "processes": [...],
 *       "missing": TEXT}],
 *    "growth": [{"name", "unit", "native": [[N, NS]...], "inside": [...]}],
 *    "command": {...}}
 *
 * Times are ns for one operation, in "command" ms.
 */
#ifndef CLOCHE_BENCH_SUITE_H
#define CLOCHE_BENCH_SUITE_H

#include <jansson.h>

#include "mech.h"

struct suite_options {
	unsigned ms;	  /* of one measurement */
	unsigned rounds;  /* each cell so often, interleaved */
	const char *only; /* mechanisms, with commas between; NULL: all */
	bool growth;
};

struct own_options {
	char **argv;	     /* NULL-terminated */
	const char *prepare; /* for /bin/sh, before each run; NULL: nothing */
	const char *peers;   /* with commas between; NULL: what is installed */
	unsigned runs, warmup;
};

/* Where progress goes; nothing is written if stderr is no terminal. */
void suite_progress(const char *fmt, ...) PRINTF(1, 2);
void suite_progress_end(void);

/* Is the name in the list, which has commas between? */
bool suite_names(const char *list, const char *name);
/* A new value with the machine described and warnings of its noise. */
json_t *suite_new(void);
void suite_warn(json_t *root, const char *fmt, ...) PRINTF(2, 3);
/* 0, or -EINVAL after a message: `only` names what there is not. */
int MUST_CHECK suite_mechanisms(json_t *root, const struct suite_options *o);
int MUST_CHECK suite_growth(json_t *root, const struct suite_options *o);
/* 0, or -errno after a message: the command does not run natively. */
int MUST_CHECK suite_command(json_t *root, const struct own_options *o);

void show_table(const json_t *root);
/* Writes the page; 0 or -errno. */
int MUST_CHECK show_html(const json_t *root, const char *path);

/* Names of peers, with commas: one that is none is said, and -EINVAL. */
int suite_peers_known(const char *list);

#endif
