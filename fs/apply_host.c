/*
 * apply_host.c - single steps on the host, each from the root's descriptor and
 * without following a link; see apply_priv.h.
 */
#include "apply_priv.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <sys/sendfile.h>
#include <sys/syscall.h>
#include <sys/xattr.h>

int apply_host_open(int root, const char *path, uint64_t flags)
{
	struct open_how how = {
		.flags = flags | O_CLOEXEC,
		.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS |
			   RESOLVE_NO_MAGICLINKS,
	};
	long fd = syscall(SYS_openat2, root, path, &how, sizeof(how));

	return fd < 0 ? -errno : (int)fd;
}

int apply_host_parent(int root, const char *path, const char **name)
{
	const char *slash = strrchr(path, '/');
	AUTO_FREE char *dir =
		slash ? strndup(path, (size_t)(slash - path)) : xstrdup(".");

	*name = slash ? slash + 1 : path;
	return apply_host_open(root, dir, O_PATH | O_DIRECTORY);
}

int apply_host_stat(int root, const char *path, struct stat *st)
{
	const char *name;
	AUTO_CLOSE int dir = apply_host_parent(root, path, &name);

	if (dir < 0)
		return dir;
	return fstatat(dir, name, st, AT_SYMLINK_NOFOLLOW) < 0 ? -errno : 0;
}

int apply_host_sync_parent(int root, const char *path)
{
	const char *name;
	AUTO_CLOSE int dir = apply_host_parent(root, path, &name);
	AUTO_CLOSE int fd = -1;

	if (dir < 0)
		return dir;
	fd = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0) /* a directory that we may write and not read */
		return 0;
	return fsync(fd) < 0 && errno != EINVAL ? -errno : 0;
}

int apply_host_mount(int fd, uint64_t *mount)
{
	struct statx x;

	if (statx(fd, "", AT_EMPTY_PATH, STATX_MNT_ID, &x) < 0)
		return -errno;
	*mount = x.stx_mnt_id ^ (uint64_t)x.stx_dev_major << 44 ^
		 (uint64_t)x.stx_dev_minor << 32;
	return 0;
}

/* ---- metadata -------------------------------------------------------- */

/* Paths through /proc reach what an O_PATH descriptor stands for. */
static void self_path(char buf[32], int fd)
{
	snprintf(buf, 32, "/proc/self/fd/%d", fd);
}

/* What apply sets; the kernel and security modules own the rest. */
static bool xattr_ours(const char *name)
{
	return !strncmp(name, "user.", 5) ||
	       !strcmp(name, "security.capability") ||
	       !strncmp(name, "system.posix_acl_", 17);
}

static void attr_add_xattr(struct apply_attr *a, const char *name,
			   const void *value, size_t size)
{
	struct change_xattr *x;

	a->xattrs = realloc(a->xattrs, (a->nxattrs + 1) * sizeof(*x));
	BUG_ON(!a->xattrs);
	x = &a->xattrs[a->nxattrs++];
	x->name = xstrdup(name);
	x->size = size;
	x->value = xmalloc(size + 1);
	memcpy(x->value, value, size);
}

static void attr_read_xattrs(struct apply_attr *a, const char *self)
{
	AUTO_FREE char *names = xmalloc(XATTR_LIST_MAX);
	AUTO_FREE char *value = xmalloc(XATTR_SIZE_MAX);
	ssize_t len = listxattr(self, names, XATTR_LIST_MAX);

	for (char *p = names; len > 0 && p < names + len; p += strlen(p) + 1) {
		ssize_t got = xattr_ours(p)
				      ? getxattr(self, p, value, XATTR_SIZE_MAX)
				      : -1;

		if (got >= 0)
			attr_add_xattr(a, p, value, (size_t)got);
	}
}

int apply_attr_get(int root, const char *path, struct apply_attr *out)
{
	AUTO_CLOSE int fd = apply_host_open(root, path, O_PATH | O_NOFOLLOW);
	struct stat st;
	char self[32];

	memset(out, 0, sizeof(*out));
	if (fd < 0)
		return fd;
	if (fstat(fd, &st) < 0)
		return -errno;
	out->mode = st.st_mode & 07777;
	out->uid = st.st_uid;
	out->gid = st.st_gid;
	out->owner = geteuid() == 0;
	out->times = true;
	out->atime = st.st_atim;
	out->mtime = st.st_mtim;
	self_path(self, fd);
	if (!S_ISLNK(st.st_mode))
		attr_read_xattrs(out, self);
	return 0;
}

static const struct change_xattr *xattr_find(const struct apply_attr *a,
					     const char *name)
{
	for (size_t i = 0; i < a->nxattrs; i++)
		if (!strcmp(a->xattrs[i].name, name))
			return &a->xattrs[i];
	return NULL;
}

static int attr_set_xattrs(const char *self, const struct apply_attr *a)
{
	struct apply_attr now = {0};
	int ret = 0;

	attr_read_xattrs(&now, self);
	for (size_t i = 0; i < now.nxattrs; i++)
		if (!xattr_find(a, now.xattrs[i].name) &&
		    removexattr(self, now.xattrs[i].name) < 0)
			ret = -errno;
	for (size_t i = 0; i < a->nxattrs; i++) {
		const struct change_xattr *x = &a->xattrs[i];
		const struct change_xattr *is = xattr_find(&now, x->name);

		if (!xattr_ours(x->name) ||
		    (is && is->size == x->size &&
		     !memcmp(is->value, x->value, x->size)))
			continue;
		if (setxattr(self, x->name, x->value, x->size, 0) < 0)
			ret = -errno;
	}
	apply_attr_fini(&now);
	return ret;
}

int apply_attr_set_fd(int opath, mode_t type, const struct apply_attr *a)
{
	struct timespec t[2] = {a->atime, a->mtime};
	char self[32];
	int ret = 0;

	self_path(self, opath);
	if (a->owner && fchownat(opath, "", a->uid, a->gid, AT_EMPTY_PATH) < 0)
		return -errno;
	if (!S_ISLNK(type)) {
		if (chmod(self, a->mode & 07777) < 0)
			return -errno;
		ret = attr_set_xattrs(self, a);
	}
	if (!ret && a->times && S_ISLNK(type))
		ret = utimensat(opath, "", t, AT_EMPTY_PATH) < 0 &&
				      errno != EINVAL && errno != ENOENT
			      ? -errno
			      : 0;
	else if (!ret && a->times)
		ret = utimensat(AT_FDCWD, self, t, 0) < 0 ? -errno : 0;
	return ret;
}

int apply_attr_set(int root, const char *path, const struct apply_attr *a)
{
	AUTO_CLOSE int fd = apply_host_open(root, path, O_PATH | O_NOFOLLOW);
	struct stat st;

	if (fd < 0)
		return fd;
	if (fstat(fd, &st) < 0)
		return -errno;
	return apply_attr_set_fd(fd, st.st_mode, a);
}

void apply_attr_fini(struct apply_attr *a)
{
	for (size_t i = 0; i < a->nxattrs; i++) {
		free(a->xattrs[i].name);
		free(a->xattrs[i].value);
	}
	free(a->xattrs);
	memset(a, 0, sizeof(*a));
}

void apply_attr_of(struct apply_attr *out, const struct change *c, bool owner)
{
	*out = (struct apply_attr){
		.mode = c->new.mode & 07777,
		.uid = c->new.uid,
		.gid = c->new.gid,
		.owner = owner,
		.times = true,
		.atime = c->new.atime,
		.mtime = c->new.mtime,
	};
	for (size_t i = 0; i < c->new.nxattrs; i++)
		attr_add_xattr(out, c->new.xattrs[i].name,
			       c->new.xattrs[i].value, c->new.xattrs[i].size);
}

/* ---- data ------------------------------------------------------------ */

static int copy_extent(int from, int to, off_t pos, off_t end)
{
	if (lseek(to, pos, SEEK_SET) < 0)
		return -errno;
	while (pos < end) {
		ssize_t n = sendfile(to, from, &pos, (size_t)(end - pos));

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (!n)
			break;
	}
	return 0;
}

int apply_copy(int from, int to)
{
	struct stat st;
	off_t pos = 0;

	if (fstat(from, &st) < 0 || ftruncate(to, st.st_size) < 0)
		return -errno;
	while (pos < st.st_size) {
		off_t data = lseek(from, pos, SEEK_DATA), hole;
		int ret;

		if (data < 0 && errno == ENXIO)
			return 0;
		if (data < 0)
			data = pos;
		hole = lseek(from, data, SEEK_HOLE);
		if (hole < 0 || hole > st.st_size)
			hole = st.st_size;
		ret = copy_extent(from, to, data, hole);
		if (ret < 0)
			return ret;
		pos = hole;
	}
	return 0;
}

/* ---- removing -------------------------------------------------------- */

struct doomed {
	DIR *dir;
	char name[NAME_LEN_MAX + 1];
};

static int doomed_enter(struct doomed *d, int dir, const char *name)
{
	int fd = openat(dir, name,
			O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	if (fd < 0 && errno == EACCES && !fchmodat(dir, name, 0700, 0))
		fd = openat(dir, name,
			    O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	(void)fchmod(fd, 0700);
	snprintf(d->name, sizeof(d->name), "%s", name);
	d->dir = fdopendir(fd);
	if (d->dir)
		return 0;
	close(fd);
	return -ENOMEM;
}

/* By an own stack, with a descriptor a level. */
int apply_remove_tree(int dir, const char *name)
{
	struct doomed *stack = NULL;
	size_t depth = 0, cap = 0;
	int ret = 0;

	if (unlinkat(dir, name, 0) == 0 || errno == ENOENT)
		return 0;
	if (errno != EISDIR && errno != EPERM)
		return -errno;
	for (;;) {
		int at = depth ? dirfd(stack[depth - 1].dir) : dir;
		const struct dirent *e = NULL;

		if (name) { /* a directory to enter */
			if (depth == cap) {
				cap = cap ? 2 * cap : 16;
				stack = realloc(stack, cap * sizeof(*stack));
				BUG_ON(!stack);
			}
			ret = doomed_enter(&stack[depth], at, name);
			if (ret < 0)
				break;
			depth++;
			name = NULL;
			continue;
		}
		do
			e = readdir(stack[depth - 1].dir);
		while (e &&
		       (!strcmp(e->d_name, ".") || !strcmp(e->d_name, "..")));
		if (e && (unlinkat(at, e->d_name, 0) == 0))
			continue;
		if (e) {
			name = e->d_name;
			continue;
		}
		depth--;
		closedir(stack[depth].dir);
		at = depth ? dirfd(stack[depth - 1].dir) : dir;
		if (unlinkat(at, stack[depth].name, AT_REMOVEDIR) < 0)
			ret = -errno;
		if (ret < 0 || !depth)
			break;
	}
	while (depth)
		closedir(stack[--depth].dir);
	free(stack);
	return ret;
}
