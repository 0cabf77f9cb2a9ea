/*
 * layer.h - frozen parts of a store, which snapshots and forks share.
 *
 * A snapshot moves whole directories of the mirror into a new directory LN of
 * the store (overlay_freeze.c). Nothing in there is ever written, renamed or
 * given a new name again; files are only read, and removed when nobody needs
 * them. So any number of overlays, of this process and of forks, can have
 * their data there, each with metadata of its own.
 *
 * Who needs a layer: in this process `refs` counts; between processes each
 * holds a shared flock on a description of its own of the directory, and who
 * gets it exclusively is the last. The kernel gives the lock back however a
 * process ends.
 *
 * Locking: the sentry's state lock, as all of fs/. Removing is done by threads
 * that have nothing but descriptors.
 */
#ifndef CLOCHE_LAYER_H
#define CLOCHE_LAYER_H

#include "hostfs.h"
#include "store.h"

enum { LAYER_NAME_MAX = 24 };

struct ov_layer {
	struct list link; /* store_layers */
	struct hostfs fs;
	struct hostdir *root;
	int fd; /* readable, with the shared lock */
	char name[LAYER_NAME_MAX];
	unsigned refs;	    /* files that have their data here, and snapshots */
	unsigned snapshots; /* those among them */
	bool shared;	    /* another process may need it, too */
	uint64_t next;	    /* names made in it */
	size_t index;	    /* of a list that is being written */
};

/* A new empty one in the store; counted. */
int MUST_CHECK layer_new(struct store *s, struct ov_layer **out);
/* Another process's, by a descriptor of layer_share (taken). Counted. */
int MUST_CHECK layer_adopt(struct store *s, int fd, struct ov_layer **out);
/* A description for another process, locked; owned by the caller. */
int MUST_CHECK layer_share(struct ov_layer *l, int *fd);
struct ov_layer *layer_get(struct ov_layer *l);
/* With the last reference goes what is in it, if nobody else needs it. */
void layer_put(struct ov_layer *l);
/* Does nothing but our overlays, now, need it? */
bool layer_is_ours(struct ov_layer *l);
void layer_next_name(struct ov_layer *l, char name[LAYER_NAME_MAX]);
/* Removes the files of a layer of ours whose numbers are not among the sorted
 * ones; in a thread. Takes inos. */
void layer_sweep(struct ov_layer *l, ino_t *inos, size_t count);
/* Those that this process gave up while another one needed them, and which
 * nobody needs now, go. */
void layer_collect(struct store *s);
/* What is left in a store whose sentry has ended: all but the layers that
 * somebody needs. root: of a store, borrowed. */
void layer_clear_store(int root);
/* At the end of a sandbox: its store is emptied, but for layers that others
 * need. No layer may be used afterwards. */
void layer_let_go(struct store *s);
/* Removes name in dir with all that is below it, by a thread; dir is
 * borrowed. */
void layer_remove_tree(int dir, const char *name);

#endif
