/*
 * apply_priv.h - what the files of apply share.
 *
 * Laws:
 * 1. Until the journal says COMMIT nothing of the tree has changed but for new
 *    stage directories; after it says DONE only they are removed.
 * 2. Every step between is one rename or one idempotent setting of metadata,
 *    and whether it was done can be seen from the stage directory alone.
 * 3. Paths are resolved from `root` without symlinks, in every step anew.
 * 4. The journal is not in the tree, where a guest's file could be put.
 * [apply_test: a_kill_at_any_step_leaves_one_side_whole]
 */
#ifndef CLOCHE_APPLY_PRIV_H
#define CLOCHE_APPLY_PRIV_H

#include "apply.h"

#include <sys/stat.h>

enum { APPLY_STAGES_MAX = 64, APPLY_SLOT = 32 };

struct apply_attr {
	mode_t mode; /* permission bits */
	uid_t uid;
	gid_t gid;
	bool owner; /* set the owner as well */
	bool times; /* set the times as well */
	struct timespec atime, mtime;
	struct change_xattr *xattrs;
	size_t nxattrs;
};

enum apply_step_kind {
	APPLY_OUT = 'O',  /* path (old tree) -> slot */
	APPLY_PUT = 'P',  /* slot -> path (new tree), where nothing is */
	APPLY_SWAP = 'S', /* slot <-> path */
	APPLY_META = 'M', /* old -> new attributes of path (new tree) */
};

struct apply_step {
	enum apply_step_kind kind;
	unsigned stage;
	char slot[APPLY_SLOT];
	char *path; /* relative to the root */
	ino_t ino;  /* SWAP: of what is to be put; META: of the object */
	struct apply_attr old, new; /* META */
};

struct apply_stage {
	char *dir; /* where it is, relative to the root; "." */
	char name[APPLY_SLOT];
	uint64_t mount;
	int fd; /* -1: not open */
};

/* What commit and recovery need; the journal holds all of it. */
struct apply_work {
	char *root_path;
	int root; /* O_PATH */
	struct apply_stage *stages;
	unsigned nstages;
	struct apply_step *steps; /* OUT, then PUT and SWAP, then META */
	size_t nsteps;
	char phase;  /* enum apply_phase */
	int journal; /* locked while in use */
	char *journal_path;
	void (*step)(void *arg, size_t done, size_t total, const char *path);
	void *arg;
	size_t done, total;
};

enum apply_phase {
	PHASE_STAGE = 's',  /* building; forget it all */
	PHASE_COMMIT = 'C', /* OUT steps */
	PHASE_PUT = 'T',    /* all are out: PUT, SWAP, META steps */
	PHASE_DONE = 'D',   /* clean up */
	PHASE_UNPUT = 'B',  /* going back: from PUT */
	PHASE_UNOUT = 'b',  /* going back: OUT steps */
};

struct apply_item {
	const struct change *c;
	char *path;  /* relative to the root, in the new tree */
	char *lower; /* in the old tree, or NULL */
	bool named, contained, none;
	bool host_has; /* something stands at its place in the old tree */
	char *staged;  /* path in its stage, when built there */
	unsigned stage;
};

struct apply {
	struct apply_options opts;
	char *root_path;
	struct change_source *src;
	const struct change_list *list;
	struct apply_item *items; /* in the list's order */
	size_t nitems, outside;
	size_t *of_index; /* item + 1 of a list index; 0: none */
	struct apply_problem *problems;
	size_t nproblems;
	char **leaving; /* sorted: old paths that go away */
	size_t nleaving;
	bool links_host; /* staging gave a host file one more name */
	struct apply_work work;
};

/* apply_host.c: 0, a descriptor, or -errno. */
int apply_host_open(int root, const char *path, uint64_t flags);
/* The directory that holds path; the last component in *name. */
int apply_host_parent(int root, const char *path, const char **name);
int apply_host_stat(int root, const char *path, struct stat *st);
int apply_host_sync_parent(int root, const char *path);
int apply_host_mount(int fd, uint64_t *mount);
int apply_attr_get(int root, const char *path, struct apply_attr *out);
int apply_attr_set(int root, const char *path, const struct apply_attr *a);
int apply_attr_set_fd(int opath, mode_t type, const struct apply_attr *a);
void apply_attr_fini(struct apply_attr *a);
void apply_attr_of(struct apply_attr *out, const struct change *c, bool owner);
/* Removes name and all below it, making directories writable on the way. */
int apply_remove_tree(int dir, const char *name);
int apply_copy(int from, int to);

/* apply_plan.c */
void apply_problem_add(struct apply *a, enum apply_problem_kind kind,
		       const char *rel, const char *why);
bool apply_leaves(const struct apply *a, const char *path);
/* apply_check.c: what stands against it. */
void apply_check(struct apply *a);
/* The same once more, because time has passed: -EBUSY if there are problems
 * now, or if what was staged is for another host than this. */
int apply_check_again(struct apply *a, bool staged);

/* apply_stage.c: stage directories, new objects, the steps. */
int apply_stage_all(struct apply *a, char **path);

/* apply_journal.c */
int apply_journal_new(struct apply_work *w);
int apply_journal_stage(struct apply_work *w, const struct apply_stage *s);
int apply_journal_steps(struct apply_work *w);
int apply_journal_phase(struct apply_work *w, enum apply_phase phase);
/* -EINVAL: not a journal, or torn before anything was done; -EBUSY: in use. */
int apply_journal_read(const char *path, struct apply_work *out);
void apply_journal_remove(struct apply_work *w);
char *apply_journal_dir(void); /* owned; NULL: no place for it */
void apply_work_fini(struct apply_work *w);

/* apply_commit.c: from w->phase to the end. */
int apply_forward(struct apply_work *w, const char **path);
int apply_back(struct apply_work *w, const char **path);
int apply_clean(struct apply_work *w);
void apply_tick(struct apply_work *w, const char *path);

/* apply_fold.c: the path as a file system that does not compare bytes may take
 * it, where that is ASCII; case stays. Owned. */
char *apply_fold(const char *path);

#endif
