/*
 * access.c - access, faccessat, faccessat2.
 *
 * As do_faccessat of the kernel's fs/open.c: the walk and the answer are for
 * the real ids, unless AT_EACCESS; a non-root real id has no capabilities.
 */
#include <linux/capability.h>

#include "handlers.h"
#include "pathfd.h"

#define ACCESS_MODES (R_OK | W_OK | X_OK)
#define CAP_BIT(n)   (1ULL << (n))

static bool cred_in_group(const struct vcred *cred, gid_t gid)
{
	if (cred->gid == gid)
		return true;
	for (size_t i = 0; i < cred->ngroups; i++)
		if (cred->groups[i] == gid)
			return true;
	return false;
}

/* generic_permission of an object that only its stat describes. */
static int access_foreign(const struct call *c, const struct stat *st, int mode)
{
	const struct vcred *cred = &c->vcred;
	uid_t uid = st->st_uid == c->s->kuid ? cred->uid : st->st_uid;
	gid_t gid = st->st_gid == c->s->kgid ? cred->gid : st->st_gid;
	unsigned bits = st->st_mode & 7;

	if (cred->uid == uid)
		bits = st->st_mode >> 6 & 7;
	else if (cred_in_group(cred, gid))
		bits = st->st_mode >> 3 & 7;
	if ((cred->caps & CAP_BIT(CAP_DAC_OVERRIDE)) &&
	    (!(mode & X_OK) || (st->st_mode & 0111)))
		return 0;
	return (unsigned)mode & ~bits ? -EACCES : 0;
}

static int64_t access_at(struct call *c, gfd_t dirfd, const char *path,
			 int mode, int flags)
{
	AUTO_PUT_TARGET struct target t = {.fd = -1};
	int ret;

	if (mode & ~ACCESS_MODES)
		return -EINVAL;
	if (flags & ~(AT_EACCESS | AT_SYMLINK_NOFOLLOW | AT_EMPTY_PATH))
		return -EINVAL;
	if (!(flags & AT_EACCESS))
		task_vcred(c->task, true, &c->vcred);
	ret = call_target(c, dirfd, path, call_at_flags(flags), &t);
	if (ret)
		return ret;
	if (t.foreign)
		return access_foreign(c, &t.st, mode);
	return mode ? vfs_permission(&c->vfs, &t.ref, mode) : 0;
}

int64_t h_access(struct call *c)
{
	return access_at(c, AT_FDCWD, c->str[0], (int)c->args[1], 0);
}

int64_t h_faccessat(struct call *c)
{
	return access_at(c, (gfd_t)c->args[0], c->str[1], (int)c->args[2], 0);
}

int64_t h_faccessat2(struct call *c)
{
	return access_at(c, (gfd_t)c->args[0], c->str[1], (int)c->args[2],
			 (int)c->args[3]);
}
