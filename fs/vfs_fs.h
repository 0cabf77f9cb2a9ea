/*
 * vfs_fs.h - what a file system must provide: a table of inode operations.
 *
 * Included by fs/ only. Operations work on single path components; the walker
 * in walk.c has done permission checks and symlinks. A NULL operation means
 * the errno given beside it. Inodes are counted; an operation that returns
 * one returns a counted reference.
 */
#ifndef CLOCHE_VFS_FS_H
#define CLOCHE_VFS_FS_H

#include "vfs.h"
#include "../sentry/base/hash.h"
#include "../sentry/base/list.h"

struct super {
	struct vfs *vfs;
	const char *fstype, *source; /* as in /proc/mounts; owned by the fs */
	dev_t dev;		     /* virtual st_dev */
	uint64_t mnt_id;
	unsigned flags; /* VFS_MNT_* */
	long magic;	/* statfs f_type */
	void *fs;	/* the file system's own */
};

struct inode_ops {
	/* -ENOENT if absent. NULL: ENOTDIR */
	int (*lookup)(struct vfs_ctx *ctx, struct inode *dir, const char *name,
		      struct inode **out);
	int (*getattr)(struct vfs_ctx *ctx, struct inode *inode,
		       struct statx *out);
	int (*setattr)(struct vfs_ctx *ctx, struct inode *inode,
		       struct vfs_attr *attr); /* NULL: EPERM */
	/* create any type; mode has S_IFMT. NULL: EROFS */
	int (*create)(struct vfs_ctx *ctx, struct dentry *where, mode_t mode,
		      dev_t dev, const char *target, struct inode **out);
	int (*link)(struct vfs_ctx *ctx, struct inode *inode,
		    struct dentry *where);		/* NULL: EPERM */
	int (*unlink)(struct vfs_ctx *ctx, struct dentry *victim, bool dir);
	int (*rename)(struct vfs_ctx *ctx, struct dentry *from,
		      struct dentry *to, unsigned flags);
	/* For magic links (/proc/self/exe, fd/N, cwd), fills *jump (counted)
	 * when asked with jump != NULL; else text into buf. */
	ssize_t (*readlink)(struct vfs_ctx *ctx, struct inode *inode,
			    char *buf, size_t size, struct vref *jump);
	int (*open)(struct vfs_ctx *ctx, struct inode *inode,
		    struct dentry *dentry, int flags, struct vfs_opened *out);
	int (*readdir)(struct vfs_ctx *ctx, struct inode *dir, off_t *pos,
		       vfs_dirent_fn fn, void *arg);	/* NULL: ENOTDIR */
	ssize_t (*xattr)(struct vfs_ctx *ctx, struct inode *inode, int op,
			 const char *name, void *buf, size_t size,
			 int flags);			/* NULL: EOPNOTSUPP */
	void (*release)(struct inode *inode); /* last reference gone */
};

enum vfs_xattr_op { VFS_XATTR_GET, VFS_XATTR_SET, VFS_XATTR_LIST,
		    VFS_XATTR_REMOVE };

struct inode {
	const struct inode_ops *ops;
	struct super *sb;
	unsigned refs;
	uint64_t ino;	  /* virtual st_ino */
	mode_t type;	  /* S_IFMT bits */
	unsigned textrefs; /* running programs */
	bool revalidate;  /* dentries of this directory are never cached
			   * (procfs: children come and go) */
	void *fs;	  /* the file system's own */
	struct dentry *dir_dentry; /* directories: the one name, borrowed */
};

struct inode *inode_new(struct super *sb, const struct inode_ops *ops,
			uint64_t ino, mode_t type, void *fs);
struct super *super_new(struct vfs *vfs, const char *fstype,
			const char *source, long magic, unsigned flags);

/* Tells the VFS that descriptors with this (dev, ino) mean this inode, until
 * the kernel says that the last one is gone (store files) or for ever. */
int MUST_CHECK vfs_object_add(struct vfs *vfs, dev_t dev, ino_t ino,
			      struct inode *inode, struct dentry *dentry,
			      bool opath);

/* A file in the store, not in any directory, holding data; returns a read-only
 * descriptor already registered for inode: for files made of text (procfs).
 */
int MUST_CHECK vfs_snapshot(struct vfs *vfs, struct inode *inode,
			    struct dentry *dentry, const void *data,
			    size_t len, int *fd);
/* A directory descriptor that stands for inode (registered): for directories
 * of file systems that have no real one. Its offset is the readdir cursor. */
int MUST_CHECK vfs_dir_standin(struct vfs *vfs, struct inode *inode,
			       struct dentry *dentry, int *fd);

#endif
