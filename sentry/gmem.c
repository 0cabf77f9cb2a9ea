/*
 * gmem.c - see gmem.h.
 */
#include "gmem.h"

#include "base/costs.h"

#include <sys/uio.h>

enum { GMEM_PAGE = 4096, GMEM_CHUNK = 256 };

static int gmem_errno(void)
{
	return errno == ESRCH ? -ESRCH : -EFAULT;
}

int gmem_read(pid_t tid, gaddr_t addr, void *buf, size_t len)
{
	struct iovec l = {buf, len};
	struct iovec r = {(void *)(uintptr_t)addr, len};
	enum costs_part back;
	ssize_t n;

	if (!len)
		return 0;
	back = costs_enter(COSTS_MEMORY);
	n = process_vm_readv(tid, &l, 1, &r, 1, 0);
	costs_leave(back);
	if (n < 0)
		return gmem_errno();
	return (size_t)n == len ? 0 : -EFAULT;
}

int gmem_write(pid_t tid, gaddr_t addr, const void *buf, size_t len)
{
	struct iovec l = {(void *)(uintptr_t)buf, len};
	struct iovec r = {(void *)(uintptr_t)addr, len};
	enum costs_part back;
	ssize_t n;

	if (!len)
		return 0;
	back = costs_enter(COSTS_MEMORY);
	n = process_vm_writev(tid, &l, 1, &r, 1, 0);
	costs_leave(back);
	if (n < 0)
		return gmem_errno();
	return (size_t)n == len ? 0 : -EFAULT;
}

ssize_t gmem_read_str(pid_t tid, gaddr_t addr, char *buf, size_t size)
{
	size_t done = 0;

	while (done < size) {
		gaddr_t at = addr + done;
		size_t n = GMEM_PAGE - (at & (GMEM_PAGE - 1));
		size_t want = done ? GMEM_PAGE : GMEM_CHUNK;
		char *nul;
		int ret;

		if (at < addr)
			return -EFAULT;
		if (n > want)
			n = want;
		if (n > size - done)
			n = size - done;
		ret = gmem_read(tid, at, buf + done, n);
		if (ret)
			return ret;
		nul = memchr(buf + done, 0, n);
		if (nul)
			return nul - buf;
		done += n;
	}
	return -ENAMETOOLONG;
}
