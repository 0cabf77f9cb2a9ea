/*
 * apply.h - brings changes from a change source to the host, all or nothing.
 *
 * Runs in a process that is not confined and has the user's own rights. Every
 * step on the host starts at a descriptor of the tree's root and goes by
 * openat2 with RESOLVE_BENEATH, RESOLVE_NO_SYMLINKS and NO_MAGICLINKS: no
 * symlink, of the guest's or of the host's, leads anywhere.
 *
 *   plan     which records, which steps; what stands against them (problems)
 *   stage    new objects are built in a directory ".cloche-XXXXXXXX" of the
 *            same mount, synced
 *   commit   renames only, from a journal outside of the tree
 *
 * The journal is in $XDG_STATE_HOME/cloche/apply. After a crash
 * apply_recover() brings the tree to the old or to the new side, whole.
 */
#ifndef CLOCHE_APPLY_H
#define CLOCHE_APPLY_H

#include "changes.h"

enum apply_problem_kind {
	APPLY_CHANGED,	/* the host's version is not the one first seen */
	APPLY_DELICATE, /* the host would run or obey it; name it */
	APPLY_CANNOT,	/* not possible, by force either */
};

struct apply_problem {
	enum apply_problem_kind kind;
	char *path; /* host path; the guest's bytes */
	char *why;
};

struct apply_options {
	const char *root; /* host directory; nothing outside is touched */
	/* Host paths; with none of them all of the root. A path that equals
	 * a record's is *named*: delicate files are allowed by that. */
	const char *const *paths;
	size_t npaths;
	const char *const *named; /* more that are named; select nothing */
	size_t nnamed;
	/* Host paths whose change on the host is known and overwritten. */
	const char *const *forced;
	size_t nforced;
	/* Only records that it wants, and what they need; may be NULL. */
	bool (*want)(const struct change *c, void *arg);
	void *want_arg;
	bool force; /* take changed host files as well */
	bool owner; /* set owners: only for real root */
	/* Called before each step that changes the host; may be NULL. */
	void (*step)(void *arg, size_t done, size_t total, const char *path);
	void *arg;
};

struct apply;

/* Makes the plan and checks it against the host. The list and the source are
 * borrowed until apply_free. -errno: the root cannot be used. */
int MUST_CHECK apply_new(const struct apply_options *opts,
			 struct change_source *src,
			 const struct change_list *list, struct apply **out);
void apply_free(struct apply *a);

size_t apply_count(const struct apply *a);   /* records that will be applied */
size_t apply_outside(const struct apply *a); /* and that are not selected */
const struct change *apply_record(const struct apply *a, size_t i);
size_t apply_problems(const struct apply *a, const struct apply_problem **out);

/* Stage and commit. -EBUSY: there are problems; the host is looked at again,
 * before and after staging, so they may be new (apply_problems). Any error: the
 * host is as it was, unless *half is set (then apply_recover is to be tried
 * again). path (or NULL) gets what the error was about; owned. */
int MUST_CHECK apply_commit(struct apply *a, bool *half, char **path);

/* Finishes what a crash left. root NULL: every tree. Counts go to *found. A
 * journal in use by a running apply is left alone. */
int MUST_CHECK apply_recover(const char *root, size_t *found);

/* apply_guard.c: why the host would run or obey a file at this path (relative
 * to the root) later by itself, or NULL. */
const char *apply_delicate(const char *path, const struct change *c);

#endif
