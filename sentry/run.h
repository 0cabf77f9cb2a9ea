/*
 * run.h - one sandbox, one command: what `cloche run` calls.
 */
#ifndef CLOCHE_RUN_H
#define CLOCHE_RUN_H

#include "config.h"

/* Runs cfg->argv in a new sandbox and returns cloche's exit status. Calls
 * cfg->after, if set, when the last guest has ended. */
int sentry_run(struct config *cfg);

#endif
