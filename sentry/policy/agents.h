/*
 * agents.h - presets for well-known programs: policy files that come with
 * cloche (sentry/policy/agents/NAME.yaml), for `--agent NAME`.
 */
#ifndef CLOCHE_AGENTS_H
#define CLOCHE_AGENTS_H

#include "../base/base.h"

/* The file's text, NUL-terminated, or NULL. */
const char *agents_find(const char *name);
/* The i-th name; NULL behind the last. */
const char *agents_name(size_t i);

#endif
