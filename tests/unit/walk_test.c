/*
 * walk_test.c - the walker: limits, links, magic links, mounts, the cache.
 * What the kernel does with the same paths is compared in parity_test.c.
 */
#include <criterion/criterion.h>
#include <sys/stat.h>

#include "memfs.h"

static struct vfs *vfs;
static struct vfs_ctx ctx;

static void begin(void)
{
	vfs = memfs_vfs(&ctx, NULL, NULL);
}

static void end(void)
{
	memfs_end(vfs);
}

TestSuite(walk, .init = begin, .fini = end);

static int mk(const char *path)
{
	struct vfs_at a = {NULL, path};

	return vfs_mkdir(&ctx, &a, 0755);
}

static int sym(const char *target, const char *path)
{
	struct vfs_at a = {NULL, path};

	return vfs_symlink(&ctx, target, &a);
}

static int look(const char *path, unsigned flags, char *where)
{
	struct vfs_at a = {NULL, path};
	struct vref ref = {NULL, NULL};
	int err = vfs_lookup(&ctx, &a, flags, &ref);

	if (!err && where)
		cr_assert(dentry_path(ref.dentry, NULL, where, 4096) > 0);
	vref_put(&ref);
	return err;
}

Test(walk, forty_links_are_followed_and_the_next_is_eloop)
{
	char from[16], to[16];

	cr_assert_eq(mk("/l0"), 0);
	for (int i = 1; i <= 41; i++) {
		snprintf(from, sizeof(from), "/l%d", i);
		snprintf(to, sizeof(to), "l%d", i - 1);
		cr_assert_eq(sym(to, from), 0);
	}
	cr_assert_eq(look("/l40", VFS_FOLLOW, NULL), 0);
	cr_assert_eq(look("/l41", VFS_FOLLOW, NULL), -ELOOP);
	cr_assert_eq(look("/l40/", 0, NULL), 0);
	cr_assert_eq(look("/l41/.", 0, NULL), -ELOOP);
	cr_assert_eq(look("/l41", 0, NULL), 0);
}

Test(walk, names_of_255_bytes_exist_and_of_256_are_too_long)
{
	char name[300] = "/";

	memset(name + 1, 'n', 255);
	cr_assert_eq(mk(name), 0);
	cr_assert_eq(look(name, 0, NULL), 0);
	name[256] = 'n';
	cr_assert_eq(look(name, 0, NULL), -ENAMETOOLONG);
	cr_assert_eq(mk(name), -ENAMETOOLONG);
}

Test(walk, paths_of_4095_bytes_pass_and_of_4096_do_not)
{
	static char path[5000];

	memset(path, '/', 4095);
	cr_assert_eq(look(path, 0, NULL), 0);
	path[4095] = '/';
	cr_assert_eq(look(path, 0, NULL), -ENAMETOOLONG);
	cr_assert_eq(look("", 0, NULL), -ENOENT);
	cr_assert_eq(look("", VFS_EMPTY, NULL), 0);
}

Test(walk, dotdot_stays_at_the_callers_root)
{
	struct vfs_at a = {NULL, "/jail"};
	struct vref jail = {NULL, NULL};
	char where[4096];

	cr_assert_eq(mk("/jail"), 0);
	cr_assert_eq(mk("/jail/x"), 0);
	cr_assert_eq(vfs_lookup(&ctx, &a, 0, &jail), 0);
	ctx.root = ctx.cwd = jail.dentry;
	cr_assert_eq(look("../../x/../..", 0, where), 0);
	cr_assert_str_eq(where, "/jail");
	cr_assert_eq(look("/../x", 0, where), 0);
	cr_assert_str_eq(where, "/jail/x");
	ctx.root = ctx.cwd = vfs_root(vfs);
	vref_put(&jail);
}

Test(walk, resolve_flags_bound_the_walk)
{
	struct vfs_at a = {NULL, "/d"};
	struct vref d = {NULL, NULL};
	char where[4096];

	cr_assert_eq(mk("/d") | mk("/d/e") | mk("/x"), 0);
	cr_assert_eq(sym("/x", "/d/abs") | sym("../x", "/d/up"), 0);
	cr_assert_eq(vfs_lookup(&ctx, &a, 0, &d), 0);
	ctx.cwd = d.dentry;
	cr_assert_eq(look("abs", VFS_FOLLOW | VFS_BENEATH, NULL), -EXDEV);
	cr_assert_eq(look("up", VFS_FOLLOW | VFS_BENEATH, NULL), -EXDEV);
	cr_assert_eq(look("/d", VFS_BENEATH, NULL), -EXDEV);
	cr_assert_eq(look("e/../e", VFS_BENEATH, NULL), 0);
	cr_assert_eq(look("../e", VFS_IN_ROOT, where), 0);
	cr_assert_str_eq(where, "/d/e");
	cr_assert_eq(look("abs", VFS_FOLLOW | VFS_IN_ROOT, NULL), -ENOENT);
	cr_assert_eq(look("up", VFS_FOLLOW | VFS_NO_SYMLINKS, NULL), -ELOOP);
	cr_assert_eq(look("up", VFS_NO_SYMLINKS, NULL), 0);
	ctx.cwd = vfs_root(vfs);
	vref_put(&d);
}

/* ---- magic links --------------------------------------------------------- */

static struct vref target;

static ssize_t magic_readlink(struct vfs_ctx *c, struct inode *i, char *buf,
			      size_t size, struct vref *jump)
{
	(void)c;
	(void)i;
	if (jump) {
		jump->inode = inode_get(target.inode);
		jump->dentry = dentry_get(target.dentry);
		return 0;
	}
	return snprintf(buf, size, "magic");
}

static const struct inode_ops magic_ops = {.readlink = magic_readlink};

Test(walk, magic_links_jump_unless_forbidden)
{
	struct vfs_at a = {NULL, "/t"};
	struct super *sb = super_new(vfs, "magic", "magic", 1, 0);
	struct inode *link = inode_new(sb, &magic_ops, 1, S_IFLNK, NULL);
	char where[4096];

	cr_assert_eq(mk("/t") | mk("/t/in"), 0);
	cr_assert_eq(vfs_lookup(&ctx, &a, 0, &target), 0);
	cr_assert_eq(vfs_mount_root(vfs, "/m", link, NULL, NULL), 0);
	inode_put(link);
	cr_assert_eq(look("/m/in", 0, where), 0);
	cr_assert_str_eq(where, "/t/in");
	cr_assert_eq(look("/m", VFS_FOLLOW, where), 0);
	cr_assert_str_eq(where, "/t");
	cr_assert_eq(look("/m", 0, where), 0);
	cr_assert_str_eq(where, "/m");
	cr_assert_eq(look("/m/in", VFS_NO_MAGIC, NULL), -ELOOP);
	cr_assert_eq(look("m/in", VFS_BENEATH, NULL), -EXDEV);
	vref_put(&target);
	/* An inode that has no name: fine at the end, no way through. */
	target.inode = inode_get(link);
	link->refs++;
	cr_assert_eq(look("/m/in", 0, NULL), -ENOTDIR);
	link->refs--;
	inode_put(target.inode);
	target.inode = NULL;
}

/* ---- mounts, the cache
 * ------------------------------------------------------- */

static struct inode *second_memfs(void)
{
	struct super *sb = super_new(vfs, "memfs", "second", 2, 0);

	return memnode_inode(sb, memnode_new(S_IFDIR | 0755, 0, 0));
}

Test(walk, mounts_are_crossed_both_ways)
{
	struct inode *root = second_memfs();
	char where[4096];

	cr_assert_eq(mk("/a") | mk("/a/under"), 0);
	cr_assert_eq(vfs_mount_root(vfs, "/a/m/n", root, NULL, NULL), 0);
	inode_put(root);
	cr_assert_eq(mk("/a/m/n/x"), 0);
	cr_assert_eq(look("/a/m/n/x/../..", 0, where), 0);
	cr_assert_str_eq(where, "/a/m");
	cr_assert_eq(look("/a/m/n/x", VFS_NO_XDEV, NULL), -EXDEV);
	cr_assert_eq(look("/a/under", 0, NULL), 0);
	cr_assert_eq(mk("/a/m/other"), -EROFS, "stubs are not writable");
}

Test(walk, a_mount_path_follows_links)
{
	struct inode *root = second_memfs();
	char where[4096];

	cr_assert_eq(mk("/run") | mk("/var") | sym("../run", "/var/run"), 0);
	cr_assert_eq(vfs_mount_root(vfs, "/var/run/x", root, NULL, NULL), 0);
	inode_put(root);
	cr_assert_eq(mk("/run/x/y"), 0);
	cr_assert_eq(look("/var/run/x/y", 0, where), 0);
	cr_assert_str_eq(where, "/run/x/y");
}

Test(walk, the_cache_stays_within_its_bound)
{
	char name[32];

	vfs->lru_max = 100;
	cr_assert_eq(mk("/d"), 0);
	for (int i = 0; i < 1000; i++) {
		snprintf(name, sizeof(name), "/d/absent%d", i);
		cr_assert_eq(look(name, 0, NULL), -ENOENT);
	}
	for (int i = 0; i < 1000; i++) {
		snprintf(name, sizeof(name), "/d/%d", i);
		cr_assert_eq(mk(name), 0);
	}
	cr_assert_leq(vfs->lru_count, 100);
	cr_assert_leq(vfs->dentries.count, 110);
	for (int i = 0; i < 1000; i++) {
		snprintf(name, sizeof(name), "/d/%d", i);
		cr_assert_eq(look(name, 0, NULL), 0);
	}
}

Test(walk, a_forgotten_name_is_asked_for_again)
{
	struct vfs_at a = {NULL, "/d/x"};
	struct vref x = {NULL, NULL};
	struct memnode *dir;
	char where[4096];

	cr_assert_eq(mk("/d") | mk("/d/x") | mk("/d/y"), 0);
	cr_assert_eq(vfs_lookup(&ctx, &a, 0, &x), 0);
	dir = x.dentry->parent->inode->fs;
	dentry_forget(x.dentry->parent, NULL);
	cr_assert_eq(look("/d/x", 0, NULL), 0);
	cr_assert_not(dentry_deleted(x.dentry));
	ment_del(dir, "x");
	cr_assert_eq(look("/d/x", 0, NULL), 0, "cached");
	dentry_forget(x.dentry->parent, "x");
	cr_assert_eq(look("/d/x", 0, NULL), -ENOENT);
	cr_assert(dentry_deleted(x.dentry));
	cr_assert(dentry_path(x.dentry, NULL, where, sizeof(where)) > 0);
	cr_assert_str_eq(where, "/d/x (deleted)");
	vref_put(&x);
}

/* Paths that were asked for before must not be what is told afterwards. */
Test(walk, a_path_follows_its_directories_when_they_move)
{
	struct vfs_at d = {NULL, "/a/b"}, to = {NULL, "/c/moved"};
	char where[4096];

	cr_assert_eq(mk("/a") | mk("/a/b") | mk("/a/b/d") | mk("/c"), 0);
	cr_assert_eq(mk("/a/b/d/x") | mk("/c/moved") | mk("/c/moved/y"), 0);
	cr_assert_eq(look("/a/b/d/x", 0, where), 0);
	cr_assert_str_eq(where, "/a/b/d/x");
	cr_assert_eq(look("/c/moved/y", 0, where), 0);
	cr_assert_eq(vfs_rename(&ctx, &d, &to, RENAME_EXCHANGE), 0);
	cr_assert_eq(look("/c/moved/d/x", 0, where), 0);
	cr_assert_str_eq(where, "/c/moved/d/x");
	cr_assert_eq(look("/a/b/y", 0, where), 0);
	cr_assert_str_eq(where, "/a/b/y");
	d.path = "/a/n";
	cr_assert_eq(vfs_rename(&ctx, &to, &d, 0), 0);
	cr_assert_eq(look("/a/n/d/x", 0, where), 0);
	cr_assert_str_eq(where, "/a/n/d/x");
}

/* As seen from a root, and from another one: neither is the other's. */
Test(walk, a_path_is_of_the_root_that_asks)
{
	struct vfs_at r = {NULL, "/r"}, x = {NULL, "/r/d/x"};
	struct vref root = {NULL, NULL}, ref = {NULL, NULL};
	char where[4096];

	cr_assert_eq(mk("/r") | mk("/r/d") | mk("/r/d/x"), 0);
	cr_assert_eq(vfs_lookup(&ctx, &r, 0, &root), 0);
	cr_assert_eq(vfs_lookup(&ctx, &x, 0, &ref), 0);
	for (int i = 0; i < 2; i++) {
		cr_assert(dentry_path(ref.dentry, NULL, where, 4096) > 0);
		cr_assert_str_eq(where, "/r/d/x");
		cr_assert(dentry_path(ref.dentry, root.dentry, where, 4096) >
			  0);
		cr_assert_str_eq(where, "/d/x");
	}
	cr_assert(dentry_path(root.dentry, ref.dentry, where, 4096) > 0);
	cr_assert_str_eq(where, "(unreachable)/r");
	vref_put(&root);
	vref_put(&ref);
}

/* Directories that are freed leave their addresses to others. */
Test(walk, a_path_is_not_that_of_a_directory_that_was_there_before)
{
	char dir[32], path[48], where[4096];

	for (int i = 0; i < 2000; i++) {
		struct vfs_at a = {NULL, path};

		snprintf(dir, sizeof(dir), "/dir%d", i);
		snprintf(path, sizeof(path), "%s/x", dir);
		cr_assert_eq(mk(dir) | mk(path), 0);
		cr_assert_eq(look(path, 0, where), 0);
		cr_assert_str_eq(where, path);
		cr_assert_eq(vfs_rmdir(&ctx, &a), 0);
		a.path = dir;
		cr_assert_eq(vfs_rmdir(&ctx, &a), 0);
	}
}

Test(walk, a_trail_says_where_the_last_name_was_looked_for)
{
	struct vfs_trail trail[VFS_TRAILS] = {0};
	struct vfs_at from = {NULL, "/sl"}, to = {NULL, "/sl/../new"};
	char where[4096];

	cr_assert_eq(mk("/real") | mk("/real/in"), 0);
	cr_assert_eq(sym("real/in", "/sl"), 0);
	trail[0].path = from.path;
	trail[1].path = to.path;
	ctx.trail = trail;
	cr_assert_eq(vfs_rename(&ctx, &from, &to, 0), 0);
	ctx.trail = NULL;
	cr_assert_eq(trail[0].dir, vfs_root(vfs));
	cr_assert(dentry_path(trail[1].dir, NULL, where, 4096) > 0);
	cr_assert_str_eq(where, "/real");
	dentry_put(trail[0].dir);
	dentry_put(trail[1].dir);
}

Test(walk, trees_may_be_far_deeper_than_a_path)
{
	struct vfs_at a = {NULL, "d"};
	struct vref at = {NULL, NULL}, next = {NULL, NULL};
	char buf[4096];

	at.dentry = dentry_get(vfs_root(vfs));
	at.inode = inode_get(at.dentry->inode);
	for (int i = 0; i < 20000; i++) {
		a.base = at.dentry;
		cr_assert_eq(vfs_mkdir(&ctx, &a, 0755), 0);
		cr_assert_eq(vfs_lookup(&ctx, &a, 0, &next), 0);
		vref_put(&at);
		at = next;
	}
	cr_assert_eq(dentry_path(at.dentry, NULL, buf, sizeof(buf)),
		     -ENAMETOOLONG);
	vref_put(&at);
}
