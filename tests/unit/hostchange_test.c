/*
 * hostchange_test.c - what the host does to a tree that the guest works in:
 * inode numbers used again, names and directories removed under it.
 *
 * The file system of /tmp has to use a number again at once, as ext4 does;
 * where it does not, the tests of that are skipped.
 */
#include "overlay_fixture.h"

#include <time.h>

static struct fixture f;

enum { TRIES = 64 };

static const char *host_path(const char *name)
{
	static char path[256];

	snprintf(path, sizeof(path), "%s/%s", f.host, name);
	return path;
}

static ino_t host_ino(const char *name)
{
	struct stat st;

	cr_assert_eq(lstat(host_path(name), &st), 0);
	return st.st_ino;
}

/* Past the tick of the file system's clock. */
static void next_tick(void)
{
	struct timespec ts = {0, 20000000};

	nanosleep(&ts, NULL);
}

static void begin(unsigned flags)
{
	fixture_init(&f, flags);
	next_tick();
}

static void end(void)
{
	f.flags = VFS_MNT_DIRECT; /* the host's tree was changed, by us */
	fixture_fini(&f);
}

static void host_make(const char *name, bool dir)
{
	if (dir)
		cr_assert_eq(mkdir(host_path(name), 0755), 0);
	else
		fx_host_file(&f, name, "new");
}

/* Removes old, and makes name with the number that it had. */
static void host_replace(const char *old, const char *name, bool dir)
{
	ino_t ino = host_ino(old);
	char spare[32], from[256];

	cr_assert_eq(remove(host_path(old)), 0);
	host_make(name, dir);
	for (int i = 0; i < TRIES && host_ino(name) != ino; i++) {
		snprintf(from, sizeof(from), "%s", host_path(name));
		snprintf(spare, sizeof(spare), "spare%d", i);
		cr_assert_eq(rename(from, host_path(spare)), 0);
		host_make(name, dir);
	}
	if (host_ino(name) != ino) {
		end();
		cr_skip_test("this file system does not use numbers again");
	}
}

static int reopen(struct vref *ref, int flags)
{
	struct vfs_opened o;
	int ret = vfs_reopen(&f.ctx, ref, flags, &o);

	if (!ret)
		vfs_opened_fini(&o);
	return ret;
}

static void a_file_is_not_a_later_one(unsigned flags)
{
	struct vref old, now;
	struct stat st;

	begin(flags);
	old = fx_ref(&f, "/w/a");
	host_replace("a", "a", false);
	/* At once, when nobody has looked at the name again. */
	cr_expect(reopen(&old, O_RDONLY) < 0);
	now = fx_ref(&f, "/w/a");
	cr_expect_neq(now.inode, old.inode);
	cr_expect_str_eq(fx_read(&f, "/w/a"), "new");
	cr_expect_eq(fx_stat(&f, "/w/a").stx_nlink, 1);
	cr_expect(reopen(&old, O_RDONLY) < 0);
	cr_expect(dentry_deleted(old.dentry));
	if (flags & VFS_MNT_DIRECT) {
		struct vfs_attr a = {.valid = VFS_ATTR_MODE, .mode = 0};
		struct vfs_at at = {NULL, "/w/linked"};

		cr_expect(reopen(&old, O_WRONLY | O_TRUNC) < 0);
		cr_expect_eq(vfs_setattr(&f.ctx, &old, &a), -ESTALE);
		cr_expect(vfs_link(&f.ctx, &old, &at) < 0);
		cr_assert_eq(stat(host_path("a"), &st), 0);
		cr_expect_eq(st.st_mode & 0777, 0644);
		cr_expect_eq(st.st_size, 3);
		cr_expect_eq(st.st_nlink, 1);
	}
	vref_put(&old);
	vref_put(&now);
	end();
}

Test(hostchange, direct_file_is_not_a_later_one_with_its_number)
{
	a_file_is_not_a_later_one(VFS_MNT_DIRECT);
}

Test(hostchange, watched_file_is_not_a_later_one_with_its_number)
{
	a_file_is_not_a_later_one(VFS_MNT_WATCH);
}

Test(hostchange, guest_version_is_not_shown_for_a_later_file)
{
	begin(VFS_MNT_WATCH);
	fx_write(&f, "/w/a", "guest");
	host_replace("a", "other", false);
	cr_expect_str_eq(fx_read(&f, "/w/other"), "new");
	cr_expect_str_eq(fx_read(&f, "/w/a"), "guest");
	end();
}

Test(hostchange, changed_file_stays_the_same)
{
	struct vref old, now;
	char from[256];

	begin(VFS_MNT_DIRECT);
	old = fx_ref(&f, "/w/a");
	fx_host_file(&f, "a", "written by the host");
	next_tick();
	snprintf(from, sizeof(from), "%s", host_path("a"));
	cr_assert_eq(rename(from, host_path("d/moved")), 0);
	now = fx_ref(&f, "/w/d/moved");
	cr_expect_eq(now.inode, old.inode);
	cr_expect_eq(reopen(&old, O_RDWR), 0);
	vref_put(&old);
	vref_put(&now);
	end();
}

Test(hostchange, link_is_not_a_later_one_with_its_number)
{
	struct vref old;
	char text[64];

	begin(VFS_MNT_DIRECT);
	cr_assert_eq(unlink(host_path("l")), 0);
	cr_assert_eq(symlink("one", host_path("l")), 0);
	next_tick();
	old = fx_ref(&f, "/w/l");
	host_replace("l", "l", false);
	cr_expect(vfs_readlink(&f.ctx, &old, text, sizeof(text)) < 0);
	vref_put(&old);
	end();
}

Test(hostchange, descriptor_of_a_replaced_file_is_stale)
{
	struct vref old, ref = {0};
	bool opath;
	struct stat st;
	int fd;

	begin(VFS_MNT_DIRECT);
	close(fx_open(&f, "/w/a", O_RDONLY, 0));
	old = fx_ref(&f, "/w/a");
	host_replace("a", "a", false);
	fd = open(host_path("a"), O_RDONLY);
	cr_expect_eq(vfs_identify(f.vfs, fd, &ref, &st, &opath), -ESTALE);
	close(fd);
	/* Opened by the guest, it is the new one. */
	fd = fx_open(&f, "/w/a", O_RDONLY, 0);
	cr_expect_eq(vfs_identify(f.vfs, fd, &ref, &st, &opath), 0);
	cr_expect_neq(ref.inode, old.inode);
	close(fd);
	vref_put(&ref);
	vref_put(&old);
	end();
}

/* ---- directories ----------------------------------------------------- */

static int lookup_in(struct vref *dir, const char *name)
{
	struct vfs_at at = {dir->dentry, name};
	struct vref ref = {0};
	int ret = vfs_lookup(&f.ctx, &at, 0, &ref);

	vref_put(&ref);
	return ret;
}

static int open_in(struct vref *dir, const char *name, int flags)
{
	struct vfs_at at = {dir->dentry, name};
	struct vfs_opened o;
	int ret = vfs_open(&f.ctx, &at, flags, 0644, 0, &o);

	if (!ret)
		vfs_opened_fini(&o);
	return ret;
}

static int readdir_one(void *arg, const char *name, size_t len, uint64_t ino,
		       unsigned char type, off_t off)
{
	(void)arg;
	(void)name;
	(void)len;
	(void)ino;
	(void)type;
	(void)off;
	return 0;
}

static void removed_dir(struct vref *dir, bool read_first)
{
	struct vfs_at at = {dir->dentry, "made"};
	struct statx st = {0};
	off_t pos = 0;

	if (read_first)
		cr_expect_eq(vfs_readdir(&f.ctx, dir, &pos, readdir_one, NULL),
			     -ENOENT);
	pos = 0;
	cr_expect_eq(open_in(dir, "x", O_RDWR | O_CREAT), -ENOENT);
	cr_expect_eq(lookup_in(dir, "x"), -ENOENT);
	cr_expect_eq(open_in(dir, "x", O_RDONLY), -ENOENT);
	cr_expect_eq(vfs_mkdir(&f.ctx, &at, 0755), -ENOENT);
	cr_expect_eq(vfs_symlink(&f.ctx, "t", &at), -ENOENT);
	cr_expect_eq(vfs_readdir(&f.ctx, dir, &pos, readdir_one, NULL),
		     -ENOENT);
	cr_expect_eq(vfs_getattr(&f.ctx, dir, &st), 0);
	cr_expect(S_ISDIR(st.stx_mode));
	cr_expect(dentry_deleted(dir->dentry));
	/* The way up is still there. */
	cr_expect_eq(lookup_in(dir, ".."), 0);
	cr_expect_eq(lookup_in(dir, "."), 0);
}

static void host_removes(unsigned flags, bool opened)
{
	struct vref dir;

	begin(flags);
	dir = fx_ref(&f, "/w/d/e");
	if (opened)
		cr_expect_eq(lookup_in(&dir, "x"), 0);
	cr_assert_eq(unlink(host_path("d/e/x")), 0);
	cr_assert_eq(rmdir(host_path("d/e")), 0);
	removed_dir(&dir, opened);
	/* And another one at its place is not it. */
	cr_assert_eq(mkdir(host_path("d/e"), 0755), 0);
	fx_host_file(&f, "d/e/x", "x");
	cr_expect_eq(lookup_in(&dir, "x"), -ENOENT);
	cr_expect_str_eq(fx_read(&f, "/w/d/e/x"), "x");
	cr_expect(dentry_deleted(dir.dentry));
	removed_dir(&dir, opened);
	vref_put(&dir);
	end();
}

Test(hostchange, direct_dir_removed_by_the_host_is_empty)
{
	host_removes(VFS_MNT_DIRECT, true);
}

Test(hostchange, direct_dir_not_looked_into_is_empty_too)
{
	host_removes(VFS_MNT_DIRECT, false);
}

Test(hostchange, watched_dir_removed_by_the_host_is_empty)
{
	host_removes(VFS_MNT_WATCH, true);
}

Test(hostchange, watched_dir_not_looked_into_is_empty_too)
{
	host_removes(VFS_MNT_WATCH, false);
}

Test(hostchange, directory_is_not_a_later_one_with_its_number)
{
	struct vref dir;

	begin(VFS_MNT_DIRECT);
	cr_assert_eq(mkdir(host_path("gone"), 0755), 0);
	next_tick();
	dir = fx_ref(&f, "/w/gone");
	host_replace("gone", "gone", true);
	fx_host_file(&f, "gone/x", "x");
	cr_expect_eq(lookup_in(&dir, "x"), -ENOENT);
	cr_expect_str_eq(fx_read(&f, "/w/gone/x"), "x");
	cr_expect_eq(lookup_in(&dir, "x"), -ENOENT);
	vref_put(&dir);
	end();
}
