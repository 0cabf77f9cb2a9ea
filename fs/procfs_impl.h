/*
 * procfs_impl.h - shared by procfs*.c only: rows of the tree and inodes.
 *
 * A row (struct pent) says what one name is. An inode is a row plus the
 * process, thread and descriptor that it is about; several inodes of one row
 * and key may live at a time, they hold no state of their own.
 */
#ifndef CLOCHE_PROCFS_IMPL_H
#define CLOCHE_PROCFS_IMPL_H

#include "hosttree.h"
#include "procfs.h"
#include "pseudo.h"

enum pent_kind {
	PENT_DIR,     /* .children */
	PENT_TASKS,   /* task/: threads */
	PENT_FDS,     /* fd/ */
	PENT_FDINFOS, /* fdinfo/ */
	PENT_SYS,     /* /proc/sys */
	PENT_TEXT,    /* source text `what` */
	PENT_CONST,   /* .text */
	PENT_GLOBAL,  /* source global `what` */
	PENT_HOST,    /* snapshot of the host's file of this name */
	PENT_LIVE,    /* a descriptor of the host's file of this name */
	PENT_DENY,    /* exists; opening it is EACCES */
	PENT_LINK,    /* source link `what` */
	PENT_SYMLINK, /* .text */
	PENT_SELF,    /* self, thread-self (what = 1) */
	PENT_NS,      /* ns/NAME: .text, inode number in `what` */
	PENT_FD,      /* fd/N */
	PENT_KINDS
};

#define PENT_ACCESS  1u /* needs the right to look into the process */
#define PENT_WRITE   2u /* may be opened for writing: the host's file */
#define PENT_THREAD  4u /* not shown below task/TID */
#define PENT_TIDONLY 8u /* shown only there */
#define PENT_OWN                                                  \
	16u /* with PENT_WRITE: read so as well, since the kernel \
	     * lets a process read its own only */

struct pent {
	const char *name;
	enum pent_kind kind;
	mode_t mode;
	unsigned what, flags;
	const char *text;
	const struct pent *children; /* ended by name NULL */
};

struct pnode {
	const struct pent *ent;
	struct proc_key key; /* pid 0: system-wide */
	int fd;		     /* PENT_FD, fdinfo/N; else -1 */
};

enum {
	PROCFS_LIVE_MAX = 24,
	PROCFS_ROOT_MAX = 80, /* rows of the root */
	PROCFS_PID_MAX = 1 << 22,
	PROCFS_FD_MAX = 1 << 24
};

struct procfs {
	const struct proc_source *src;
	void *arg;
	int host_proc, host_sys; /* owned; the second is its "sys" */
	struct super *sb;
	struct super *anon; /* of objects that only a descriptor names */
	struct hosttree sys;
	struct inode *sys_root; /* counted */
	/* inodes of PENT_LIVE rows, for ever: descriptors mean them */
	struct inode *live[PROCFS_LIVE_MAX];
	const struct pent *live_ent[PROCFS_LIVE_MAX];
	/* Has the host the row's file? Asked when somebody does: it is two
	 * dozen calls. */
	enum {
		PROCFS_UNASKED,
		PROCFS_HERE,
		PROCFS_ABSENT
	} has[PROCFS_ROOT_MAX];
};

extern const struct pent procfs_root_entries[], procfs_pid_entries[];
extern const struct hosttree_row procfs_sys_rows[];
extern const struct inode_ops procfs_fdobj_ops;

static inline struct procfs *procfs_of(const struct inode *i)
{
	return i->sb->fs;
}

/* A new inode for a row; -ESRCH if the process has gone. */
int MUST_CHECK procfs_inode(struct super *sb, const struct pent *ent,
			    struct proc_key key, int fd, struct inode **out);
uint64_t procfs_ino(const struct pent *ent, struct proc_key key, int fd);

/* fd/ and fdinfo/ and fd/N (procfs_fd.c). */
extern const struct inode_ops procfs_fds_ops, procfs_fd_ops;
/* text files and the like (procfs_file.c). */
extern const struct inode_ops procfs_file_ops, procfs_link_ops;

#endif
