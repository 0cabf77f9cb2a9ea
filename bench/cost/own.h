/*
 * own.h - the parts of own.c: a user's command, looked at from inside.
 */
#ifndef CLOCHE_BENCH_OWN_H
#define CLOCHE_BENCH_OWN_H

#include <jansson.h>

/* Runs the command by cloche with an audit stream, and adds "calls" (what the
 * sentry answered, by call) and "where" (ms by part of the sentry) to c. What
 * cannot be had is left out. */
void own_calls(json_t *c, char **argv);

#endif
