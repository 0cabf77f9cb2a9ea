/*
 * runfs.h - /run/cloche: what a guest may read about its own sandbox.
 *
 * denials holds the lines that a person sees at the end of a run: what was
 * refused so far, by which rule, and the option that would allow it.
 */
#ifndef CLOCHE_RUNFS_H
#define CLOCHE_RUNFS_H

#include "vfs.h"
#include "../sentry/base/strbuf.h"

struct runfs_config {
	void (*denials)(void *arg, struct strbuf *out);
	void *arg;
};

int MUST_CHECK runfs_mount(struct vfs *vfs, const char *guest,
			   const struct runfs_config *cfg);

#endif
