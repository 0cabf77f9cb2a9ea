/*
 * textfs.h - one read-only file whose text is made up, put over a path of the
 * guest's view: /etc/resolv.conf of a sandbox with a resolver of its own. No
 * change in the sense of the overlay.
 */
#ifndef CLOCHE_TEXTFS_H
#define CLOCHE_TEXTFS_H

#include "vfs.h"

int MUST_CHECK textfs_mount(struct vfs *vfs, const char *guest,
			    const char *text);
/* Any bytes. */
int MUST_CHECK textfs_mount_bytes(struct vfs *vfs, const char *guest,
				  const void *data, size_t len);

#endif
