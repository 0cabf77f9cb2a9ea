/*
 * glob.h - patterns over whole paths.
 *
 * `*` and `?` match within one name, `[a-z]`, `[!a-z]` one byte of it, `**` as
 * a whole component any number of components (none too; at the end at least
 * one). A backslash takes the next byte literally. Names that begin with a
 * dot are no exception. Time is bounded by pattern length times path length.
 */
#ifndef CLOCHE_GLOB_H
#define CLOCHE_GLOB_H

#include "../base/base.h"

/* Both absolute and without "." or ".." components. */
bool glob_match(const char *pattern, const char *path);
/* False if the text has no special character: then it is one path. */
bool glob_is_pattern(const char *text);
/* NULL if well-formed, else what is wrong with it. */
const char *glob_check(const char *pattern);

#endif
