/*
 * export.h - changes as a tar layer of the OCI image format: pax headers,
 * xattrs, hard links, sparse files, and whiteouts (".wh.NAME" for what is
 * gone, ".wh..wh..opq" in a directory that hides all of the host's).
 */
#ifndef CLOCHE_EXPORT_H
#define CLOCHE_EXPORT_H

#include "changes.h"

/*
 * Load the list with CHANGES_IN_RENAMED|CHANGES_OPAQUE. Names are relative to
 * the virtual directory `root`; records outside are left out and counted in
 * *skipped (may be NULL). fd stays open.
 */
int MUST_CHECK export_tar(struct change_source *src,
			  const struct change_list *list, const char *root,
			  int fd, size_t *skipped);

#endif
