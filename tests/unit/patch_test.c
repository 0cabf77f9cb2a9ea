/*
 * patch_test.c - a patch of an overlay, applied to a copy of its lower tree,
 * gives what the guest sees.
 */
#include <limits.h>

#include "changes_fixture.h"

#include <sys/wait.h>

#include "../../fs/patch.h"

static struct fixture f;
static char dir[64];

static void setup(void)
{
	fixture_init(&f, 0);
	cx_host_tree(&f);
	snprintf(dir, sizeof(dir), "/tmp/ovpatchXXXXXX");
	cr_assert(mkdtemp(dir));
	cx_git = true;
}

static void teardown(void)
{
	fixture_fini(&f);
	nftw(dir, fx_rm_one, 16, FTW_PHYS | FTW_DEPTH);
}

TestSuite(patch, .init = setup, .fini = teardown);

static int write_to(void *arg, const char *data, size_t len)
{
	return fwrite(data, 1, len, arg) == len ? 0 : -EIO;
}

static void make_patch(void)
{
	AUTO_FREE char *path = xasprintf("%s/patch", dir);
	FILE *out = fopen(path, "w");
	struct patch_options o = {.root = "/w", .write = write_to, .arg = out};
	struct change_source src;
	struct change_list list;

	cr_assert(out);
	changes_from_vfs(&src, f.vfs);
	cr_assert_eq(changes_load(&src, CHANGES_IN_RENAMED, &list), 0);
	cr_assert_eq(patch_write(&src, &list, &o, NULL), 0);
	changes_free(&src, &list);
	fclose(out);
}

static int run(const char *fmt, ...)
{
	char cmd[1024];
	va_list ap;
	int ret;

	va_start(ap, fmt);
	vsnprintf(cmd, sizeof(cmd), fmt, ap);
	va_end(ap);
	ret = system(cmd);
	return WIFEXITED(ret) ? WEXITSTATUS(ret) : -1;
}

static void check_applied_by(const char *how)
{
	AUTO_FREE char *tree = xasprintf("%s/tree", dir);
	AUTO_FREE char *want = NULL;
	AUTO_FREE char *got = NULL;

	make_patch();
	cr_assert_eq(run("cp -a %s %s", f.host, tree), 0);
	cr_assert_eq(run("cd %s && %s", tree, how), 0);
	want = cx_guest(&f);
	got = cx_host(tree);
	cr_assert_str_eq(got, want);
}

Test(patch, git_apply_makes_the_guests_tree)
{
	cx_changes(&f);
	check_applied_by("git apply ../patch");
}

Test(patch, patch_p1_makes_the_guests_tree)
{
	int fd;

	/* Without what only git knows: binary files and odd names. */
	fx_append(&f, "/w/a", "more\n");
	fx_write(&f, "/w/new file", "added\n");
	cr_assert_eq(fx_mkdir(&f, "/w/nd", 0750), 0);
	fx_write(&f, "/w/nd/f", "deep\n");
	cx_symlink(&f, "../a", "/w/nd/link");
	cr_assert_eq(fx_chmod(&f, "/w/run.sh", 0755), 0);
	cr_assert_eq(fx_rename(&f, "/w/moved", "/w/nd/moved", 0), 0);
	fx_append(&f, "/w/nd/moved/changed", "line 4\n");
	cr_assert_eq(fx_unlink(&f, "/w/gone/one"), 0);
	fx_append(&f, "/w/with space", "more\n");
	fx_append(&f, "/w/noeol", "c");
	fd = fx_open(&f, "/w/s1", O_WRONLY | O_TRUNC, 0);
	cr_assert_eq(write(fd, "other\n", 6), 6);
	close(fd);
	check_applied_by("patch -s -p1 <../patch");
}

Test(patch, a_mode_or_a_name_alone_is_told)
{
	cr_assert_eq(fx_chmod(&f, "/w/run.sh", 0755), 0);
	cr_assert_eq(fx_rename(&f, "/w/s1", "/w/s3", 0), 0);
	fx_write(&f, "/w/empty", "");
	check_applied_by("git apply ../patch");
}

Test(patch, times_alone_say_nothing)
{
	AUTO_FREE char *path = xasprintf("%s/patch", dir);
	struct stat st;

	close(fx_open(&f, "/w/a", O_RDWR, 0));
	make_patch();
	cr_assert_eq(stat(path, &st), 0);
	cr_assert_eq(st.st_size, 0);
}

Test(patch, lines_are_counted)
{
	struct change_source src;
	struct change_list list;
	struct patch_stat st;
	const struct change *c;

	fx_append(&f, "/w/moved/changed", "one\ntwo\n");
	changes_from_vfs(&src, f.vfs);
	cr_assert_eq(changes_load(&src, 0, &list), 0);
	c = changes_find(&list, "/w/moved/changed");
	cr_assert(c);
	cr_assert_eq(patch_count(&src, c, &st), 0);
	cr_assert_eq(st.added, 2);
	cr_assert_eq(st.deleted, 0);
	cr_assert_not(st.binary);
	changes_free(&src, &list);
}

Test(patch, the_wire_keeps_all)
{
	struct change_source src, none = {0};
	struct change_list list, copy = {0};
	struct strbuf a, b;

	cx_changes(&f);
	strbuf_init(&a, 0);
	strbuf_init(&b, 0);
	changes_from_vfs(&src, f.vfs);
	cr_assert_eq(changes_load(&src, CHANGES_IN_RENAMED, &list), 0);
	changes_encode(&list, &a);
	cr_assert_eq(changes_decode(a.data, a.len, &copy), 0);
	changes_encode(&copy, &b);
	cr_assert_eq(a.len, b.len);
	cr_assert_eq(memcmp(a.data, b.data, a.len), 0);
	changes_free(&none, &copy);
	/* cut short anywhere, it is refused */
	for (size_t len = 0; len < a.len; len += 97) {
		cr_assert_eq(changes_decode(a.data, len, &copy), -EBADMSG);
		changes_free(&none, &copy);
	}
	changes_free(&src, &list);
	strbuf_fini(&a);
	strbuf_fini(&b);
}
