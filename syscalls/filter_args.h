/*
 * filter_args.h - more views of the argument rules than table.h offers.
 *
 * All are pure functions of the rule table in filter_args.c.
 */
#ifndef CLOCHE_FILTER_ARGS_H
#define CLOCHE_FILTER_ARGS_H

#include "../sentry/dispatch.h"

#define FILTER_CMP_MAX 3

enum { FILTER_JAIL = 1, FILTER_BARE = 2 };

/* (args[arg] & mask) == value, over all 64 bits. */
struct argcmp {
	uint8_t arg;
	uint64_t mask; /* 0: no comparison */
	uint64_t value;
};

struct argrule {
	int16_t nr;
	uint8_t columns;		   /* FILTER_* bits */
	struct argcmp cmp[FILTER_CMP_MAX]; /* all must hold */
};

/* The whole table, for the compiler of the filter. */
const struct argrule *filter_args_rules(size_t *count);

/* Is there any rule for this call in this column? */
bool filter_args_known(int nr, bool bare);

/* For tests: fills nr and the arguments that satisfy rule i (others are left
 * alone); returns the number of rules. */
size_t filter_args_sample(size_t i, int *nr, uint64_t args[6]);

#endif
