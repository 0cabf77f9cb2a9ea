/*
 * fsinfo.c - old questions about file systems, and one new about the page
 * cache; answered from the sandbox's own mounts and tables.
 */
#include <fcntl.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>

#include "help.h"
#include "pathfd.h"
#include "../fs/procfs.h"

enum { FSTYPE_MAX = 32, CACHESTAT = 451 };

/* The nth name of /proc/filesystems and its length; NULL beyond the last. */
static const char *fstype_at(unsigned long nth, size_t *len)
{
	const char *at = procfs_filesystems;

	for (; *at; at += strcspn(at, "\n") + 1) {
		const char *name = at + strcspn(at, "\t") + 1;

		*len = strcspn(name, "\n");
		if (!nth--)
			return name;
	}
	return NULL;
}

static int64_t sysfs_index(struct call *c)
{
	char want[FSTYPE_MAX];
	const char *name;
	size_t len;
	ssize_t n = call_read_str(c, c->args[1], want, sizeof(want));

	if (n == 0)
		return -ENOENT; /* getname() */
	if (n < 0)
		return n == -ENAMETOOLONG ? -EINVAL : n;
	for (unsigned i = 0; (name = fstype_at(i, &len)); i++)
		if (len == (size_t)n && !memcmp(name, want, len))
			return i;
	return -EINVAL;
}

static int64_t sysfs_name(struct call *c)
{
	char text[FSTYPE_MAX] = "";
	size_t len;
	const char *name = fstype_at((unsigned)c->args[1], &len);

	if (!name || len >= sizeof(text))
		return -EINVAL;
	memcpy(text, name, len);
	return help_out(c, c->args[2], text, len + 1);
}

int64_t h_sysfs(struct call *c)
{
	unsigned n = 0;
	size_t len;

	switch (arg_int(c, 0)) {
	case 1:
		return sysfs_index(c);
	case 2:
		return sysfs_name(c);
	case 3:
		while (fstype_at(n, &len))
			n++;
		return n;
	}
	return -EINVAL;
}

/* struct ustat of linux/types.h, which no header has any more */
struct ustat_out {
	int32_t tfree;
	uint64_t tinode;
	char fname[6], fpack[6];
};

int64_t h_ustat(struct call *c)
{
	/* the kernel's 32-bit form: minor 7-0, major, minor 19-8 */
	uint32_t dev = (uint32_t)c->args[0];
	unsigned major = (dev & 0xfff00) >> 8;
	unsigned minor = (dev & 0xff) | ((dev >> 12) & 0xfff00);
	struct ustat_out out = {0};
	struct statfs st;
	int err = vfs_statfs_dev(&c->vfs, makedev(major, minor), &st);

	if (err)
		return err;
	out.tfree = (int32_t)st.f_bfree;
	out.tinode = st.f_ffree;
	return help_out(c, c->args[1], &out, sizeof(out));
}

struct cachestat_out {
	uint64_t nr[5];
};

int64_t h_cachestat(struct call *c)
{
	AUTO_PUT_TARGET struct target t = {.fd = -1};
	uint64_t range[2];
	struct cachestat_out out;
	int err = call_fd_data(c, arg_int(c, 0), &t);

	if (!err)
		err = call_read(c, c->args[1], range, sizeof(range));
	if (err)
		return err;
	if (vfs_is_host(c->s->vfs, &t.st))
		return help_refuse_args(c, EPERM,
					"the page cache of a file "
					"of the host");
	if (syscall(CACHESTAT, t.fd, range, &out, (unsigned)c->args[3]) < 0)
		return -errno;
	return help_out(c, c->args[2], &out, sizeof(out));
}

/* ---- file handles ----------------------------------------------------- */

#define HANDLE_FLAGS \
	(AT_EMPTY_PATH | AT_SYMLINK_FOLLOW | 0x200 /* AT_HANDLE_FID */ | 3)

/* As a file system without: what is wrong with the path comes first. */
int64_t h_name_to_handle_at(struct call *c)
{
	AUTO_PUT_TARGET struct target t = {.fd = -1};
	int flags = arg_int(c, 4), ret;
	unsigned walk = flags & AT_SYMLINK_FOLLOW ? VFS_FOLLOW : 0;

	if (flags & ~HANDLE_FLAGS)
		return -EINVAL;
	if (flags & AT_EMPTY_PATH)
		walk |= VFS_EMPTY;
	ret = call_target(c, (gfd_t)c->args[0], c->str[1], walk, &t);
	return ret ? ret : help_refuse_args(c, EOPNOTSUPP, "no file handles");
}

int64_t h_open_by_handle_at(struct call *c)
{
	enum { BYTES_MAX = 128 };
	struct file_handle h;
	int err = call_read(c, c->args[1], &h, sizeof(h));
	gfd_t mount = arg_int(c, 0);
	int fd = mount == AT_FDCWD ? 0 : call_fd(c, mount);

	if (err)
		return err;
	if (!h.handle_bytes || h.handle_bytes > BYTES_MAX)
		return help_refuse_args(c, EINVAL, "no file handles");
	return fd < 0 ? fd : help_refuse_args(c, EPERM, "no file handles");
}
