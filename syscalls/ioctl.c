/*
 * ioctl.c - ioctl numbers that do not run natively.
 *
 * A number that filter_args.c does not list gets the errno of a descriptor
 * that does not know it. What would type into a terminal, redirect a console
 * or change a file's flags is refused with a record.
 */
#include <asm/ioctls.h>
#include <fcntl.h>
#include <linux/fiemap.h>
#include <linux/fs.h>
#include <linux/sockios.h>

#include "help.h"

/* The flag belongs to the description: set on our copy. */
static int64_t io_fioasync(struct call *c)
{
	int fd = call_fd(c, arg_int(c, 0));
	int on, flags, err;

	if (fd < 0)
		return fd;
	err = call_read(c, c->args[2], &on, sizeof(on));
	if (err)
		return err;
	flags = fcntl(fd, F_GETFL);
	if (flags < 0)
		return -errno;
	flags = on ? flags | O_ASYNC : flags & ~O_ASYNC;
	return fcntl(fd, F_SETFL, flags) < 0 ? -errno : 0;
}

static int64_t io_unsupported(struct call *c UNUSED)
{
	return -EOPNOTSUPP;
}

static int64_t io_perm(struct call *c)
{
	return help_refuse_args(c, EPERM, "ioctl number");
}

/* As a kernel with dev.tty.legacy_tiocsti=0. */
static int64_t io_tiocsti(struct call *c)
{
	return help_refuse_args(c, EIO, "ioctl number");
}

static const struct {
	unsigned cmd;
	int64_t (*fn)(struct call *c);
} numbers[] = {
	{FIOASYNC, io_fioasync},
	{TIOCSTI, io_tiocsti},
	{TIOCCONS, io_perm},
	{TIOCLINUX, io_perm},
	{TIOCSETD, io_perm},
	{TIOCVHANGUP, io_perm},
	{TIOCSLCKTRMIOS, io_perm},
	{FS_IOC_SETFLAGS, io_perm},
	{FS_IOC_FSSETXATTR, io_perm},
	{FIFREEZE, io_perm},
	{FITHAW, io_perm},
	{FITRIM, io_perm},
	{FIBMAP, io_perm},
	{FIDEDUPERANGE, io_unsupported},
	{FS_IOC_FIEMAP, io_unsupported},
	{SIOCETHTOOL, io_unsupported},
};

int64_t h_ioctl(struct call *c)
{
	unsigned cmd = (unsigned)c->args[1];

	for (size_t i = 0; i < ARRAY_SIZE(numbers); i++)
		if (numbers[i].cmd == cmd)
			return numbers[i].fn(c);
	return -ENOTTY;
}
