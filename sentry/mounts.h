/*
 * mounts.h - the view: what is mounted where in a sandbox's virtual tree.
 */
#ifndef CLOCHE_MOUNTS_H
#define CLOCHE_MOUNTS_H

#include "sentry.h"

/* Mounts everything that cfg asks for into s->vfs; dies with a message on
 * what cannot be mounted. devpts_fd is taken. */
void mounts_build(struct sentry *s, int devpts_fd);

#endif
