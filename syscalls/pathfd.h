/*
 * pathfd.h - from what a call names (a path, a descriptor, or both) to an
 * object of the virtual file system.
 *
 * Descriptors are decided on and acted on as the sentry's own copy (law 2).
 * Paths are the strings that decode.c copied: pass c->str[i] itself, so that
 * the record shows which argument it was. All run under the state lock.
 */
#ifndef CLOCHE_PATHFD_H
#define CLOCHE_PATHFD_H

#include <fcntl.h>

#include "../sentry/call.h"
#include "../sentry/sentry.h"

/* What a call is about. fd: our copy of the descriptor, -1 if it was a path.
 * foreign: not an object of the VFS (pipe, socket, memfd, terminal); ref is
 * then empty and st is all that is known. */
struct target {
	struct vref ref;
	int fd;		/* borrowed: closed at the end of the call */
	struct stat st; /* valid if fd >= 0 */
	bool foreign, opath;
};

void target_put(struct target *t);
/* The VFS may answer by the descriptor that named t, if one did. */
void target_at_hand(struct call *c, const struct target *t);
#define AUTO_PUT_TARGET __attribute__((cleanup(target_put)))

/*
 * dirfd and path as a place to begin a walk. at->base is borrowed from the
 * call. In the kernel's order: -EFAULT or -ENAMETOOLONG of the copy, -ENOENT
 * for "", -EBADF, -ENOTDIR. At most twice in a call.
 */
int MUST_CHECK call_at(struct call *c, gfd_t dirfd, const char *path,
		       struct vfs_at *at);

/* A flag of call_target only: with VFS_EMPTY, no path is an empty path. */
#define CALL_NULL_EMPTY 0x10000u

/* The object that (dirfd, path) names; flags as vfs_lookup. With VFS_EMPTY,
 * "" means dirfd itself, which may be foreign. */
int MUST_CHECK call_target(struct call *c, gfd_t dirfd, const char *path,
			   unsigned flags, struct target *t);

/* The same where a foreign descriptor cannot do: -EACCES. *out is counted. */
int MUST_CHECK call_ref(struct call *c, gfd_t dirfd, const char *path,
			unsigned flags, struct vref *out);

/* The object of a descriptor: 0 or -EBADF. */
int MUST_CHECK call_fd_target(struct call *c, gfd_t fd, struct target *t);
/* The same for calls that natively refuse O_PATH (-EBADF). */
int MUST_CHECK call_fd_data(struct call *c, gfd_t fd, struct target *t);

/* Is it one of the files that descriptors 0-2 came with? */
bool ref_is_stdio(const struct call *c, const struct vref *ref);

/* Is a descriptor's target a directory of the VFS, O_PATH or not? */
bool target_is_dir(struct call *c, const struct target *t);

/* The walking flags of AT_SYMLINK_NOFOLLOW and AT_EMPTY_PATH. */
static inline unsigned call_at_flags(int at_flags)
{
	return (at_flags & AT_SYMLINK_NOFOLLOW ? 0 : VFS_FOLLOW) |
	       (at_flags & AT_EMPTY_PATH ? VFS_EMPTY : 0);
}

/* For the record: the path of what argument `path` turned out to be. */
void call_resolved(struct call *c, const char *path, const struct vref *ref);
/* For the record, of all that call_at gave out and that was not found: where
 * only the parent is known to exist, or nothing. For dispatch, with the lock,
 * before the call forgets its directories. */
void call_resolve_texts(struct call *c);

#endif
