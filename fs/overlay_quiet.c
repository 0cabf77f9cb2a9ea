/*
 * overlay_quiet.c - the copy-up of a lower file that a guest watches itself.
 *
 * Opening its object, or setting its mode and times, would be events of
 * changes that no guest made. So when the watch is asked for, the object gets
 * the lower file's size and times and stays open here for the copy-up.
 * What remains to be seen of that, before the open that asks for it, is
 * IN_MODIFY and, when the descriptor is given up, IN_CLOSE_WRITE; and
 * IN_ACCESS, for a small file is read once more.
 *
 * LIMIT: beyond QUIET_MAX such files at a time a copy-up shows IN_OPEN and
 * IN_ATTRIB as well.
 */
#include "overlay_priv.h"

#include <fcntl.h>

enum { QUIET_MAX = 128 };

void ov_quiet_prepare(struct ov_node *n)
{
	struct timespec t[2];
	int fd;

	if (n->upper || !n->has_lower || n->copy || n->quiet ||
	    n->inode->watch || n->ov->quiet_fds >= QUIET_MAX)
		return;
	ov_refresh(n);
	t[0] = n->atime;
	t[1] = n->mtime;
	if (ov_object_open_quiet(n, O_RDWR, &fd) < 0)
		return;
	if (fchmod(fd, ov_object_mode(n)) < 0 || futimens(fd, t) < 0) {
		log_host(errno, "preparing a watched file");
		close(fd);
		return;
	}
	n->quiet = fd + 1;
	n->ov->quiet_fds++;
}

int ov_quiet_take(struct ov_node *n)
{
	int fd = n->quiet - 1;

	if (n->quiet)
		n->ov->quiet_fds--;
	n->quiet = 0;
	return fd;
}

/* The modification time alone is IN_MODIFY, as was the writing. */
int ov_quiet_publish(struct ov_node *n, int dst)
{
	struct timespec t[2] = {{0, UTIME_OMIT}, n->mtime};
	mode_t mode = ov_object_mode(n);
	struct stat st;

	if (fstat(dst, &st) < 0 ||
	    ((st.st_mode & 07777) != mode && fchmod(dst, mode) < 0) ||
	    futimens(dst, t) < 0)
		return -EIO;
	return 0;
}
