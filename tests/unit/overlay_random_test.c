/*
 * overlay_random_test.c - random operations on the overlay and on a real copy
 * of its lower tree: errno, names, contents, link counts and modes must agree.
 *
 * OVERLAY_SEED (0: by the clock) and OVERLAY_OPS choose the run.
 */
#include "overlay_fixture.h"
#include "../../fs/snapshot.h"

#include <grp.h>
#include <sys/xattr.h>
#include <time.h>

static struct fixture f;
static char real[64];
#define SEED 0x5eed0001
static uint64_t seed;

static const char *const names[] = {"a", "b", "d", "e", "h1", "l", "x", "y"};

static unsigned rnd(unsigned n)
{
	seed = seed * 6364136223846793005ULL + 1442695040888963407ULL;
	return (unsigned)(seed >> 33) % n;
}

static int copy_tree(const char *from, const char *to)
{
	char cmd[256];

	snprintf(cmd, sizeof(cmd), "cp -a %s/. %s && rm %s/fifo", from, to, to);
	return system(cmd);
}

static void copy_tree_to(const char *from, const char *to)
{
	char cmd[256];

	snprintf(cmd, sizeof(cmd), "mkdir -p %s && cp -a %s/. %s", to, from,
		 to);
	cr_assert_eq(system(cmd), 0);
}

/* A path of one to three names below /w; sub is the part after it. */
static void random_path(char *sub, size_t size)
{
	size_t len = 0;

	for (unsigned i = 0, n = 1 + rnd(3); i < n; i++)
		len += (size_t)snprintf(sub + len, size - len, "/%s",
					names[rnd(ARRAY_SIZE(names))]);
}

static void both(const char *sub, char *v, char *r)
{
	snprintf(v, 128, "/w%s", sub);
	snprintf(r, 128, "%s%s", real, sub);
}

static int ret_of(int ret)
{
	return ret < 0 ? -errno : ret;
}

static int write_both(const char *v, const char *r, int flags)
{
	char data[32];
	int n = snprintf(data, sizeof(data), "%u", rnd(1000000));
	int b = ret_of(open(r, flags | O_WRONLY | O_NOFOLLOW, 0644));
	int a = fx_try_open(&f, v, flags | O_WRONLY | O_NOFOLLOW, 0644);

	cr_assert((a < 0 ? a : 0) == (b < 0 ? b : 0), "open %s %x: %d, not %d",
		  v, flags, a, b);
	if (a >= 0 &&
	    (write(a, data, (size_t)n) != n || write(b, data, (size_t)n) != n))
		cr_assert_fail("write");
	if (a >= 0)
		close(a);
	if (b >= 0)
		close(b);
	return 0;
}

static void check(const char *what, const char *v, int a, int b)
{
	cr_assert(a == b, "%s %s: %s, not %s", what, v, strerror(-a),
		  strerror(-b));
}

static int chmod_virtual(const char *v, mode_t mode)
{
	struct vfs_at at = {NULL, v};
	struct vref ref = {0};
	struct vfs_attr attr = {.valid = VFS_ATTR_MODE, .mode = mode};
	int ret = vfs_lookup(&f.ctx, &at, VFS_FOLLOW, &ref);

	if (ret < 0)
		return ret;
	ret = vfs_setattr(&f.ctx, &ref, &attr);
	vref_put(&ref);
	return ret;
}

static int truncate_virtual(const char *v, off_t size)
{
	struct vfs_at at = {NULL, v};
	struct vref ref = {0};
	struct vfs_attr attr = {.valid = VFS_ATTR_SIZE, .size = size};
	int ret = vfs_lookup(&f.ctx, &at, VFS_FOLLOW, &ref);

	if (ret < 0)
		return ret;
	ret = vfs_setattr(&f.ctx, &ref, &attr);
	if (ret == -EINPROGRESS) {
		ret = vfs_job_finish(f.vfs, attr.job,
				     vfs_job_run(attr.job, NULL));
		attr.job = NULL;
		if (!ret)
			ret = vfs_setattr(&f.ctx, &ref, &attr);
	}
	vref_put(&ref);
	return ret;
}

/* ---- descriptors held open ------------------------------------------- */

enum { HELD = 16 };

static struct held {
	int v, r;
} held[HELD];

static void held_check(struct held *h)
{
	char a[64], b[64];
	unsigned n = rnd(200);
	ssize_t x, y;

	if (h->v < 0)
		return;
	cr_assert_eq(pwrite(h->v, "held", 4, n), pwrite(h->r, "held", 4, n));
	n = rnd(200);
	x = pread(h->v, a, sizeof(a), n);
	y = pread(h->r, b, sizeof(b), n);
	cr_assert(x == y && (x <= 0 || !memcmp(a, b, (size_t)x)),
		  "a descriptor held open");
}

static void held_replace(struct held *h, const char *v, const char *r)
{
	held_check(h);
	if (h->v >= 0) {
		close(h->v);
		close(h->r);
	}
	h->r = open(r, O_RDWR | O_NOFOLLOW);
	h->v = fx_try_open(&f, v, O_RDWR | O_NOFOLLOW, 0);
	cr_assert((h->v < 0) == (h->r < 0), "open %s", v);
	vfs_poll(f.vfs);
}

static void watch_virtual(const char *v)
{
	struct vfs_at at = {NULL, v};
	struct vref ref = {0};
	int fd;

	if (vfs_lookup(&f.ctx, &at, 0, &ref) < 0)
		return;
	/* What a user may not read cannot be watched. */
	if (vfs_watch_target(&f.ctx, &ref, false, &fd) == 0)
		close(fd);
	else
		cr_assert(geteuid());
	vref_put(&ref);
}

static void tmpfile_link(const char *v, const char *r)
{
	int a = fx_try_open(&f, "/w", O_TMPFILE | O_RDWR, 0644);
	int b = open(real, O_TMPFILE | O_RDWR, 0644);
	struct vfs_at at = {NULL, v};
	struct vref ref = {0};
	char path[64];
	struct stat st;
	bool opath;

	if (a >= 0 && b >= 0) {
		snprintf(path, sizeof(path), "/proc/self/fd/%d", b);
		cr_assert_eq(vfs_identify(f.vfs, a, &ref, &st, &opath), 0);
		check("link of O_TMPFILE", v, vfs_link(&f.ctx, &ref, &at),
		      ret_of(linkat(AT_FDCWD, path, AT_FDCWD, r,
				    AT_SYMLINK_FOLLOW)));
		vref_put(&ref);
	}
	if (a >= 0)
		close(a);
	if (b >= 0)
		close(b);
}

/* user.* of what is no link: set, asked for, removed. */
static void attribute(const char *v, const char *r, unsigned n)
{
	struct vfs_at at = {NULL, v};
	struct vref ref = {0};
	char name[] = "user.0", a[16] = "", b[16] = "";
	int x, y;

	if (getxattr(real, name, b, sizeof(b)) < 0 && errno == EOPNOTSUPP)
		return;
	name[5] = (char)('0' + n % 3);
	if (vfs_lookup(&f.ctx, &at, 0, &ref) < 0)
		return;
	if (n % 5 == 0) {
		check("removexattr", v, vfs_removexattr(&f.ctx, &ref, name),
		      ret_of(lremovexattr(r, name)));
	} else if (n % 5 < 3) {
		check("setxattr", v,
		      vfs_setxattr(&f.ctx, &ref, name, &n, n % 4, n % 3),
		      ret_of(lsetxattr(r, name, &n, n % 4, (int)(n % 3))));
	}
	x = (int)vfs_getxattr(&f.ctx, &ref, name, a, sizeof(a));
	y = ret_of((int)lgetxattr(r, name, b, sizeof(b)));
	cr_assert(x == y && !memcmp(a, b, sizeof(a)), "%s of %s: %d, not %d",
		  name, v, x, y);
	vref_put(&ref);
}

/* A list with a named user and a mask, or what is wrong with one. */
static size_t random_acl(unsigned char acl[64], unsigned n)
{
	static const unsigned short tags[] = {1, 2, 4, 0x10, 0x20};
	size_t len = 4, count = n % 11 ? ARRAY_SIZE(tags) : 3;

	memset(acl, 0, 64);
	acl[0] = 2; /* POSIX_ACL_XATTR_VERSION */
	for (size_t i = 0; i < count; i++, len += 8) {
		uint32_t id = tags[i] == 2 ? 4321 : UINT32_MAX;

		acl[len] = (unsigned char)tags[i];
		acl[len + 2] = (unsigned char)(tags[i] == 1 ? 7 : rnd(8));
		memcpy(acl + len + 4, &id, sizeof(id));
	}
	return len;
}

static void access_list(const char *v, const char *r, unsigned n)
{
	const char *name =
		n % 3 ? "system.posix_acl_access" : "system.posix_acl_default";
	struct vfs_at at = {NULL, v};
	struct vref ref = {0};
	unsigned char acl[64];
	char a[64] = "", b[64] = "";
	size_t len = random_acl(acl, n);

	if (getxattr(real, name, b, sizeof(b)) < 0 && errno == EOPNOTSUPP)
		return;
	if (vfs_lookup(&f.ctx, &at, 0, &ref) < 0)
		return;
	if (n % 4 == 0)
		check("removexattr", v, vfs_removexattr(&f.ctx, &ref, name),
		      ret_of(lremovexattr(r, name)));
	else
		check("setxattr", v,
		      vfs_setxattr(&f.ctx, &ref, name, acl, len, 0),
		      ret_of(lsetxattr(r, name, acl, len, 0)));
	check("getxattr", v,
	      (int)vfs_getxattr(&f.ctx, &ref, name, a, sizeof(a)),
	      ret_of((int)lgetxattr(r, name, b, sizeof(b))));
	cr_assert(!memcmp(a, b, sizeof(a)), "%s of %s", name, v);
	vref_put(&ref);
}

/* An owner that may not write sees more errors. */
static mode_t random_mode(unsigned n)
{
	return geteuid() ? 0500 | (n & 0277) : 0700 | (n & 077);
}

static void one_operation(void)
{
	char s1[64], s2[64], v[128], r[128], v2[128], r2[128];
	struct vfs_at at = {NULL, v};
	unsigned n = rnd(1000);

	random_path(s1, sizeof(s1));
	random_path(s2, sizeof(s2));
	both(s1, v, r);
	both(s2, v2, r2);
	switch (rnd(f.flags & VFS_MNT_DIRECT ? 19 : 20)) {
	case 0:
		write_both(v, r, O_APPEND);
		break;
	case 1:
		write_both(v, r, O_CREAT);
		break;
	case 2:
		write_both(v, r, O_CREAT | O_TRUNC);
		break;
	case 3:
		write_both(v, r, O_CREAT | O_EXCL);
		break;
	case 4:
		check("mkdir", v, fx_mkdir(&f, v, 0755),
		      ret_of(mkdir(r, 0755)));
		break;
	case 5:
		check("unlink", v, fx_unlink(&f, v), ret_of(unlink(r)));
		break;
	case 6:
		check("rmdir", v, fx_rmdir(&f, v), ret_of(rmdir(r)));
		break;
	case 7:
		check("rename", v, fx_rename(&f, v, v2, 0),
		      ret_of(rename(r, r2)));
		break;
	case 8:
		check("exchange", v, fx_rename(&f, v, v2, RENAME_EXCHANGE),
		      ret_of(renameat2(AT_FDCWD, r, AT_FDCWD, r2,
				       RENAME_EXCHANGE)));
		break;
	case 9:
		check("link", v, fx_link(&f, v, v2), ret_of(link(r, r2)));
		break;
	case 10:
		check("symlink", v, vfs_symlink(&f.ctx, s2 + 1, &at),
		      ret_of(symlink(s2 + 1, r)));
		break;
	case 11:
		check("chmod", v, chmod_virtual(v, random_mode(n)),
		      ret_of(chmod(r, random_mode(n))));
		break;
	case 12:
		check("truncate", v, truncate_virtual(v, n),
		      ret_of(truncate(r, n)));
		break;
	case 13:
		held_replace(&held[rnd(HELD)], v, r);
		break;
	case 14:
		if (!rnd(8))
			watch_virtual(v);
		held_check(&held[rnd(HELD)]);
		break;
	case 15:
		tmpfile_link(v, r);
		break;
	case 16:
		check("rename to a free name", v,
		      fx_rename(&f, v, v2, RENAME_NOREPLACE),
		      ret_of(renameat2(AT_FDCWD, r, AT_FDCWD, r2,
				       RENAME_NOREPLACE)));
		break;
	case 17:
		attribute(v, r, n);
		break;
	case 18:
		if (!rnd(3))
			access_list(v, r, n);
		break;
	case 19:
		if (!rnd(4))
			check("whiteout", v,
			      fx_rename(&f, v, v2, RENAME_WHITEOUT),
			      ret_of(renameat2(AT_FDCWD, r, AT_FDCWD, r2,
					       RENAME_WHITEOUT)));
		break;
	}
}

/* ---- comparing the trees --------------------------------------------- */

static void compare_file(const char *v, const char *r, const struct stat *st)
{
	static char a[70000], b[70000];
	int x = fx_open(&f, v, O_RDONLY, 0);
	int y = open(r, O_RDONLY);
	ssize_t n = read(x, a, sizeof(a)), m = read(y, b, sizeof(b));

	(void)st;
	cr_assert(n == m && !memcmp(a, b, (size_t)n), "content of %s", v);
	close(x);
	close(y);
}

static int compare_one(const char *r, const struct stat *st, int type,
		       struct FTW *ftw)
{
	char v[512], a[256] = "", b[256] = "";
	struct statx sx;
	struct vref ref;

	(void)type;
	(void)ftw;
	snprintf(v, sizeof(v), "/w%s", r + strlen(real));
	sx = fx_stat(&f, v);
	cr_assert(sx.stx_mode == st->st_mode, "mode of %s: %o, not %o", v,
		  sx.stx_mode, st->st_mode);
	cr_assert(sx.stx_nlink == st->st_nlink, "links of %s: %u, not %lu", v,
		  sx.stx_nlink, st->st_nlink);
	if (!S_ISDIR(st->st_mode))
		cr_assert(sx.stx_size == (uint64_t)st->st_size,
			  "size of %s: %lu, not %ld", v,
			  (unsigned long)sx.stx_size, st->st_size);
	if (S_ISREG(st->st_mode))
		compare_file(v, r, st);
	if (S_ISLNK(st->st_mode)) {
		ref = fx_ref(&f, v);
		cr_assert(vfs_readlink(&f.ctx, &ref, a, 255) ==
			  readlink(r, b, 255));
		cr_assert_str_eq(a, b);
		vref_put(&ref);
	}
	if (S_ISDIR(st->st_mode)) {
		struct dirent **list;
		int n = scandir(r, &list, NULL, NULL);
		struct fx_reader reader;
		int got = 0;

		fx_reader_init(&reader, &f, v);
		while (fx_reader_next(&reader)) {
			bool found = false;

			for (int i = 0; i < n; i++)
				found |= !strcmp(list[i]->d_name, reader.name);
			cr_assert(found, "%s in %s", reader.name, v);
			got++;
		}
		fx_reader_fini(&reader);
		cr_assert(got == n, "entries of %s: %d, not %d", v, got, n);
		for (int i = 0; i < n; i++)
			free(list[i]);
		free(list);
	}
	return 0;
}

/* ---- snapshots ------------------------------------------------------- */

static void copy_real(char to[64])
{
	char cmd[200];

	snprintf(to, 64, "/dev/shm/ovcopyXXXXXX");
	cr_assert(mkdtemp(to));
	snprintf(cmd, sizeof(cmd), "cp -a %s/. %s", real, to);
	cr_assert_eq(system(cmd), 0);
}

/* The vfs of another sandbox over the same host tree. */
static void fork_init(struct fixture *c, const struct snapshot *s)
{
	int fds[64];

	memset(c, 0, sizeof(*c));
	memcpy(c->host, f.host, sizeof(c->host));
	c->flags = f.flags;
	c->hash = f.hash;
	fixture_mount(c);
	cr_assert(s->nlayers <= ARRAY_SIZE(fds));
	cr_assert_eq(snapshot_share(s, fds), 0);
	cr_assert_eq(snapshot_adopt(c->vfs, s->data, s->len, fds, s->nlayers),
		     0);
}

/* Compares with the real tree at `at`, as what f and real are. */
static void compare_other(struct fixture *other, const char *at)
{
	static struct fixture mine;
	char own[64];

	mine = f;
	memcpy(own, real, sizeof(own));
	f = *other;
	f.ctx.cred = &f.cred;
	memcpy(real, at, sizeof(real));
	nftw(real, compare_one, 32, FTW_PHYS);
	*other = f;
	other->ctx.cred = &other->cred;
	f = mine;
	memcpy(real, own, sizeof(own));
}

static struct other {
	struct snapshot *snap;
	struct fixture fork;
	char real[64];
} other;

static void other_fini(void)
{
	if (!other.snap)
		return;
	compare_other(&other.fork, other.real);
	snapshot_free(other.snap);
	compare_other(&other.fork, other.real);
	vfs_free(other.fork.vfs);
	if (other.fork.shm[0])
		cr_expect_eq(rmdir(other.fork.shm), 0);
	nftw(other.real, fx_rm_one, 32, FTW_PHYS | FTW_DEPTH);
	other.snap = NULL;
}

/* Takes one, and has another sandbox live on from it: neither feels the
 * other. */
static void other_init(void)
{
	other_fini();
	vfs_poll(f.vfs);
	cr_assert_eq(snapshot_take(f.vfs, false, &other.snap), 0);
	copy_real(other.real);
	fork_init(&other.fork, other.snap);
	compare_other(&other.fork, other.real);
	fx_write(&other.fork, "/w/only-here", "x");
	cr_assert_eq(fx_unlink(&other.fork, "/w/only-here"), 0);
	nftw(real, compare_one, 32, FTW_PHYS);
}

/* Everything is closed, and the state goes back to the last one taken. */
static void go_back(void)
{
	if (!other.snap)
		return;
	for (int i = 0; i < HELD; i++) {
		held_check(&held[i]);
		if (held[i].v >= 0) {
			close(held[i].v);
			close(held[i].r);
		}
		held[i].v = -1;
	}
	vfs_poll(f.vfs);
	cr_assert_eq(snapshot_restore(f.vfs, other.snap), 0);
	nftw(real, fx_rm_one, 32, FTW_PHYS | FTW_DEPTH);
	copy_tree_to(other.real, real);
	nftw(real, compare_one, 32, FTW_PHYS);
}

static void run_snapshots(unsigned i)
{
	if (i % 700 == 350)
		other_init();
	if (i % 700 == 600)
		compare_other(&other.fork, other.real);
	if (i % 2800 == 1000)
		go_back();
	if (i % 1100 == 37) { /* nobody keeps it */
		struct snapshot *s;

		cr_assert_eq(snapshot_take(f.vfs, false, &s), 0);
		snapshot_free(s);
		snapshot_sweep(f.vfs);
	}
}

enum { SNAPSHOTS = 1 << 30, AS_USER = 1 << 29 };

static void become_user(void)
{
	enum { USER = 54321 };

	if (!getuid() && (setresgid(USER, USER, USER) || setgroups(0, NULL) ||
			  setresuid(USER, USER, USER)))
		cr_skip_test("no right to change the user");
}

static void seed_init(void)
{
	const char *s = getenv("OVERLAY_SEED");

	seed = s ? strtoull(s, NULL, 0) : SEED;
	if (seed == 0)
		seed = (uint64_t)time(NULL) ^ (uint64_t)getpid() << 32;
}

static void remove_real(void)
{
	char cmd[200];

	snprintf(cmd, sizeof(cmd), "chmod -R u+rwx %s && rm -rf %s", real,
		 real);
	cr_assert_eq(system(cmd), 0);
}

static void run_operations(unsigned flags, unsigned ops)
{
	printf("OVERLAY_SEED=%#" PRIx64 " OVERLAY_OPS=%u\n", seed, ops);
	fflush(stdout);
	umask(022);
	for (int i = 0; i < HELD; i++)
		held[i].v = -1;
	fixture_init(&f, flags & ~(unsigned)(SNAPSHOTS | AS_USER));
	snprintf(real, sizeof(real), "/dev/shm/ovrealXXXXXX");
	cr_assert(mkdtemp(real));
	cr_assert_eq(copy_tree(f.host, real), 0);
	cr_assert_eq(chmod_virtual("/w", 0755), 0);
	chmod(real, 0755);
	for (unsigned i = 0; i < ops; i++) {
		one_operation();
		if (flags & SNAPSHOTS)
			run_snapshots(i);
		if (i % 500 == 499)
			nftw(real, compare_one, 32, FTW_PHYS);
	}
	nftw(real, compare_one, 32, FTW_PHYS);
	other_fini();
	for (int i = 0; i < HELD; i++) {
		held_check(&held[i]);
		if (held[i].v >= 0)
			close(held[i].v);
	}
	vfs_poll(f.vfs);
	vfs_poll(f.vfs);
	cr_expect_eq(fx_diff(&f)[0] == '\0', flags & VFS_MNT_DIRECT ? 1 : 0);
	remove_real();
	fixture_fini(&f);
}

static void run(unsigned flags)
{
	const char *o = getenv("OVERLAY_OPS");

	seed_init();
	run_operations(flags, o ? (unsigned)atoi(o) : 25000);
}

Test(overlay_random, behaves_as_a_real_directory, .timeout = 300)
{
	run(0);
}

Test(overlay_random, watched_host_behaves_the_same, .timeout = 300)
{
	run(VFS_MNT_WATCH);
}

Test(overlay_random, direct_mount_behaves_the_same, .timeout = 300)
{
	run(VFS_MNT_DIRECT);
}

Test(overlay_random, a_user_sees_the_same_errors, .timeout = 300)
{
	become_user();
	run(AS_USER);
}

Test(overlay_random, snapshots_are_not_felt, .timeout = 300)
{
	run(SNAPSHOTS);
}

/* What is shared, open or unlinked at the end differs each time. */
Test(overlay_random, snapshots_may_be_there_at_the_end, .timeout = 300)
{
	seed_init();
	for (unsigned i = 0; i < 8; i++)
		run_operations(SNAPSHOTS, 800 + 170 * i);
}
