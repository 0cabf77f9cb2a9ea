/*
 * vfs_test.c - policy verdicts, mount points, directories, descriptors and
 * attributes as the path level shows them. What the kernel does with plain
 * calls is compared in parity_test.c.
 */
#include <criterion/criterion.h>
#include <sys/stat.h>
#include <sys/xattr.h>

#include "memfs.h"
#include "../../fs/store.h"

static struct vfs *vfs;
static struct vfs_ctx ctx;

static unsigned rules_asked;

/* Rules of these tests, by name or path. */
static unsigned rules(void *arg, const char *path, unsigned inherited,
		      uint32_t *rule)
{
	const char *name = strrchr(path, '/') + 1;

	(void)arg;
	(void)inherited;
	rules_asked++;
	*rule = 7;
	if (!strcmp(name, "secret"))
		return VFS_MASK_HIDE;
	if (!strcmp(path, "/ro"))
		return VFS_MASK_RO;
	if (!strcmp(path, "/ro/rw"))
		return VFS_MASK_RESET;
	if (!strcmp(name, "noread"))
		return VFS_MASK_NOREAD;
	if (!strcmp(name, "nowrite"))
		return VFS_MASK_NOWRITE;
	if (!strcmp(path, "/d/conf/token"))
		return VFS_MASK_HIDE;
	if (!strcmp(path, "/home"))
		return VFS_MASK_ANCHOR;
	*rule = 0;
	return 0;
}

static bool rules_alike(void *arg, const char *dir)
{
	(void)arg;
	return strcmp(dir, "/") && strcmp(dir, "/ro") && strcmp(dir, "/d/conf");
}

static bool rules_told(void *arg, const char *name, size_t len)
{
	static const char *const told[] = {"secret", "noread", "nowrite"};

	(void)arg;
	for (size_t i = 0; i < ARRAY_SIZE(told); i++)
		if (strlen(told[i]) == len && !memcmp(told[i], name, len))
			return true;
	return false;
}

static void add(const char *path, mode_t mode)
{
	struct vfs_at a = {NULL, path};
	int err;

	err = S_ISDIR(mode) ? vfs_mkdir(&ctx, &a, mode & 07777)
			    : vfs_mknod(&ctx, &a, mode, 0, NULL);
	cr_assert_eq(err, 0, "%s: %d", path, err);
}

/* Puts a name under the VFS's back, as a lower tree has it. */
static void lower(const char *dir, const char *name, mode_t mode)
{
	struct vfs_at a = {NULL, dir};
	struct vref ref = {NULL, NULL};

	cr_assert_eq(vfs_lookup(&ctx, &a, 0, &ref), 0);
	ment_add(ref.inode->fs, name, memnode_new(mode, 0, 0));
	vref_put(&ref);
}

static void begin(void)
{
	vfs = memfs_vfs(&ctx, rules, NULL);
	vfs->cfg.dir_alike = rules_alike;
	vfs->cfg.name_told = rules_told;
	lower("/", "ro", S_IFDIR | 0755);
	lower("/ro", "f", S_IFREG | 0644);
	lower("/ro", "rw", S_IFDIR | 0755);
	lower("/", "secret", S_IFDIR | 0755);
	lower("/", "noread", S_IFREG | 0644);
	lower("/", "nowrite", S_IFREG | 0644);
	lower("/", "home", S_IFDIR | 0755);
	lower("/", "d", S_IFDIR | 0755);
	lower("/d", "secret", S_IFREG | 0644);
	lower("/d", "plain", S_IFREG | 0644);
}

static void end(void)
{
	memfs_end(vfs);
}

TestSuite(vfs, .init = begin, .fini = end);

static int try_open(const char *path, int flags)
{
	struct vfs_at a = {NULL, path};
	struct vfs_opened o;
	int err;

	ctx.refused_mask = 0;
	err = vfs_open(&ctx, &a, flags, 0644, 0, &o);
	if (!err)
		vfs_opened_fini(&o);
	return err;
}

static int do_rename(const char *from, const char *to, unsigned flags)
{
	struct vfs_at a = {NULL, from}, b = {NULL, to};

	ctx.refused_mask = 0;
	return vfs_rename(&ctx, &a, &b, flags);
}

static int do_link(const char *from, const char *to)
{
	struct vfs_at a = {NULL, from}, b = {NULL, to};
	struct vref ref = {NULL, NULL};
	int err;

	ctx.refused_mask = 0;
	err = vfs_lookup(&ctx, &a, 0, &ref);
	if (!err)
		err = vfs_link(&ctx, &ref, &b);
	vref_put(&ref);
	return err;
}

/* ---- policy
 * ------------------------------------------------------------------ */

Test(vfs, a_hidden_name_does_not_exist_and_cannot_be_made)
{
	cr_assert_eq(try_open("/secret", O_RDONLY), -ENOENT);
	cr_assert_eq(ctx.refused_mask, VFS_MASK_HIDE);
	cr_assert_eq(ctx.refused_rule, 7);
	cr_assert_eq(try_open("/secret/x", O_RDONLY), -ENOENT);
	cr_assert_eq(try_open("/d/secret", O_RDWR | O_CREAT), -EACCES);
	cr_assert_eq(do_rename("/d/plain", "/d/secret", 0), -EACCES);
	cr_assert_eq(do_rename("/d/secret", "/d/x", 0), -ENOENT);
	cr_assert_eq(do_link("/d/secret", "/d/x"), -ENOENT);
}

Test(vfs, a_read_only_tree_is_erofs_but_where_it_is_reset)
{
	cr_assert_eq(try_open("/ro/f", O_RDONLY), 0);
	cr_assert_eq(try_open("/ro/f", O_WRONLY), -EROFS);
	cr_assert_eq(ctx.refused_mask, VFS_MASK_RO);
	cr_assert_eq(try_open("/ro/new", O_WRONLY | O_CREAT), -EROFS);
	cr_assert_eq(try_open("/ro/rw/new", O_WRONLY | O_CREAT), 0);
	cr_assert_eq(do_rename("/ro/f", "/d/f", 0), -EROFS);
	cr_assert_eq(do_rename("/d/plain", "/ro/f", 0), -EROFS);
	cr_assert_eq(do_link("/ro/f", "/d/f"), -EXDEV);
}

Test(vfs, verdicts_on_content_hold_for_links_and_renames)
{
	cr_assert_eq(try_open("/noread", O_RDONLY), -EACCES);
	cr_assert_eq(ctx.refused_mask, VFS_MASK_NOREAD);
	cr_assert_eq(try_open("/nowrite", O_RDONLY), 0);
	cr_assert_eq(try_open("/nowrite", O_WRONLY), -EACCES);
	cr_assert_eq(do_link("/noread", "/d/alias"), -EACCES);
	cr_assert_eq(do_rename("/noread", "/d/alias", 0), -EACCES);
	cr_assert_eq(do_rename("/noread", "/d/plain", RENAME_EXCHANGE),
		     -EACCES);
	cr_assert_eq(try_open("/d/plain", O_RDONLY), 0);
}

Test(vfs, a_directory_above_a_rule_cannot_be_moved)
{
	cr_assert_eq(do_rename("/home", "/house", 0), -EACCES);
	cr_assert_eq(ctx.refused_mask, VFS_MASK_ANCHOR);
	cr_assert_eq(do_rename("/home", "/d", RENAME_EXCHANGE), -EACCES);
}

Test(vfs, masks_follow_a_moved_directory)
{
	add("/d/sub", S_IFDIR | 0755);
	add("/d/sub/x", S_IFREG | 0644);
	cr_assert_eq(try_open("/d/sub/x", O_WRONLY), 0);
	cr_assert_eq(do_rename("/d/sub", "/nowrite", 0), -ENOTDIR);
	cr_assert_eq(do_rename("/d/sub", "/d/nowrite", 0), -EACCES);
	add("/ro/rw/a", S_IFDIR | 0755);
	add("/ro/rw/a/x", S_IFREG | 0644);
	cr_assert_eq(do_rename("/ro/rw/a", "/d/a", 0), 0);
	cr_assert_eq(try_open("/d/a/x", O_WRONLY), 0);
}

Test(vfs, rules_of_its_old_path_hold_in_a_moved_directory)
{
	lower("/d", "conf", S_IFDIR | 0755);
	lower("/d/conf", "token", S_IFREG | 0644);
	lower("/d/conf", "other", S_IFREG | 0644);
	cr_assert_eq(try_open("/d/conf/token", O_RDONLY), -ENOENT);
	cr_assert_eq(do_rename("/d/conf", "/d/c2", 0), 0);
	vfs->lru_max = 0; /* what was cached is not what protects */
	cr_assert_eq(try_open("/d/c2/token", O_RDONLY), -ENOENT);
	cr_assert_eq(ctx.refused_mask, VFS_MASK_HIDE);
	cr_assert_eq(try_open("/d/c2/other", O_RDONLY), 0);
	add("/d/deep", S_IFDIR | 0755);
	cr_assert_eq(do_rename("/d/c2", "/d/deep/c3", 0), 0);
	cr_assert_eq(do_rename("/d/deep", "/d/deeper", 0), 0);
	cr_assert_eq(try_open("/d/deeper/c3/token", O_RDONLY), -ENOENT);
	cr_assert_eq(try_open("/d/deeper/c3/other", O_RDONLY), 0);
}

Test(vfs, rules_are_asked_once_where_names_are_alike)
{
	unsigned before;

	lower("/d", "conf", S_IFDIR | 0755);
	add("/d/sub", S_IFDIR | 0755);
	add("/d/sub/a", S_IFREG | 0644);
	before = rules_asked;
	add("/d/sub/b", S_IFREG | 0644);
	cr_assert_eq(try_open("/d/sub/c", O_RDONLY), -ENOENT);
	cr_assert_eq(rules_asked, before);
	cr_assert_eq(try_open("/d/sub/nowrite", O_WRONLY | O_CREAT), -EACCES);
	cr_assert_eq(try_open("/d/sub/secret", O_WRONLY | O_CREAT), -EACCES);
	cr_assert_gt(rules_asked, before);
	/* What held there does not hold here. */
	cr_assert_eq(do_rename("/d/sub", "/ro/rw/sub", 0), 0);
	cr_assert_eq(do_rename("/d/conf", "/ro/rw/sub/conf", 0), 0);
	cr_assert_eq(try_open("/ro/rw/sub/a", O_RDWR), 0);
	cr_assert_eq(do_rename("/ro/rw/sub", "/d/sub", 0), 0);
	cr_assert_eq(try_open("/d/sub/conf/token", O_WRONLY | O_CREAT),
		     -EACCES);
	cr_assert_eq(try_open("/d/sub/conf/other", O_WRONLY | O_CREAT), 0);
}

/* ---- mount points, directories
 * --------------------------------------------------- */

struct names {
	char text[4096];
	int stop_after;
	off_t last;
};

static int take(void *arg, const char *name, size_t len, uint64_t ino,
		unsigned char type, off_t off)
{
	struct names *n = arg;

	(void)ino;
	(void)type;
	if (!n->stop_after--)
		return 1;
	strncat(n->text, name, len);
	strcat(n->text, " ");
	n->last = off;
	return 0;
}

static void list(const char *path, off_t *pos, int count, struct names *n)
{
	struct vfs_at a = {NULL, path};
	struct vref ref = {NULL, NULL};

	memset(n, 0, sizeof(*n));
	n->stop_after = count;
	cr_assert_eq(vfs_lookup(&ctx, &a, 0, &ref), 0);
	cr_assert_eq(vfs_readdir(&ctx, &ref, pos, take, n), 0);
	vref_put(&ref);
}

static void mount_second(const char *path)
{
	struct super *sb = super_new(vfs, "memfs", "second", 2, 0);
	struct inode *i = memnode_inode(sb, memnode_new(S_IFDIR | 0755, 0, 0));

	cr_assert_eq(vfs_mount_root(vfs, path, i, NULL, NULL), 0);
	inode_put(i);
}

Test(vfs, readdir_shows_dots_files_and_stubs_and_not_what_is_hidden)
{
	struct names n;
	off_t pos = 0;

	mount_second("/d/m/deep");
	list("/d", &pos, 100, &n);
	cr_assert_str_eq(n.text, ". .. plain m ");
	list("/d", &pos, 100, &n);
	cr_assert_str_eq(n.text, "");
}

Test(vfs, readdir_goes_on_from_any_cookie)
{
	struct names n;
	off_t pos = 0;

	add("/d/a", S_IFREG | 0644);
	add("/d/b", S_IFREG | 0644);
	mount_second("/d/m1");
	mount_second("/d/m2");
	for (int i = 0; i < 7; i++) {
		static const char *const want[] = {". ", ".. ", "plain ", "a ",
						   "b ", "m1 ", "m2 "};

		list("/d", &pos, 1, &n);
		cr_assert_str_eq(n.text, want[i]);
		pos = n.last; /* as after lseek to d_off */
	}
	list("/d", &pos, 1, &n);
	cr_assert_str_eq(n.text, "");
}

Test(vfs, mount_points_and_their_parents_are_busy)
{
	struct vfs_at a = {NULL, "/d/m"}, b = {NULL, "/d"};

	mount_second("/d/m");
	add("/d/m/f", S_IFREG | 0644);
	cr_assert_eq(vfs_rmdir(&ctx, &a), -EBUSY);
	cr_assert_eq(vfs_rmdir(&ctx, &b), -EBUSY);
	cr_assert_eq(do_rename("/d/m", "/x", 0), -EBUSY);
	cr_assert_eq(do_rename("/d/m/f", "/x", 0), -EXDEV);
	cr_assert_eq(do_link("/d/m/f", "/x"), -EXDEV);
}

/* ---- descriptors
 * ------------------------------------------------------------------- */

Test(vfs, an_opath_descriptor_stands_for_its_file_and_does_nothing)
{
	struct vfs_at a = {NULL, "/d/plain"};
	struct vref ref = {NULL, NULL};
	struct vfs_opened o;
	struct stat st;
	bool opath = false;
	char c;

	cr_assert_eq(vfs_open(&ctx, &a, O_PATH, 0, 0, &o), 0);
	cr_assert_eq(read(o.fd, &c, 1), -1);
	cr_assert_eq(write(o.fd, &c, 1), -1);
	cr_assert_eq(vfs_identify(vfs, o.fd, &ref, &st, &opath), 0);
	cr_assert(opath);
	cr_assert_eq(ref.dentry, o.ref.dentry);
	vref_put(&ref);
	vfs_opened_fini(&o);
	cr_assert_eq(vfs->objects.count, 1);
	vfs_poll(vfs);
	cr_assert_eq(vfs->objects.count, 0, "freed with its descriptor");
}

Test(vfs, a_snapshot_is_read_only_and_identified)
{
	struct inode *i = inode_get(vfs_root(vfs)->inode);
	struct vref ref = {NULL, NULL};
	struct stat st;
	bool opath;
	char buf[8];
	int fd = -1;

	cr_assert_eq(vfs_snapshot(vfs, i, NULL, "hello", 5, &fd), 0);
	cr_assert_eq(read(fd, buf, 8), 5);
	cr_assert_eq(write(fd, "x", 1), -1);
	cr_assert_eq(vfs_identify(vfs, fd, &ref, &st, &opath), 0);
	cr_assert_eq(ref.inode, i);
	cr_assert_not(opath);
	vref_put(&ref);
	close(fd);
	inode_put(i);
}

Test(vfs, foreign_and_changed_host_descriptors_are_told_apart)
{
	char path[] = "/tmp/vfs-test-XXXXXX";
	struct inode *i = vfs_root(vfs)->inode;
	int fd = mkstemp(path), p[2];
	struct vref ref = {NULL, NULL};
	struct stat st;
	bool opath;

	cr_assert_eq(pipe(p), 0);
	cr_assert_eq(vfs_identify(vfs, p[0], &ref, &st, &opath), -ENOENT);
	cr_assert(S_ISFIFO(st.st_mode));
	cr_assert_eq(fstat(fd, &st), 0);
	cr_assert_eq(vfs_object_add_host(vfs, fd, &st, NULL, i, NULL), 0);
	cr_assert_eq(vfs_identify(vfs, fd, &ref, &st, &opath), 0);
	vref_put(&ref);
	usleep(20000);
	cr_assert_eq(fchmod(fd, 0640), 0);
	/* Same birth: the same file, changed. */
	cr_assert_eq(vfs_identify(vfs, fd, &ref, &st, &opath), 0);
	vref_put(&ref);
	close(fd);
	unlink(path);
	close(p[0]);
	close(p[1]);
}

Test(vfs, a_stdio_file_reopens_with_no_more_access_and_keeps_append)
{
	char path[] = "/tmp/vfs-test-XXXXXX";
	int fd = mkstemp(path), out;
	struct vref ref = {NULL, NULL};
	struct vfs_opened o;

	out = open(path, O_WRONLY | O_APPEND);
	cr_assert_eq(write(out, "kept", 4), 4);
	cr_assert_eq(vfs_register_stdio(vfs, out, "/host/log", &ref), 0);
	cr_assert_eq(vfs_reopen(&ctx, &ref, O_RDWR, &o), -EACCES);
	cr_assert_eq(vfs_reopen(&ctx, &ref, O_RDONLY, &o), -EACCES);
	cr_assert_eq(vfs_reopen(&ctx, &ref, O_WRONLY | O_TRUNC, &o), 0);
	cr_assert(fcntl(o.fd, F_GETFL) & O_APPEND);
	cr_assert_eq(lseek(fd, 0, SEEK_END), 4);
	vfs_opened_fini(&o);
	vref_put(&ref);
	close(out);
	close(fd);
	unlink(path);
}

/* ---- attributes
 * ---------------------------------------------------------------------- */

Test(vfs, a_running_program_is_text_busy)
{
	struct vfs_at a = {NULL, "/d/plain"};
	struct vref ref = {NULL, NULL};
	struct vfs_attr size = {.valid = VFS_ATTR_SIZE, .size = 1};
	int fd = -1;

	cr_assert_eq(vfs_lookup(&ctx, &a, 0, &ref), 0);
	cr_assert_eq(vfs_open_exec(&ctx, &ref, &fd), -EACCES, "no x bit");
	ref.inode->mode = 0755;
	cr_assert_eq(vfs_open_exec(&ctx, &ref, &fd), 0);
	vfs_text_get(ref.inode);
	cr_assert_eq(try_open("/d/plain", O_WRONLY), -ETXTBSY);
	cr_assert_eq(try_open("/d/plain", O_RDONLY | O_TRUNC), -ETXTBSY);
	cr_assert_eq(try_open("/d/plain", O_RDONLY), 0);
	cr_assert_eq(vfs_setattr(&ctx, &ref, &size), -ETXTBSY);
	vfs_text_put(ref.inode);
	cr_assert_eq(try_open("/d/plain", O_WRONLY), 0);
	vref_put(&ref);
	close(fd);
}

Test(vfs, links_in_sticky_directories_are_followed_only_if_trusted)
{
	static const struct vcred user = {.uid = 1000, .gid = 1000};
	struct vfs_at a = {NULL, "/t/l"};

	ctx.vfs->protect_symlinks = true;
	add("/t", S_IFDIR | 0755);
	cr_assert_eq(vfs_symlink(&ctx, "/d", &a), 0);
	ctx.cred = &user;
	cr_assert_eq(try_open("/t/l", O_RDONLY), 0);
	{
		struct vref ref = {NULL, NULL}, dir = {NULL, NULL};
		struct vfs_at d = {NULL, "/t"};

		cr_assert_eq(vfs_lookup(&ctx, &a, 0, &ref), 0);
		cr_assert_eq(vfs_lookup(&ctx, &d, 0, &dir), 0);
		dir.inode->mode = 01777;
		ref.inode->uid = 4;
		cr_assert_eq(try_open("/t/l", O_RDONLY), -EACCES);
		cr_assert_eq(try_open("/t/l/plain", O_RDONLY), 0);
		vref_put(&ref);
		vref_put(&dir);
	}
}

Test(vfs, xattr_namespaces_have_their_own_errors)
{
	static const struct vcred user = {.uid = 1000, .gid = 1000};
	struct vfs_at a = {NULL, "/d/plain"};
	struct vref ref = {NULL, NULL};
	char long_name[300] = "user.";

	memset(long_name + 5, 'x', 270);
	cr_assert_eq(vfs_lookup(&ctx, &a, 0, &ref), 0);
	cr_assert_eq(vfs_getxattr(&ctx, &ref, "", NULL, 0), -ERANGE);
	cr_assert_eq(vfs_getxattr(&ctx, &ref, long_name, NULL, 0), -ERANGE);
	cr_assert_eq(vfs_getxattr(&ctx, &ref, "odd.x", NULL, 0), -EOPNOTSUPP);
	cr_assert_eq(vfs_setxattr(&ctx, &ref, "user.a", "", 0, 4), -EINVAL);
	cr_assert_eq(vfs_setxattr(&ctx, &ref, "user.a", "", 65537, 0), -E2BIG);
	ctx.cred = &user;
	cr_assert_eq(vfs_getxattr(&ctx, &ref, "trusted.a", NULL, 0), -ENODATA);
	cr_assert_eq(vfs_setxattr(&ctx, &ref, "trusted.a", "", 0, 0), -EPERM);
	cr_assert_eq(vfs_setxattr(&ctx, &ref, "security.a", "", 0, 0), -EPERM);
	cr_assert_eq(vfs_setxattr(&ctx, &ref, "user.a", "", 0, 0), -EACCES);
	vref_put(&ref);
}
