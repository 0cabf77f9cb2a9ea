/*
 * rules.h - the compiled policy: inside of sentry/policy/ only.
 */
#ifndef CLOCHE_RULES_H
#define CLOCHE_RULES_H

#include "../base/hash.h"
#include "policy.h"

/* A secret: a pattern whose match is not shown. */
struct secret {
	char *pattern;	/* absolute */
	size_t literal; /* bytes before the first special character; > 0 */
	const char *name_only; /* "/NAME" of "/" "**" "/NAME", or NULL */
	const char *why;
	uint32_t rule;
	bool standin; /* a made-up one is shown */
	bool outside; /* of paths on the host only (--root) */
};

enum place_kind {
	PLACE_SHOWN,  /* it and all below */
	PLACE_STUB,   /* the directory itself, not what is in it */
	PLACE_CLOSED, /* what is below is not shown unless another says so */
};

/* path is absolute without a slash at its end; "" is the root. */
struct place {
	enum place_kind kind;
	char *path;
	size_t len;
	const char *why; /* static, or owned by the policy's config */
	uint32_t rule;	 /* PLACE_CLOSED: what to call it; else 0 */
};

/* A pattern of a secret or of a hide rule: what of it is a name's affair. */
struct told {
	const char *glob; /* its last component; NULL: matches any name */
	const char *pattern;
	size_t literal;	   /* as in struct secret */
	struct hnode node; /* while they are built */
	struct told *next; /* of the same kind, with another glob */
};

enum { TOLD_WORDS = 4, TOLD_BITS = 64 * TOLD_WORDS };

/* See alike.c: which kinds of patterns a name can match that begins or ends
 * with a byte, and the patterns of each kind. */
struct told_bytes {
	uint64_t first[256][TOLD_WORDS], last[256][TOLD_WORDS];
	struct told *kind[TOLD_BITS];
};

struct policy {
	const struct config *cfg; /* borrowed; outlives the policy */
	struct file_rule *files;  /* normalised copies */
	size_t nfiles;
	struct secret *secrets;
	size_t nsecrets;
	struct place *places;
	size_t nplaces;
	char **names; /* of rules 1..nnames; owned */
	size_t nnames;
	struct told *told; /* of all secrets and hide rules */
	size_t ntold;
	struct told_bytes bytes;
	bool samples; /* .env.example and the like are shown */
};

/* policy_new with the two things that it asks the system: whether the caller
 * is real root. Never fails but by die(). */
struct policy *policy_build(const struct config *cfg, bool as_root);

/* alike.c: once all rules are there. */
void alike_build(struct policy *p);

/* policy.c: where a path is on the host that --ro or --rw shows at another
 * place; owned. NULL: it has the same name there. *given: the length of the
 * rule's path. */
char *policy_host_path(const struct policy *p, const char *path, size_t *given);

/* True if path is dir or lies below it; dir as in struct place. */
static inline bool path_covers(const char *dir, size_t len, const char *path)
{
	/* a byte near the end tells most paths apart */
	return (!len || strnlen(path, len) == len) &&
	       (path[len] == '\0' || path[len] == '/') &&
	       memcmp(path, dir, len) == 0;
}

#endif
