/*
 * hosttree.h - a read-only view of chosen text files below a host directory,
 * with some made up: /sys and /proc/sys.
 *
 * A row is a path relative to the root whose components are fnmatch(3)
 * patterns. A row with a text (or a function) exists whatever the host has,
 * and must have no pattern; a row without is shown if the host has a regular
 * file there, and read from it at open. Directories follow from the rows;
 * nothing else is visible and no symlink of the host is followed. A row whose
 * text is hosttree_empty is an empty directory.
 */
#ifndef CLOCHE_HOSTTREE_H
#define CLOCHE_HOSTTREE_H

#include "pseudo.h"

extern const char hosttree_empty[];

struct hosttree_row {
	const char *path;
	const char *text;			  /* NULL: the host's */
	int (*fn)(void *arg, struct strbuf *out); /* instead of text */
};

struct hosttree {
	int dirfd;			 /* owned by who made this */
	const struct hosttree_row *rows; /* ended by path NULL */
	void *arg;
};

/* The root directory; tree must live as long as the super. */
struct inode *hosttree_root(struct super *sb, const struct hosttree *tree,
			    uint64_t ino);

#endif
