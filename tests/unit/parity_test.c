/*
 * parity_test.c - the VFS core against the kernel: the same random calls on a
 * real tmpfs directory (as root directory of a child process) and on the
 * memory file system; every result, errno included, must be equal.
 *
 * Runs as virtual root against real root, and as an ordinary user against
 * one. Needs the right to chroot (real root, or a user namespace); the seed
 * is printed with a difference.
 */
#include <criterion/criterion.h>
#include <linux/openat2.h>
#include <sched.h>
#include <signal.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "memfs.h"

enum { STEPS = 60000, USER = 1000 };

struct par {
	uint64_t rng;
	struct vfs_ctx ctx;
	struct vref cwd;
	char p1[5000], p2[5000];
	char what[12000];
	bool user;
};

static unsigned rnd(struct par *p, unsigned n)
{
	p->rng ^= p->rng << 13;
	p->rng ^= p->rng >> 7;
	p->rng ^= p->rng << 17;
	return (unsigned)(p->rng >> 33) % n;
}

static void random_path(struct par *p, char *out)
{
	static const char *const names[] = {"a", "b", "c",  "d", "l",
					    "m", "a", "..", ".", "b"};
	unsigned parts = rnd(p, 5);
	size_t n = 0;

	if (rnd(p, 300) == 0) {
		n = 253 + rnd(p, 5);
		memset(out, 'x', n);
		out[n] = '\0';
		return;
	}
	if (rnd(p, 1000) == 0) {
		n = 4092 + rnd(p, 6);
		for (size_t i = 0; i < n; i++)
			out[i] = i % 2 ? '/' : '.';
		out[n] = '\0';
		return;
	}
	if (rnd(p, 3) == 0)
		out[n++] = '/';
	for (unsigned i = 0; i < parts; i++) {
		const char *s = names[rnd(p, ARRAY_SIZE(names))];

		memcpy(out + n, s, strlen(s));
		n += strlen(s);
		if (i + 1 < parts || rnd(p, 6) == 0)
			out[n++] = '/';
		if (rnd(p, 12) == 0)
			out[n++] = '/';
	}
	out[n] = '\0';
}

static struct vfs_at at(const char *path)
{
	return (struct vfs_at){NULL, path};
}

static int sys(long r)
{
	return r < 0 ? -errno : 0;
}

/* ---- pairs of operations: native and ours, results to be equal ---------- */

static void pair_mkdir(struct par *p, int *k, int *v)
{
	struct vfs_at a = at(p->p1);
	mode_t mode = rnd(p, 8) ? 0755 : rnd(p, 01000);

	*k = sys(mkdir(p->p1, mode));
	*v = vfs_mkdir(&p->ctx, &a, mode);
}

static void pair_rmdir(struct par *p, int *k, int *v)
{
	struct vfs_at a = at(p->p1);

	*k = sys(rmdir(p->p1));
	*v = vfs_rmdir(&p->ctx, &a);
}

static void pair_unlink(struct par *p, int *k, int *v)
{
	struct vfs_at a = at(p->p1);

	*k = sys(unlink(p->p1));
	*v = vfs_unlink(&p->ctx, &a);
}

static void pair_symlink(struct par *p, int *k, int *v)
{
	struct vfs_at a = at(p->p1);

	*k = sys(symlink(p->p2, p->p1));
	*v = vfs_symlink(&p->ctx, p->p2, &a);
}

static void pair_link(struct par *p, int *k, int *v)
{
	struct vfs_at a = at(p->p1), b = at(p->p2);
	int flags = rnd(p, 2) ? AT_SYMLINK_FOLLOW : 0;
	struct vref ref = {NULL, NULL};

	*k = sys(linkat(AT_FDCWD, p->p1, AT_FDCWD, p->p2, flags));
	*v = vfs_lookup(&p->ctx, &a, flags ? VFS_FOLLOW : 0, &ref);
	if (!*v)
		*v = vfs_link(&p->ctx, &ref, &b);
	vref_put(&ref);
}

static void pair_rename(struct par *p, int *k, int *v)
{
	static const unsigned flags[] = {0,
					 0,
					 0,
					 RENAME_NOREPLACE,
					 RENAME_EXCHANGE,
					 RENAME_EXCHANGE,
					 RENAME_EXCHANGE | RENAME_NOREPLACE,
					 0x80};
	struct vfs_at a = at(p->p1), b = at(p->p2);
	unsigned f = flags[rnd(p, ARRAY_SIZE(flags))];

	snprintf(p->what + strlen(p->what), 40, " flags %x", f);
	*k = sys(syscall(SYS_renameat2, AT_FDCWD, p->p1, AT_FDCWD, p->p2, f));
	*v = vfs_rename(&p->ctx, &a, &b, f);
}

static void pair_mkfifo(struct par *p, int *k, int *v)
{
	struct vfs_at a = at(p->p1);

	*k = sys(mknod(p->p1, S_IFIFO | 0644, 0));
	*v = vfs_mknod(&p->ctx, &a, S_IFIFO | 0644, 0, NULL);
}

/* O_PATH needs the store, which this child cannot reach: only its walk. */
static int ours_opath(struct par *p, int flags, unsigned resolve)
{
	struct vfs_at a = at(p->p1);
	struct vref ref = {NULL, NULL};
	int err;

	if (!(flags & O_NOFOLLOW))
		resolve |= VFS_FOLLOW;
	if (flags & O_DIRECTORY)
		resolve |= VFS_DIRECTORY;
	err = vfs_lookup(&p->ctx, &a, resolve, &ref);
	vref_put(&ref);
	return err;
}

static void pair_open(struct par *p, int *k, int *v)
{
	static const int bits[] = {O_CREAT,    O_CREAT,	    O_EXCL,
				   O_NOFOLLOW, O_DIRECTORY, O_TRUNC,
				   O_PATH,     O_APPEND,    O_NOATIME};
	static const struct {
		unsigned long native;
		unsigned ours;
	} resolve[] = {{0, 0},
		       {0, 0},
		       {0, 0},
		       {RESOLVE_BENEATH, VFS_BENEATH},
		       {RESOLVE_IN_ROOT, VFS_IN_ROOT},
		       {RESOLVE_NO_SYMLINKS, VFS_NO_SYMLINKS}};
	int flags = (int)rnd(p, 3) | O_NONBLOCK;
	unsigned r = rnd(p, ARRAY_SIZE(resolve));
	struct open_how how = {.resolve = resolve[r].native};
	struct vfs_at a = at(p->p1);
	struct vfs_opened o;
	int fd;

	for (size_t i = 0; i < ARRAY_SIZE(bits); i++)
		if (!rnd(p, 4))
			flags |= bits[i];
	if (flags & O_PATH) /* openat2 refuses what open(2) ignores */
		flags &= O_PATH | O_NOFOLLOW | O_DIRECTORY;
	how.flags = (unsigned long)flags;
	how.mode = flags & O_CREAT ? 0644 : 0;
	snprintf(p->what + strlen(p->what), 60, " flags %o resolve %lx", flags,
		 resolve[r].native);
	do { /* EAGAIN: someone else on this machine renamed meanwhile */
		fd = (int)syscall(SYS_openat2, AT_FDCWD, p->p1, &how,
				  sizeof(how));
	} while (fd < 0 && errno == EAGAIN);
	*k = fd < 0 ? -errno : 0;
	if (fd >= 0)
		close(fd);
	if (flags & O_PATH) {
		*v = ours_opath(p, flags, resolve[r].ours);
		return;
	}
	*v = vfs_open(&p->ctx, &a, flags, 0644, resolve[r].ours, &o);
	if (!*v)
		vfs_opened_fini(&o);
}

static int ours_stat(struct par *p, bool follow, struct stat *st)
{
	struct vfs_at a = at(p->p1);
	struct vref ref = {NULL, NULL};
	struct statx stx;
	int err = vfs_lookup(&p->ctx, &a, follow ? VFS_FOLLOW : 0, &ref);

	if (!err)
		err = vfs_getattr(&p->ctx, &ref, &stx);
	vref_put(&ref);
	if (!err)
		vfs_statx_to_stat(&stx, st);
	return err;
}

static void pair_stat(struct par *p, int *k, int *v)
{
	bool follow = rnd(p, 2);
	struct stat a, b;

	*k = sys(follow ? stat(p->p1, &a) : lstat(p->p1, &a));
	*v = ours_stat(p, follow, &b);
	if (*k || *v)
		return;
	snprintf(p->what + strlen(p->what), 200,
		 " mode %o/%o nlink %d/%d uid %d/%d gid %d/%d size %d/%d",
		 a.st_mode, b.st_mode, (int)a.st_nlink, (int)b.st_nlink,
		 (int)a.st_uid, (int)b.st_uid, (int)a.st_gid, (int)b.st_gid,
		 (int)a.st_size, (int)b.st_size);
	if (a.st_mode != b.st_mode || a.st_nlink != b.st_nlink ||
	    a.st_uid != b.st_uid || a.st_gid != b.st_gid ||
	    (!S_ISDIR(a.st_mode) && a.st_size != b.st_size))
		*v = 1;
}

static int ours_attr(struct par *p, bool follow, struct vfs_attr *attr)
{
	struct vfs_at a = at(p->p1);
	struct vref ref = {NULL, NULL};
	int err = vfs_lookup(&p->ctx, &a, follow ? VFS_FOLLOW : 0, &ref);

	if (!err)
		err = vfs_setattr(&p->ctx, &ref, attr);
	vref_put(&ref);
	return err;
}

static void pair_chmod(struct par *p, int *k, int *v)
{
	static const mode_t modes[] = {0755,  0755,  0644,  0700, 0500,	 0333,
				       02755, 04755, 06711, 0,	  02775, 02644};
	struct vfs_attr a = {.valid = VFS_ATTR_MODE};

	a.mode = modes[rnd(p, ARRAY_SIZE(modes))];
	*k = sys(chmod(p->p1, a.mode));
	*v = ours_attr(p, true, &a);
}

static void pair_chown(struct par *p, int *k, int *v)
{
	static const uid_t ids[] = {(uid_t)-1, (uid_t)-1, 0, USER, USER, 5};
	struct vfs_attr a = {.valid = VFS_ATTR_UID | VFS_ATTR_GID};
	bool follow = rnd(p, 2);

	a.uid = ids[rnd(p, ARRAY_SIZE(ids))];
	a.gid = ids[rnd(p, ARRAY_SIZE(ids))];
	snprintf(p->what + strlen(p->what), 60, " %d:%d", (int)a.uid,
		 (int)a.gid);
	*k = sys(fchownat(AT_FDCWD, p->p1, a.uid, a.gid,
			  follow ? 0 : AT_SYMLINK_NOFOLLOW));
	*v = ours_attr(p, follow, &a);
}

static void pair_truncate(struct par *p, int *k, int *v)
{
	struct vfs_attr a = {.valid = VFS_ATTR_SIZE, .size = 7};

	*k = sys(truncate(p->p1, 7));
	*v = ours_attr(p, true, &a);
}

static void pair_utime(struct par *p, int *k, int *v)
{
	static const long ns[] = {UTIME_NOW, UTIME_NOW, UTIME_OMIT, 5,
				  1000000000};
	struct timespec t[2] = {{1, ns[rnd(p, 5)]}, {2, ns[rnd(p, 5)]}};
	struct vfs_attr a = {.valid = VFS_ATTR_ATIME | VFS_ATTR_MTIME,
			     .atime = t[0],
			     .mtime = t[1]};

	snprintf(p->what + strlen(p->what), 80, " %ld %ld", t[0].tv_nsec,
		 t[1].tv_nsec);
	/* Nothing but UTIME_OMIT: natively the path is not looked at. */
	if (t[0].tv_nsec == UTIME_OMIT && t[1].tv_nsec == UTIME_OMIT)
		return;
	*k = sys(utimensat(AT_FDCWD, p->p1, t, 0));
	*v = ours_attr(p, true, &a);
	if (*k == -EINVAL && (ns[4] == t[0].tv_nsec || ns[4] == t[1].tv_nsec))
		*v = *k; /* checked before the path natively */
}

static void pair_access(struct par *p, int *k, int *v)
{
	struct vfs_at a = at(p->p1);
	struct vref ref = {NULL, NULL};
	int mask = (int)rnd(p, 8);

	*k = sys(faccessat(AT_FDCWD, p->p1, mask, AT_EACCESS));
	*v = vfs_lookup(&p->ctx, &a, VFS_FOLLOW, &ref);
	if (!*v)
		*v = vfs_permission(&p->ctx, &ref, mask);
	vref_put(&ref);
}

static void pair_readlink(struct par *p, int *k, int *v)
{
	struct vfs_at a = at(p->p1);
	struct vref ref = {NULL, NULL};
	char x[5000], y[5000];
	ssize_t n = readlink(p->p1, x, sizeof(x)), m = 0;

	*k = n < 0 ? -errno : 0;
	*v = vfs_lookup(&p->ctx, &a, 0, &ref);
	if (!*v)
		m = vfs_readlink(&p->ctx, &ref, y, sizeof(y));
	if (!*v && m < 0)
		*v = (int)m;
	if (!*v && !*k && (n != m || memcmp(x, y, (size_t)n)))
		*v = 1;
	vref_put(&ref);
}

static void pair_chdir(struct par *p, int *k, int *v)
{
	struct vfs_at a = at(p->p1);
	struct vref ref = {NULL, NULL};

	*k = sys(chdir(p->p1));
	*v = vfs_lookup(&p->ctx, &a, VFS_FOLLOW | VFS_DIRECTORY, &ref);
	if (!*v)
		*v = vfs_permission(&p->ctx, &ref, X_OK);
	if (!*v && !*k) {
		vref_put(&p->cwd);
		p->cwd = ref;
		p->ctx.cwd = ref.dentry;
	} else {
		vref_put(&ref);
	}
}

static void pair_getcwd(struct par *p, int *k, int *v)
{
	char x[5000], y[5000] = "";
	long n = syscall(SYS_getcwd, x, sizeof(x));

	*k = n < 0 ? -errno : 0;
	*v = dentry_deleted(p->ctx.cwd) ? -ENOENT : 0;
	if (!*v && dentry_path(p->ctx.cwd, p->ctx.root, y, sizeof(y)) < 0)
		*v = -ENAMETOOLONG;
	if (!*v && !*k && strcmp(x, y))
		*v = 1;
	snprintf(p->what + strlen(p->what), 400, " %.180s %.180s", *k ? "" : x,
		 y);
}

static const struct {
	const char *name;
	void (*fn)(struct par *p, int *k, int *v);
	unsigned weight;
} pairs[] = {
	{"mkdir", pair_mkdir, 10},	{"rmdir", pair_rmdir, 3},
	{"unlink", pair_unlink, 3},	{"symlink", pair_symlink, 4},
	{"link", pair_link, 5},		{"rename", pair_rename, 8},
	{"mkfifo", pair_mkfifo, 1},	{"open", pair_open, 16},
	{"stat", pair_stat, 14},	{"chmod", pair_chmod, 5},
	{"chown", pair_chown, 3},	{"truncate", pair_truncate, 2},
	{"utime", pair_utime, 3},	{"access", pair_access, 4},
	{"readlink", pair_readlink, 3}, {"chdir", pair_chdir, 4},
	{"getcwd", pair_getcwd, 3},
};

static void one_step(struct par *p, unsigned long step)
{
	unsigned total = 0, pick, i;
	int k = 0, v = 0;

	for (i = 0; i < ARRAY_SIZE(pairs); i++)
		total += pairs[i].weight;
	pick = rnd(p, total);
	for (i = 0; pick >= pairs[i].weight; i++)
		pick -= pairs[i].weight;
	random_path(p, p->p1);
	random_path(p, p->p2);
	snprintf(p->what, sizeof(p->what), "%s %.300s %.300s", pairs[i].name,
		 p->p1, p->p2);
	pairs[i].fn(p, &k, &v);
	if (getenv("PARITY_LOG"))
		fprintf(stderr, "%lu %s: %d %d\n", step, p->what, k, v);
	if (k == v)
		return;
	fprintf(stderr, "step %lu: %s: kernel %d, ours %d\n", step, p->what, k,
		v);
	_exit(1);
}

/* ---- the child's surroundings ------------------------------------------- */

static void child(uint64_t seed, const char *dir, bool user)
{
	static struct par p;
	static const struct vcred plain = {.uid = USER, .gid = USER};
	struct vfs *vfs;

	p.rng = seed;
	/* root of a user namespace is not what is compared with: it knows one
	 * id, and its truncate clears set-id bits */
	if (getuid())
		_exit(77);
	vfs = memfs_vfs(&p.ctx, NULL, NULL);
	if (chroot(dir) || chdir("/"))
		_exit(77);
	umask(022);
	if (chmod("/", user ? 0777 : 0755))
		_exit(77);
	vfs->root->inode->mode = user ? 0777 : 0755;
	((struct memnode *)vfs->root->inode->fs)->mode =
		S_IFDIR | vfs->root->inode->mode;
	if (user) {
		if (setresgid(USER, USER, USER) ||
		    syscall(SYS_setgroups, 0, 0) || setresuid(USER, USER, USER))
			_exit(77);
		p.ctx.cred = &plain;
	}
	for (unsigned long i = 0; i < STEPS; i++)
		one_step(&p, i);
	_exit(0);
}

static void run(uint64_t seed, bool user)
{
	char dir[] = "/dev/shm/parity-XXXXXX", cmd[128];
	int status;
	pid_t pid;

	cr_assert(mkdtemp(dir));
	pid = fork();
	if (!pid)
		child(seed, dir, user);
	cr_assert(waitpid(pid, &status, 0) == pid);
	snprintf(cmd, sizeof(cmd),
		 "chmod -R u+rwx %s; rm -rf %s /dev/shm/memfs-*", dir, dir);
	cr_assert(system(cmd) == 0);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
		cr_skip_test("no right to chroot or to change the user here");
	cr_assert(WIFEXITED(status) && !WEXITSTATUS(status),
		  "seed %llu user %d: status %x", (unsigned long long)seed,
		  user, (unsigned)status);
}

Test(parity, random_calls_as_root_give_the_kernels_results)
{
	for (uint64_t seed = 1; seed <= 4; seed++)
		run(seed * 0x9e3779b97f4a7c15ULL, false);
}

Test(parity, random_calls_as_a_user_give_the_kernels_results)
{
	for (uint64_t seed = 1; seed <= 4; seed++)
		run(seed * 0xd1342543de82ef95ULL, true);
}
