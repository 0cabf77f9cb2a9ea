/*
 * snapshot_test.c - snapshots, restores and forks of a vfs (fs/snapshot.h).
 */
#include "overlay_fixture.h"
#include "../../fs/snapshot.h"

#include <sys/mman.h>
#include <sys/vfs.h>
#include <sys/xattr.h>

static struct fixture f, c;

static void setup(void)
{
	umask(022);
	fixture_init(&f, 0);
}

static void child_fini(void)
{
	if (!c.vfs)
		return;
	vfs_free(c.vfs);
	if (c.shm[0])
		cr_expect_eq(rmdir(c.shm), 0, "the fork's store is left");
	c.vfs = NULL;
}

static void teardown(void)
{
	child_fini();
	fixture_fini(&f);
}

TestSuite(snapshot, .init = setup, .fini = teardown, .timeout = 60);

static struct snapshot *take(bool idle)
{
	struct snapshot *s = NULL;

	cr_assert_eq(snapshot_take(f.vfs, idle, &s), 0);
	return s;
}

static void child_mount(void)
{
	memset(&c, 0, sizeof(c));
	memcpy(c.host, f.host, sizeof(c.host));
	c.flags = f.flags;
	c.hash = f.hash;
	fixture_mount(&c);
}

static void child_init(const struct snapshot *s)
{
	int fds[64];

	child_mount();
	cr_assert_eq(snapshot_share(s, fds), 0);
	cr_assert_eq(snapshot_adopt(c.vfs, s->data, s->len, fds, s->nlayers),
		     0);
}

static void fork_now(void)
{
	struct snapshot *s = take(true);

	child_init(s);
	snapshot_free(s);
}

static void same_diff(void)
{
	char *mine = xstrdup(fx_diff(&f));

	cr_expect_str_eq(mine, fx_diff(&c));
	free(mine);
}

static int set_xattr(struct fixture *x, const char *path, const char *name,
		     const char *value)
{
	struct vref ref = fx_ref(x, path);
	int ret = vfs_setxattr(&x->ctx, &ref, name, value, strlen(value), 0);

	vref_put(&ref);
	return ret;
}

static const char *get_xattr(struct fixture *x, const char *path,
			     const char *name)
{
	struct vref ref = fx_ref(x, path);
	ssize_t n = vfs_getxattr(&x->ctx, &ref, name, x->text, 100);

	x->text[n < 0 ? 0 : n] = '\0';
	vref_put(&ref);
	return x->text;
}

static bool same_stat(const struct statx *a, const struct statx *b)
{
	return a->stx_ino == b->stx_ino && a->stx_mode == b->stx_mode &&
	       a->stx_nlink == b->stx_nlink && a->stx_size == b->stx_size &&
	       a->stx_uid == b->stx_uid && a->stx_gid == b->stx_gid &&
	       !memcmp(&a->stx_mtime, &b->stx_mtime, sizeof(a->stx_mtime)) &&
	       !memcmp(&a->stx_ctime, &b->stx_ctime, sizeof(a->stx_ctime)) &&
	       !memcmp(&a->stx_atime, &b->stx_atime, sizeof(a->stx_atime));
}

/* ---- what a fork has ------------------------------------------------- */

Test(snapshot, fork_has_every_kind_of_change)
{
	struct vfs_at fifo = {NULL, "/w/pipe"}, link = {NULL, "/w/new/ln"};
	const char *const paths[] = {
		"/w/a",	   "/w/new",   "/w/new/f",     "/w/new/g", "/w/new/ln",
		"/w/pipe", "/w/moved", "/w/moved/e/x", "/w/h2",	   "/w/l"};

	fx_append(&f, "/w/a", "beta\n");
	cr_assert_eq(fx_mkdir(&f, "/w/new", 02755), 0);
	fx_write(&f, "/w/new/f", "made here");
	cr_assert_eq(fx_link(&f, "/w/new/f", "/w/new/g"), 0);
	cr_assert_eq(vfs_symlink(&f.ctx, "../a", &link), 0);
	cr_assert_eq(vfs_mknod(&f.ctx, &fifo, S_IFIFO | 0640, 0, NULL), 0);
	cr_assert_eq(fx_rename(&f, "/w/d", "/w/moved", 0), 0);
	cr_assert_eq(fx_unlink(&f, "/w/moved/y"), 0);
	cr_assert_eq(fx_unlink(&f, "/w/h1"), 0);
	cr_assert_eq(fx_chmod(&f, "/w/h2", 0400), 0);
	cr_assert_eq(fx_mkdir(&f, "/w/d", 0700), 0);
	cr_assert_eq(set_xattr(&f, "/w/new/f", "user.k", "v"), 0);
	fork_now();
	same_diff();
	for (size_t i = 0; i < ARRAY_SIZE(paths); i++) {
		struct statx a = fx_stat(&f, paths[i]);
		struct statx b = fx_stat(&c, paths[i]);

		cr_expect(same_stat(&a, &b), "stat of %s", paths[i]);
	}
	cr_expect_str_eq(fx_read(&c, "/w/a"), "alpha\nbeta\n");
	cr_expect_str_eq(fx_read(&c, "/w/new/g"), "made here");
	cr_expect_str_eq(fx_read(&c, "/w/moved/e/x"), "x in e\n");
	cr_expect_str_eq(get_xattr(&c, "/w/new/g", "user.k"), "v");
	cr_expect_str_eq(fx_list(&c, "/w/d"), "");
	cr_expect_str_eq(fx_list(&c, "/w/moved"), "e");
	cr_expect_eq(fx_stat(&c, "/w/new/f").stx_nlink, 2);
}

Test(snapshot, fork_is_apart)
{
	struct vref ref;
	struct vfs_attr a = {.valid = VFS_ATTR_MTIME, .mtime = {12345, 0}};
	int r, w;

	fx_write(&f, "/w/one", "first");
	fx_write(&f, "/w/two", "first");
	fork_now();
	r = fx_open(&c, "/w/one", O_RDONLY, 0);
	fx_append(&f, "/w/one", " and mine");
	fx_append(&c, "/w/two", " and its own");
	cr_expect_str_eq(fx_read(&f, "/w/two"), "first");
	cr_expect_str_eq(fx_read(&c, "/w/one"), "first");
	cr_expect_eq(write(r, "x", 1), -1, "what is shared cannot be written");
	close(r);
	/* Metadata is each one's own. */
	cr_expect_eq(fx_chmod(&c, "/w/one", 0600), 0);
	cr_expect_eq(set_xattr(&c, "/w/one", "user.k", "v"), 0);
	ref = fx_ref(&c, "/w/one");
	cr_expect_eq(vfs_setattr(&c.ctx, &ref, &a), 0);
	vref_put(&ref);
	cr_expect_eq(fx_stat(&f, "/w/one").stx_mode & 0777, 0644);
	cr_expect_neq(fx_stat(&f, "/w/one").stx_mtime.tv_sec, 12345);
	cr_expect_eq(fx_stat(&c, "/w/one").stx_mtime.tv_sec, 12345);
	cr_expect_str_eq(get_xattr(&f, "/w/one", "user.k"), "");
	/* So are truncations, and names. */
	w = fx_open(&c, "/w/one", O_WRONLY | O_TRUNC, 0);
	close(w);
	cr_expect_str_eq(fx_read(&f, "/w/one"), "first and mine");
	cr_expect_eq(fx_unlink(&c, "/w/two"), 0);
	cr_expect_str_eq(fx_read(&f, "/w/two"), "first");
}

Test(snapshot, parent_may_go_first)
{
	fx_write(&f, "/w/one", "first");
	fork_now();
	cr_expect_eq(fx_unlink(&f, "/w/one"), 0);
	fixture_fini(&f);
	fixture_init(&f, 0);
	cr_expect_str_eq(fx_read(&c, "/w/one"), "first");
}

Test(snapshot, fork_of_a_fork)
{
	struct snapshot *s;
	struct fixture g;
	int fds[16];

	fx_write(&f, "/w/one", "first");
	fork_now();
	fx_write(&c, "/w/two", "second");
	cr_assert_eq(snapshot_take(c.vfs, true, &s), 0);
	g = c;
	child_mount();
	cr_assert_eq(snapshot_share(s, fds), 0);
	cr_assert_eq(snapshot_adopt(c.vfs, s->data, s->len, fds, s->nlayers),
		     0);
	snapshot_free(s);
	vfs_free(g.vfs);
	cr_expect_str_eq(fx_read(&c, "/w/one"), "first");
	fx_append(&c, "/w/one", "!");
	if (!g.shm[0])
		cr_expect_str_eq(fx_read(&c, "/w/two"), "second");
	else
		rmdir(g.shm);
	cr_expect_str_eq(fx_read(&f, "/w/one"), "first");
}

/* Nobody has asked for their numbers. */
Test(snapshot, directories_that_were_never_opened)
{
	cr_assert_eq(fx_mkdir(&f, "/w/top", 0755), 0);
	cr_assert_eq(fx_mkdir(&f, "/w/new", 0755), 0);
	cr_assert_eq(fx_mkdir(&f, "/w/new/in", 0755), 0);
	cr_assert_eq(fx_mkdir(&f, "/w/d/in", 0755), 0);
	for (int round = 0; round < 2; round++) {
		fork_now();
		same_diff();
		for (int k = 0; k < 2; k++) {
			struct fixture *x = k ? &c : &f;

			fx_write(x, "/w/top/file", k ? "its" : "mine");
			fx_write(x, "/w/new/in/file", k ? "its" : "mine");
			fx_write(x, "/w/d/in/file", k ? "its" : "mine");
			cr_assert_eq(fx_mkdir(x, "/w/new/in/more", 0755), 0);
			cr_assert_eq(fx_rmdir(x, "/w/new/in/more"), 0);
			cr_expect_str_eq(fx_list(x, "/w/new/in"), "file");
		}
		cr_expect_str_eq(fx_read(&f, "/w/new/in/file"), "mine");
		cr_expect_str_eq(fx_read(&c, "/w/new/in/file"), "its");
		cr_expect_str_eq(fx_read(&c, "/w/top/file"), "its");
		child_fini();
	}
}

/* ---- going back ------------------------------------------------------ */

Test(snapshot, restore_brings_everything_back)
{
	struct snapshot *s;
	char *diff;

	fx_write(&f, "/w/one", "first");
	cr_assert_eq(fx_rename(&f, "/w/d", "/w/moved", 0), 0);
	cr_assert_eq(fx_unlink(&f, "/w/h1"), 0);
	s = take(true);
	diff = xstrdup(fx_diff(&f));
	for (int i = 0; i < 3; i++) {
		fx_append(&f, "/w/one", "more");
		cr_assert_eq(fx_rename(&f, "/w/moved", "/w/d", 0), 0);
		cr_assert_eq(fx_unlink(&f, "/w/a"), 0);
		cr_assert_eq(fx_chmod(&f, "/w/big", 0), 0);
		cr_assert_eq(fx_mkdir(&f, "/w/a", 0755), 0);
		fx_write(&f, "/w/a/b", "new");
		cr_assert_eq(snapshot_restore(f.vfs, s), 0);
		cr_expect_str_eq(fx_diff(&f), diff);
		cr_expect_str_eq(fx_read(&f, "/w/one"), "first");
		cr_expect_str_eq(fx_read(&f, "/w/a"), "alpha\n");
		cr_expect_str_eq(fx_list(&f, "/w/moved"), "e y");
	}
	free(diff);
	snapshot_free(s);
	fx_append(&f, "/w/one", "!");
	cr_expect_str_eq(fx_read(&f, "/w/one"), "first!");
}

Test(snapshot, rules_of_a_moved_directory_stay)
{
	struct snapshot *s;
	struct vref ref;

	cr_assert_eq(fx_rename(&f, "/w/d", "/w/moved", 0), 0);
	ref = fx_ref(&f, "/w/moved");
	dentry_origin_set(f.vfs, ref.inode, "/w/d");
	vref_put(&ref);
	s = take(true);
	cr_assert_eq(snapshot_restore(f.vfs, s), 0);
	child_init(s);
	snapshot_free(s);
	ref = fx_ref(&f, "/w/moved");
	cr_expect_str_eq(dentry_origin(ref.inode), "/w/d");
	vref_put(&ref);
	ref = fx_ref(&c, "/w/moved");
	cr_expect_str_eq(dentry_origin(ref.inode), "/w/d");
	vref_put(&ref);
}

/* ---- while programs run ---------------------------------------------- */

Test(snapshot, open_file_is_copied)
{
	struct snapshot *s;
	int w;
	char *map;

	fx_write(&f, "/w/log", "one\n");
	fx_write(&f, "/w/map", "aaaa");
	w = fx_open(&f, "/w/log", O_WRONLY | O_APPEND, 0);
	{
		int m = fx_open(&f, "/w/map", O_RDWR, 0);

		map = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, m,
			   0);
		cr_assert_neq(map, MAP_FAILED);
		close(m);
	}
	s = take(false);
	cr_assert_eq(write(w, "two\n", 4), 4);
	map[0] = 'X';
	cr_expect_str_eq(fx_read(&f, "/w/log"), "one\ntwo\n");
	cr_expect_str_eq(fx_read(&f, "/w/map"), "Xaaa");
	child_init(s);
	cr_expect_str_eq(fx_read(&c, "/w/log"), "one\n");
	cr_expect_str_eq(fx_read(&c, "/w/map"), "aaaa");
	snapshot_free(s);
	close(w);
	munmap(map, 4096);
}

static int watch(const char *path, uint32_t mask)
{
	struct vref ref = fx_ref(&f, path);
	int in = inotify_init1(IN_NONBLOCK), target;
	char name[64];

	cr_assert_eq(vfs_watch_target(&f.ctx, &ref, true, &target), 0);
	snprintf(name, sizeof(name), "/proc/self/fd/%d", target);
	cr_assert_geq(inotify_add_watch(in, name, mask), 0);
	close(target);
	vref_put(&ref);
	return in;
}

Test(snapshot, watchers_see_nothing_of_it)
{
	char buf[4096];
	struct snapshot *s;
	int dir, file;

	cr_assert_eq(fx_mkdir(&f, "/w/new", 0755), 0);
	cr_assert_eq(fx_mkdir(&f, "/w/new/sub", 0755), 0);
	fx_write(&f, "/w/new/one", "1");
	fx_write(&f, "/w/new/sub/two", "2");
	fx_write(&f, "/w/three", "3");
	dir = watch("/w/new", IN_ALL_EVENTS);
	file = watch("/w/three", IN_ALL_EVENTS & ~IN_OPEN);
	s = take(false);
	cr_expect_lt(read(dir, buf, sizeof(buf)), 0, "an event in a directory");
	fx_append(&f, "/w/new/one", "1");
	cr_expect_gt(read(dir, buf, sizeof(buf)), 0, "no event afterwards");
	while (read(file, buf, sizeof(buf)) > 0) {
		struct inotify_event *e = (struct inotify_event *)buf;

		cr_expect(e->mask & (IN_ACCESS | IN_CLOSE),
			  "event %x of a file", e->mask);
	}
	fx_append(&f, "/w/three", "3");
	cr_expect_gt(read(file, buf, sizeof(buf)), 0, "no event of the file");
	close(dir);
	close(file);
	snapshot_free(s);
}

/* ---- space ----------------------------------------------------------- */

static uint64_t used(void)
{
	struct statfs st;

	cr_assert_eq(fstatfs(store_root_fd(vfs_store(f.vfs)), &st), 0);
	return (uint64_t)(st.f_blocks - st.f_bfree) * (uint64_t)st.f_bsize;
}

/* Files are removed by threads. */
static bool used_at_most(uint64_t bytes)
{
	for (int i = 0; i < 2000 && used() > bytes; i++)
		usleep(1000);
	return used() <= bytes;
}

static void write_big(struct fixture *x, const char *path)
{
	static char data[1 << 20];
	int fd = fx_open(x, path, O_CREAT | O_WRONLY | O_TRUNC, 0644);

	for (int i = 0; i < 16; i++)
		cr_assert_eq(write(fd, data, sizeof(data)), sizeof(data));
	close(fd);
}

Test(snapshot, space_comes_back)
{
	struct snapshot *s;
	uint64_t before;

	if (f.shm[0])
		cr_skip_test("needs a file system of its own");
	before = used() + (1 << 20);
	write_big(&f, "/w/big1");
	s = take(true);
	write_big(&f, "/w/big1");
	cr_expect_gt(used(), 30 << 20, "both versions are there");
	snapshot_free(s);
	snapshot_sweep(f.vfs);
	cr_expect(used_at_most(before + (16 << 20)), "the old one is left");
	s = take(true);
	snapshot_free(s);
	cr_assert_eq(fx_unlink(&f, "/w/big1"), 0);
	cr_expect(used_at_most(before), "an unlinked file is left");
	write_big(&f, "/w/big1");
	fork_now();
	cr_assert_eq(fx_unlink(&f, "/w/big1"), 0);
	cr_expect_gt(used(), 15 << 20, "the fork needs it");
	child_fini();
	snapshot_sweep(f.vfs);
	cr_expect(used_at_most(before), "the fork has gone");
	write_big(&f, "/w/big1");
	fork_now();
	cr_assert_eq(fx_unlink(&f, "/w/big1"), 0);
	child_fini();
	cr_expect(used_at_most(before), "a fork's last file is left");
}

Test(snapshot, no_space_no_change)
{
	struct snapshot *s = NULL;
	static char data[1 << 20];
	int w, fill;

	if (f.shm[0])
		cr_skip_test("needs a file system with a size");
	fx_write(&f, "/w/one", "first");
	write_big(&f, "/w/open");
	w = fx_open(&f, "/w/open", O_WRONLY, 0);
	fill = fx_open(&f, "/w/fill", O_CREAT | O_WRONLY, 0644);
	while (write(fill, data, sizeof(data)) > 0)
		;
	cr_assert_eq(ftruncate(fill, lseek(fill, 0, SEEK_END) - (4 << 20)), 0);
	close(fill);
	cr_expect_eq(snapshot_take(f.vfs, false, &s), -ENOSPC);
	cr_expect_str_eq(fx_read(&f, "/w/one"), "first");
	fx_append(&f, "/w/one", "!");
	cr_expect_str_eq(fx_read(&f, "/w/one"), "first!");
	cr_assert_eq(fx_unlink(&f, "/w/fill"), 0);
	vfs_poll(f.vfs);
	cr_expect_eq(snapshot_take(f.vfs, false, &s), 0);
	snapshot_free(s);
	close(w);
}

/* ---- hostile bytes --------------------------------------------------- */

static void adopt_broken(const struct snapshot *s, const char *data, size_t len)
{
	int fds[16], ret;

	child_mount();
	cr_assert_eq(snapshot_share(s, fds), 0);
	ret = snapshot_adopt(c.vfs, data, len, fds, s->nlayers);
	cr_expect(ret == 0 || ret == -EBADMSG || ret == -ESTALE);
	if (!ret) { /* what was taken must hold together */
		fx_list(&c, "/w");
		fx_diff(&c);
	}
	child_fini();
}

Test(snapshot, broken_bytes_are_refused)
{
	struct snapshot *s;
	AUTO_FREE char *data = NULL;
	uint64_t seed = 4711;

	fx_write(&f, "/w/one", "first");
	cr_assert_eq(fx_rename(&f, "/w/d", "/w/moved", 0), 0);
	cr_assert_eq(fx_unlink(&f, "/w/h1"), 0);
	s = take(true);
	data = xmalloc(s->len);
	for (size_t len = 0; len < s->len; len += 97)
		adopt_broken(s, s->data, len);
	for (int i = 0; i < 300; i++) {
		memcpy(data, s->data, s->len);
		for (int k = 0; k < 3; k++) {
			seed = hash_u64(seed, 1);
			data[seed % s->len] = (char)(seed >> 40);
		}
		adopt_broken(s, data, s->len);
	}
	snapshot_free(s);
}
