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
#include <sys/ioctl.h>
#include <sys/stat.h>

#include "help.h"
#include "../sentry/ctty.h"

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

static int64_t io_unsupported(struct call *c)
{
	int fd = help_fd(c, arg_int(c, 0));

	return fd < 0 ? fd : -EOPNOTSUPP;
}

static int64_t io_perm(struct call *c)
{
	int fd = help_fd(c, arg_int(c, 0));

	return fd < 0 ? fd : help_refuse_args(c, EPERM, "ioctl number");
}

static int64_t io_terminal(struct call *c, int err)
{
	int fd = help_fd(c, arg_int(c, 0));

	if (fd < 0)
		return fd;
	return isatty(fd) ? help_refuse_args(c, err, "ioctl number") : -ENOTTY;
}

static int64_t io_tty_perm(struct call *c)
{
	return io_terminal(c, EPERM);
}

/* As a kernel with dev.tty.legacy_tiocsti=0. */
static int64_t io_tiocsti(struct call *c)
{
	return io_terminal(c, EIO);
}

/* A guest may open no file itself, and the slave would be one. Of our own
 * devpts only: a master from elsewhere lends no other file. */
static int64_t io_tiocgptpeer(struct call *c)
{
	int flags = (int)c->args[2];
	struct vfs_opened o = {.kind = VFS_OPEN_TTY, .fd = -1, .block_dir = -1};
	int fd = call_fd(c, arg_int(c, 0)), pts = c->s->devpts_fd;
	struct stat st, root;
	unsigned nr;

	if (fd < 0)
		return fd;
	if (ioctl(fd, TIOCGPTN, &nr) < 0)
		return isatty(fd) ? -EIO : -ENOTTY;
	if (pts < 0 || fstat(pts, &root) < 0 || fstat(fd, &st) < 0 ||
	    st.st_dev != root.st_dev)
		return -EACCES;
	o.fd = ioctl(fd, TIOCGPTPEER,
		     (flags & (O_ACCMODE | O_NONBLOCK)) | O_NOCTTY | O_CLOEXEC);
	return o.fd < 0 ? -errno : terminal_open(c, &o, flags);
}

static const struct {
	unsigned cmd;
	int64_t (*fn)(struct call *c);
} numbers[] = {
	{FIOASYNC, io_fioasync},
	{TIOCGPTPEER, io_tiocgptpeer},
	{TIOCSTI, io_tiocsti},
	{TIOCCONS, io_tty_perm},
	{TIOCLINUX, io_tty_perm},
	{TIOCSETD, io_tty_perm},
	{TIOCVHANGUP, io_tty_perm},
	{TIOCSLCKTRMIOS, io_tty_perm},
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
	int fd;

	for (size_t i = 0; i < ARRAY_SIZE(numbers); i++)
		if (numbers[i].cmd == cmd)
			return numbers[i].fn(c);
	fd = help_fd(c, arg_int(c, 0));
	return fd < 0 ? fd : -ENOTTY;
}
