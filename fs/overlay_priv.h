/*
 * overlay_priv.h - what the files of the overlay share.
 *
 * struct ov is one overlay, struct ov_node the overlay's part of an inode
 * (inode->fs). A directory's struct ov_dir holds the *entries*: names that
 * differ from the lower directory, or that exist in the mirror. An entry is a
 * whiteout or holds a counted inode; a name without entry is the lower's.
 *
 * Where things are:
 *   name          entry of its directory, else the lower directory
 *   data          a layer's file when `src` (overlay_src.c), else the store
 *                 object when `upper`, else the lower file
 *   store object  under any entry with `mirrored`, else under side[]
 *   owner, mode   struct inode; times: see ov_times in overlay_attr.c
 *
 * Laws:
 * 1. No lower file is ever opened for writing (direct mounts are direct.c).
 *    [overlay_test: host_unchanged]
 * 2. A store object of a living file has at least one name: a mirrored entry
 *    or side[]. ov_object_keep() runs before a mirrored name goes.
 *    [overlay_test: unlinked_open_file_reopens]
 * 3. A node that has state of its own is pinned: in an entry, or by `pinned`,
 *    so that it outlives the dentries. [overlay_test: chmod_survives]
 * 4. A lower file is one node for all its names: ov->lower, by (dev, ino).
 * 5. Once `populated`, every visible name of a directory is in the mirror.
 * 6. What `src` names is shared with other sandboxes: it is opened for reading
 *    only, and nothing of it is ever changed. [snapshot_test: fork_is_apart]
 */
#ifndef CLOCHE_OVERLAY_PRIV_H
#define CLOCHE_OVERLAY_PRIV_H

#include "changes.h"
#include "hostfs.h"
#include "hostwatch.h"
#include "layer.h"
#include "overlay.h"

#include <time.h>

enum {
	OV_INLINE_COPY = 256 * 1024,
	OV_MIRROR_FDS = 256,
	OV_XATTR_NODE_MAX = 64 * 1024,
};
#define OV_XATTR_TOTAL_MAX (16u << 20)
#define OV_INO_FIRST	   ((uint64_t)1 << 40)

struct ov_xattr {
	struct list list; /* ov_node.xattrs */
	size_t size;
	char *value;
	char name[];
};

/* A regular file's data in a layer. */
struct ov_src {
	struct ov_layer *layer; /* counted */
	struct hostdir *dir;	/* counted */
	char *name;
	ino_t ino;
	bool loaded; /* size, blocks, and the node's times are known */
	off_t size;
	blkcnt_t blocks;
};

struct ov_copy;
struct ov_index;

struct ov {
	struct super *sb;
	struct store *store;
	struct hostfs host;
	bool has_lower, direct, watch;
	char *guest;
	struct list list; /* store_overlays */
	int mirror;	  /* descriptor of mN/ */
	char mirror_name[16];
	uint64_t next_ino;
	size_t xattr_bytes;
	struct timespec floor;	/* no stamp is earlier */
	int clock;		/* a file whose stamps are the kernel's */
	struct timespec unseen; /* coarse time of one that is not known */
	struct htable lower;	/* ov_node.by_lower */
	struct list nodes;	/* every ov_node */
	struct list mirrors;	/* ov_dirs with a descriptor, oldest first */
	unsigned mirror_fds;
	unsigned quiet_fds;   /* ov_node.quiet that are set */
	struct ov_node *root; /* counted through its inode */
	bool dead;
};

struct ov_entry {
	struct hnode node; /* in dir->entries */
	struct list same;  /* in child->names */
	struct ov_node *dir;
	struct ov_node *child; /* NULL: whiteout; counted through its inode */
	bool mirrored;
	bool wrote;   /* made here, not the lower's name: shown by diff */
	bool standin; /* a stand-in was here: the lower was never seen */
	struct change_ident *base; /* the lower file that it hides, or NULL */
	struct ov_node *gone;	   /* lower directory removed here; counted */
	uint32_t writer;	   /* who changed the name last; vfs_writer */
	uint32_t absent; /* dir's `heard` when the lower had no such name; or 0
			  */
	char name[];
};

struct ov_dir {
	struct htable entries;
	size_t visible;	 /* entries that are not whiteouts */
	bool opaque;	 /* lower is not looked at */
	bool has_mirror; /* exists in the store */
	bool populated;	 /* law 5 */
	uint32_t heard;	 /* number of the last news of any name; not 0 */
	int fd;		 /* O_PATH of the mirror, or -1 */
	struct list lru; /* ov.mirrors */
	struct ov_index *index;
};

/* Snapshots write and read all of its state (snapshot.c, snapshot_load.c). */
struct ov_node {
	struct inode *inode; /* back pointer, not counted */
	struct ov *ov;
	struct list list;      /* ov.nodes */
	struct hnode by_lower; /* when hashed */
	bool hashed;
	bool pinned; /* ov holds a reference */

	struct ov_node *parent; /* directories, lower nodes: counted */
	char *name;		/* with parent: where first or now found */

	bool has_lower;
	struct hostdir *lhost; /* of a directory: itself; else its parent */
	char *lname;	       /* of others: name in lhost */
	struct stat lst;
	struct timespec lborn;	  /* lst's birth, where the host's may change;
				   * tv_sec 0: not known */
	struct hostmark mark;	  /* lst's object, in a tree that may change */
	bool known;		  /* lst is right as long as mark is silent */
	bool deaf;		  /* no mark is to be had */
	bool astray;		  /* lname may be gone; another name is not */
	unsigned char asked;	  /* of the host, while there is no mark */
	char *ltext;		  /* a lower link's text, once read */
	struct change_ident base; /* the lower that was seen or copied up */
	uint32_t writer;	  /* who changed it last; vfs_writer */

	nlink_t nlink;
	dev_t rdev;
	char *target; /* symlink made here */
	bool upper;   /* data (or the whole object) is not the lower's */
	bool object;  /* a store object exists */
	bool meta;    /* mode, owner, times or xattrs differ from lower's */
	ino_t sino;   /* of the object; 0: of no use so far */
	char side[STORE_NAME_MAX]; /* "" if none */
	bool unlinked_watch;	   /* STORE_CLOSED is asked for */
	bool setgid_stranger;	   /* by a caller that is not of its group */
	bool setid_armed;	   /* the object bears the set-id bits */
	int quiet;	/* descriptor + 1 for a copy-up with few events, or 0 */
	bool birthless; /* O_TMPFILE|O_EXCL: never linkable */
	bool standin;	/* see overlay_standin.c; base.hash, .size:
			 * of what was made up */

	/* Shown instead of the store object's times; see overlay_attr.c. */
	struct timespec atime, mtime, ctime;
	struct timespec ctime_mark; /* the object's own ctime at that time */
	bool shown;		    /* the times were, since the last change */
	struct timespec btime;	    /* tv_sec -1: not known; 0: not yet asked */
	struct list names;	    /* ov_entry.same */
	struct ov_dir *dir;
	struct list xattrs;
	size_t xattr_size;
	bool xattr_own; /* lower's have been taken over */
	struct ov_copy *copy;
	struct ov_src *src; /* with upper; owned */
	bool watched;	    /* a guest may have a watch on its object */

	/* While a snapshot is made. */
	bool kept;	     /* stays where it is */
	uint32_t number;     /* in the list; 0: not in it */
	struct ov_src *snap; /* a copy of what stays; owned */
};

static inline struct ov_node *ov_node(const struct inode *inode)
{
	return inode->fs;
}

static inline struct ov_node *ov_parent_of(const struct dentry *d)
{
	return ov_node(d->parent->inode);
}

static inline bool ts_equal(struct timespec a, struct timespec b)
{
	return a.tv_sec == b.tv_sec && a.tv_nsec == b.tv_nsec;
}

static inline bool ts_after(struct timespec a, struct timespec b)
{
	return a.tv_sec > b.tv_sec ||
	       (a.tv_sec == b.tv_sec && a.tv_nsec > b.tv_nsec);
}

extern const struct inode_ops overlay_ops, direct_ops;

/* Owners of the host's files as the guest sees them. */
static inline uid_t ov_uid(const struct ov *ov, uid_t uid)
{
	const struct vfs_config *c = &ov->sb->vfs->cfg;

	return c->map_owner && uid == c->host_uid ? c->owner_uid : uid;
}

static inline gid_t ov_gid(const struct ov *ov, gid_t gid)
{
	const struct vfs_config *c = &ov->sb->vfs->cfg;

	return c->map_owner && gid == c->host_gid ? c->owner_gid : gid;
}

/* overlay.c */
struct ov_node *ov_node_new(struct ov *ov, mode_t type, uint64_t ino);
void ov_release(struct inode *inode);
void ov_pin(struct ov_node *n);
void ov_unpin(struct ov_node *n); /* may free n */
/* overlay_time.c */
struct timespec ov_now(struct ov *ov);
/* The time of a change of n; its ctime is still the old one. */
struct timespec ov_now_for(struct ov_node *n);
/* A stamp that the kernel gave to an object. */
void ov_time_seen(struct ov *ov, struct timespec ts);
/* The kernel has given a stamp, perhaps an exact one, that is not asked for. */
void ov_time_unseen(struct ov *ov);
void ov_accessed(struct inode *inode);

/* What is known of n's names is asked again each time. */
void ov_host_changes(struct ov_node *n);
/* A directory's content changed. */
void ov_touch_dir(struct ov_node *dir);
void ov_set_parent(struct ov_node *n, struct ov_node *parent, const char *name);

/* overlay_lookup.c */
int ov_lookup(struct vfs_ctx *ctx, struct inode *dir, const char *name,
	      struct inode **out);
bool ov_withheld(struct inode *dir, const char *path);
/* Does policy keep the lower's version of the name from the guest? */
bool ov_lower_closed(struct ov_node *dir, const char *name);
/* Is there a lower name that an entry would hide? */
bool ov_lower_has(struct ov_node *dir, const char *name, struct stat *st);
uint64_t ov_lower_ino(const struct ov *ov, dev_t dev, ino_t ino);
void ov_lower_unhash(struct ov_node *n);
uint64_t ov_lower_hash(const struct ov_node *dir, const struct stat *st);
/* The node known for a lower object; borrowed, or NULL. */
struct ov_node *ov_lower_find(struct ov_node *dir, const struct stat *st);
void ov_lower_rehash(struct ov_node *n); /* a directory's parent changed */
void ov_lower_placed(struct ov_node *n, struct ov_node *dir, const char *name);
/* A node for a lower name, from the table or new; counted inode. */
struct inode *ov_lower_node(struct ov_node *dir, const char *name,
			    const struct stat *st);
void ov_refresh(struct ov_node *n);
/* What the host has now; shown as long as the guest has no version. */
void ov_take_stat(struct ov_node *n, const struct stat *st);
/* Asks for lborn, by the name (dir, name). */
void ov_lower_ask_birth(struct ov_node *n, struct hostdir *dir,
			const char *name);
/* Has the host removed the directory, and the guest nothing of its own
 * there? Then it is gone for good. */
bool ov_dir_lost(struct ov_node *dir);
/* ov_lower_find for what was found as (dir, name), which is the node's file
 * and not a later one with its number. */
struct ov_node *ov_lower_known(struct ov_node *dir, const char *name,
			       const struct stat *st);
/* Opens n's regular lower file or, O_PATH, any; -ESTALE: another has its
 * name. *st: what it is now. */
int MUST_CHECK ov_lower_open(struct ov_node *n, int flags, int *fd,
			     struct stat *st);
/* The same, for one that was just walked to by this name. */
int MUST_CHECK ov_lower_open_walked(struct vfs_ctx *ctx, struct ov_node *n,
				    const struct dentry *d, int flags, int *fd,
				    struct stat *st);
int MUST_CHECK ov_lower_path(struct ov_node *n, int *fd);
ssize_t MUST_CHECK ov_lower_readlink(struct ov_node *n, char *buf, size_t size);

/* The entry of a name, or what the lower has there, as the guest is to see
 * it; counted. -ENOENT: nothing. */
int MUST_CHECK ov_lower_get(struct ov_node *dir, const char *name,
			    struct inode **out);

/* overlay_standin.c */
bool ov_standin_wanted(struct ov_node *dir, const char *name,
		       const struct stat *st);
/* Makes it and its entry; *out is counted. */
int MUST_CHECK ov_standin_make(struct ov_node *dir, const char *name,
			       const struct stat *st, struct inode **out);
/* Is e's child the stand-in for the lower of *st, as it was made? */
bool ov_standin_untouched(struct ov_node *n, const struct ov_entry *e,
			  const struct stat *st);

/* overlay_watch.c */
/* Before a name of dir is looked up in the lower. */
void ov_watch_names(struct vfs_ctx *ctx, struct ov_node *dir);
bool ov_current(struct vfs_ctx *ctx, struct inode *dir,
		const struct inode *child);
/* Sees to it that the lower's attributes are those of now. */
void ov_attributes(struct vfs_ctx *ctx, struct ov_node *n);
void ov_watch_end(struct ov_node *n);
/* The lower was asked for e's name just now, and has none such. */
void ov_absent_note(const struct vfs_ctx *ctx, const struct ov_node *dir,
		    struct ov_entry *e);
/* Is that so still? False: not known. e may be NULL. */
bool ov_absent(const struct vfs_ctx *ctx, const struct ov_node *dir,
	       const struct ov_entry *e);
/* Has the host just told that (dir, name) of d is n, and what n is? */
bool ov_is_sure(const struct vfs_ctx *ctx, const struct ov_node *n,
		const struct dentry *d);

/* overlay_entry.c */
struct ov_entry *ov_entry_find(const struct ov_node *dir, const char *name);
/* Sets the entry, replacing what is there; child NULL: a whiteout. */
struct ov_entry *ov_entry_set(struct ov_node *dir, const char *name,
			      struct ov_node *child);
void ov_entry_drop(struct ov_node *dir, struct ov_entry *e);
/* The name is gone: a whiteout if the lower has it, else no entry. */
void ov_entry_clear(const struct vfs_ctx *ctx, struct ov_node *dir,
		    const char *name);
int MUST_CHECK ov_dir_is_empty(struct ov_node *dir); /* 1, 0 or -errno */

/* overlay_mirror.c */
int MUST_CHECK ov_mirror_fd(struct ov_node *dir); /* borrowed; makes it */
/* A new description of it; *fd is the caller's. flags: of open(2). */
int MUST_CHECK ov_mirror_open_read(struct ov_node *dir, int flags, int *fd);
void ov_mirror_forget(struct ov_node *dir);
void ov_mirror_close(struct ov_node *dir); /* ov_mirror_fd opens it again */
int MUST_CHECK ov_mirror_populate(struct ov_node *dir);
/* Makes the store object of n (empty for lower data) at (dir, name), or in
 * side/ when dir is NULL. */
int MUST_CHECK ov_object_make(struct ov_node *n, struct ov_node *dir,
			      const char *name);
/* It is there: dir NULL as above. */
void ov_object_made(struct ov_node *n, struct ov_node *dir, const char *name,
		    const struct stat *st);
/* FIFOs and sockets of a snapshot have none until they are used. */
int MUST_CHECK ov_object_need(struct ov_node *n);
/* A place where the object can be opened: descriptor borrowed. */
int MUST_CHECK ov_object_place(struct ov_node *n, int *dirfd,
			       const char **name);
/* For the sentry's own use: no event for watchers of a directory. */
int MUST_CHECK ov_object_open_quiet(struct ov_node *n, int flags, int *fd);
int MUST_CHECK ov_object_stat(struct ov_node *n, struct stat *st);
/* The mirrored name e goes. Keeps the object alive under side/ if needed. */
int MUST_CHECK ov_object_keep(struct ov_node *n, struct ov_entry *e);
void ov_object_maybe_free(struct ov_node *n);
int ov_store_errno(int err, const char *what);

/* overlay_create.c */
int ov_create(struct vfs_ctx *ctx, struct dentry *where, mode_t mode, dev_t dev,
	      const char *target, struct inode **out);
int ov_link(struct vfs_ctx *ctx, struct inode *inode, struct dentry *where);
int ov_unlink(struct vfs_ctx *ctx, struct dentry *victim, bool dir);
void ov_unmake(struct vfs_ctx *ctx, struct dentry *made,
	       const struct vfs_undo *undo);
/* Name goes from (dir, name) in entries, mirror and index. */
int MUST_CHECK ov_remove_name(const struct vfs_ctx *ctx, struct ov_node *dir,
			      const char *name, struct ov_node *n);

void ov_event(struct inode *inode, ino_t ino, int what);
/* Link counts of directories that have them. */
void ov_dir_link(struct ov_node *dir, int delta);

/* overlay_base.c: what the host had when the guest first looked, so that
 * apply can see later changes; and who wrote. */
void ov_base_seen(struct ov_node *n, const struct stat *st);
/* fd: the copy, for its hash. */
void ov_base_copied(struct ov_node *n, const struct stat *st, int fd);
/* The entry hides a lower name: n's, or (n NULL) what the lower has as st. */
void ov_base_hide(struct ov_entry *e, const struct ov_node *n,
		  const struct stat *st);
/* The lower directory n was removed or replaced at e: its entries stay. */
void ov_base_gone(struct ov_entry *e, struct ov_node *n);
/* The host has just what we have: that is the base of later changes. */
void ov_base_again(struct ov_node *n, struct ov_entry *e,
		   const struct stat *st);
void ov_base_free(struct ov_entry *e);
bool vfs_writer_get(struct vfs *vfs, uint32_t writer, pid_t *pid,
		    const char **cmdline);
void ov_wrote(struct vfs_ctx *ctx, struct ov_node *n);
void ov_wrote_name(struct vfs_ctx *ctx, struct ov_node *dir, const char *name);

/* overlay_rename.c */
int ov_rename(struct vfs_ctx *ctx, struct dentry *from, struct dentry *to,
	      unsigned flags);

/* overlay_open.c */
int ov_open(struct vfs_ctx *ctx, struct inode *inode, struct dentry *dentry,
	    int flags, struct vfs_opened *out);
int MUST_CHECK ov_object_make_open(struct ov_node *n, struct ov_node *dir,
				   const char *name, struct vfs_making *m);
int MUST_CHECK ov_open_object(struct vfs_ctx *ctx, struct ov_node *n,
			      struct dentry *dentry, int flags, int *fd);

/* overlay_src.c: data in layers. */
struct ov_src *ov_src_new(struct ov_layer *layer, struct hostdir *dir,
			  const char *name, ino_t ino);
/* ours: the file goes at once if only we need it. */
void ov_src_free(struct ov_src *src, bool ours);
/* The data is elsewhere now. */
void ov_src_drop(struct ov_node *n);
/* Size and times of n's src, once. */
int MUST_CHECK ov_src_load(struct ov_node *n);
/* flags: O_RDONLY and what goes with it. */
int MUST_CHECK ov_src_open(struct ov_node *n, int flags, int *fd,
			   struct stat *st);
/* n has lost its last name: nobody may have it open, then it can go. */
void ov_src_unlinked(struct ov_node *n);

/*
 * overlay_freeze.c: what all overlays hold moves into one new layer, so that
 * they and others can share it. *out is counted, NULL if there was nothing.
 * idle: no guest runs, so nothing is open or watched. Else what is open is
 * copied (node->snap), and the caller has stopped the guests. A failure leaves
 * everything as it was.
 */
int MUST_CHECK ov_freeze(struct store *store, bool idle, struct ov_layer **out);
/* The copies were needed for a list only. */
void ov_freeze_end(struct store *store);

/* overlay_reset.c: back to what it was when it was made. */
int MUST_CHECK ov_reset_all(struct store *store);

/* overlay_copyup.c: 0, or -EINPROGRESS with *job. dentry may be NULL.
 * truncate: no data is copied. */
int MUST_CHECK ov_copy_up(struct ov_node *n, struct dentry *dentry,
			  bool truncate, struct vfs_job **job);

/* overlay_quiet.c */
/* Before the first watch on the lower file n; its object exists. */
void ov_quiet_prepare(struct ov_node *n);
int ov_quiet_take(struct ov_node *n); /* owned by the caller; -1 if none */
int MUST_CHECK ov_quiet_publish(struct ov_node *n, int dst);
/* Copies size bytes with their holes; dst is emptied first. */
int MUST_CHECK ov_copy_file(int src, int dst, off_t size,
			    const volatile int *cancel);

/* overlay_readdir.c */
int ov_readdir(struct vfs_ctx *ctx, struct inode *dir, off_t *pos,
	       vfs_dirent_fn fn, void *arg);
void ov_index_add(struct ov_node *dir, const char *name,
		  const struct inode *child);
void ov_index_del(struct ov_node *dir, const char *name);
void ov_index_free(struct ov_node *dir);
/* The lower's names changed. */
void ov_index_stale(struct ov_node *dir);
/* Calls fn for each name that a lower directory shows; stops at nonzero. */
typedef int (*ov_lower_fn)(void *arg, const char *name, ino_t ino,
			   unsigned char type);
int MUST_CHECK ov_lower_list(struct ov_node *dir, ov_lower_fn fn, void *arg);

/* overlay_attr.c */
int ov_getattr(struct vfs_ctx *ctx, struct inode *inode, struct statx *out);
int ov_setattr(struct vfs_ctx *ctx, struct inode *inode, struct vfs_attr *attr);
int MUST_CHECK ov_times_to_object(struct ov_node *n);
/* The ctime to show while the object has this one of its own. */
struct timespec ov_ctime(const struct ov_node *n, struct timespec object);
void ov_ctime_now(struct ov_node *n);
/* The same after a change that the kernel made to n's object, with its stamp.
 */
void ov_ctime_stamped(struct ov_node *n);
/* The set-id bits go to the object; a chmod of it also tells watchers. */
int MUST_CHECK ov_mode_to_object(const struct vfs_ctx *ctx, struct ov_node *n);
/* Takes set-id bits that a native write has cleared (st: the object's). */
void ov_read_back(struct ov_node *n, const struct stat *st);
/* Before n is opened for writing or truncated by the caller. */
int MUST_CHECK ov_arm_setid(struct vfs_ctx *ctx, struct ov_node *n);
ssize_t ov_readlink(struct vfs_ctx *ctx, struct inode *inode, char *buf,
		    size_t size, struct vref *jump);
mode_t ov_object_mode(const struct ov_node *n);

/* overlay_xattr.c */
ssize_t ov_xattr(struct vfs_ctx *ctx, struct inode *inode, int op,
		 const char *name, void *buf, size_t size, int flags);
void ov_xattr_free(struct ov_node *n);
/* As it was written before; no check of the limits. */
void ov_xattr_restore(struct ov_node *n, const char *name, const void *value,
		      size_t size);

#endif
