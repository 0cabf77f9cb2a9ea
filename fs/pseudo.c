/*
 * pseudo.c - shared by procfs, sysfs and devfs; see pseudo.h.
 *
 * Texts are copied into a store file at open, so that reads run natively and
 * a slow reader sees one consistent state.
 */
#include "pseudo.h"

#include <fcntl.h>
#include <time.h>

void pseudo_getattr(const struct inode *inode, struct statx *out)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME_COARSE, &now);
	out->stx_mask |= STATX_BASIC_STATS;
	out->stx_blksize = inode->type == S_IFREG ? 1024 : 4096;
	out->stx_atime.tv_sec = now.tv_sec;
	out->stx_atime.tv_nsec = (uint32_t)now.tv_nsec;
	out->stx_mtime = out->stx_ctime = out->stx_atime;
}

int pseudo_op_getattr(struct vfs_ctx *ctx UNUSED, struct inode *inode,
		      struct statx *out)
{
	pseudo_getattr(inode, out);
	return 0;
}

int pseudo_open_text(struct inode *inode, struct dentry *dentry, int flags,
		     const struct strbuf *text, struct vfs_opened *out)
{
	int fd = -1, err;

	if ((flags & O_ACCMODE) != O_RDONLY || (flags & O_TRUNC))
		return -EACCES;
	err = vfs_snapshot(inode->sb->vfs, inode, dentry,
			   text->data ? text->data : "", text->len, &fd);
	if (err)
		return err;
	out->kind = VFS_OPENED;
	out->fd = fd;
	return 0;
}

int pseudo_open_dir(struct inode *inode, struct dentry *dentry, int flags,
		    struct vfs_opened *out)
{
	int fd = -1, err;

	if ((flags & O_ACCMODE) != O_RDONLY || (flags & O_TRUNC))
		return -EISDIR;
	err = vfs_dir_standin(inode->sb->vfs, inode, dentry, &fd);
	if (err)
		return err;
	out->kind = VFS_OPENED;
	out->fd = fd;
	return 0;
}

static int read_all(int fd, struct strbuf *out)
{
	char buf[8192];

	for (;;) {
		ssize_t n = read(fd, buf, sizeof(buf));

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (n == 0)
			return 0;
		strbuf_add(out, buf, (size_t)n);
		if (out->truncated)
			return -EFBIG;
	}
}

int pseudo_read_fd(int fd, struct strbuf *out)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode))
		return -EACCES;
	return read_all(fd, out);
}

int pseudo_read_at(int dirfd, const char *path, struct strbuf *out)
{
	AUTO_CLOSE int fd = -1;

	fd = openat(dirfd, path,
		    O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
	return fd < 0 ? -errno : pseudo_read_fd(fd, out);
}

ssize_t pseudo_copy_link(const char *text, char *buf, size_t size)
{
	size_t len = strlen(text);

	if (len > size)
		len = size;
	memcpy(buf, text, len);
	return (ssize_t)len;
}

long pseudo_parse_number(const char *name, long max, bool zero_ok)
{
	long v = 0, none = zero_ok ? -1 : 0;

	if (!name[0] || (name[0] == '0' && (name[1] || !zero_ok)))
		return none;
	for (const char *p = name; *p; p++) {
		if (*p < '0' || *p > '9')
			return none;
		v = v * 10 + (*p - '0');
		if (v > max)
			return none;
	}
	return v;
}
