/*
 * inotify.c - watches on virtual paths.
 *
 * The guest's own instance, made natively, gets a watch on the object of the
 * store that mirrors the virtual one, so events, names, cookies and watch
 * descriptors are the kernel's, and inotify_rm_watch is native.
 */
#include <fcntl.h>
#include <stdio.h>
#include <sys/inotify.h>

#include "help.h"
#include "pathfd.h"

#ifndef IN_MASK_CREATE
#define IN_MASK_CREATE 0x10000000
#endif
#define IN_KNOWN                                                      \
	(IN_ALL_EVENTS | IN_UNMOUNT | IN_Q_OVERFLOW | IN_IGNORED |    \
	 IN_ONLYDIR | IN_DONT_FOLLOW | IN_EXCL_UNLINK | IN_MASK_ADD | \
	 IN_MASK_CREATE | IN_ISDIR | IN_ONESHOT)
#define IN_READS (IN_OPEN | IN_ACCESS | IN_CLOSE_NOWRITE)

static bool is_inotify(int fd)
{
	char path[40], link[40];
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	n = readlink(path, link, sizeof(link) - 1);
	if (n <= 0)
		return false;
	link[n] = '\0';
	return !strcmp(link, "anon_inode:inotify");
}

/* fs/notify/inotify/inotify_user.c, in its order of checks */
static int watch_check(struct call *c, uint32_t mask, int *fd)
{
	if (!(mask & IN_KNOWN))
		return -EINVAL;
	*fd = call_fd(c, arg_int(c, 0));
	if (*fd < 0)
		return *fd;
	if ((mask & IN_MASK_ADD) && (mask & IN_MASK_CREATE))
		return -EINVAL;
	return is_inotify(*fd) ? 0 : -EINVAL;
}

int64_t h_inotify_add_watch(struct call *c)
{
	AUTO_PUT_VREF struct vref ref = {0};
	AUTO_CLOSE int target = -1;
	uint32_t mask = (uint32_t)c->args[2];
	struct vfs_at at;
	unsigned walk = mask & IN_DONT_FOLLOW ? 0 : VFS_FOLLOW;
	char path[40];
	int fd, wd, err;

	err = watch_check(c, mask, &fd);
	if (!err)
		err = call_at(c, AT_FDCWD, c->str[1], &at);
	if (err)
		return err;
	if (mask & IN_ONLYDIR)
		walk |= VFS_DIRECTORY;
	err = vfs_lookup(&c->vfs, &at, walk, &ref);
	if (!err)
		err = vfs_permission(&c->vfs, &ref, R_OK);
	if (!err)
		err = vfs_watch_target(&c->vfs, &ref, mask & IN_READS, &target);
	if (err)
		return err;
	/* The magic link ends at the object itself; with IN_DONT_FOLLOW the
	 * kernel would watch the link. */
	snprintf(path, sizeof(path), "/proc/self/fd/%d", target);
	wd = inotify_add_watch(fd, path, mask & ~(uint32_t)IN_DONT_FOLLOW);
	return wd < 0 ? -errno : wd;
}
