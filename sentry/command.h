/*
 * command.h - a command to start inside, as one block of bytes in a memfd:
 * work directory, argument vector and environment. It goes from a client to
 * the sentry and from the sentry to init, which starts it.
 *
 * The block is read once into own memory, and only the copy is looked at.
 * What is wrong with it is found by command_parse alone.
 */
#ifndef CLOCHE_COMMAND_H
#define CLOCHE_COMMAND_H

#include "base/base.h"

/* More than execve(2) takes by default: what is too long for a program is the
 * kernel's to say (E2BIG). */
enum { COMMAND_MAX = 8 << 20, COMMAND_WORDS_MAX = 1 << 20 };

struct command {
	char *data;  /* owns all of the strings */
	char *cwd;   /* borrowed from data; "": not given */
	char **argv; /* NULL-terminated, owned as an array; at least one word */
	char **envp; /* NULL-terminated, owned as an array */
	size_t argc, envc;
};

/* Reads bytes of a block. 0, -EBADMSG if it is none, -E2BIG if too long. */
int MUST_CHECK command_parse(const void *block, size_t len,
			     struct command *out);
/* The same of a descriptor: read from its beginning, once. */
int MUST_CHECK command_read(int fd, struct command *out);
void command_fini(struct command *c);

/* A memfd with the block, owned by the caller. cwd may be NULL, envp too. */
int MUST_CHECK command_write(const char *cwd, char *const *argv,
			     char *const *envp, int *fd);

/* base with each of `more` ("VAR=VALUE") put over it; the array is owned, the
 * strings are borrowed from both. */
char **command_env(char *const *base, char *const *more);

#endif
