// modes: bare vroot
/* mkdir, rmdir, mknod, mkfifo. */
#include "guest.h"

TEST(mkdir_mode_and_umask)
{
	umask(077);
	OK(mkdir("a", 0777));
	EQ(mode_of("a"), 0700);
	umask(0);
	OK(mkdir("b", 01777));
	EQ(mode_of("b"), 01777);
	OK(mkdir("c", 0));
	EQ(mode_of("c"), 0);
}

TEST(mkdir_errors)
{
	put("f", "x");
	OK(symlink("none", "l"));
	ERR(mkdir("f", 0755), EEXIST);
	ERR(mkdir("l", 0755), EEXIST);
	ERR(mkdir("none/x", 0755), ENOENT);
	ERR(mkdir("f/x", 0755), ENOTDIR);
	ERR(mkdir("", 0755), ENOENT);
	ERR(mkdirat(99, "x", 0755), EBADF);
	ERR(mkdir(lower("dir"), 0755), EEXIST);
}

TEST(rmdir_errors)
{
	put("f", "x");
	OK(mkdir("d", 0755));
	put("d/x", "x");
	ERR(rmdir("f"), ENOTDIR);
	ERR(rmdir("d"), ENOTEMPTY);
	ERR(rmdir("none"), ENOENT);
	ERR(rmdir(""), ENOENT);
	ERR(rmdir(lower("dir")), ENOTEMPTY);
	OK(unlink("d/x"));
	OK(rmdir("d"));
	CHECK(!exists("d"));
}

TEST(lower_directory_removed_and_made_again_is_empty)
{
	OK(unlink(lower("dir/sub/deep")));
	OK(rmdir(lower("dir/sub")));
	ERR(access(lower("dir/sub"), F_OK), ENOENT);
	OK(mkdir(lower("dir/sub"), 0711));
	EQ(mode_of(lower("dir/sub")), 0711);
	ERR(access(lower("dir/sub/deep"), F_OK), ENOENT);
	put(lower("dir/sub/new"), "x");
	ERR(rmdir(lower("dir/sub")), ENOTEMPTY);
}

TEST(setgid_directory_is_inherited)
{
	OK(mkdir("d", 0755));
	OK(chmod("d", 02755));
	OK(mkdir("d/e", 0755));
	EQ(mode_of("d/e"), 02755);
}

TEST(mknod_kinds)
{
	struct stat st;

	OK(mknod("f", S_IFREG | 0640, 0));
	EQ(mode_of("f"), 0640);
	OK(mknod("g", 0600, 0));
	OK(stat("g", &st));
	CHECK(S_ISREG(st.st_mode));
	OK(mknod("p", S_IFIFO | 0600, 0));
	OK(stat("p", &st));
	CHECK(S_ISFIFO(st.st_mode));
	ERR(mknod("f", S_IFREG | 0600, 0), EEXIST);
	ERR(mknod("d", S_IFDIR | 0755, 0), EPERM);
	ERR(mknod("x", 0170000, 0), EINVAL);
	ERR(mkfifo("none/x", 0600), ENOENT);
	if (geteuid())
		ERR(mknod("c", S_IFCHR | 0600, (1 << 8) | 3), EPERM);
}

TEST(mkdir_tree_and_remove_it)
{
	char p[64];

	for (int i = 0; i < 300; i++) {
		snprintf(p, sizeof(p), "d%d", i);
		OK(mkdir(p, 0755));
		snprintf(p, sizeof(p), "d%d/f", i);
		put(p, "x");
	}
	for (int i = 0; i < 300; i++) {
		snprintf(p, sizeof(p), "d%d/f", i);
		OK(unlink(p));
		snprintf(p, sizeof(p), "d%d", i);
		OK(rmdir(p));
	}
	EQ(nlink_of("."), 2);
}
