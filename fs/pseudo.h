/*
 * pseudo.h - what file systems without stored data share: attributes made up,
 * text files opened as snapshots, host files read whole.
 */
#ifndef CLOCHE_PSEUDO_H
#define CLOCHE_PSEUDO_H

#include "vfs_fs.h"
#include "../sentry/base/strbuf.h"

#define PSEUDO_TEXT_MAX (16u << 20) /* longest text of one file */

/* What the core does not fill in: times (now), blksize of a text file. */
void pseudo_getattr(const struct inode *inode, struct statx *out);
/* The same as an inode operation. */
int pseudo_op_getattr(struct vfs_ctx *ctx, struct inode *inode,
		      struct statx *out);

/* open of a text file: a snapshot of text; EACCES for writing. */
int MUST_CHECK pseudo_open_text(struct inode *inode, struct dentry *dentry,
				int flags, const struct strbuf *text,
				struct vfs_opened *out);
/* open of a directory: its stand-in; EISDIR for writing. */
int MUST_CHECK pseudo_open_dir(struct inode *inode, struct dentry *dentry,
			       int flags, struct vfs_opened *out);
/* Appends a whole regular file of the host, relative to dirfd; symlinks are
 * not followed at the end. 0 or -errno. */
int MUST_CHECK pseudo_read_at(int dirfd, const char *path, struct strbuf *out);
/* The same of one that is open. */
int MUST_CHECK pseudo_read_fd(int fd, struct strbuf *out);

/* Copies text for readlink: bytes copied, never a NUL. */
ssize_t pseudo_copy_link(const char *text, char *buf, size_t size);

/* A decimal name without sign or leading zeros, 1..max; 0 if it is none.
 * zero_ok: "0" is valid and -1 means none. */
long pseudo_parse_number(const char *name, long max, bool zero_ok);

#endif
