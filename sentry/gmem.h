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

/* What one call of the kernel can read: each part as by gmem_read, its result
 * in err. A part that cannot be read does not keep others from being read. */
enum { GMEM_PARTS_MAX = 4 };

struct gmem_part {
	gaddr_t addr;
	void *buf;
	size_t len;
	int err;
};

void gmem_read_parts(pid_t tid, struct gmem_part *parts, unsigned count);

/* A string among parts: so much is to be read of it first, then this goes on
 * from there. As gmem_read_str; buf begins with `done` bytes of it. */
size_t gmem_str_first(gaddr_t addr, size_t size);
ssize_t MUST_CHECK gmem_read_str_on(pid_t tid, gaddr_t addr, char *buf,
				    size_t size, size_t done);

#endif
