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

/* The parts before the first that cannot be read, which ends the call. */
static unsigned parts_read(pid_t tid, struct gmem_part *parts, unsigned count)
{
	struct iovec l[GMEM_PARTS_MAX], r[GMEM_PARTS_MAX];
	enum costs_part back;
	unsigned done = 0;
	ssize_t n;

	for (unsigned i = 0; i < count; i++) {
		l[i] = (struct iovec){parts[i].buf, parts[i].len};
		r[i] = (struct iovec){(void *)(uintptr_t)parts[i].addr,
				      parts[i].len};
	}
	back = costs_enter(COSTS_MEMORY);
	n = process_vm_readv(tid, l, count, r, count, 0);
	costs_leave(back);
	for (; done < count && n >= (ssize_t)parts[done].len; done++) {
		n -= (ssize_t)parts[done].len;
		parts[done].err = 0;
	}
	if (done < count)
		parts[done].err = n < 0 ? gmem_errno() : -EFAULT;
	return done;
}

void gmem_read_parts(pid_t tid, struct gmem_part *parts, unsigned count)
{
	BUG_ON(count > GMEM_PARTS_MAX);
	for (unsigned done = 0; done < count; done++)
		done += parts_read(tid, parts + done, count - done);
}

size_t gmem_str_first(gaddr_t addr, size_t size)
{
	size_t n = GMEM_PAGE - (addr & (GMEM_PAGE - 1));

	if (n > GMEM_CHUNK)
		n = GMEM_CHUNK;
	return n < size ? n : size;
}

ssize_t gmem_read_str_on(pid_t tid, gaddr_t addr, char *buf, size_t size,
			 size_t done)
{
	char *nul = memchr(buf, 0, done);

	while (!nul && done < size) {
		gaddr_t at = addr + done;
		size_t n = GMEM_PAGE - (at & (GMEM_PAGE - 1));
		int ret;

		if (at < addr)
			return -EFAULT;
		if (n > size - done)
			n = size - done;
		ret = gmem_read(tid, at, buf + done, n);
		if (ret)
			return ret;
		nul = memchr(buf + done, 0, n);
		done += n;
	}
	return nul ? nul - buf : -ENAMETOOLONG;
}

ssize_t gmem_read_str(pid_t tid, gaddr_t addr, char *buf, size_t size)
{
	size_t n = gmem_str_first(addr, size);
	int ret = gmem_read(tid, addr, buf, n);

	return ret ? ret : gmem_read_str_on(tid, addr, buf, size, n);
}
