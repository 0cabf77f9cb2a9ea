/*
 * curated.h - the lists of what is shown and what is secret: data only.
 *
 * Paths are relative to the home directory where they do not begin with '/';
 * they are glob.h patterns.
 */
#ifndef CLOCHE_CURATED_H
#define CLOCHE_CURATED_H

#include "../base/base.h"

struct curated {
	const char *path;
	const char *why; /* short: shown to people as the rule's name */
};

extern const struct curated curated_home[];    /* shown of the home */
extern const struct curated curated_secrets[]; /* never shown */
extern const struct curated curated_root[];    /* nor, started by root */
/* Of those, what a virtual root is shown a stand-in for, and not nothing. */
extern const char *const curated_standins[];
/* Names that look like environment files and hold no values. */
extern const char *const curated_env_samples[];
extern const char *const curated_system[];  /* the strict profile's tree */
extern const char *const curated_private[]; /* mounts of the sandbox's own */

#endif
