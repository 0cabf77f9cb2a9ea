/*
 * secret.h - values that the gateway puts into requests and nobody else sees.
 *
 * Read on the host before the sandbox's first process is made, into memory
 * that is locked, left out of dumps and, until secrets_pass, of forks; the
 * sentry hands it to the gateway by that fork and wipes its own. A value from
 * the environment is wiped there at once.
 */
#ifndef CLOCHE_NET_SECRET_H
#define CLOCHE_NET_SECRET_H

#include "../sentry/base/base.h"

enum {
	SECRET_NAME_SIZE = 64,
	SECRET_VALUE_MAX = 8192,
	SECRETS_MAX = 32,
	SECRET_PLACEHOLDER_SIZE = 64,
};

struct secret {
	char name[SECRET_NAME_SIZE];
	char placeholder[SECRET_PLACEHOLDER_SIZE];
	char *value; /* in the region; NUL-terminated */
	size_t len;
};

struct secrets {
	struct secret s[SECRETS_MAX];
	size_t count;
	char *region; /* NULL: none */
	size_t used;
};

bool secret_name_ok(const char *name);
/* NAME=env:VAR|file:PATH|fd:N|exec:CMD: NULL, or what was expected. */
const char *secret_check(const char *text);
/* Reads all values (checked texts), env: first and exec: last; dies with a
 * message that names the secret and never a value. */
void secrets_read(struct secrets *s, char *const *texts, size_t count);
/* The next fork gets the values. */
void secrets_pass(struct secrets *s);
/* In the process that was forked: locked and out of dumps again. */
void secrets_keep(struct secrets *s);
/* Wipes. */
void secrets_fini(struct secrets *s);
int secrets_find(const struct secrets *s, const char *name); /* or -1 */

#endif
