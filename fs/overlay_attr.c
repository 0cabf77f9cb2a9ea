/*
 * overlay_attr.c - what stat shows and chmod, chown, utimensat, truncate do.
 *
 * Times. Of a regular file whose data is in the store, the object's own times
 * are the truth, so that native writes count; only its ctime may be overlaid:
 * while the object's ctime equals ctime_mark, node->ctime is shown (what the
 * lower file had). After a change that only we know (mark_later) the later of
 * the two is. A change that was made to the object as well has the kernel's
 * stamp, and no mark. Of everything else the node's times are the truth: every
 * change of those goes through us.
 */
#include "overlay_priv.h"

#include <fcntl.h>
#include <linux/capability.h>
#include <stdio.h>
#include <sys/sysmacros.h>

static bool ov_real_times(const struct ov_node *n)
{
	return n->upper && n->object && !n->src && S_ISREG(n->inode->type);
}

/* 0600; and the set-id bits where a native write has to clear them, which is
 * so once a caller without CAP_FSETID has opened the file for writing. The
 * group's bit goes if its members may execute, or if the caller is none of
 * them; then with S_IXGRP, as the object's group is not the file's. */
mode_t ov_object_mode(const struct ov_node *n)
{
	mode_t mode = n->inode->mode, bits = mode & S_ISUID;

	if (!n->setid_armed)
		return 0600;
	if ((mode & S_ISGID) && ((mode & S_IXGRP) || n->setgid_stranger))
		bits |= S_ISGID | S_IXGRP;
	return 0600 | bits;
}

/* fstat of the caller's descriptor, if that is of the object. */
static const struct stat *ov_object_at_hand(const struct vfs_ctx *ctx,
					    const struct ov_node *n)
{
	const struct stat *st = ctx ? ctx->fd_stat : NULL;

	return st && n->object && st->st_ino == n->sino &&
			       st->st_dev == store_dev(n->ov->store)
		       ? st
		       : NULL;
}

/* A mark that no object has: the later of its ctime and ours counts. */
static const struct timespec mark_later = {0, -1};

/* Ours was taken from the clock: one in the future means that the clock was
 * set back, and what the object has is newer. */
static bool ov_ours_counts(const struct ov_node *n, struct timespec object)
{
	return ts_after(n->ctime, object) &&
	       n->ctime.tv_sec <= ov_now(n->ov).tv_sec + 1;
}

struct timespec ov_ctime(const struct ov_node *n, struct timespec object)
{
	bool ours = ts_equal(n->ctime_mark, mark_later)
			    ? ov_ours_counts(n, object)
			    : ts_equal(n->ctime_mark, object);

	return ours ? n->ctime : object;
}

/* No call for the object's own: it is compared when it is read next. */
void ov_ctime_now(struct ov_node *n)
{
	n->ctime = ov_now_for(n);
	n->ctime_mark = mark_later;
	n->meta = true;
}

void ov_ctime_stamped(struct ov_node *n)
{
	if (!ov_real_times(n)) {
		ov_ctime_now(n);
		return;
	}
	n->ctime = ov_now(n->ov);
	n->ctime_mark = (struct timespec){0};
	if (n->shown && n->nlink)
		ov_time_unseen(n->ov);
	n->shown = false;
	n->meta = true;
}

/*
 * LIMIT: who opened the file last counts, not who writes: a virtual root that
 * gives up its rights between the two does not clear the bits.
 */
int ov_arm_setid(struct vfs_ctx *ctx, struct ov_node *n)
{
	struct stat before = {0}, after;
	const bool stranger = !cred_in_group(ctx->cred, n->inode->gid);
	const char *name;
	int dirfd, ret = 0;

	if ((n->setid_armed && n->setgid_stranger == stranger) ||
	    (ctx->cred->caps >> CAP_FSETID & 1))
		return 0;
	n->setid_armed = true;
	n->setgid_stranger = stranger;
	if (!n->object || !(n->inode->mode & (S_ISUID | S_ISGID)))
		return 0;
	ret = ov_object_place(n, &dirfd, &name);
	if (!ret)
		ret = ov_object_stat(n, &before);
	if (!ret && fchmodat(dirfd, name, ov_object_mode(n), 0) < 0)
		ret = ov_store_errno(errno, "fchmodat");
	/* No change of the file that anybody may see. */
	if (!ret && !ov_object_stat(n, &after)) {
		n->ctime = ov_ctime(n, before.st_ctim);
		n->ctime_mark = after.st_ctim;
	}
	if (ret)
		n->setid_armed = false;
	return ret;
}

int ov_times_to_object(struct ov_node *n)
{
	struct timespec t[2] = {n->atime, n->mtime};
	const char *name;
	int dirfd, ret = ov_object_place(n, &dirfd, &name);

	if (!ret && utimensat(dirfd, name, t, AT_SYMLINK_NOFOLLOW) < 0)
		ret = ov_store_errno(errno, "utimensat");
	return ret;
}

static struct statx_timestamp ov_stamp(struct timespec ts)
{
	return (struct statx_timestamp){
		.tv_sec = ts.tv_sec,
		.tv_nsec = (uint32_t)ts.tv_nsec,
	};
}

void ov_read_back(struct ov_node *n, const struct stat *st)
{
	mode_t gone = ov_object_mode(n) & (S_ISUID | S_ISGID) & ~st->st_mode;

	n->inode->mode &= ~gone;
}

static void ov_stat_object(const struct vfs_ctx *ctx, struct ov_node *n,
			   struct statx *out)
{
	const struct stat *have = ov_object_at_hand(ctx, n);
	struct stat st;

	if (have)
		st = *have;
	else if (ov_object_stat(n, &st) < 0)
		return; /* unlinked and closed: what we last knew */
	ov_read_back(n, &st);
	out->stx_mode = (uint16_t)(n->inode->type | n->inode->mode);
	out->stx_size = (uint64_t)st.st_size;
	out->stx_blocks = (uint64_t)st.st_blocks;
	out->stx_atime = ov_stamp(st.st_atim);
	out->stx_mtime = ov_stamp(st.st_mtim);
	n->ctime = ov_ctime(n, st.st_ctim);
	n->ctime_mark = st.st_ctim;
	out->stx_ctime = ov_stamp(n->ctime);
	ov_time_seen(n->ov, st.st_ctim);
}

static void ov_birth(struct ov_node *n, struct statx *out)
{
	if (!n->btime.tv_sec &&
	    (!n->lhost || hostfs_birth(n->lhost, n->lname, &n->lst, &n->btime)))
		n->btime.tv_sec = -1;
	if (n->btime.tv_sec < 0)
		return;
	out->stx_btime = ov_stamp(n->btime);
	out->stx_mask |= STATX_BTIME;
}

int ov_getattr(struct vfs_ctx *ctx, struct inode *inode, struct statx *out)
{
	struct ov_node *n = ov_node(inode);

	if (!n->upper)
		ov_attributes(ctx, n);
	if (n->src)
		(void)!ov_src_load(n);
	if (ctx->want_btime)
		ov_birth(n, out);
	out->stx_mask |= STATX_BASIC_STATS;
	out->stx_mode = (uint16_t)(inode->type | inode->mode);
	out->stx_uid = inode->uid;
	out->stx_gid = inode->gid;
	out->stx_nlink = (uint32_t)n->nlink;
	out->stx_rdev_major = major(n->rdev);
	out->stx_rdev_minor = minor(n->rdev);
	out->stx_atime = ov_stamp(n->atime);
	out->stx_mtime = ov_stamp(n->mtime);
	out->stx_ctime = ov_stamp(n->ctime);
	if (n->target) {
		out->stx_size = strlen(n->target);
	} else if (n->src) {
		out->stx_size = (uint64_t)n->src->size;
		out->stx_blocks = (uint64_t)n->src->blocks;
	} else if (n->has_lower && !n->upper) {
		out->stx_size = (uint64_t)n->lst.st_size;
		out->stx_blocks = (uint64_t)n->lst.st_blocks;
	} else if (S_ISDIR(inode->type)) {
		out->stx_size = 4096;
		out->stx_blocks = 8;
	}
	n->shown = true;
	if (ov_real_times(n))
		ov_stat_object(ctx, n, out);
	return 0;
}

ssize_t ov_readlink(struct vfs_ctx *ctx, struct inode *inode, char *buf,
		    size_t size, struct vref *jump)
{
	struct ov_node *n = ov_node(inode);
	size_t len;

	(void)ctx;
	(void)jump;
	if (!S_ISLNK(inode->type))
		return -EINVAL;
	if (!n->target)
		return ov_lower_readlink(n, buf, size);
	len = strlen(n->target);
	if (len > size)
		len = size;
	memcpy(buf, n->target, len);
	return (ssize_t)len;
}

/* ---- changes --------------------------------------------------------- */

static int ov_set_size(struct vfs_ctx *ctx, struct ov_node *n,
		       struct vfs_attr *attr)
{
	char path[NAME_LEN_MAX + 32];
	const char *name;
	int dirfd;
	int ret = ov_copy_up(n, NULL, !attr->size, &attr->job);

	if (!ret)
		ret = ov_arm_setid(ctx, n);
	if (!ret)
		ret = ov_object_place(n, &dirfd, &name);
	if (ret < 0)
		return ret;
	/* By path: watchers must see a change, and no open. */
	snprintf(path, sizeof(path), "/proc/self/fd/%d/%s", dirfd, name);
	if (truncate(path, attr->size) < 0)
		return errno == EFBIG || errno == EINVAL
			       ? -errno
			       : ov_store_errno(errno, "truncate");
	return 0;
}

static int ov_set_times(const struct vfs_ctx *ctx, struct ov_node *n,
			const struct vfs_attr *attr)
{
	struct timespec t[2] = {{0, UTIME_OMIT}, {0, UTIME_OMIT}};
	struct timespec now = {0, UTIME_NOW}; /* then the kernel's business */
	const char *name;
	int dirfd, ret;

	if (attr->now && !ov_real_times(n))
		now = ov_now_for(n);
	if (attr->valid & VFS_ATTR_ATIME)
		t[0] = attr->now & VFS_ATTR_ATIME ? now : attr->atime;
	if (attr->valid & VFS_ATTR_MTIME)
		t[1] = attr->now & VFS_ATTR_MTIME ? now : attr->mtime;
	if (!ov_real_times(n)) {
		if (attr->valid & VFS_ATTR_ATIME)
			n->atime = t[0];
		if (attr->valid & VFS_ATTR_MTIME)
			n->mtime = t[1];
		return 0;
	}
	/* Without the walk to its name. */
	if (ov_object_at_hand(ctx, n) && !futimens(ctx->fd, t))
		return 0;
	ret = ov_object_place(n, &dirfd, &name);
	if (ret < 0)
		return ret;
	if (utimensat(dirfd, name, t, AT_SYMLINK_NOFOLLOW) < 0)
		return ov_store_errno(errno, "utimensat");
	return 0;
}

int ov_mode_to_object(const struct vfs_ctx *ctx, struct ov_node *n)
{
	mode_t mode = S_ISDIR(n->inode->type) ? 0700 : ov_object_mode(n);
	const char *name;
	int dirfd, ret;

	if (!n->object || S_ISLNK(n->inode->type))
		return 0;
	if (S_ISREG(n->inode->type) && ov_object_at_hand(ctx, n) &&
	    !fchmod(ctx->fd, mode))
		return 0;
	if (S_ISDIR(n->inode->type)) {
		if (!n->nlink || n == n->ov->root)
			return 0;
		dirfd = ov_mirror_fd(n->parent);
		name = n->name;
		ret = dirfd < 0 ? dirfd : 0;
	} else {
		ret = ov_object_place(n, &dirfd, &name);
	}
	if (!ret && fchmodat(dirfd, name, mode, 0) < 0)
		ret = ov_store_errno(errno, "fchmodat");
	return ret == -ENOENT ? 0 : ret;
}

/* The object has the same bits whatever its mode is, but for set-id bits; and
 * a chmod is heard by those who watch. */
static bool ov_mode_matters(const struct ov_node *n, mode_t before)
{
	return n->ov->sb->vfs->watched ||
	       (S_ISREG(n->inode->type) &&
		(before != 0600 || ov_object_mode(n) != 0600));
}

/* Does a change of mode or owner go to the object? If not, who has seen its
 * times needs an exact one of ours, which costs more than one of the kernel's
 * by descriptor. */
static bool ov_mode_goes(const struct vfs_ctx *ctx, const struct ov_node *n,
			 mode_t before)
{
	return ov_mode_matters(n, before) ||
	       (n->shown && ov_real_times(n) && ov_object_at_hand(ctx, n));
}

/* Metadata alone never copies data. */
int ov_setattr(struct vfs_ctx *ctx, struct inode *inode, struct vfs_attr *attr)
{
	struct ov_node *n = ov_node(inode);
	mode_t before = ov_object_mode(n);
	bool stamped = false;
	int ret = 0;

	ov_wrote(ctx, n);
	if (!n->upper)
		ov_attributes(ctx, n);
	ret = ov_src_load(n);
	if (!ret && (attr->valid & VFS_ATTR_SIZE))
		ret = ov_set_size(ctx, n, attr);
	if (ret < 0)
		return ret;
	if (attr->valid & VFS_ATTR_MODE)
		inode->mode = attr->mode & 07777;
	if (attr->valid & VFS_ATTR_UID)
		inode->uid = attr->uid;
	if (attr->valid & VFS_ATTR_GID)
		inode->gid = attr->gid;
	if (attr->valid & (VFS_ATTR_ATIME | VFS_ATTR_MTIME))
		stamped = !(ret = ov_set_times(ctx, n, attr));
	if (!ret &&
	    ((attr->valid & (VFS_ATTR_MODE | VFS_ATTR_UID | VFS_ATTR_GID)) ||
	     !ov_real_times(n)) &&
	    ov_mode_goes(ctx, n, before))
		stamped = !(ret = ov_mode_to_object(ctx, n));
	if (stamped)
		ov_ctime_stamped(n);
	else
		ov_ctime_now(n);
	if (n->nlink)
		ov_pin(n);
	return ret;
}
