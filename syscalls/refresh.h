/*
 * refresh.h - descriptors of host files that were copied up after they were
 * opened.
 *
 * Such a descriptor natively would show what is written to the file by others;
 * here it shows the file as it was. At the next fstat of it (by which `tail -f`
 * and all who wait for growth ask) the guest's number is given a description of
 * the file as it is now, read-only, at the same offset.
 *
 * Not where that could be felt: another process has the same description, and
 * with it the offset.
 * LIMIT: a dup in the same process keeps the old description, and with it an
 * offset of its own; a mapping keeps what it shows.
 */
#ifndef CLOCHE_REFRESH_H
#define CLOCHE_REFRESH_H

#include "pathfd.h"

/* t is the target of descriptor number fd; it may be another afterwards. 0, or
 * -EBADF: another thread has closed it meanwhile. */
int MUST_CHECK refresh_fd(struct call *c, gfd_t fd, struct target *t);

#endif
