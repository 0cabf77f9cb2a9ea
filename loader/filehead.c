/*
 * filehead.c - see filehead.h.
 */
#include "filehead.h"

/* What is left of len at the end of the file, or -errno. */
static ssize_t read_full(int fd, char *buf, size_t len, uint64_t offset)
{
	size_t done = 0;

	while (done < len) {
		ssize_t n = pread(fd, buf + done, len - done,
				  (off_t)(offset + done));

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (n == 0)
			break;
		done += (size_t)n;
	}
	return (ssize_t)done;
}

int file_head_read(struct file_head *h, int fd)
{
	ssize_t n;

	h->fd = fd;
	h->len = 0;
	if (fstat(fd, &h->st) < 0)
		return -errno;
	n = read_full(fd, h->bytes, sizeof(h->bytes), 0);
	if (n < 0)
		return (int)n;
	h->len = (size_t)n;
	return 0;
}

int file_head_get(const struct file_head *h, void *buf, size_t len,
		  uint64_t offset)
{
	ssize_t n;

	if (offset > INT64_MAX - len)
		return -EINVAL;
	if (offset <= h->len && len <= h->len - offset) {
		memcpy(buf, h->bytes + offset, len);
		return 0;
	}
	n = read_full(h->fd, buf, len, offset);
	if (n < 0)
		return (int)n;
	return (size_t)n == len ? 0 : -EIO;
}
