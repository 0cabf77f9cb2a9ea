/*
 * sink.h - where an audit stream goes: a file, a descriptor, a socket.
 */
#ifndef CLOCHE_SINK_H
#define CLOCHE_SINK_H

#include "../base/base.h"

/*
 * Opens "FILE" (created 0600, appended to, never through a symbolic link),
 * "fd:N" (duplicated), "unix:PATH" (a stream socket) or "-" (stderr). The
 * descriptor is close-on-exec and not below 3. -errno, and -EINVAL for a
 * malformed name or a descriptor that cannot be written to.
 */
int MUST_CHECK sink_open(const char *name, int *fd);

/* A close-on-exec copy, not below 3, of a descriptor open for writing. */
int MUST_CHECK sink_dup(int fd, int *out);

/* Writes all of it, waiting where the destination is slow: 0 or -errno. The
 * caller's thread blocks SIGPIPE. */
int MUST_CHECK sink_write(int fd, const void *data, size_t len);

#endif
