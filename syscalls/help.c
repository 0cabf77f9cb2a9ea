/*
 * help.c - small helpers that handlers of several files share; see help.h.
 */
#include "help.h"

#include <fcntl.h>
#include <stdio.h>

int help_struct(struct call *c, int i, size_t size, const void **out)
{
	void *buf;
	int err;

	if (c->mem[i] && c->mem_len[i] >= size) {
		*out = c->mem[i];
		return 0;
	}
	buf = call_alloc(c, size);
	if (!buf)
		return -ENOMEM;
	err = call_read(c, c->args[i], buf, size);
	if (err)
		return err;
	*out = buf;
	return 0;
}

int help_zero(struct call *c, gaddr_t addr, size_t len)
{
	unsigned char *buf = call_alloc(c, len);
	int err = buf ? call_read(c, addr, buf, len) : -ENOMEM;

	for (size_t i = 0; !err && i < len; i++)
		if (buf[i])
			err = -E2BIG;
	return err;
}

int help_out(struct call *c, gaddr_t addr, const void *data, size_t len)
{
	void *copy = call_alloc(c, len);

	if (!copy)
		return -ENOMEM;
	memcpy(copy, data, len);
	call_out(c, addr, copy, len);
	return 0;
}

int help_sockaddr(struct call *c, int i, struct sockaddr_storage *out,
		  socklen_t *len)
{
	int n = arg_int(c, i + 1);

	memset(out, 0, sizeof(*out));
	if (n < 0 || (size_t)n > sizeof(*out))
		return -EINVAL;
	*len = (socklen_t)n;
	if (n == 0)
		return 0;
	if (c->mem[i] && c->mem_len[i] >= (size_t)n) {
		memcpy(out, c->mem[i], (size_t)n);
		return 0;
	}
	return call_read(c, c->args[i], out, (size_t)n);
}

int help_out_sockaddr(struct call *c, int addr_arg, const void *addr,
		      socklen_t len)
{
	int room, err;
	size_t copy;

	err = call_read(c, c->args[addr_arg + 1], &room, sizeof(room));
	if (err)
		return err;
	if (room < 0)
		return -EINVAL;
	copy = (size_t)room < len ? (size_t)room : len;
	if (copy) {
		err = help_out(c, c->args[addr_arg], addr, copy);
		if (err)
			return err;
	}
	return help_out(c, c->args[addr_arg + 1], &len, sizeof(len));
}

int64_t help_refuse_args(struct call *c, int err, const char *what)
{
	call_deny(c, what, NULL);
	return -err;
}

bool help_fd_usable(int fd)
{
	int flags = fcntl(fd, F_GETFL);

	return flags >= 0 && (flags & O_ACCMODE) != 3;
}

int help_fd(struct call *c, gfd_t gfd)
{
	int fd = call_fd(c, gfd);

	if (fd < 0)
		return fd;
	return help_fd_usable(fd) ? fd : -EBADF;
}

bool help_guest_cloexec(struct call *c, gfd_t fd)
{
	char path[64], text[256];
	AUTO_CLOSE int f = -1;
	unsigned long flags = 0;
	const char *at;
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%d/fdinfo/%d", c->tid, fd);
	f = open(path, O_RDONLY | O_CLOEXEC);
	n = f < 0 ? -1 : read(f, text, sizeof(text) - 1);
	if (n <= 0)
		return false;
	text[n] = '\0';
	at = strstr(text, "flags:");
	if (at)
		flags = strtoul(at + 6, NULL, 8);
	return flags & O_CLOEXEC;
}
