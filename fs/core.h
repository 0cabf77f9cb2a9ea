/*
 * core.h - what the files of the VFS core tell each other.
 *
 * Included by dentry.c, dentry_mask.c, inode.c, perm.c, walk.c, open.c,
 * namei.c, readdir.c, xattr.c, identify.c, watch.c and vfs.c only. File systems
 * use vfs_fs.h.
 *
 * Lifetimes: dentries are freed by dentry_prune and nowhere else. Within one
 * operation a pointer to a dentry, once seen, therefore stays good without a
 * reference; every path level operation ends with a prune.
 */
#ifndef CLOCHE_FS_CORE_H
#define CLOCHE_FS_CORE_H

#include <fcntl.h>
#include <linux/capability.h>

#include "vfs_fs.h"
#include "store.h"

enum { DENTRY_LRU_MAX = 100000 };

/* ---- dentry.c --------------------------------------------------------- */

/* Borrowed, or NULL; hashed ones only. */
struct dentry *dentry_find(const struct dentry *dir, const char *name,
			   size_t len);
/* A new hashed negative dentry, its mask computed. Borrowed. */
struct dentry *dentry_new(struct dentry *dir, const char *name, size_t len);
struct dentry *dentry_new_root(struct vfs *vfs);
/* Not in the tree, but with a place in it for its path text. Counted. */
struct dentry *dentry_new_detached(struct dentry *dir, const char *name);
/* Consumes the reference; hashes d if it is not. */
void dentry_instantiate(struct dentry *d, struct inode *inode);
/* The name is gone: d and all below are deleted names from now on. */
void dentry_delete(struct dentry *d);
/* The same of a file's name whose absence may be remembered. */
void dentry_vanish(struct dentry *d);
/* from takes the place of to, which is deleted. */
void dentry_move(struct dentry *from, struct dentry *to);
void dentry_exchange(struct dentry *a, struct dentry *b);
/* Writes the path of d below root backwards, ending before *end. Returns its
 * start, or NULL if it does not fit; *outside tells that root was not met. */
char *dentry_path_backwards(const struct dentry *d, const struct dentry *root,
			    char *buf, char *end, bool *outside);
/* Before a directory is renamed: keeps the path whose rules go with it. */
void dentry_note_origin(struct dentry *d);
void dentry_drop_origin(struct inode *inode);
void dentry_drop_origins(struct vfs *vfs);
/* Next in pre-order below top, or after all below d; NULL at the end. */
struct dentry *dentry_next(const struct dentry *top, struct dentry *d);
struct dentry *dentry_next_beside(const struct dentry *top, struct dentry *d);
/* The mask of a name that has no dentry. */
unsigned dentry_name_mask(struct dentry *dir, const char *name, size_t len);
/* The mask of d is computed anew; of d and all below it. */
void dentry_mask_again(struct dentry *d);
void dentry_masks_again(struct dentry *d);
bool dentry_below(const struct dentry *d, const struct dentry *ancestor);
/* Frees what is dead and what is beyond the bound. */
void dentry_prune(struct vfs *vfs);
/* At the end of the vfs: frees all. */
void dentry_free_all(struct vfs *vfs);

static inline bool dentry_is_dir(const struct dentry *d)
{
	return d->inode && S_ISDIR(d->inode->type);
}

/* ---- perm.c ----------------------------------------------------------- */

static inline bool cred_capable(const struct vcred *c, int cap)
{
	return (c->caps >> cap) & 1;
}

bool perm_owner(const struct vfs_ctx *ctx, const struct inode *inode);
/* Mode bits, access list and capabilities alone. mask: R_OK|W_OK|X_OK. */
int perm_mode(struct vfs_ctx *ctx, struct inode *inode, int mask);
/* Policy verdict and read-only mounts; d may be NULL. */
int perm_policy(struct vfs_ctx *ctx, const struct dentry *d,
		const struct inode *inode, int mask);
/* Both, in the kernel's order. */
int perm_check(struct vfs_ctx *ctx, const struct dentry *d, struct inode *inode,
	       int mask);
/* May a name be made at the negative d? EROFS first, as mnt_want_write. */
int perm_create(struct vfs_ctx *ctx, const struct dentry *d);
/* may_delete of the kernel, mount points and anchors included. */
int perm_delete(struct vfs_ctx *ctx, const struct dentry *victim, bool isdir);
int perm_follow_link(struct vfs_ctx *ctx, const struct dentry *link);
int perm_create_existing(const struct vfs_ctx *ctx, const struct dentry *d);
int perm_hardlink(struct vfs_ctx *ctx, const struct vref *from,
		  const struct dentry *to);
/* Would `to` lift a verdict that stands on `from`? Then it is refused. */
int perm_move_mask(struct vfs_ctx *ctx, const struct dentry *from,
		   const struct dentry *to);
/* Records a verdict in ctx and returns err. */
int perm_refuse(struct vfs_ctx *ctx, const struct dentry *d, unsigned mask,
		int err);
/* ENOENT for d, where path begins: recorded if rules hide what is there. */
int perm_missing(struct vfs_ctx *ctx, const struct dentry *d, const char *path);

/* ---- acl.c ------------------------------------------------------------ */

struct acl_entry {
	uint16_t tag, perm; /* ACL_*, rwx bits */
	uint32_t id;	    /* of ACL_USER, ACL_GROUP */
};

struct acl {
	size_t count;
	struct acl_entry e[];
};

/* What a new file gets; owned. */
struct acl_new {
	struct acl *access, *def;
};

/* Is it the name of a list's attribute, and of which? */
bool acl_name(const char *name, bool *def);
/* -EINVAL, -EOPNOTSUPP: not of a known form. *out: owned, NULL if empty. */
int MUST_CHECK acl_parse(const void *buf, size_t size, struct acl **out);
/* -EINVAL if the entries are not in order, or some are missing. */
int acl_valid(const struct acl *acl);
/* A valid list's answer: 0 or -EACCES. want: R_OK|W_OK|X_OK. */
int acl_check(const struct vcred *c, const struct inode *inode,
	      const struct acl *acl, unsigned want);
/* The access list, or NULL; borrowed until the next change. */
const struct acl *inode_acl(struct vfs_ctx *ctx, struct inode *inode);
/* After a chmod: the list follows. */
int MUST_CHECK inode_acl_chmod(struct vfs_ctx *ctx, struct inode *inode);
/* The calls for the attributes; size 0 removes, or asks for the length. */
int MUST_CHECK inode_acl_set(struct vfs_ctx *ctx, struct inode *inode, bool def,
			     const void *buf, size_t size);
ssize_t MUST_CHECK inode_acl_get(struct vfs_ctx *ctx, struct inode *inode,
				 bool def, void *buf, size_t size);
/* false: dir has no default list, and the umask counts. */
bool acl_inherit(struct vfs_ctx *ctx, struct inode *dir, mode_t *mode,
		 struct acl_new *new);
/* What is given is consumed, the rest is for acl_new_fini. */
int MUST_CHECK acl_give(struct vfs_ctx *ctx, struct inode *inode,
			struct acl_new *new);
void acl_new_fini(struct acl_new *new);
#define AUTO_ACL_NEW __attribute__((cleanup(acl_new_fini)))

/* ---- walk.c ----------------------------------------------------------- */

enum walk_last { WALK_NORM, WALK_DOT, WALK_DOTDOT, WALK_ROOT };

struct walk {
	struct vfs_ctx *ctx;
	unsigned flags;	     /* VFS_* */
	struct dentry *root; /* ".." and absolute links stop here */
	struct dentry *d;    /* where we are; NULL: anon */
	struct inode *anon;  /* counted; end of a magic link without a name */
	enum walk_last type; /* of the last component, not yet walked */
	const char *last;
	size_t last_len;
	bool slash; /* last is followed by a slash */
	unsigned links;
	unsigned depth;
	const char *stack[SYMLINKS_MAX + 1]; /* what follows each link */
	unsigned nbufs;
	char *bufs[SYMLINKS_MAX + 1]; /* owned link texts */
	const char *link; /* text to walk on with, after WALK_LINK */
};

void walk_fini(struct walk *w); /* also prunes */
#define AUTO_WALK __attribute__((cleanup(walk_fini)))

/* Walks all but the last component. */
int MUST_CHECK walk_parent(struct walk *w, struct vfs_ctx *ctx,
			   const struct vfs_at *at, unsigned flags);
/* Goes on with w->link, up to the next last component. */
int MUST_CHECK walk_again(struct walk *w);
/* The dentry of the last component, perhaps negative. WALK_NORM only. */
int MUST_CHECK walk_last_dentry(struct walk *w, struct dentry **out);
/* Steps onto d (positive), a child of w->d. Returns 0, 1 if d was a link with
 * text in w->link (follow: it shall be followed), or -errno. */
int MUST_CHECK walk_onto(struct walk *w, struct dentry *d, bool follow,
			 bool trailing);
int MUST_CHECK walk_dots(struct walk *w, enum walk_last type);
/* To the end, last component included. */
int MUST_CHECK walk_full(struct walk *w, struct vfs_ctx *ctx,
			 const struct vfs_at *at, unsigned flags);
/* Is what was just found absent in dir known to be so later? */
bool walk_absence(struct vfs_ctx *ctx, struct dentry *dir);
/* Cached or asked of the file system; *out may be negative. Borrowed. */
int MUST_CHECK walk_child(struct vfs_ctx *ctx, struct dentry *dir,
			  const char *name, size_t len, struct dentry **out);

/* ---- others ------------------------------------------------------------ */

/* watch.c */
void watch_fini(struct vfs *vfs);
/* identify.c */
void objects_fini(struct vfs *vfs);
/* All but inherited descriptors: nobody has any. */
void objects_forget(struct vfs *vfs);
void objects_store_event(void *arg, dev_t dev, ino_t ino,
			 enum store_event what);
int MUST_CHECK vfs_opath_standin(struct vfs *vfs, struct inode *inode,
				 struct dentry *dentry, int *fd);
/* inode.c: the final mode of a new file of type in dir, and the lists that it
 * inherits, for acl_give or acl_new_fini. */
mode_t inode_new_mode(struct vfs_ctx *ctx, struct inode *dir, mode_t mode,
		      struct acl_new *acl);
/* namei.c: makes an object and its lists at the negative d, where it may be
 * made. mode is final. */
int MUST_CHECK name_make(struct vfs_ctx *ctx, struct dentry *d, mode_t mode,
			 dev_t dev, const char *target, struct acl_new *acl);
/* After a truncation: takes the set-id bits away, as file_remove_privs. */
int MUST_CHECK inode_kill_setid(struct vfs_ctx *ctx, struct inode *i);
void super_free_all(struct vfs *vfs);

/* vfs.c: a directory inode with nothing in it. Counted. */
struct inode *stub_inode_new(struct vfs *vfs);

static inline void inode_accessed(struct inode *i)
{
	if (i->ops->accessed && !(i->sb->flags & VFS_MNT_RO))
		i->ops->accessed(i);
}

static inline bool inode_is_dir(const struct inode *i)
{
	return S_ISDIR(i->type);
}

#endif
