/*
 * gmem.h - the one door to guest memory.
 *
 * LAW 1: only gmem.c turns a gaddr_t into bytes, by process_vm_readv/writev,
 *   which honour page protection as the kernel's own copy_from_user would.
 *   (test: tests/guest, reads and writes at null, read-only and page ends)
 *
 * A thread that died or was replaced gives -ESRCH; its call is void anyway.
 */
#ifndef CLOCHE_GMEM_H
#define CLOCHE_GMEM_H

#include "base/base.h"

/* All of len bytes or an error: 0, -EFAULT, -ESRCH. */
int MUST_CHECK gmem_read(pid_t tid, gaddr_t addr, void *buf, size_t len);
int MUST_CHECK gmem_write(pid_t tid, gaddr_t addr, const void *buf, size_t len);
/* Length without NUL; -EFAULT; -ENAMETOOLONG when there is no NUL in the first
 * `size` bytes. Reads no page beyond the one that holds the NUL. */
ssize_t MUST_CHECK gmem_read_str(pid_t tid, gaddr_t addr, char *buf,
				 size_t size);

#endif
