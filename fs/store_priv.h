/*
 * store_priv.h - what store.c and store_watch.c share.
 */
#ifndef CLOCHE_STORE_PRIV_H
#define CLOCHE_STORE_PRIV_H

#include "store.h"

struct store_watch {
	struct hnode by_wd, by_ino;
	int wd;
	ino_t ino;
	bool closes; /* STORE_CLOSED is wanted */
};

struct store {
	int root, side, epoll;
	int inotify, timer; /* -1 until needed */
	bool told;	    /* that there is no inotify */
	unsigned pause;	    /* attempts left out */
	struct list unheard;
	dev_t dev;
	bool emulated;
	uint64_t serial;
	unsigned mirrors, nlayers;
	struct htable by_wd, by_ino;
	store_event_fn fn;
	void *arg;
	struct list overlays, layers;
};

/* Borrowed, or NULL. */
struct store_watch *store_watch_of_ino(struct store *s, ino_t ino);
/* Adds the watch, or sets its mask: a watch descriptor, or -1 and errno. */
int store_watch_mask(struct store *s, int dirfd, const char *name, bool closes);
void store_watches_free(struct store *s);

#endif
