/*
 * vfs_fs.h - what a file system must provide: a table of inode operations,
 * and what the VFS core offers to file systems.
 *
 * Included by fs/ only. Operations work on single path components; the core
 * has done symlinks, permission and policy checks, type and name checks
 * (EEXIST, EISDIR, ENOTDIR, EXDEV, EBUSY, EROFS) before it calls one. A NULL
 * operation means the errno given beside it. Inodes are counted; an operation
 * that returns one returns a counted reference.
 *
 * Laws between core and file system:
 * 1. One file, one struct inode: lookup must return the same inode for two
 *    names of one file while it is in memory.
 * 2. inode->mode, uid, gid, set before the inode is first returned, are what
 *    permission checks use; the file system keeps them current.
 * 3. The core makes, moves and drops dentries *after* an operation succeeded;
 *    an operation sees the tree as it was before. It never changes dentries.
 * 4. An unused dentry, and with it the last reference on its inode, may go at
 *    any time; what must survive (upper state, whiteouts) is kept by the file
 *    system in its own tables or by an own reference.
 */
#ifndef CLOCHE_VFS_FS_H
#define CLOCHE_VFS_FS_H

#include "vfs.h"
#include "../sentry/base/hash.h"
#include "../sentry/base/list.h"

struct super {
	struct vfs *vfs;
	const char *fstype, *source; /* as in /proc/mounts; owned by the fs */
	dev_t dev;		     /* virtual st_dev; unique, by super_new */
	uint64_t mnt_id;
	unsigned flags;			/* VFS_MNT_* */
	long magic;			/* statfs f_type */
	void *fs;			/* the file system's own */
	void (*free)(struct super *sb); /* at vfs_free; may be NULL */
	struct list list;		/* vfs.supers */
	struct dentry *root;		/* where it is mounted; borrowed */
	bool noexec;			/* vfs_open_exec: EACCES */
};

/* An open that makes a file: who makes it may open it at once, by the flags,
 * and find the descriptor here when asked to open it. */
struct vfs_making {
	int flags;
	int fd; /* -1: none; owned by the core */
	const struct inode *inode;
	struct vfs_undo undo;
};

struct inode_ops {
	/* -ENOENT if absent. NULL: ENOTDIR. The overlay asks
	 * dentry_child_mask(dir->dir_dentry, name) for VFS_MASK_NOLOWER. */
	int (*lookup)(struct vfs_ctx *ctx, struct inode *dir, const char *name,
		      struct inode **out);
	/* Of a directory that is looked up anew each time (revalidate): what
	 * was found last (child, NULL: nothing), is it so still, unless the
	 * dentry is stale by then? NULL: never known. */
	bool (*current)(struct vfs_ctx *ctx, struct inode *dir,
			const struct inode *child);
	/* *out comes with ino, dev, mnt_id, mode, uid, gid, nlink 1 and
	 * blksize 4096 set from the inode; the rest is the fs's (stx_mask
	 * too). NULL: that is all there is. */
	int (*getattr)(struct vfs_ctx *ctx, struct inode *inode,
		       struct statx *out);
	/* Permission checked, UTIME_NOW and UTIME_OMIT resolved, mode already
	 * without the set-id bits that must go, ids without -1. The fs only
	 * applies valid bits, updates inode->mode/uid/gid, and ctime.
	 * VFS_ATTR_SIZE may give -EINPROGRESS with attr->job. */
	int (*setattr)(struct vfs_ctx *ctx, struct inode *inode,
		       struct vfs_attr *attr); /* NULL: EPERM */
	/* Creates any type; mode has S_IFMT and is final (umask and set-gid
	 * inheritance applied). where is a negative dentry. The owner is
	 * ctx->cred->uid, and vfs_new_gid(ctx, where->parent). target is a
	 * symlink's text. NULL: EROFS */
	int (*create)(struct vfs_ctx *ctx, struct dentry *where, mode_t mode,
		      dev_t dev, const char *target, struct inode **out);
	/* inode may have no name at all (O_TMPFILE). */
	int (*link)(struct vfs_ctx *ctx, struct inode *inode,
		    struct dentry *where); /* NULL: EPERM */
	/* dir: rmdir; the fs answers ENOTEMPTY. NULL: EPERM */
	int (*unlink)(struct vfs_ctx *ctx, struct dentry *victim, bool dir);
	/* Takes back a create for an open, in a directory that nobody watches.
	 * NULL: unlink does, and the caller is asked first (ask_room). */
	void (*unmake)(struct vfs_ctx *ctx, struct dentry *made,
		       const struct vfs_undo *undo);
	/* to is negative, or positive with a type that may be replaced; the fs
	 * answers ENOTEMPTY. flags: 0 or RENAME_EXCHANGE. NULL: EPERM */
	int (*rename)(struct vfs_ctx *ctx, struct dentry *from,
		      struct dentry *to, unsigned flags);
	/* For magic links (/proc/self/exe, fd/N, cwd), fills *jump (counted)
	 * when asked with jump != NULL and returns 0; else text into buf
	 * without NUL, and its length. Text may depend on ctx->viewer_*. */
	ssize_t (*readlink)(struct vfs_ctx *ctx, struct inode *inode, char *buf,
			    size_t size, struct vref *jump);
	/* A link was read or followed, a directory read: atime. May be NULL */
	void (*accessed)(struct inode *inode);
	/* flags: access mode, O_TRUNC (to be done here; never for a file just
	 * created), O_APPEND, O_NONBLOCK, O_DIRECT, O_SYNC, O_NOATIME,
	 * O_DIRECTORY; never O_CREAT, O_PATH (the core makes stand-ins).
	 * Sets kind and fd (or block_*, or job); registers what it returns by
	 * vfs_object_add; the core sets ref and created. dentry may be NULL.
	 * -ESTALE: it is no longer what was walked to; the core walks again.
	 * NULL: ENXIO */
	int (*open)(struct vfs_ctx *ctx, struct inode *inode,
		    struct dentry *dentry, int flags, struct vfs_opened *out);
	/* Without "." and "..". The fs's own cookies: 0 is the start, all are
	 * below VFS_COOKIE_MAX. Names hidden by VFS_MASK_HIDE are dropped by
	 * the core. NULL: ENOTDIR */
	int (*readdir)(struct vfs_ctx *ctx, struct inode *dir, off_t *pos,
		       vfs_dirent_fn fn, void *arg);
	/* Namespace and permission checked. NULL: EOPNOTSUPP */
	ssize_t (*xattr)(struct vfs_ctx *ctx, struct inode *inode, int op,
			 const char *name, void *buf, size_t size, int flags);
	void (*release)(struct inode *inode); /* last reference gone */
	/* The rest is what overlay.h describes under the same names; the table
	 * of the overlay points to those functions. */
	/* O_TMPFILE: makes and opens an anonymous file; sets out->ref.inode
	 * (counted), fd and kind. mode is final. NULL: EOPNOTSUPP */
	int (*tmpfile)(struct vfs_ctx *ctx, struct inode *dir, int flags,
		       mode_t mode, struct vfs_opened *out);
	/* Place in the store of a socket or FIFO node. NULL: ECONNREFUSED */
	int (*node_place)(struct inode *inode, int *dirfd,
			  char name[NAME_LEN_MAX + 1]);
	/* bind(2) in dir. NULL: EROFS */
	int (*socket_prepare)(struct vfs_ctx *ctx, struct inode *dir,
			      const char *name, int *dirfd);
	int (*socket_bound)(struct vfs_ctx *ctx, struct inode *dir,
			    const char *name, mode_t mode, struct inode **out);
	/* vfs_watch_target. NULL: an object on which nothing happens */
	int (*watch_target)(struct vfs_ctx *ctx, struct inode *inode,
			    struct dentry *dentry, int *opath_fd);
	/* vfs_make_store_file. NULL: the core calls open(flags) */
	int (*make_store)(struct vfs_ctx *ctx, struct inode *inode,
			  struct dentry *dentry, int flags, int *fd,
			  struct vfs_job **job);
	/* Is its data in the store? A descriptor of the host's file shows what
	 * was before. NULL: no */
	bool (*moved)(const struct inode *inode);
	/* Is its data the host's file st, in a tree that is taken as fixed, so
	 * that a descriptor of it stays right? NULL: no */
	bool (*fixed)(const struct inode *inode, const struct stat *st);
	/* Is there something at path, which starts in dir, that is not shown by
	 * VFS_MASK_NOLOWER? For the record only. NULL: no */
	bool (*withheld)(struct inode *dir, const char *path);
	/* NULL: zeros; the core sets f_type, f_fsid, f_namelen, f_bsize */
	int (*statfs)(struct inode *inode, struct statfs *out);
	/* What the store reports of a registered object; on STORE_GONE the
	 * core drops its entry after this call. May be NULL. */
	void (*event)(struct inode *inode, ino_t ino, int store_event);
};

#define VFS_COOKIE_MAX ((off_t)1 << 61)

enum vfs_xattr_op {
	VFS_XATTR_GET,
	VFS_XATTR_SET,
	VFS_XATTR_LIST,
	VFS_XATTR_REMOVE
};

struct inode {
	const struct inode_ops *ops;
	struct super *sb;
	unsigned refs;
	uint64_t ino;	   /* virtual st_ino */
	mode_t type;	   /* S_IFMT bits */
	unsigned textrefs; /* running programs */
	bool revalidate;   /* dentries of this directory are not cached but
			    * where ops->current says so (procfs: children come
			    * and go): lookup is asked each time, an equal ino
			    * keeps the dentry */
	void *fs;	   /* the file system's own */
	struct dentry *dir_dentry; /* directories: the one name, borrowed */
	mode_t mode; /* permission bits 07777; law 2. inode_new: 0755 */
	uid_t uid;
	gid_t gid;
	bool link_stable;    /* symlink: text never changes and is the same for
			      * all: the core keeps it after the first readlink */
	bool no_negative;    /* directory: do not cache absent names */
	unsigned char watch; /* INODE_WATCHED*: by a guest, now or before */
	bool gone; /* removed by others: no look-up finds it again, whatever has
		    * its number, and a directory takes no new names */
	char *link;	 /* core's copy of the text; owned by the core */
	struct acl *acl; /* core's copies of the POSIX ACLs, or NULL; owned */
	struct acl *default_acl;
	bool acl_known, default_acl_known;
	struct origin *was; /* renamed directory: its first path, whose rules
			     * still hold for what lies below; the core's */
};

#define INODE_WATCHED	    1u
#define INODE_WATCHED_READS 2u /* opens and reads, too */
/* INODE_WATCHED* of an object and of the directory that it is opened in. */
unsigned vfs_watched(const struct inode *inode, const struct dentry *dentry);

/* What xattr says of POSIX ACLs may have changed by itself. */
void inode_acl_forget(struct inode *inode);

struct inode *inode_new(struct super *sb, const struct inode_ops *ops,
			uint64_t ino, mode_t type, void *fs);
struct super *super_new(struct vfs *vfs, const char *fstype, const char *source,
			long magic, unsigned flags);

/*
 * A name in the tree. File systems may read all of it; only dentry.c writes.
 * A dentry counts its parent and its inode. refs 0: kept on the LRU.
 */
struct dentry {
	struct hnode node; /* vfs.dentries, unless unhashed */
	struct list lru; /* while refs == 0: vfs.lru, or vfs.dead if unhashed */
	struct list child; /* in parent->children */
	struct list children;
	struct dentry *parent; /* NULL for the root only */
	struct inode *inode;   /* NULL: negative */
	struct vfs *vfs;
	unsigned refs;
	unsigned mask; /* VFS_MASK_*, complete */
	uint32_t rule; /* policy rule of the mask, 0: none */
	bool hashed;
	bool deleted; /* unlinked, or lost its parent's name */
	bool mounted; /* root of another file system */
	bool stub;    /* name exists only because of a mount below or at it */
	bool stale;   /* dentry_forget: ask lookup again before use */
	bool anchor;  /* vfs_restore.c: a mount is below it */
	unsigned char alike; /* dentry_mask.c: enum dentry_alike */
	unsigned short len;
	unsigned alike_mask; /* of each name in it that is not told */
	uint32_t alike_rule;
	char *name; /* NUL-terminated; "" for the root */
};

enum dentry_alike { DENTRY_UNKNOWN, DENTRY_ALIKE, DENTRY_UNLIKE };

/* Verdict bits of a child that may have no dentry yet. */
unsigned dentry_child_mask(struct dentry *dir, const char *name);

/*
 * For host trees that change under us: forget the cached child `name` (NULL:
 * all children, positive and negative) so that it is looked up anew. Those in
 * use become deleted names, unless the next lookup gives the same inode; then
 * they live on. Mount points are kept. Returns the inode that name had (not
 * counted), or NULL.
 */
struct inode *dentry_forget(struct dentry *dir, const char *name);

/* First path of a renamed directory, whose rules still hold; borrowed, or
 * NULL. Set: as it was read from a snapshot. */
const char *dentry_origin(const struct inode *inode);
void dentry_origin_set(struct vfs *vfs, struct inode *inode, const char *path);

/* gid for a new file in dir: the directory's if it is set-gid, else the
 * caller's. */
bool cred_in_group(const struct vcred *c, gid_t gid);
gid_t vfs_new_gid(const struct vfs_ctx *ctx, const struct dentry *dir);

struct store;

#define DIRTEXTS     32 /* a power of two */
#define DIRTEXT_SIZE 232

/* The path of a directory, for the paths of what is in it; dentry.c. */
struct dirtext {
	const struct dentry *dir, *root; /* not counted; NULL: unused */
	uint64_t moves;			 /* good while vfs.moves is that */
	size_t len;
	char text[DIRTEXT_SIZE];
};

struct vfs {
	struct vfs_config cfg;	/* store_fd belongs to the store */
	struct store *store;	/* owned; vfs_store() */
	struct htable dentries; /* (parent, name) */
	struct list lru;	/* unused dentries, oldest first */
	struct list dead;	/* unused and unhashed: freed by dentry_prune */
	size_t lru_count, lru_max;
	struct dentry *root;
	uint64_t moves; /* of dentries to another place */
	struct dirtext dirtexts[DIRTEXTS];
	struct list supers;
	unsigned next_dev;
	uint64_t next_mnt_id;
	struct htable objects;	  /* (dev, ino): identify.c */
	struct list origins;	  /* of renamed directories; dentry.c */
	size_t freed, freed_seen; /* inodes, for vfs_trim_due */
	struct list watch_kept;	  /* watch.c */
	unsigned watch_kept_count;
	bool watched;		     /* a guest has once watched something */
	struct hostwatch *hostwatch; /* owned; overlay_watch.c */
	struct vfs_writer *writers;  /* overlay_base.c; number 1 is the first */
	uint32_t nwriters;
	/* Opens a character device by its number, for a node that was made
	 * elsewhere than in /dev; NULL: none can be. Set by devfs. */
	int (*open_device)(struct vfs_ctx *ctx, void *arg, dev_t rdev,
			   int flags, struct vfs_opened *out);
	void *device_arg;
	bool protect_symlinks, protect_hardlinks; /* fs.protected_* */
	int protect_fifos, protect_regular;	  /* of the host */
};

/* Tells the VFS that descriptors with this (dev, ino) mean this inode, until
 * the kernel says that the last one is gone (store files) or for ever. Added
 * again for the same inode: only the dentry is renewed; for another one: the
 * old meaning is replaced (copy-up never reuses a number). */
int MUST_CHECK vfs_object_add(struct vfs *vfs, dev_t dev, ino_t ino,
			      struct inode *inode, struct dentry *dentry,
			      bool opath);
/* The same for a host file (st: fstat of fd), told by its birth and change time
 * as well: a descriptor that no longer fits gives ESTALE (vfs_identify).
 * born: when that was, if it is known; else NULL, or tv_sec 0. */
int MUST_CHECK vfs_object_add_host(struct vfs *vfs, int fd,
				   const struct stat *st,
				   const struct timespec *born,
				   struct inode *inode, struct dentry *dentry);
/* Is there a meaning for it? */
bool vfs_object_known(const struct vfs *vfs, dev_t dev, ino_t ino);
/* Forget at once. */
void vfs_object_del(struct vfs *vfs, dev_t dev, ino_t ino);

/* A file in the store, not in any directory, holding data; returns a read-only
 * descriptor already registered for inode: for files made of text (procfs).
 */
int MUST_CHECK vfs_snapshot(struct vfs *vfs, struct inode *inode,
			    struct dentry *dentry, const void *data, size_t len,
			    int *fd);
/* A directory descriptor that stands for inode (registered): for directories
 * of file systems that have no real one. Its offset is the readdir cursor. */
int MUST_CHECK vfs_dir_standin(struct vfs *vfs, struct inode *inode,
			       struct dentry *dentry, int *fd);

/* vfs.c uses overlay.h (overlay_new_host, overlay_new_tmpfs,
 * overlay_free_all) and store.h; vfs_job_run, vfs_job_finish and vfs_diff are
 * the overlay's. vfs.c registers a store_event_fn that finds the object,
 * calls ops->event and drops the entry on STORE_GONE: so a store object that
 * is to be forgotten needs a store_watch by the file system that unlinks it.
 */

/* The object registered for (dev, ino), counted; -ENOENT if none. For texts
 * that name objects by number (/proc/PID/maps): no check of the file's age. */
int MUST_CHECK vfs_object_find(struct vfs *vfs, dev_t dev, ino_t ino,
			       struct vref *out);

#endif
