/*
 * diff_priv.h - what diff.c (which names have changed) and diff_record.c (how)
 * share.
 */
#ifndef CLOCHE_DIFF_PRIV_H
#define CLOCHE_DIFF_PRIV_H

#include "overlay_priv.h"

/* A directory whose contents are still to be told. */
struct diff_todo {
	size_t parent;	       /* its record */
	struct ov_node *node;  /* counted, or NULL */
	struct hostdir *lower; /* counted */
	bool gone;	       /* removed; else renamed */
};

struct diff {
	struct vfs *vfs;
	struct ov *ov;
	unsigned flags;
	struct change_list *out;
	struct seen *pool;
	struct htable moved, origin;
	struct diff_todo *todo;
	size_t todo_count, todo_cap;
};

/* Where the host has a name; st is what it has there now. */
struct diff_old {
	struct hostdir *dir;
	const char *name;
	const struct stat *st;
};

/* "/a/b" of a node now, or with the host's root in place of the virtual one;
 * owned. last: one more name, or NULL. NULL: it was removed. */
char *diff_node_path(const struct ov_node *dir, const char *last, bool host);
char *diff_lower_path(const struct ov *ov, const struct hostdir *h,
		      const char *last, bool host);

bool diff_content_differs(struct ov_node *n, const struct diff_old *old);
bool diff_attr_differs(struct ov_node *n, const struct stat *st);
/* The kind of change of n where the lower has *old; 0: none. */
int diff_kind(struct ov_node *n, const struct diff_old *old);
/* Does the lower have this node's data at just this place? */
bool diff_at_home(const struct ov_node *n, struct hostdir *dir,
		  const char *name);

/*
 * Adds a record: n (NULL: deleted) at (dir, name), old (or NULL) what the host
 * has, e the entry (or NULL). Borrowed, NULL if the place is gone.
 */
struct change *diff_record(struct diff *d, enum vfs_change_kind kind,
			   struct ov_node *dir, const char *name,
			   struct ov_node *n, const struct diff_old *old,
			   const struct ov_entry *e);
/* Adds one below the record `parent`; n may be NULL. */
struct change *diff_record_inside(struct diff *d, enum vfs_change_kind kind,
				  size_t parent, struct ov_node *n,
				  const struct diff_old *old);
/* Names of changed files at which the guest never looked; diff_links.c. */
int MUST_CHECK diff_links(struct diff *d);
/* Numbers the records that are names of one new file. */
void diff_groups(struct change_list *list);

int diff_open_old(struct change_source *src, const struct change *c, int *fd);
int diff_open_new(struct change_source *src, const struct change *c, int *fd);
void diff_forget(struct change_source *src, struct change *c);

#endif
