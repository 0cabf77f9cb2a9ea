/*
 * changes_random_test.c - random changes of the overlay; then a layer unpacked
 * over a copy of the lower tree, a patch applied to one, and an apply to the
 * host itself must each give what the guest sees.
 *
 * CHANGES_SEED (0: by the clock) and CHANGES_ROUNDS choose the run.
 */
#include <limits.h>

#include "changes_fixture.h"

#include <sys/wait.h>
#include <time.h>

#include "../../fs/apply.h"
#include "../../fs/export.h"
#include "../../fs/patch.h"

static struct fixture f;
static char dir[64];
static uint64_t seed;

static unsigned rnd(unsigned n)
{
	seed = seed * 6364136223846793005ULL + 1442695040888963407ULL;
	return (unsigned)(seed >> 33) % n;
}

static const char *const names[] = {
	"a",	"d",	 "h1",	    "moved", "gone",	   "swap1",
	"s1",	"file",	 "again",   "bin",   "with space", "noeol",
	"new1", "new 2", "q\"uo\\", "t\tab", "nl\nx",	   "\xc3\xa9",
	"\xff", "-dash", "in",	    "x",     "one",	   "deep",
};

static void random_path(char *p, size_t size)
{
	size_t len = (size_t)snprintf(p, size, "/w");

	for (unsigned i = 0, n = 1 + rnd(3); i < n; i++)
		len += (size_t)snprintf(p + len, size - len, "/%s",
					names[rnd(ARRAY_SIZE(names))]);
}

static void random_write(const char *path, int flags)
{
	static const char *const text[] = {
		"",	      "one\n",
		"no end",     "one\ntwo\nthree\n",
		"\0\1binary", "one\nTWO\nthree\n",
		"\n\n",	      "a\r\nb\r\n",
	};
	unsigned k = rnd(ARRAY_SIZE(text));
	size_t len = k == 4 ? 8 : strlen(text[k]);
	int fd = fx_try_open(&f, path, O_WRONLY | O_NOFOLLOW | flags, 0644);

	if (fd < 0)
		return;
	cr_assert_eq(write(fd, text[k], len), (ssize_t)len);
	close(fd);
}

static void random_change(void)
{
	char a[256], b[256];
	struct vfs_at at = {NULL, a};
	struct vref ref = {0};
	int ret = 0;

	random_path(a, sizeof(a));
	random_path(b, sizeof(b));
	switch (rnd(12)) {
	case 0:
	case 1:
	case 2:
		random_write(a, O_CREAT | O_TRUNC);
		break;
	case 3:
		random_write(a, O_APPEND);
		break;
	case 4:
		ret = fx_mkdir(&f, a, 0755);
		break;
	case 5:
		ret = fx_unlink(&f, a);
		break;
	case 6:
		ret = fx_rmdir(&f, a);
		break;
	case 7:
	case 8:
		ret = fx_rename(&f, a, b, rnd(4) ? 0 : RENAME_EXCHANGE);
		break;
	case 9:
		ret = fx_link(&f, a, b);
		break;
	case 10:
		ret = vfs_symlink(&f.ctx, b + 3, &at);
		break;
	case 11:
		if (!vfs_lookup(&f.ctx, &at, 0, &ref) &&
		    S_ISREG(ref.inode->type))
			ret = fx_chmod(&f, a, rnd(2) ? 0755 : 0644);
		vref_put(&ref);
		break;
	}
	(void)ret; /* many are refused: as they should be */
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

static void same_as_guest(const char *tree, const char *what)
{
	AUTO_FREE char *want = cx_guest(&f);
	AUTO_FREE char *got = cx_host(tree);

	cr_assert(!strcmp(got, want), "%s, seed %#" PRIx64 ":\n%s--- not\n%s",
		  what, seed, got, want);
}

/* ---- each way -------------------------------------------------------- */

static const char unpack[] =
	"import os, shutil, sys, tarfile\n"
	"root = sys.argv[1].encode()\n"
	"def remove(p):\n"
	"  if os.path.isdir(p) and not os.path.islink(p): shutil.rmtree(p)\n"
	"  elif os.path.lexists(p): os.unlink(p)\n"
	"t = tarfile.open(sys.argv[2], errors='surrogateescape')\n"
	"all = [(os.fsencode(m.name), m) for m in t]\n"
	"for n, m in all:\n"
	"  d, b = os.path.split(n)\n"
	"  d = os.path.join(root, d)\n"
	"  if b == b'.wh..wh..opq':\n"
	"    if os.path.isdir(d) and not os.path.islink(d):\n"
	"      for e in os.listdir(d): remove(os.path.join(d, e))\n"
	"  elif b.startswith(b'.wh.'): remove(os.path.join(d, b[4:]))\n"
	"for n, m in all:\n"
	"  if os.path.basename(n).startswith(b'.wh.'): continue\n"
	"  p = os.path.join(root, n)\n"
	"  if m.isdir():\n"
	"    if not os.path.isdir(p) or os.path.islink(p):\n"
	"      remove(p); os.mkdir(p)\n"
	"    os.chmod(p, m.mode)\n"
	"    continue\n"
	"  remove(p)\n"
	"  if m.issym(): os.symlink(os.fsencode(m.linkname), p)\n"
	"  elif m.islnk(): os.link(os.path.join(root,"
	" os.fsencode(m.linkname)), p)\n"
	"  elif m.isreg():\n"
	"    open(p, 'wb').write(t.extractfile(m).read())\n"
	"    os.chmod(p, m.mode)\n";

static void check_layer(void)
{
	AUTO_FREE char *tar = xasprintf("%s/layer.tar", dir);
	AUTO_FREE char *script = xasprintf("%s/unpack.py", dir);
	AUTO_FREE char *tree = xasprintf("%s/layered", dir);
	struct change_source src;
	struct change_list list;
	int fd = open(tar, O_RDWR | O_CREAT | O_TRUNC, 0600);
	FILE *o = fopen(script, "w");

	fputs(unpack, o);
	fclose(o);
	changes_from_vfs(&src, f.vfs);
	cr_assert_eq(
		changes_load(&src, CHANGES_IN_RENAMED | CHANGES_OPAQUE, &list),
		0);
	cr_assert_eq(export_tar(&src, &list, "/w", fd, NULL), 0);
	changes_free(&src, &list);
	close(fd);
	cr_assert_eq(run("cp -a %s %s && python3 %s %s %s", f.host, tree,
			 script, tree, tar),
		     0);
	/* LIMIT of layers: who lost a name of several is written as a copy. */
	cx_links = false;
	same_as_guest(tree, "layer");
	cx_links = true;
}

static int write_to(void *arg, const char *data, size_t len)
{
	return fwrite(data, 1, len, arg) == len ? 0 : -EIO;
}

static void check_patch(void)
{
	AUTO_FREE char *path = xasprintf("%s/patch", dir);
	AUTO_FREE char *tree = xasprintf("%s/patched", dir);
	FILE *out = fopen(path, "w");
	struct patch_options o = {.root = "/w", .write = write_to, .arg = out};
	struct change_source src;
	struct change_list list;

	changes_from_vfs(&src, f.vfs);
	cr_assert_eq(changes_load(&src, CHANGES_IN_RENAMED, &list), 0);
	cr_assert_eq(patch_write(&src, &list, &o, NULL), 0);
	changes_free(&src, &list);
	fclose(out);
	cr_assert_eq(run("cp -a %s %s && cd %s && "
			 "{ test ! -s ../patch || git apply "
			 "--whitespace=nowarn ../patch; }",
			 f.host, tree, tree),
		     0, "git apply, seed %#" PRIx64, seed);
	cx_git = true;
	same_as_guest(tree, "patch");
	cx_git = false;
}

static void check_apply(void)
{
	struct apply_options o = {.root = f.host};
	AUTO_FREE char *path = NULL;
	struct change_source src;
	struct change_list list;
	const struct apply_problem *problems;
	struct apply *a;
	size_t count;
	bool half;
	int ret;

	changes_from_vfs(&src, f.vfs);
	cr_assert_eq(changes_load(&src, 0, &list), 0);
	cr_assert_eq(apply_new(&o, &src, &list, &a), 0);
	count = apply_problems(a, &problems);
	ret = apply_commit(a, &half, &path);
	/* A refusal is an answer, too, if it changes nothing. */
	cr_assert(ret == (count ? -EBUSY : 0) && !half,
		  "apply: %s of %s, seed %#" PRIx64, strerror(-ret),
		  path ? path : "-", seed);
	apply_free(a);
	changes_free(&src, &list);
	if (count)
		return;
	/* It looks at the host once more, as cloche does. */
	vfs_poll(f.vfs);
	cr_assert_eq(changes_load(&src, 0, &list), 0);
	changes_free(&src, &list);
	same_as_guest(f.host, "apply");
	f.hash = fx_hash(f.host);
}

static void round_of(void)
{
	fixture_init(&f, VFS_MNT_WATCH);
	cx_host_tree(&f);
	snprintf(dir, sizeof(dir), "/tmp/ovrandXXXXXX");
	cr_assert(mkdtemp(dir));
	setenv("XDG_STATE_HOME", dir, 1);
	for (unsigned i = 0, n = 20 + rnd(60); i < n; i++)
		random_change();
	check_layer();
	check_patch();
	check_apply();
	fixture_fini(&f);
	nftw(dir, fx_rm_one, 16, FTW_PHYS | FTW_DEPTH);
}

Test(changes_random, every_way_gives_the_guests_tree, .timeout = 300)
{
	const char *s = getenv("CHANGES_SEED"), *r = getenv("CHANGES_ROUNDS");
	unsigned rounds = r ? (unsigned)atoi(r) : 12;
	uint64_t first = s ? strtoull(s, NULL, 0) : 0x5eed0002;

	if (!first)
		first = (uint64_t)time(NULL) ^ (uint64_t)getpid() << 32;
	umask(022);
	for (unsigned i = 0; i < rounds; i++) {
		seed = first + i;
		printf("CHANGES_SEED=%#" PRIx64 " CHANGES_ROUNDS=1\n", seed);
		fflush(stdout);
		round_of();
	}
}
