/*
 * export_test.c - a layer, unpacked over a copy of the lower tree as an OCI
 * runtime does, gives what the guest sees.
 */
#include <limits.h>

#include "changes_fixture.h"

#include <sys/wait.h>

#include "../../fs/export.h"

static struct fixture f;
static char dir[64];

static void setup(void)
{
	fixture_init(&f, 0);
	cx_host_tree(&f);
	snprintf(dir, sizeof(dir), "/tmp/ovtarXXXXXX");
	cr_assert(mkdtemp(dir));
}

static void teardown(void)
{
	fixture_fini(&f);
	nftw(dir, fx_rm_one, 16, FTW_PHYS | FTW_DEPTH);
}

TestSuite(export, .init = setup, .fini = teardown);

static int run(const char *fmt, ...)
{
	char cmd[2048];
	va_list ap;
	int ret;

	va_start(ap, fmt);
	vsnprintf(cmd, sizeof(cmd), fmt, ap);
	va_end(ap);
	ret = system(cmd);
	return WIFEXITED(ret) ? WEXITSTATUS(ret) : -1;
}

static void make_layer(void)
{
	AUTO_FREE char *path = xasprintf("%s/layer.tar", dir);
	struct change_source src;
	struct change_list list;
	int fd = open(path, O_RDWR | O_CREAT, 0600);

	cr_assert(fd >= 0);
	changes_from_vfs(&src, f.vfs);
	cr_assert_eq(
		changes_load(&src, CHANGES_IN_RENAMED | CHANGES_OPAQUE, &list),
		0);
	cr_assert_eq(export_tar(&src, &list, "/w", fd, NULL), 0);
	changes_free(&src, &list);
	close(fd);
}

/* Whiteouts first, on the lower tree; then the entries. */
static const char unpack[] =
	"set -e; cd %s; cp -a %s tree; mkdir layer; "
	"tar -x --xattrs -f layer.tar -C layer; cd layer; "
	"find . -name .wh..wh..opq | while read -r w; do d=${w%%/*}; "
	"find ../tree/$d -mindepth 1 -delete; rm $w; done; "
	"find . -name '.wh.*' | while read -r w; do b=${w##*/}; "
	"rm -rf ../tree/${w%%/*}/${b#.wh.}; rm $w; done; "
	"find . -mindepth 1 ! -type d -printf '%%P\\0' | "
	"while IFS= read -r -d '' p; do "
	"if [ -d \"../tree/$p\" ] && [ ! -L \"../tree/$p\" ]; then "
	"rm -rf \"../tree/$p\"; fi; done; "
	"find . -mindepth 1 -type d -printf '%%P\\0' | "
	"while IFS= read -r -d '' p; do "
	"if [ ! -d \"../tree/$p\" ] || [ -L \"../tree/$p\" ]; then "
	"rm -f \"../tree/$p\"; fi; done; "
	"cp -a --remove-destination . ../tree/";

Test(export, a_layer_over_the_lower_tree_is_the_guests_tree)
{
	AUTO_FREE char *script = NULL;
	AUTO_FREE char *tree = xasprintf("%s/tree", dir);
	AUTO_FREE char *want = NULL;
	AUTO_FREE char *got = NULL;
	FILE *o;

	cx_changes(&f);
	make_layer();
	script = xasprintf("%s/unpack", dir);
	o = fopen(script, "w");
	fprintf(o, unpack, dir, f.host);
	fclose(o);
	cr_assert_eq(run("bash %s", script), 0);
	want = cx_guest(&f);
	got = cx_host(tree);
	cr_assert_str_eq(got, want);
}

Test(export, whiteouts_links_and_opaque_directories_are_there)
{
	cx_changes(&f);
	make_layer();
	cr_assert_eq(run("tar tf %s/layer.tar | grep -qx .wh.gone", dir), 0);
	cr_assert_eq(
		run("tar tf %s/layer.tar | grep -qx again/.wh..wh..opq", dir),
		0);
	cr_assert_eq(run("tar tvf %s/layer.tar | grep -q '^h.*nd/sub/f'", dir),
		     0);
	cr_assert_eq(run("tar tf %s/layer.tar | grep -q '^nd/moved/kept'", dir),
		     0);
}

Test(export, holes_stay_holes)
{
	int fd = fx_open(&f, "/w/sparse", O_WRONLY | O_CREAT, 0644);
	AUTO_FREE char *path = xasprintf("%s/layer.tar", dir);
	struct stat st;

	cr_assert_eq(ftruncate(fd, 256 << 20), 0);
	cr_assert_eq(pwrite(fd, "end", 3, (256 << 20) - 3), 3);
	close(fd);
	make_layer();
	cr_assert_eq(stat(path, &st), 0);
	cr_assert_lt(st.st_size, 1 << 20);
}
