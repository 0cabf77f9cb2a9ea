/*
 * patch.h - changes as one patch in git's format, for `git apply` and
 * `patch -p1`: modes, renames, symlinks, binary files, odd names.
 *
 * What git cannot say is left out: directories of their own (an empty one is
 * lost), owners, times, xattrs, modes but for the executable bit, FIFOs and
 * devices.
 */
#ifndef CLOCHE_PATCH_H
#define CLOCHE_PATCH_H

#include "changes.h"

struct patch_options {
	const char *root; /* virtual directory that names are relative to */
	/* Takes text; nonzero stops. */
	int (*write)(void *arg, const char *data, size_t len);
	void *arg;
};

/* Load the list with CHANGES_IN_RENAMED. *skipped (may be NULL): records that
 * are outside of the root or cannot be told. */
int MUST_CHECK patch_write(struct change_source *src,
			   const struct change_list *list,
			   const struct patch_options *opts, size_t *skipped);

struct patch_stat {
	size_t added, deleted; /* lines */
	bool binary;
};
/* Line counts of one record, for --stat. */
int MUST_CHECK patch_count(struct change_source *src, const struct change *c,
			   struct patch_stat *out);

#endif
