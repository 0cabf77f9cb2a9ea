/*
 * overlay.h - the writable file system over read-only host trees.
 *
 * Interface to the VFS core. An overlay instance is a struct super with an
 * upper layer in the store and, but for tmpfs, a lower host directory (or one
 * file). With VFS_MNT_DIRECT changes go to the host and there is no upper
 * layer.
 *
 * What the core must do: check permissions and policy, resolve paths, refuse
 * a rename across supers (EXDEV), into its own subtree, or onto a busy mount;
 * test existence (EEXIST, ENOENT), directory or not (EISDIR, ENOTDIR) and
 * sticky bits; move dentries after a successful rename. What the overlay does:
 * ENOTEMPTY, link counts, whiteouts, times, data.
 *
 * The open operation registers what it opened by vfs_object_add(). O_PATH
 * opens are answered by the core (store_standin_file with access mode 3), but
 * an overlay that is asked does it as well.
 */
#ifndef CLOCHE_OVERLAY_H
#define CLOCHE_OVERLAY_H

#include "vfs_fs.h"
#include "store.h"

/*
 * Root inode (counted) of a new overlay of the host's directory or regular
 * file. `guest` is the absolute virtual path for vfs_diff. -errno of the host
 * path; -EACCES for what is never shown (devices, kernel file systems).
 */
int MUST_CHECK overlay_new_host(struct vfs *vfs, const char *host,
				const char *guest, unsigned flags,
				struct inode **root);
/* The same with no lower: a tmpfs. Type "tmpfs" unless fstype is given. */
int MUST_CHECK overlay_new_tmpfs(struct vfs *vfs, const char *guest,
				 mode_t mode, unsigned flags,
				 struct inode **root);
/* Frees every overlay of the vfs; no inode may be used afterwards. Called by
 * vfs_free before store_free. */
void overlay_free_all(struct vfs *vfs);

/*
 * O_TMPFILE: an anonymous file in dir's file system, opened by `flags`.
 * linkable: O_EXCL was not given. out->ref.dentry stays NULL.
 */
int MUST_CHECK overlay_tmpfile(struct vfs_ctx *ctx, struct inode *dir,
			       int flags, mode_t mode, struct vfs_opened *out);
/* STORE_CLOSED or STORE_GONE for an inode that the core found by (dev, ino):
 * frees an unlinked file that nobody holds open any more. */
void overlay_event(struct inode *inode, ino_t ino, enum store_event what);
/* An O_PATH descriptor of the mirror object of inode, made if missing. */
int MUST_CHECK overlay_watch_target(struct vfs_ctx *ctx, struct inode *inode,
				    struct dentry *dentry, int *opath_fd);
/* Is the data of this file in the store? */
bool overlay_moved(const struct inode *inode);
/* Is it still the host's, st, in a tree that does not change? */
bool overlay_fixed(const struct inode *inode, const struct stat *st);
/* Copy-up without opening; see vfs_make_store_file. */
int MUST_CHECK overlay_make_store(struct vfs_ctx *ctx, struct inode *inode,
				  struct dentry *dentry, int flags, int *fd,
				  struct vfs_job **job);
/* Directory descriptor in the store (owned) and the name there of a socket or
 * FIFO node. */
int MUST_CHECK overlay_node_place(struct inode *inode, int *dirfd,
				  char name[NAME_LEN_MAX + 1]);
/* Makes the mirror directory of dir and gives a descriptor (owned), so that
 * bind(2) can make a socket of that name in it; overlay_socket_bound then
 * takes the new node into the tree. The name must be absent. */
int MUST_CHECK overlay_socket_prepare(struct vfs_ctx *ctx, struct inode *dir,
				      const char *name, int *dirfd);
int MUST_CHECK overlay_socket_bound(struct vfs_ctx *ctx, struct inode *dir,
				    const char *name, mode_t mode,
				    struct inode **out);
/* The host may change what lies below dir while we run. */
void overlay_host_changes(struct inode *dir);
bool overlay_is(const struct inode *inode);
int MUST_CHECK overlay_statfs(struct inode *inode, struct statfs *out);

/* overlay_base.c; for vfs_free. */
void vfs_writers_free(struct vfs *vfs);

#endif
