/*
 * overlay_test.c - the overlay over a temporary host tree, through the VFS.
 */
#include "overlay_fixture.h"

#include <poll.h>
#include <sched.h>

static struct fixture f;

static void setup(void)
{
	fixture_init(&f, 0);
}

static void teardown(void)
{
	fixture_fini(&f);
}

TestSuite(overlay, .init = setup, .fini = teardown, .timeout = 60);

Test(overlay, reads_lower_file)
{
	cr_assert_str_eq(fx_read(&f, "/w/a"), "alpha\n");
}

Test(overlay, write_copies_up_and_host_is_unchanged)
{
	struct statx before = fx_stat(&f, "/w/a"), after;

	fx_append(&f, "/w/a", "more\n");
	cr_assert_str_eq(fx_read(&f, "/w/a"), "alpha\nmore\n");
	after = fx_stat(&f, "/w/a");
	cr_assert_eq(before.stx_ino, after.stx_ino);
	cr_assert_eq(before.stx_mode, after.stx_mode);
	cr_assert_eq(after.stx_size, 11);
}

Test(overlay, copy_up_keeps_times_until_a_write)
{
	struct statx before = fx_stat(&f, "/w/a"), after;
	int fd = fx_open(&f, "/w/a", O_RDWR, 0);

	after = fx_stat(&f, "/w/a");
	cr_assert_eq(before.stx_mtime.tv_nsec, after.stx_mtime.tv_nsec);
	cr_assert_eq(before.stx_ctime.tv_nsec, after.stx_ctime.tv_nsec);
	cr_assert_eq(before.stx_ctime.tv_sec, after.stx_ctime.tv_sec);
	cr_assert_eq(write(fd, "x", 1), 1);
	after = fx_stat(&f, "/w/a");
	cr_assert_neq(before.stx_ctime.tv_nsec, after.stx_ctime.tv_nsec);
	close(fd);
}

Test(overlay, copy_up_big_by_job)
{
	int fd = fx_open(&f, "/w/big", O_RDWR, 0);
	struct stat st;

	cr_assert(f.jobs > 0);
	cr_assert_eq(fstat(fd, &st), 0);
	cr_assert_eq(st.st_size, FX_BIG);
	cr_assert(st.st_blocks < 2 * 1024 * 1024 / 512, "holes were kept");
	close(fd);
}

Test(overlay, truncating_open_copies_nothing)
{
	int fd = fx_open(&f, "/w/big", O_WRONLY | O_TRUNC, 0);

	cr_assert_eq(f.jobs, 0);
	cr_assert_eq(fx_stat(&f, "/w/big").stx_size, 0);
	close(fd);
}

Test(overlay, unlink_makes_a_whiteout)
{
	cr_assert_eq(fx_unlink(&f, "/w/a"), 0);
	cr_assert_eq(fx_try_open(&f, "/w/a", O_RDONLY, 0), -ENOENT);
	cr_assert_eq(fx_unlink(&f, "/w/a"), -ENOENT);
	fx_write(&f, "/w/a", "new");
	cr_assert_str_eq(fx_read(&f, "/w/a"), "new");
}

Test(overlay, new_directory_over_deleted_one_is_opaque)
{
	cr_assert_eq(fx_rmdir(&f, "/w/d"), -ENOTEMPTY);
	cr_assert_eq(fx_unlink(&f, "/w/d/e/x"), 0);
	cr_assert_eq(fx_rmdir(&f, "/w/d/e"), 0);
	cr_assert_eq(fx_unlink(&f, "/w/d/y"), 0);
	cr_assert_eq(fx_rmdir(&f, "/w/d"), 0);
	cr_assert_eq(fx_mkdir(&f, "/w/d", 0755), 0);
	cr_assert_str_eq(fx_list(&f, "/w/d"), "");
	cr_assert_eq(fx_try_open(&f, "/w/d/y", O_RDONLY, 0), -ENOENT);
}

Test(overlay, rename_of_lower_directory_keeps_its_content)
{
	uint64_t ino = fx_stat(&f, "/w/d").stx_ino;

	cr_assert_eq(fx_rename(&f, "/w/d", "/w/moved", 0), 0);
	cr_assert_str_eq(fx_read(&f, "/w/moved/e/x"), "x in e\n");
	cr_assert_eq(fx_stat(&f, "/w/moved").stx_ino, ino);
	cr_assert_eq(fx_try_open(&f, "/w/d/y", O_RDONLY, 0), -ENOENT);
	fx_append(&f, "/w/moved/e/x", "!");
	cr_assert_str_eq(fx_read(&f, "/w/moved/e/x"), "x in e\n!");
	cr_assert_eq(fx_rename(&f, "/w/moved/e", "/w/e2", 0), 0);
	cr_assert_str_eq(fx_read(&f, "/w/e2/x"), "x in e\n!");
	cr_assert_eq(fx_rename(&f, "/w/moved", "/w/d", 0), 0);
	cr_assert_str_eq(fx_read(&f, "/w/d/y"), "y\n");
}

Test(overlay, rename_exchange_of_file_and_directory)
{
	cr_assert_eq(fx_rename(&f, "/w/a", "/w/d", 2), 0);
	cr_assert_str_eq(fx_read(&f, "/w/d"), "alpha\n");
	cr_assert_str_eq(fx_read(&f, "/w/a/y"), "y\n");
	cr_assert_eq(fx_rename(&f, "/w/a", "/w/a/y", 2), -EINVAL);
}

Test(overlay, lower_hard_links_stay_one_file)
{
	cr_assert_eq(fx_stat(&f, "/w/h1").stx_nlink, 2);
	fx_append(&f, "/w/h1", "+");
	cr_assert_str_eq(fx_read(&f, "/w/h2"), "hard+");
	cr_assert_eq(fx_unlink(&f, "/w/h1"), 0);
	cr_assert_str_eq(fx_read(&f, "/w/h2"), "hard+");
	cr_assert_eq(fx_stat(&f, "/w/h2").stx_nlink, 1);
	fx_append(&f, "/w/h2", "+");
	cr_assert_str_eq(fx_read(&f, "/w/h2"), "hard++");
}

Test(overlay, link_and_unlink_as_dpkg_does)
{
	fx_write(&f, "/w/n", "1");
	cr_assert_eq(fx_link(&f, "/w/n", "/w/m"), 0);
	cr_assert_eq(fx_stat(&f, "/w/n").stx_nlink, 2);
	cr_assert_eq(fx_unlink(&f, "/w/m"), 0);
	cr_assert_eq(fx_link(&f, "/w/n", "/w/m"), 0);
	cr_assert_eq(fx_link(&f, "/w/a", "/w/a2"), 0);
	cr_assert_eq(fx_rename(&f, "/w/n", "/w/a", 0), 0);
	cr_assert_str_eq(fx_read(&f, "/w/a2"), "alpha\n");
	cr_assert_str_eq(fx_read(&f, "/w/a"), "1");
}

Test(overlay, chmod_survives_eviction_and_copies_nothing)
{
	cr_assert_eq(fx_chmod(&f, "/w/big", 0751), 0);
	cr_assert_eq(f.jobs, 0);
	cr_assert_eq(fx_stat(&f, "/w/big").stx_mode & 07777, 0751);
	cr_assert_eq(fx_stat(&f, "/w/big").stx_size, FX_BIG);
}

Test(overlay, native_write_clears_set_id)
{
	int fd = fx_open(&f, "/w/s", O_CREAT | O_RDWR, 0755);

	cr_assert_eq(fx_chmod(&f, "/w/s", 04755), 0);
	cr_assert_eq(fx_stat(&f, "/w/s").stx_mode & 07777, 04755);
	close(fd);
}

Test(overlay, unlinked_open_file_reopens)
{
	int fd = fx_open(&f, "/w/t", O_CREAT | O_RDWR, 0600);
	struct vref ref = {0};
	struct vfs_opened o;
	bool opath;
	struct stat st;
	char b[4] = "";

	cr_assert_eq(write(fd, "abc", 3), 3);
	cr_assert_eq(fx_unlink(&f, "/w/t"), 0);
	cr_assert_eq(vfs_identify(f.vfs, fd, &ref, &st, &opath), 0);
	cr_assert_eq(vfs_reopen(&f.ctx, &ref, O_RDONLY, &o), 0);
	cr_assert_eq(read(o.fd, b, 3), 3);
	cr_assert_str_eq(b, "abc");
	vfs_opened_fini(&o);
	vref_put(&ref);
	close(fd);
	vfs_poll(f.vfs);
	vfs_poll(f.vfs);
	cr_assert_eq(fx_side_count(&f), 0);
}

Test(overlay, tmpfile_can_be_linked)
{
	int fd = fx_open(&f, "/w", O_TMPFILE | O_RDWR, 0644);
	struct vfs_at to = {NULL, "/w/linked"};
	struct vref ref = {0};
	struct stat st;
	bool opath;

	cr_assert_eq(write(fd, "tmp", 3), 3);
	cr_assert_eq(vfs_identify(f.vfs, fd, &ref, &st, &opath), 0);
	cr_assert_eq(vfs_link(&f.ctx, &ref, &to), 0);
	vref_put(&ref);
	close(fd);
	vfs_poll(f.vfs);
	cr_assert_str_eq(fx_read(&f, "/w/linked"), "tmp");
	cr_assert_eq(fx_stat(&f, "/w/linked").stx_nlink, 1);
}

Test(overlay, closed_tmpfile_is_freed)
{
	int fd = fx_open(&f, "/w", O_TMPFILE | O_RDWR, 0644);

	close(fd);
	vfs_poll(f.vfs);
	vfs_poll(f.vfs);
	cr_assert_eq(fx_side_count(&f), 0);
}

Test(overlay, readdir_is_stable_while_entries_come_and_go)
{
	char name[300];
	int seen[500] = {0};
	struct fx_reader r;

	cr_assert_eq(fx_mkdir(&f, "/w/many", 0755), 0);
	for (int i = 0; i < 500; i++) {
		snprintf(name, sizeof(name), "/w/many/%d", i);
		fx_write(&f, name, "");
	}
	fx_reader_init(&r, &f, "/w/many");
	for (int i = 0; fx_reader_next(&r); i++) {
		if (r.name[0] == '.' || r.name[0] == 'n')
			continue;
		cr_assert_eq(seen[atoi(r.name)]++, 0);
		snprintf(name, sizeof(name), "/w/many/%s", r.name);
		cr_assert_eq(fx_unlink(&f, name), 0);
		snprintf(name, sizeof(name), "/w/many/n%d", i);
		if (i < 100)
			fx_write(&f, name, "");
	}
	for (int i = 0; i < 500; i++)
		cr_assert_eq(seen[i], 1, "%d", i);
	fx_reader_fini(&r);
}

/* The host's directory takes several reads. */
Test(overlay, large_lower_list_is_stable_while_names_go)
{
	enum { NAMES = 3000 };
	static int seen[NAMES];
	char path[160];
	struct fx_reader r;
	int n, count = 0;

	snprintf(path, sizeof(path), "%s/many", f.host);
	cr_assert_eq(mkdir(path, 0755), 0);
	for (int i = 0; i < NAMES; i++) {
		snprintf(path, sizeof(path), "many/a-rather-long-name-%d", i);
		fx_host_file(&f, path, "");
	}
	f.hash = fx_hash(f.host);
	fx_reader_init(&r, &f, "/w/many");
	while (fx_reader_next(&r)) {
		if (sscanf(r.name, "a-rather-long-name-%d", &n) != 1)
			continue;
		cr_assert_eq(seen[n]++, 0, "%d twice", n);
		snprintf(path, sizeof(path), "/w/many/a-rather-long-name-%d",
			 n);
		if (n % 3 != 2)
			cr_assert_eq(fx_unlink(&f, path), 0);
	}
	fx_reader_fini(&r);
	for (int i = 0; i < NAMES; i++) {
		cr_assert_eq(seen[i], 1, "%d", i);
		snprintf(path, sizeof(path), "/w/many/a-rather-long-name-%d",
			 i);
		if (i % 3 == 1) /* again, as one of the guest's own */
			fx_write(&f, path, "");
	}
	fx_reader_init(&r, &f, "/w/many");
	for (; fx_reader_next(&r); count++)
		cr_assert(sscanf(r.name, "a-rather-long-name-%d", &n) != 1 ||
			  n % 3);
	fx_reader_fini(&r);
	cr_assert_eq(count, NAMES / 3 * 2 + 2); /* with "." and ".." */
}

Test(overlay, merged_list_has_each_name_once)
{
	cr_assert_str_eq(fx_list(&f, "/w/d"), "e y");
	fx_append(&f, "/w/d/y", "z");
	fx_write(&f, "/w/d/new", "");
	cr_assert_str_eq(fx_list(&f, "/w/d"), "e new y");
	cr_assert_eq(fx_unlink(&f, "/w/d/y"), 0);
	cr_assert_str_eq(fx_list(&f, "/w/d"), "e new");
}

Test(overlay, xattrs_are_kept)
{
	struct vref ref = fx_ref(&f, "/w/a");
	char buf[32] = "";

	cr_assert_eq(vfs_setxattr(&f.ctx, &ref, "user.k", "v", 1, 0), 0);
	cr_assert_eq(vfs_getxattr(&f.ctx, &ref, "user.k", buf, 32), 1);
	cr_assert_eq(buf[0], 'v');
	cr_assert_eq(vfs_getxattr(&f.ctx, &ref, "user.z", buf, 32), -ENODATA);
	cr_assert_eq(vfs_removexattr(&f.ctx, &ref, "user.k"), 0);
	cr_assert_eq(vfs_listxattr(&f.ctx, &ref, buf, 0), 0);
	vref_put(&ref);
}

Test(overlay, host_fifos_and_sockets_are_not_shown)
{
	cr_assert_eq(fx_try_open(&f, "/w/fifo", O_RDONLY | O_NONBLOCK, 0),
		     -ENOENT);
}

Test(overlay, watched_directory_shows_delete_of_a_lower_file)
{
	struct vref ref = fx_ref(&f, "/w/d");
	char path[64], buf[1024];
	int fd, in = inotify_init1(IN_NONBLOCK);

	cr_assert_eq(vfs_watch_target(&f.ctx, &ref, false, &fd), 0);
	snprintf(path, sizeof(path), "/proc/self/fd/%d/.", fd);
	cr_assert(inotify_add_watch(in, path, IN_ALL_EVENTS) >= 0);
	cr_assert_eq(fx_unlink(&f, "/w/d/y"), 0);
	cr_assert(read(in, buf, sizeof(buf)) > 0);
	cr_assert(((struct inotify_event *)buf)->mask & IN_DELETE);
	cr_assert_str_eq(((struct inotify_event *)buf)->name, "y");
	vref_put(&ref);
	close(fd);
	close(in);
}

/* In a user namespace, whose limits are no others'. */
static bool inotify_limit(const char *name, const char *n)
{
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "/proc/sys/user/%s", name);
	fd = open(path, O_WRONLY);
	if (fd < 0 || write(fd, n, strlen(n)) < 0)
		return false;
	close(fd);
	return true;
}

static bool has_entries(int dir)
{
	struct dirent *e;
	DIR *d = fdopendir(openat(dir, ".", O_RDONLY | O_DIRECTORY));
	int n = 0;

	while ((e = readdir(d)))
		n += e->d_name[0] != '.';
	closedir(d);
	return n != 0;
}

/* The store asks each second. */
static bool emptied_in_time(int dir)
{
	struct pollfd p = {.fd = vfs_poll_fd(f.vfs), .events = POLLIN};

	for (int i = 0; i < 5 && has_entries(dir); i++)
		if (poll(&p, 1, 5000) == 1)
			vfs_poll(f.vfs);
	return !has_entries(dir);
}

static void unlinked_file_is_freed_without(const char *limit)
{
	int side = store_side_fd(vfs_store(f.vfs)), fd, one;

	fd = unshare(CLONE_NEWUSER) ? -1 : 0;
	if (fd < 0 || !inotify_limit(limit, "0"))
		cr_skip_test("no user namespace");
	fd = fx_open(&f, "/w/x", O_CREAT | O_RDWR, 0600);
	cr_assert_eq(fx_unlink(&f, "/w/x"), 0);
	cr_assert(has_entries(side));
	close(fd);
	cr_assert(emptied_in_time(side));
	/* One that was unlinked meanwhile is watched from now on. */
	fd = fx_open(&f, "/w/x", O_CREAT | O_RDWR, 0600);
	one = fx_open(&f, "/w/x", O_RDONLY, 0);
	cr_assert_eq(fx_unlink(&f, "/w/x"), 0);
	cr_assert(inotify_limit(limit, "100"));
	sleep(1);
	vfs_poll(f.vfs);
	close(fd);
	vfs_poll(f.vfs);
	cr_assert(has_entries(side));
	close(one);
	vfs_poll(f.vfs);
	cr_assert_not(has_entries(side));
}

Test(overlay, unlinked_file_is_freed_without_an_inotify_instance)
{
	unlinked_file_is_freed_without("max_inotify_instances");
}

Test(overlay, unlinked_file_is_freed_without_an_inotify_watch)
{
	unlinked_file_is_freed_without("max_inotify_watches");
}

Test(overlay, diff_lists_every_kind)
{
	fx_append(&f, "/w/a", "x");
	fx_write(&f, "/w/new", "12345");
	cr_assert_eq(fx_unlink(&f, "/w/h1"), 0);
	cr_assert_eq(fx_rename(&f, "/w/d", "/w/dd", 0), 0);
	fx_append(&f, "/w/dd/y", "!");
	cr_assert_eq(fx_chmod(&f, "/w/big", 0700), 0);
	close(fx_open(&f, "/w/h2", O_RDWR, 0));
	cr_assert_eq(fx_unlink(&f, "/w/l"), 0);
	cr_assert_eq(fx_mkdir(&f, "/w/l", 0755), 0);
	cr_assert_str_eq(fx_diff(&f),
			 "M /w/a|P /w/big|R /w/d>/w/dd|M /w/dd/y|D /w/h1|"
			 "T /w/l|A /w/new|");
}

Test(overlay, nothing_changed_is_no_diff)
{
	fx_write(&f, "/w/tmp", "1");
	cr_assert_eq(fx_unlink(&f, "/w/tmp"), 0);
	close(fx_open(&f, "/w/a", O_RDWR, 0));
	cr_assert_eq(fx_rename(&f, "/w/d", "/w/dd", 0), 0);
	cr_assert_eq(fx_rename(&f, "/w/dd", "/w/d", 0), 0);
	cr_assert_str_eq(fx_diff(&f), "");
}

Test(overlay, deep_directories_do_not_recurse)
{
	enum { DEPTH = 3000 };
	struct vref ref = fx_ref(&f, "/w");
	struct vfs_at at = {ref.dentry, "x"};
	struct vref dirs[2] = {ref, {0}};

	for (int i = 0; i < DEPTH; i++) {
		at.base = dirs[0].dentry;
		cr_assert_eq(vfs_mkdir(&f.ctx, &at, 0755), 0);
		cr_assert_eq(vfs_lookup(&f.ctx, &at, 0, &dirs[1]), 0);
		vref_put(&dirs[0]);
		dirs[0] = dirs[1];
	}
	vref_put(&dirs[0]);
}
