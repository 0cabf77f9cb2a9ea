/*
 * hostchange_test.c - what the host does to a tree that the guest works in:
 * inode numbers used again, names and directories removed under it.
 *
 * The file system of /tmp has to use a number again at once, as ext4 does;
 * where it does not, the tests of that are skipped.
 */
#include "overlay_fixture.h"

#include <sched.h>
#include <time.h>

#include "../../fs/hostwatch.h"

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

/* ---- what inotify tells ------------------------------------------------ */

static struct statx st_of(const char *path)
{
	struct vfs_at at = {NULL, path};
	struct vref ref = {0};
	struct statx st = {0};
	int ret = vfs_lookup(&f.ctx, &at, 0, &ref);

	st.stx_mask = 0;
	if (ret < 0) {
		st.stx_nlink = 0;
		return st;
	}
	cr_expect_eq(vfs_getattr(&f.ctx, &ref, &st), 0);
	vref_put(&ref);
	return st;
}

static int find(const char *path)
{
	struct vfs_at at = {NULL, path};
	struct vref ref = {0};
	int ret = vfs_lookup(&f.ctx, &at, VFS_FOLLOW, &ref);

	vref_put(&ref);
	return ret;
}

enum { OFTEN = 40 }; /* until all is marked that can be */

static void host_rename(const char *from, const char *to)
{
	char a[256];

	snprintf(a, sizeof(a), "%s", host_path(from));
	cr_assert_eq(rename(a, host_path(to)), 0);
}

static void warm(void)
{
	static const char *const names[] = {
		"/w/a",	  "/w/none",   "/w/h1",	      "/w/h2",
		"/w/d/y", "/w/d/e/x",  "/w/l",	      "/w/d",
		"/w/d/e", "/w/d/none", "/w/d/e/none",
	};

	for (int i = 0; i < OFTEN; i++)
		for (size_t k = 0; k < ARRAY_SIZE(names); k++)
			(void)st_of(names[k]);
}

/* Each change is seen by the very next call. */
static void every_change_is_seen(void)
{
	char a[256];

	cr_assert_eq(st_of("/w/a").stx_size, 6);
	fx_host_file(&f, "a", "edited by the user");
	cr_expect_eq(st_of("/w/a").stx_size, 18);
	cr_expect_str_eq(fx_read(&f, "/w/a"), "edited by the user");
	cr_assert_eq(truncate(host_path("a"), 3), 0);
	cr_expect_eq(st_of("/w/a").stx_size, 3);
	cr_assert_eq(chmod(host_path("a"), 0600), 0);
	cr_expect_eq(st_of("/w/a").stx_mode & 07777, 0600);

	fx_host_file(&f, "new", "replaced");
	host_rename("new", "a");
	cr_expect_str_eq(fx_read(&f, "/w/a"), "replaced");
	cr_expect_eq(find("/w/new"), -ENOENT);
	cr_assert_eq(unlink(host_path("a")), 0);
	cr_expect_eq(find("/w/a"), -ENOENT);
	fx_host_file(&f, "a", "again");
	cr_expect_str_eq(fx_read(&f, "/w/a"), "again");

	cr_expect_eq(find("/w/none"), -ENOENT);
	fx_host_file(&f, "none", "there");
	cr_expect_eq(find("/w/none"), 0);
	fx_host_file(&f, "d/e/none", "there");
	cr_expect_str_eq(fx_read(&f, "/w/d/e/none"), "there");

	/* By the other name, and by one that was made meanwhile. */
	fx_host_file(&f, "h2", "by h2, longer");
	cr_expect_eq(st_of("/w/h1").stx_size, 13);
	snprintf(a, sizeof(a), "%s", host_path("d/y"));
	cr_assert_eq(link(a, host_path("d/far")), 0);
	fx_host_file(&f, "d/far", "by far, longer");
	cr_expect_eq(st_of("/w/d/y").stx_size, 14);
	cr_expect_eq(st_of("/w/d/y").stx_nlink, 2);

	cr_assert_eq(unlink(host_path("l")), 0);
	cr_assert_eq(symlink("d/e/x", host_path("l")), 0);
	cr_expect_str_eq(fx_read(&f, "/w/l"), "x in e\n");

	cr_assert_eq(chmod(host_path("d/e"), 0711), 0);
	cr_expect_eq(st_of("/w/d/e").stx_mode & 07777, 0711);
	host_rename("d/e", "moved");
	cr_expect_eq(find("/w/d/e"), -ENOENT);
	cr_expect_eq(find("/w/d/e/x"), -ENOENT);
	cr_expect_str_eq(fx_read(&f, "/w/moved/x"), "x in e\n");
	cr_assert_eq(mkdir(host_path("d/e"), 0755), 0);
	cr_expect_eq(find("/w/d/e"), 0);
	cr_expect_eq(find("/w/d/e/x"), -ENOENT);
	fx_host_file(&f, "d/e/x", "another");
	cr_expect_str_eq(fx_read(&f, "/w/d/e/x"), "another");
}

static void changes_are_seen(unsigned flags, size_t watches)
{
	fx_watches = watches;
	begin(flags);
	warm();
	every_change_is_seen();
	end();
}

Test(hostchange, every_change_is_seen_at_once)
{
	changes_are_seen(VFS_MNT_WATCH, 0);
}

Test(hostchange, every_change_of_a_direct_mount_is_seen_at_once)
{
	changes_are_seen(VFS_MNT_DIRECT, 0);
}

Test(hostchange, every_change_is_seen_without_watches)
{
	changes_are_seen(VFS_MNT_WATCH, HOST_WATCHES_NONE);
}

Test(hostchange, every_change_is_seen_with_two_watches)
{
	changes_are_seen(VFS_MNT_WATCH, 2);
}

Test(hostchange, overflow_of_the_queue_makes_all_stale)
{
	AUTO_CLOSE int n =
		open("/proc/sys/fs/inotify/max_queued_events", O_RDONLY);
	char text[32] = "", path[256];
	long max;

	cr_assert_gt(read(n, text, sizeof(text) - 1), 0);
	max = strtol(text, NULL, 10);
	if (max > 100000)
		cr_skip_test("the queue is too long to be filled here");
	begin(VFS_MNT_WATCH);
	warm();
	snprintf(path, sizeof(path), "%s", host_path("d/y"));
	for (long i = 0; i <= max; i += 2) { /* two names: not merged */
		cr_assert_eq(chmod(path, 0644), 0);
		cr_assert_eq(chmod(host_path("d/e"), 0755), 0);
	}
	every_change_is_seen();
	end();
}

Test(hostchange, mount_over_a_known_directory_is_seen)
{
	if (geteuid() || unshare(CLONE_NEWNS) ||
	    mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL))
		cr_skip_test("mounting needs root");
	begin(VFS_MNT_WATCH);
	warm();
	cr_assert_eq(mount("x", host_path("d/e"), "tmpfs", 0, NULL), 0);
	cr_expect_eq(find("/w/d/e/x"), -ENOENT);
	fx_host_file(&f, "d/e/z", "on top");
	cr_expect_str_eq(fx_read(&f, "/w/d/e/z"), "on top");
	cr_assert_eq(umount2(host_path("d/e"), MNT_DETACH), 0);
	cr_expect_str_eq(fx_read(&f, "/w/d/e/x"), "x in e\n");
	cr_expect_eq(find("/w/d/e/z"), -ENOENT);
	end();
}

Test(hostchange, what_is_asked_often_gets_a_watch)
{
	begin(VFS_MNT_WATCH);
	warm();
	cr_assert_not_null(f.vfs->hostwatch);
	cr_expect_geq(hostwatch_count(f.vfs->hostwatch), 6);
	end();
}

Test(hostchange, random_changes_are_never_seen_late)
{
	static const char *const dirs[] = {"", "d/", "d/e/"};
	unsigned seed = 12345;
	char v[64], r[256], to[256];

	begin(VFS_MNT_WATCH);
	for (int i = 0; i < 6000; i++) {
		const char *d = dirs[rand_r(&seed) % 3];
		int k = rand_r(&seed) % 4;
		struct statx st;
		struct stat real;

		snprintf(r, sizeof(r), "%s/%sn%d", f.host, d, k);
		snprintf(to, sizeof(to), "%s/%sn%d", f.host,
			 dirs[rand_r(&seed) % 3], rand_r(&seed) % 4);
		switch (rand_r(&seed) % 8) {
		case 0:
			(void)!rename(r, to);
			break;
		case 1:
			(void)!unlink(r);
			break;
		case 2:
			(void)!link(r, to);
			break;
		case 3:
			close(open(r, O_CREAT | O_WRONLY | O_TRUNC, 0644));
			break;
		case 4:
			(void)!truncate(r, rand_r(&seed) % 1000);
			break;
		case 5:
			(void)!chmod(r, 0600 + rand_r(&seed) % 64);
			break;
		}
		snprintf(v, sizeof(v), "/w/%sn%d", d, rand_r(&seed) % 4);
		snprintf(r, sizeof(r), "%s%s", f.host, v + 2);
		st = st_of(v);
		if (lstat(r, &real) < 0) {
			cr_assert_eq(st.stx_mask, 0, "%s at %d", v, i);
			continue;
		}
		cr_assert_neq(st.stx_mask, 0, "%s at %d", v, i);
		cr_assert_eq(st.stx_size, (uint64_t)real.st_size, "%s at %d", v,
			     i);
		cr_assert_eq(st.stx_mode, real.st_mode, "%s at %d", v, i);
		cr_assert_eq(st.stx_nlink, real.st_nlink, "%s at %d", v, i);
		cr_assert_eq(st.stx_ino, real.st_ino, "%s at %d", v, i);
	}
	end();
}

/* ---- names that both make and remove --------------------------------- */

enum { NAMES = 12 };
enum view { HOSTS, GUESTS, HIDDEN };

static const char *name_of(int k)
{
	static const char *const dirs[] = {"", "d/", "d/e/"};
	static char text[32];

	snprintf(text, sizeof(text), "%sn%d", dirs[k % 3], k);
	return text;
}

static bool host_has(int k)
{
	return access(host_path(name_of(k)), F_OK) == 0;
}

static char *guest_path(char *buf, int k)
{
	snprintf(buf, 64, "/w/%s", name_of(k));
	return buf;
}

static void name_is(int k, const enum view *view, int at)
{
	char path[64];
	struct statx st = st_of(guest_path(path, k));
	const uint64_t size = view[k] == GUESTS ? 0 : 3;

	if (view[k] == HIDDEN || (view[k] == HOSTS && !host_has(k)))
		cr_assert_eq(st.stx_mask, 0, "%s at %d", path, at);
	else
		cr_assert(st.stx_mask && st.stx_size == size, "%s at %d", path,
			  at);
}

/* What is left at k once the guest's own has gone from it. */
static enum view left_at(int k)
{
	return host_has(k) ? HIDDEN : HOSTS;
}

static void guest_acts(unsigned *seed, enum view *view, int k)
{
	const int other = rand_r(seed) % NAMES;
	const bool there =
		view[k] == GUESTS || (view[k] == HOSTS && host_has(k));
	char path[64], to[64];
	int fd;

	guest_path(path, k);
	guest_path(to, other);
	switch (rand_r(seed) % 4) {
	case 0:
	case 1:
		if (there)
			break;
		fd = fx_open(&f, path, O_CREAT | O_EXCL | O_WRONLY, 0644);
		cr_assert_geq(fd, 0);
		close(fd);
		view[k] = GUESTS;
		break;
	case 2:
		cr_assert_eq(fx_unlink(&f, path), there ? 0 : -ENOENT);
		if (there)
			view[k] = left_at(k);
		break;
	case 3:
		if (view[k] != GUESTS || other == k)
			break;
		cr_assert_eq(fx_rename(&f, path, to, 0), 0);
		view[other] = GUESTS;
		view[k] = left_at(k);
		break;
	}
}

static void both_make_and_remove(size_t watches)
{
	enum view view[NAMES] = {HOSTS};
	unsigned seed = 4711;

	fx_watches = watches;
	begin(VFS_MNT_WATCH);
	warm();
	for (int i = 0; i < 6000; i++) {
		const int k = rand_r(&seed) % NAMES;

		switch (rand_r(&seed) % 5) {
		case 0:
			fx_host_file(&f, name_of(k), "abc");
			break;
		case 1:
			(void)!unlink(host_path(name_of(k)));
			break;
		default:
			guest_acts(&seed, view, k);
		}
		name_is(rand_r(&seed) % NAMES, view, i);
		if (rand_r(&seed) % 2)
			name_is(k, view, i);
	}
	end();
}

Test(hostchange, what_is_hidden_stays_so_and_nothing_else)
{
	both_make_and_remove(0);
}

Test(hostchange, what_is_hidden_stays_so_without_watches)
{
	both_make_and_remove(HOST_WATCHES_NONE);
}

Test(hostchange, what_is_hidden_stays_so_with_two_watches)
{
	both_make_and_remove(2);
}
