/*
 * vfs.h - the virtual file system that a sandbox sees.
 *
 * One struct vfs per sandbox holds one tree of dentries. Mounts are dentries
 * whose inode belongs to another file system instance; a dentry has exactly
 * one place in the tree. Operations come in two levels: path level (vfs_*
 * functions that take a struct vfs_at, walk it, check permissions and act)
 * and inode level (functions that take a struct vref obtained by vfs_lookup
 * or vfs_identify, for calls on descriptors).
 *
 * The VFS knows no task, no guest address and no seccomp. What a caller is
 * (ids, root, cwd, umask) comes in a struct vfs_ctx; what policy says comes
 * from a callback that is asked once per dentry. It returns 0 or -errno as a
 * Linux kernel on ext4/tmpfs would (man 2 pages; Linux fs/namei.c for the
 * precedence of errors).
 *
 * Descriptors that it returns are real kernel descriptors made to be injected
 * into a guest: a fresh description with the asked access mode, of a file in
 * the store or, read-only, of a host file. vfs_identify() finds the inode of
 * such a descriptor again by (st_dev, st_ino): dup, fork and SCM_RIGHTS need
 * no bookkeeping.
 *
 * Locking: no function here locks. The sentry holds its state lock over every
 * call, except vfs_job_run(), which is made to run without it.
 */
#ifndef CLOCHE_VFS_H
#define CLOCHE_VFS_H

#include <sys/stat.h>
#include <sys/statfs.h>
#include <linux/stat.h>

#include "../sentry/base/base.h"

struct vfs;
struct inode;
struct dentry;

/* ---- policy ---------------------------------------------------------- */

/* Verdict bits of a dentry; inherited by children, OR-ed with their own.
 * A child may clear an inherited bit only by VFS_MASK_RESET in the answer. */
#define VFS_MASK_HIDE	 0x01u /* name does not exist; creating it: EACCES */
#define VFS_MASK_NOLOWER 0x02u /* host's version not shown; guest's own is */
#define VFS_MASK_RO	 0x04u /* any change: EROFS (mount-like) */
#define VFS_MASK_NOWRITE 0x08u /* any change: EACCES, by a rule */
#define VFS_MASK_NOREAD	 0x10u /* content may not be read: EACCES */
#define VFS_MASK_NOEXEC	 0x20u
#define VFS_MASK_ANCHOR                                        \
	0x40u /* a rule names a path below this one literally: \
	       * no rename or removal (EACCES); not inherited */
#define VFS_MASK_STANDIN                                                       \
	0x100u /* with NOLOWER: a made-up file of the same kind is shown where \
		* the host has one */
#define VFS_MASK_RESET 0x80u /* answer replaces what was inherited */

/*
 * Asked once when a dentry is first made (or moved): the verdict bits for the
 * absolute virtual path, given its parent's. rule gets a policy rule number,
 * 0 if none, kept for audit. Must not block.
 */
typedef unsigned (*vfs_mask_fn)(void *arg, const char *path, unsigned inherited,
				uint32_t *rule);

/* ---- the caller ------------------------------------------------------ */

/* Virtual credentials. caps are CAP_* bits that only the sentry believes in
 * (virtual root); the guest never holds a real one. */
struct vcred {
	uid_t uid; /* fsuid for files */
	gid_t gid; /* fsgid */
	const gid_t *groups;
	size_t ngroups;
	uint64_t caps; /* 1ULL << CAP_DAC_OVERRIDE ... */
};

struct vfs_making; /* vfs_fs.h */

/* Where the last component of a path is, or was to be made: what a record says
 * of a name that leads nowhere. One is filled by each walk of its very path. */
struct vfs_trail {
	const char *path;   /* the caller's; NULL: unused */
	struct dentry *dir; /* counted; NULL: no walk came so far */
};

#define VFS_TRAILS 2 /* a call names two paths at most */

/*
 * One caller's view for one operation. refused_* are outputs: set when an
 * errno came from a policy verdict and not from the file system itself.
 */
struct vfs_ctx {
	struct vfs *vfs;
	const struct vcred *cred;
	struct dentry *root; /* virtual root of the caller, borrowed */
	struct dentry *cwd;  /* borrowed */
	mode_t umask;
	pid_t viewer_tgid; /* host pid, for /proc/self; 0: none */
	pid_t viewer_tid;  /* host tid, for /proc/thread-self */
	uint32_t writer;   /* vfs_writer of the calling program; 0: not told */
	/* Asked once for it, when something is changed; may be NULL. */
	uint32_t (*ask_writer)(void *arg);
	void *ask_arg;
	/* Asked before an open does what vfs_open_undo cannot take back: may
	 * its descriptor be given out? No is -EMFILE. May be NULL. */
	bool (*ask_room)(void *arg); /* ask_arg, too */
	uint32_t refused_rule;
	unsigned refused_mask; /* VFS_MASK_* that refused; 0: not refused */
	bool want_btime;       /* vfs_getattr is to say when it was born */
	/* For vfs_getattr and vfs_setattr: a descriptor of it, and its fstat,
	 * just taken; fd_stat NULL: none. */
	const struct stat *fd_stat;
	int fd;
	/* The VFS's own, while an open makes a file; or NULL. */
	struct vfs_making *making;
	/* The VFS's own, of one walk and what follows it: the host's news have
	 * been taken in; whose attributes the host has just told. */
	bool host_heard;
	const struct inode *host_told;
	struct vfs_trail *trail; /* VFS_TRAILS of them, or NULL */
};

/* What a path operation starts from. */
struct vfs_at {
	struct dentry *base; /* NULL: ctx->cwd. A directory, borrowed */
	const char *path;    /* NUL-terminated, shorter than PATH_LEN_MAX */
};

/* A resolved object. Both counted; dentry may be NULL (anonymous inode). */
struct vref {
	struct inode *inode;
	struct dentry *dentry;
};

struct dentry *dentry_get(struct dentry *d);
void dentry_put(struct dentry *d);
struct inode *inode_get(struct inode *i);
void inode_put(struct inode *i);

/* NULLs are fine; clears */
static inline void vref_put(struct vref *ref)
{
	if (ref->dentry)
		dentry_put(ref->dentry);
	if (ref->inode)
		inode_put(ref->inode);
	ref->dentry = NULL;
	ref->inode = NULL;
}
#define AUTO_PUT_VREF __attribute__((cleanup(vref_put)))

struct inode *dentry_inode(const struct dentry *d); /* borrowed, or NULL */

/*
 * Absolute virtual path of d as seen from root (NULL: the tree's root), like
 * the kernel's d_path: " (deleted)" is appended to an unlinked name, and
 * "(unreachable)" put before one outside root (as getcwd(2) does).
 * Returns the length without NUL, or -ENAMETOOLONG.
 */
ssize_t dentry_path(const struct dentry *d, const struct dentry *root,
		    char *buf, size_t size);
/* LIMIT: what the host removed counts once something was asked of it. */
bool dentry_deleted(const struct dentry *d);

/* ---- set-up ---------------------------------------------------------- */

struct vfs_config {
	int store_fd;	     /* root directory of the store tmpfs (taken) */
	bool store_emulated; /* bare mode: directory in /dev/shm, no tmpfs */
	vfs_mask_fn mask;
	/* May be NULL, both: do all names in the directory (absolute path) get
	 * one answer for what they inherit, but those that are told by name?
	 * Told is the name that may have another. Neither ever changes. */
	bool (*dir_alike)(void *arg, const char *dir);
	bool (*name_told)(void *arg, const char *name, size_t len);
	void *mask_arg;
	uid_t owner_uid; /* user on whose behalf lower files are read */
	gid_t owner_gid;
	/* What the host's host_uid (host_gid) owns is shown as owner_uid's
	 * (owner_gid's); (uid_t)-1, or map_owner unset: as it is. */
	bool map_owner;
	uid_t host_uid;
	gid_t host_gid;
	bool standins; /* made-up files where the host's may not be read */
	uint64_t quota_bytes;
	/* At most so many inotify watches of the host's directories; 0: a share
	 * of what the user may have; HOST_WATCHES_NONE. */
	size_t host_watches;
};

#define HOST_WATCHES_NONE SIZE_MAX

/* The tree begins with one empty directory as "/". */
int MUST_CHECK vfs_new(const struct vfs_config *cfg, struct vfs **out);
void vfs_free(struct vfs *vfs);
/* At the end of the sandbox, where the process is to end as well: what would
 * take time when the kernel closes it is left to the kernel (leave.h). */
void vfs_leave(struct vfs *vfs);
struct dentry *vfs_root(struct vfs *vfs); /* borrowed */

#define VFS_MNT_RO     0x1u
#define VFS_MNT_DIRECT 0x2u /* changes go to the host (--rw) */
#define VFS_MNT_WATCH  0x4u /* host side may change while we run */
/* Puts an overlay of the host directory or file `host` at `guest` (created if
 * missing, as a stub). With VFS_MNT_DIRECT there is no upper layer. */
int MUST_CHECK vfs_mount_host(struct vfs *vfs, const char *host,
			      const char *guest, unsigned flags);
/* What lies below the directory `guest` may be changed by the host meanwhile:
 * its names are asked for anew each time. */
int MUST_CHECK vfs_host_changes(struct vfs *vfs, const char *guest);
/* An empty writable directory in memory (--tmpfs, /tmp, /dev/shm). */
int MUST_CHECK vfs_mount_tmpfs(struct vfs *vfs, const char *guest, mode_t mode,
			       unsigned flags);
/* Other file systems (procfs, devfs ...) make their root inode and mount it;
 * see vfs_fs.h. */
int MUST_CHECK vfs_mount_root(struct vfs *vfs, const char *guest,
			      struct inode *root, const char *fstype,
			      const char *source);

/* ---- walking --------------------------------------------------------- */

#define VFS_FOLLOW	0x01u /* follow a symlink at the end */
#define VFS_DIRECTORY	0x02u /* the result must be a directory (ENOTDIR) */
#define VFS_EMPTY	0x04u /* "" means base itself (AT_EMPTY_PATH) */
#define VFS_NO_SYMLINKS 0x10u /* RESOLVE_NO_SYMLINKS: ELOOP */
#define VFS_NO_MAGIC	0x20u /* RESOLVE_NO_MAGICLINKS */
#define VFS_BENEATH	0x40u /* RESOLVE_BENEATH: EXDEV */
#define VFS_IN_ROOT	0x80u /* RESOLVE_IN_ROOT */
#define VFS_NO_XDEV	0x100u

int MUST_CHECK vfs_lookup(struct vfs_ctx *ctx, const struct vfs_at *at,
			  unsigned flags, struct vref *out);

/* mask is R_OK|W_OK|X_OK; checks ctx->cred and policy. For access(2). */
int MUST_CHECK vfs_permission(struct vfs_ctx *ctx, const struct vref *ref,
			      int mask);

/* ---- opening --------------------------------------------------------- */

enum vfs_open_kind {
	VFS_OPENED,	 /* fd is ready to be injected */
	VFS_OPEN_JOB,	 /* run vfs_job_run(job) unlocked, then open again */
	VFS_OPEN_BLOCKS, /* FIFO: openat(block_dir, block_name, flags) blocks;
			  * to be done by a worker that a signal can end */
	VFS_OPEN_TTY,	 /* fd ready; may become the controlling terminal */
};

struct vfs_job; /* a copy-up or another long host action, resumable */

/* What a directory was before an open made a file in it. */
struct vfs_undo {
	struct timespec mtime, ctime;
	bool meta; /* the file system's own */
};

struct vfs_opened {
	enum vfs_open_kind kind;
	int fd;	       /* owned by the caller; -1 if none */
	int block_dir; /* owned, for VFS_OPEN_BLOCKS */
	int block_flags;
	struct vref ref;      /* what was opened; counted */
	bool created;	      /* the call made the file */
	bool watched;	      /* its closing may be an event for a guest */
	bool as_asked;	      /* fd has O_NONBLOCK if, and only if, flags had */
	struct vfs_job *job;  /* owned, for VFS_OPEN_JOB */
	struct vfs_undo undo; /* if created */
	char block_name[NAME_LEN_MAX + 1]; /* for VFS_OPEN_BLOCKS only */
};

void vfs_opened_fini(struct vfs_opened *o); /* closes and puts what is left */

/*
 * open(2)/openat2(2): flags are O_*, mode already masked to 07777 (the umask
 * of ctx is applied here), resolve are VFS_* walking flags (VFS_NO_SYMLINKS
 * ...). O_CLOEXEC and O_NONBLOCK are the caller's affair at injection, but
 * O_NONBLOCK matters to FIFOs. O_PATH gives a stand-in that refuses read,
 * write and mmap. O_TMPFILE is supported. At most one of fd, job is set.
 */
int MUST_CHECK vfs_open(struct vfs_ctx *ctx, const struct vfs_at *at, int flags,
			mode_t mode, unsigned resolve, struct vfs_opened *out);

/* The descriptor could not be given out: a file that the open made goes again,
 * as if it had never been. Under the same lock as the open. */
void vfs_open_undo(struct vfs_ctx *ctx, const struct vfs_opened *o);

/* Opens the object itself again (/proc/self/fd/N, exec): as vfs_open. */
int MUST_CHECK vfs_reopen(struct vfs_ctx *ctx, const struct vref *ref,
			  int flags, struct vfs_opened *out);

/* Read-only descriptor for executing or mapping a program: checks X_OK,
 * regular file, noexec mounts; -EACCES otherwise. When the program runs the
 * caller counts it by vfs_text_get: until vfs_text_put, opening the file for
 * writing is ETXTBSY. */
int MUST_CHECK vfs_open_exec(struct vfs_ctx *ctx, const struct vref *ref,
			     int *fd);
/* May a descriptor that was got so serve again, as far as the tree tells? fd,
 * st: what is open, by an fstat just now. 0: yes, and it counts as opened.
 * 1: it must be opened anew. -errno: it may not be executed. */
int MUST_CHECK vfs_open_exec_again(struct vfs_ctx *ctx, const struct vref *ref,
				   int fd, const struct stat *st);
/* st, an fstat of its descriptor: of a host file that is taken as fixed? */
bool vfs_is_fixed(const struct inode *inode, const struct stat *st);
void vfs_text_get(struct inode *inode);
void vfs_text_put(struct inode *inode);

/* Does the copying; may take long, takes no lock, stops early with -EINTR if
 * *cancel becomes nonzero. The caller then repeats the operation, or gives
 * up. vfs_job_finish is called with the state lock, always, and frees. */
int MUST_CHECK vfs_job_run(struct vfs_job *job, const volatile int *cancel);
int vfs_job_finish(struct vfs *vfs, struct vfs_job *job, int result);

/*
 * Which virtual object is this descriptor (the sentry's own copy of it)?
 * 0: *out is set (counted). -ENOENT: not ours (pipe, socket, memfd, terminal
 * of the caller ...); *st is filled by fstat in both cases. *opath tells that
 * it is an O_PATH stand-in. The answer is never another file's: a host file
 * whose (dev, ino, ctime) no longer fits gives -ESTALE.
 */
int MUST_CHECK vfs_identify(struct vfs *vfs, int fd, struct vref *out,
			    struct stat *st, bool *opath);

/* Is it a file of the host, open for reading? st: what vfs_identify gave. */
bool vfs_is_host(struct vfs *vfs, const struct stat *st);

/* What F_GETFL may say of it: without what we added to flags when opening. */
int vfs_shown_flags(struct vfs *vfs, const struct stat *st, int flags);

/* Registers an inherited descriptor 0-2 that is a host regular file, so that
 * fstat works and a reopen never gives more access than it has. */
int MUST_CHECK vfs_register_stdio(struct vfs *vfs, int fd, const char *name,
				  struct vref *out);

/* ---- metadata -------------------------------------------------------- */

/* Fills all that statx(2) can say: virtual owner, mode, times, dev, ino,
 * mnt_id. fd (or -1): a descriptor of the file, where the caller has one. */
int MUST_CHECK vfs_getattr(struct vfs_ctx *ctx, const struct vref *ref,
			   struct statx *out);
void vfs_statx_to_stat(const struct statx *stx, struct stat *st);

#define VFS_ATTR_MODE	    0x01u
#define VFS_ATTR_UID	    0x02u
#define VFS_ATTR_GID	    0x04u
#define VFS_ATTR_ATIME	    0x08u
#define VFS_ATTR_MTIME	    0x10u
#define VFS_ATTR_SIZE	    0x20u /* truncate(2): needs write permission */
#define VFS_ATTR_TIMES_NULL 0x40u /* utime(NULL): both now, W_OK suffices */

/* Times: tv_nsec may be UTIME_NOW or UTIME_OMIT. */
struct vfs_attr {
	unsigned valid; /* VFS_ATTR_* */
	mode_t mode;	/* permission bits only */
	uid_t uid;	/* (uid_t)-1: unchanged */
	gid_t gid;
	struct timespec atime, mtime;
	unsigned now; /* for file systems: which of the times are "now" */
	off_t size;
	bool fd_writable; /* the call came by a descriptor open for writing */
	struct vfs_job *job; /* out: set with -EINPROGRESS, as in vfs_open */
};

/* chmod, chown, utimensat, truncate: permission checks included. fd_writable
 * (for ftruncate and futimens on a descriptor): skip the path checks. Never
 * acts on a host file. -EINPROGRESS: run attr->job, then call again. */
int MUST_CHECK vfs_setattr(struct vfs_ctx *ctx, const struct vref *ref,
			   struct vfs_attr *attr);

ssize_t MUST_CHECK vfs_readlink(struct vfs_ctx *ctx, const struct vref *ref,
				char *buf, size_t size);
int MUST_CHECK vfs_statfs(struct vfs_ctx *ctx, const struct vref *ref,
			  struct statfs *out);
/* Of the file system with this (virtual) st_dev; -EINVAL. */
int MUST_CHECK vfs_statfs_dev(struct vfs_ctx *ctx, dev_t dev,
			      struct statfs *out);

/* Extended attributes, as getxattr(2) ...: size 0 asks for the length. */
ssize_t MUST_CHECK vfs_getxattr(struct vfs_ctx *ctx, const struct vref *ref,
				const char *name, void *buf, size_t size);
int MUST_CHECK vfs_setxattr(struct vfs_ctx *ctx, const struct vref *ref,
			    const char *name, const void *buf, size_t size,
			    int flags);
ssize_t MUST_CHECK vfs_listxattr(struct vfs_ctx *ctx, const struct vref *ref,
				 char *buf, size_t size);
int MUST_CHECK vfs_removexattr(struct vfs_ctx *ctx, const struct vref *ref,
			       const char *name);

/* ---- names ----------------------------------------------------------- */

int MUST_CHECK vfs_mkdir(struct vfs_ctx *ctx, const struct vfs_at *at,
			 mode_t mode);
/* mode with its S_IFMT: S_IFREG, S_IFIFO, S_IFSOCK (for bind(2): *out is the
 * node), S_IFCHR/S_IFBLK (virtual root only: EPERM otherwise). out may be
 * NULL. */
int MUST_CHECK vfs_mknod(struct vfs_ctx *ctx, const struct vfs_at *at,
			 mode_t mode, dev_t dev, struct vref *out);
int MUST_CHECK vfs_symlink(struct vfs_ctx *ctx, const char *target,
			   const struct vfs_at *at);
int MUST_CHECK vfs_link(struct vfs_ctx *ctx, const struct vref *from,
			const struct vfs_at *to);
int MUST_CHECK vfs_unlink(struct vfs_ctx *ctx, const struct vfs_at *at);
int MUST_CHECK vfs_rmdir(struct vfs_ctx *ctx, const struct vfs_at *at);
int MUST_CHECK vfs_rename(struct vfs_ctx *ctx, const struct vfs_at *from,
			  const struct vfs_at *to, unsigned renameat2_flags);

/* ---- directories ----------------------------------------------------- */

/* One entry; return 0 to go on, 1 if it does not fit (stop before it). off is
 * the cookie to give to lseek to continue *after* this entry. */
typedef int (*vfs_dirent_fn)(void *arg, const char *name, size_t len,
			     uint64_t ino, unsigned char d_type, off_t off);
/* Reads on from *pos (0 at the start) and moves it; the caller keeps the
 * guest's real file offset equal (lseek on its copy of the descriptor). */
int MUST_CHECK vfs_readdir(struct vfs_ctx *ctx, const struct vref *dir,
			   off_t *pos, vfs_dirent_fn fn, void *arg);

/* ---- sockets, watches, locks ----------------------------------------- */

/* Directory descriptor and name in the store of a socket or FIFO node, so
 * that the sentry can bind(2) or connect(2) there (from a thread whose cwd is
 * *dirfd). For binding: makes the virtual node; the caller then binds at
 * (dirfd, name) and calls vfs_socket_bound. *dirfd is owned by the caller. */
int MUST_CHECK vfs_socket_prepare(struct vfs_ctx *ctx, const struct vfs_at *at,
				  mode_t mode, int *dirfd, char *name,
				  struct vref *parent);
int MUST_CHECK vfs_socket_bound(struct vfs_ctx *ctx, const struct vfs_at *at);
int MUST_CHECK vfs_socket_find(struct vfs_ctx *ctx, const struct vref *ref,
			       int *dirfd, char *name);

/* An O_PATH descriptor of the object in the store on which inotify events for
 * ref are delivered by the kernel; made if missing (mirror). Owned. reads:
 * opens and reads are asked for as well. */
int MUST_CHECK vfs_watch_target(struct vfs_ctx *ctx, const struct vref *ref,
				bool reads, int *opath_fd);
/* An open directory was read, whose descriptor fd is: its offset may move. */
void vfs_tell_listing(const struct vref *ref, int fd);

/* Makes ref a store file (copy-up without opening), as locking needs: a lock
 * never rests on a host inode. -EINPROGRESS with *job as in vfs_open.
 * *fd: a fresh description with `flags` to swap for the guest's. */
int MUST_CHECK vfs_make_store_file(struct vfs_ctx *ctx, const struct vref *ref,
				   int flags, int *fd, struct vfs_job **job);

/*
 * A descriptor of a host file that has been copied up since it was opened shows
 * what was before. st: what vfs_identify gave for it. 1: *fd (the caller's) is
 * a description of the file as it is now, opened by `flags`; 0: the descriptor
 * is up to date; or -errno.
 */
int MUST_CHECK vfs_fresh_file(struct vfs_ctx *ctx, const struct vref *ref,
			      const struct stat *st, int flags, int *fd);
/* Can it be anything but up to date? Costs no call. */
bool vfs_may_be_stale(struct vfs *vfs, const struct vref *ref,
		      const struct stat *st);

/* ---- housekeeping ---------------------------------------------------- */

/* The inotify descriptors by which the VFS learns that an unlinked store file
 * lost its last descriptor, and that watched host trees changed. The loop
 * polls it and calls vfs_poll. */
int vfs_poll_fd(struct vfs *vfs);
/* Has much been freed, and nothing more since the last call? Then the heap may
 * be given back to the host. Asked from time to time. */
bool vfs_trim_due(struct vfs *vfs);
void vfs_poll(struct vfs *vfs);

/* A number for a program, by its virtual pid and command line, for
 * ctx->writer; a pair that was given lately has the same number. 0: the table
 * is full. */
uint32_t vfs_writer(struct vfs *vfs, pid_t pid, const char *cmdline);

/* ---- what changed ---------------------------------------------------- */

enum vfs_change_kind {
	VFS_ADDED = 'A',
	VFS_MODIFIED = 'M',
	VFS_DELETED = 'D',
	VFS_RENAMED = 'R',
	VFS_TYPE = 'T',
	VFS_METADATA = 'P'
};

struct vfs_change {
	enum vfs_change_kind kind;
	const char *path;     /* virtual, absolute; valid in the callback */
	const char *old_path; /* VFS_RENAMED, else NULL */
	mode_t mode;	      /* new full mode, 0 if deleted */
	uint64_t size;	      /* new size */
	uint64_t old_size;
};

/* Every change of the overlays against their lower trees, sorted by path;
 * tmpfs mounts are not listed. */
typedef int (*vfs_change_fn)(void *arg, const struct vfs_change *c);
int MUST_CHECK vfs_diff(struct vfs *vfs, vfs_change_fn fn, void *arg);

#endif
