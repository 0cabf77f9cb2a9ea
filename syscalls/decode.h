/*
 * decode.h - the arguments of a call, copied once from the guest (law 1).
 */
#ifndef CLOCHE_DECODE_H
#define CLOCHE_DECODE_H

#include "table.h"

/* One "type:name" of a row's spec. */
struct argspec {
	char type;
	const char *name; /* not NUL-terminated */
	size_t name_len;
	size_t size; /* of 'm' */
};

#define DECODE_ARGS_MAX 6
#define DECODE_MEM_MAX	256 /* largest 'm' structure */
#define DECODE_STR_MAX	256 /* an 's' string with its NUL (xattr names) */

/* The next argument of *spec, moving it on: 1, 0 at the end, -EINVAL if it is
 * malformed. */
int argspec_next(const char **spec, struct argspec *out);

/* Copies what c->row's spec says into the arena. What cannot be copied is
 * left NULL with the errno in c->arg_err: the handler decides when, in the
 * kernel's order of errors, it matters. */
void decode_args(struct call *c);

#endif
