/*
 * acl.c - POSIX access control lists, as Linux fs/posix_acl.c has them.
 *
 * A list is an extended attribute of its file system, in the form that the
 * system calls use (linux/posix_acl_xattr.h). Here it is read, judged, kept
 * with its inode, and made to agree with the mode: the mode's group bits are
 * the list's mask. A list that says no more than a mode is not stored.
 *
 * Lists come from the guest or from a host file; both are checked. What a host
 * file has is taken as it is if it can be read at all, and not trusted to be
 * in order: a list without an answer refuses.
 */
#include "core.h"

#include <linux/limits.h>
#include <linux/posix_acl.h>
#include <linux/posix_acl_xattr.h>
#include <linux/xattr.h>

enum { ACL_ENTRIES_MAX = (XATTR_SIZE_MAX - 4) / 8 };

bool acl_name(const char *name, bool *def)
{
	*def = !strcmp(name, XATTR_NAME_POSIX_ACL_DEFAULT);
	return *def || !strcmp(name, XATTR_NAME_POSIX_ACL_ACCESS);
}

static const char *attr_of(bool def)
{
	return def ? XATTR_NAME_POSIX_ACL_DEFAULT : XATTR_NAME_POSIX_ACL_ACCESS;
}

/* ---- the form outside ---------------------------------------------------- */

static bool tag_known(unsigned tag)
{
	return tag == ACL_USER_OBJ || tag == ACL_USER || tag == ACL_GROUP_OBJ ||
	       tag == ACL_GROUP || tag == ACL_MASK || tag == ACL_OTHER;
}

static bool tag_named(unsigned tag)
{
	return tag == ACL_USER || tag == ACL_GROUP;
}

static uint64_t get_le(const unsigned char *p, unsigned bytes)
{
	uint64_t v = 0;

	while (bytes--)
		v = v << 8 | p[bytes];
	return v;
}

static void put_le(unsigned char *p, uint64_t v, unsigned bytes)
{
	for (unsigned i = 0; i < bytes; i++, v >>= 8)
		p[i] = (unsigned char)v;
}

int acl_parse(const void *buf, size_t size, struct acl **out)
{
	const unsigned char *p = buf;
	struct acl *acl;
	size_t count;

	*out = NULL;
	if (size < 4)
		return -EINVAL;
	if (get_le(p, 4) != POSIX_ACL_XATTR_VERSION)
		return -EOPNOTSUPP;
	if ((size - 4) % 8)
		return -EINVAL;
	count = (size - 4) / 8;
	if (!count)
		return 0;
	if (count > ACL_ENTRIES_MAX)
		return -E2BIG;
	acl = xcalloc(1, sizeof(*acl) + count * sizeof(acl->e[0]));
	for (p += 4; acl->count < count; p += 8) {
		struct acl_entry *e = &acl->e[acl->count++];

		e->tag = (uint16_t)get_le(p, 2);
		e->perm = (uint16_t)get_le(p + 2, 2);
		e->id = (uint32_t)get_le(p + 4, 4);
		if (!tag_known(e->tag) ||
		    (tag_named(e->tag) &&
		     e->id == (uint32_t)ACL_UNDEFINED_ID)) {
			free(acl);
			return -EINVAL;
		}
	}
	*out = acl;
	return 0;
}

static size_t acl_size(const struct acl *acl)
{
	return 4 + acl->count * 8;
}

static void acl_format(const struct acl *acl, unsigned char *p)
{
	put_le(p, POSIX_ACL_XATTR_VERSION, 4);
	p += 4;
	for (size_t i = 0; i < acl->count; i++, p += 8) {
		const struct acl_entry *e = &acl->e[i];

		put_le(p, e->tag, 2);
		put_le(p + 2, e->perm, 2);
		put_le(p + 4, tag_named(e->tag) ? e->id : ACL_UNDEFINED_ID, 4);
	}
}

/* Kinds of entries come in this order, the plain ones once each, and a mask
 * is there if a named one is. */
static int acl_rank(unsigned tag)
{
	static const uint16_t order[] = {ACL_USER_OBJ, ACL_USER, ACL_GROUP_OBJ,
					 ACL_GROUP,    ACL_MASK, ACL_OTHER};
	int i = 0;

	while (order[i] != tag)
		i++;
	return i;
}

int acl_valid(const struct acl *acl)
{
	bool seen[6] = {false};
	int last = 0;

	for (size_t i = 0; i < acl->count; i++) {
		const struct acl_entry *e = &acl->e[i];
		int rank = acl_rank(e->tag);

		if (e->perm & ~7u || rank < last ||
		    (seen[rank] && !tag_named(e->tag)))
			return -EINVAL;
		seen[rank] = true;
		last = rank;
	}
	if (!seen[0] || !seen[2] || !seen[5])
		return -EINVAL;
	return (seen[1] || seen[3]) && !seen[4] ? -EINVAL : 0;
}

/* ---- with a mode --------------------------------------------------------- */

static struct acl_entry *acl_find(struct acl *acl, unsigned tag)
{
	for (size_t i = 0; i < acl->count; i++)
		if (acl->e[i].tag == tag)
			return &acl->e[i];
	return NULL;
}

/* Who the mode's group bits are about. */
static struct acl_entry *acl_group_class(struct acl *acl)
{
	struct acl_entry *e = acl_find(acl, ACL_MASK);

	return e ? e : acl_find(acl, ACL_GROUP_OBJ);
}

/* The permission bits that go with the list; true if there is no more in it. */
static bool acl_mode(struct acl *acl, mode_t *mode)
{
	const struct acl_entry *u = acl_find(acl, ACL_USER_OBJ);
	const struct acl_entry *g = acl_group_class(acl);
	const struct acl_entry *o = acl_find(acl, ACL_OTHER);

	*mode = (*mode & ~0777u) | (mode_t)u->perm << 6 | (mode_t)g->perm << 3 |
		o->perm;
	return acl->count == 3;
}

static void acl_chmod(struct acl *acl, mode_t mode)
{
	struct acl_entry *u = acl_find(acl, ACL_USER_OBJ);
	struct acl_entry *g = acl_group_class(acl);
	struct acl_entry *o = acl_find(acl, ACL_OTHER);

	u->perm = mode >> 6 & 7;
	g->perm = mode >> 3 & 7;
	o->perm = mode & 7;
}

/* posix_acl_permission: 0, or -EACCES. */
int acl_check(const struct vcred *c, const struct inode *inode,
	      const struct acl *acl, unsigned want)
{
	const struct acl_entry *e = acl->e, *end = e + acl->count;
	const struct acl_entry *mask = e;
	bool member = false;

	for (; e < end; e++) {
		if (e->tag == ACL_USER_OBJ && c->uid == inode->uid)
			return want & ~(unsigned)e->perm ? -EACCES : 0;
		if (e->tag == ACL_USER && c->uid == e->id)
			break;
		if (e->tag == ACL_OTHER)
			return member || (want & ~(unsigned)e->perm) ? -EACCES
								     : 0;
		if ((e->tag != ACL_GROUP_OBJ && e->tag != ACL_GROUP) ||
		    !cred_in_group(c, e->tag == ACL_GROUP ? e->id : inode->gid))
			continue;
		member = true;
		if (!(want & ~(unsigned)e->perm))
			break;
	}
	if (e == end)
		return -EACCES;
	for (mask = e; mask < end; mask++)
		if (mask->tag == ACL_MASK)
			return want & ~(unsigned)(e->perm & mask->perm)
				       ? -EACCES
				       : 0;
	return want & ~(unsigned)e->perm ? -EACCES : 0;
}

/* ---- of an inode --------------------------------------------------------- */

void inode_acl_forget(struct inode *inode)
{
	free(inode->acl);
	free(inode->default_acl);
	inode->acl = inode->default_acl = NULL;
	inode->acl_known = inode->default_acl_known = false;
}

/* What cannot be read or is not in order counts as none. */
static struct acl *acl_load(struct vfs_ctx *ctx, struct inode *inode, bool def)
{
	AUTO_FREE void *buf = NULL;
	struct acl *acl = NULL;
	char small[260];
	ssize_t n;

	if (!inode->ops->xattr || S_ISLNK(inode->type))
		return NULL;
	n = inode->ops->xattr(ctx, inode, VFS_XATTR_GET, attr_of(def), small,
			      sizeof(small), 0);
	if (n == -ERANGE) {
		buf = xmalloc(XATTR_SIZE_MAX);
		n = inode->ops->xattr(ctx, inode, VFS_XATTR_GET, attr_of(def),
				      buf, XATTR_SIZE_MAX, 0);
	}
	if (n <= 0 || acl_parse(buf ? buf : small, (size_t)n, &acl) < 0)
		return NULL;
	if (acl && acl_valid(acl) < 0) {
		free(acl);
		return NULL;
	}
	return acl;
}

const struct acl *inode_acl(struct vfs_ctx *ctx, struct inode *inode)
{
	if (!inode->acl_known)
		inode->acl = acl_load(ctx, inode, false);
	inode->acl_known = true;
	return inode->acl;
}

static const struct acl *inode_default_acl(struct vfs_ctx *ctx,
					   struct inode *dir)
{
	if (!dir->default_acl_known)
		dir->default_acl = acl_load(ctx, dir, true);
	dir->default_acl_known = true;
	return dir->default_acl;
}

static struct acl *acl_copy(const struct acl *acl)
{
	size_t size = sizeof(*acl) + acl->count * sizeof(acl->e[0]);
	struct acl *copy = xmalloc(size);

	memcpy(copy, acl, size);
	return copy;
}

/* Consumes acl; NULL removes. The mode is not looked at. */
static int acl_store(struct vfs_ctx *ctx, struct inode *inode, bool def,
		     struct acl *acl)
{
	AUTO_FREE unsigned char *buf = NULL;
	size_t size = 0;
	ssize_t ret;

	if (acl) {
		size = acl_size(acl);
		buf = xmalloc(size);
		acl_format(acl, buf);
	}
	ret = inode->ops->xattr(ctx, inode,
				acl ? VFS_XATTR_SET : VFS_XATTR_REMOVE,
				attr_of(def), buf, size, 0);
	if (ret == -ENODATA && !acl)
		ret = 0;
	free(acl);
	/* Read back when it is asked for: what was stored is what counts. */
	inode_acl_forget(inode);
	return (int)ret;
}

int inode_acl_chmod(struct vfs_ctx *ctx, struct inode *inode)
{
	const struct acl *old = inode_acl(ctx, inode);
	struct acl *acl;

	if (!old)
		return 0;
	acl = acl_copy(old);
	acl_chmod(acl, inode->mode);
	return acl_store(ctx, inode, false, acl);
}

/* The mode follows the list, which is dropped if the mode says it all. */
static int acl_set_access(struct vfs_ctx *ctx, struct inode *inode,
			  struct acl *acl)
{
	struct vfs_attr a = {.valid = VFS_ATTR_MODE, .mode = inode->mode};
	bool given = acl;
	int err = 0;

	if (acl && acl_mode(acl, &a.mode)) {
		free(acl);
		acl = NULL;
	}
	if ((a.mode & S_ISGID) && !cred_in_group(ctx->cred, inode->gid) &&
	    !cred_capable(ctx->cred, CAP_FSETID))
		a.mode &= ~(mode_t)S_ISGID;
	/* The list first: where there is no room for it nothing changes. */
	err = acl_store(ctx, inode, false, acl);
	if (!err && given)
		err = inode->ops->setattr ? inode->ops->setattr(ctx, inode, &a)
					  : -EPERM;
	return err;
}

/* set_posix_acl; size 0 removes. */
int inode_acl_set(struct vfs_ctx *ctx, struct inode *inode, bool def,
		  const void *buf, size_t size)
{
	struct acl *acl = NULL;
	int err = size ? acl_parse(buf, size, &acl) : 0;

	if (err)
		return err;
	if (S_ISLNK(inode->type) || !inode->ops->xattr)
		err = -EOPNOTSUPP;
	else if (def && !S_ISDIR(inode->type))
		err = acl ? -EACCES : 0;
	else if (!perm_owner(ctx, inode))
		err = -EPERM;
	else if (acl)
		err = acl_valid(acl);
	if (err || (def && !S_ISDIR(inode->type))) {
		free(acl);
		return err;
	}
	return def ? acl_store(ctx, inode, true, acl)
		   : acl_set_access(ctx, inode, acl);
}

ssize_t inode_acl_get(struct vfs_ctx *ctx, struct inode *inode, bool def,
		      void *buf, size_t size)
{
	const struct acl *acl;

	if (S_ISLNK(inode->type) || !inode->ops->xattr)
		return -EOPNOTSUPP;
	acl = def ? inode_default_acl(ctx, inode) : inode_acl(ctx, inode);
	if (!acl)
		return -ENODATA;
	if (size && size < acl_size(acl))
		return -ERANGE;
	if (size)
		acl_format(acl, buf);
	return (ssize_t)acl_size(acl);
}

/* ---- of new files -------------------------------------------------------- */

/* posix_acl_create: the directory's default list takes the umask's place. */
bool acl_inherit(struct vfs_ctx *ctx, struct inode *dir, mode_t *mode,
		 struct acl_new *new)
{
	const struct acl *def;
	struct acl *acl;
	mode_t both;

	*new = (struct acl_new){NULL, NULL};
	def = S_ISLNK(*mode) ? NULL : inode_default_acl(ctx, dir);
	if (!def)
		return false;
	acl = acl_copy(def);
	both = *mode;
	acl_mode(acl, &both);
	both &= *mode;
	acl_chmod(acl, both);
	*mode = (*mode & ~0777u) | (both & 0777);
	if (S_ISDIR(*mode))
		new->def = acl_copy(def);
	if (acl->count == 3)
		free(acl);
	else
		new->access = acl;
	return true;
}

void acl_new_fini(struct acl_new *new)
{
	free(new->access);
	free(new->def);
	*new = (struct acl_new){NULL, NULL};
}

int acl_give(struct vfs_ctx *ctx, struct inode *inode, struct acl_new *new)
{
	int err = 0;

	if (new->access)
		err = acl_store(ctx, inode, false, new->access);
	new->access = NULL;
	if (!err && new->def) {
		err = acl_store(ctx, inode, true, new->def);
		new->def = NULL;
	}
	return err;
}
