/*
 * patch_priv.h - between patch.c (which files, headers) and patch_text.c
 * (contents, by libgit2).
 */
#ifndef CLOCHE_PATCH_PRIV_H
#define CLOCHE_PATCH_PRIV_H

#include "patch.h"

/* One side's bytes. data NULL: the side does not exist. */
struct patch_side {
	const char *data;
	size_t size;
	char *owned;
	char id[41]; /* git's object name, hexadecimal */
};

int MUST_CHECK patch_side_load(struct change_source *src,
			       const struct change *c, bool old,
			       struct patch_side *out);
void patch_side_fini(struct patch_side *s);
/* Appends "@@ ..." hunks, or "GIT binary patch" with *binary; nothing if both
 * sides are equal. */
int MUST_CHECK patch_hunks(const struct patch_side *old,
			   const struct patch_side *new, struct strbuf *out,
			   bool *binary);
int MUST_CHECK patch_lines(const struct patch_side *old,
			   const struct patch_side *new,
			   struct patch_stat *out);

#endif
