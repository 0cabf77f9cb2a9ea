// modes: bare
/* rename, renameat2: every flag, precedence of errors, link counts. */
#include "guest.h"

static int rn2(const char *a, const char *b, unsigned flags)
{
	return (int)syscall(SYS_renameat2, AT_FDCWD, a, AT_FDCWD, b, flags);
}

TEST(rename_replaces_a_file)
{
	put("a", "A");
	put("b", "B");
	ino_t ino = ino_of("a");
	OK(rename("a", "b"));
	CHECK(!exists("a"));
	STREQ(get("b"), "A");
	EQ(ino_of("b"), ino);
}

TEST(rename_over_open_file_keeps_data)
{
	char buf[8] = "";
	struct stat st;
	put("a", "A");
	put("b", "B");
	int fd = OK(open("b", O_RDONLY));

	OK(rename("a", "b"));
	EQ(read(fd, buf, 8), 1);
	STREQ(buf, "B");
	OK(fstat(fd, &st));
	EQ(st.st_nlink, 0);
}

TEST(rename_between_kinds)
{
	put("f", "x");
	OK(mkdir("d", 0755));
	OK(mkdir("e", 0755));
	OK(mkdir("full", 0755));
	put("full/x", "x");
	ERR(rename("f", "d"), EISDIR);
	ERR(rename("d", "f"), ENOTDIR);
	ERR(rename("d", "full"), ENOTEMPTY);
	OK(rename("d", "e"));
	ERR(rename("none", "x"), ENOENT);
	ERR(rename("f", "none/x"), ENOENT);
	ERR(rename("f", "f/x"), ENOTDIR);
	ERR(rename("", "x"), ENOENT);
	ERR(rename("f", ""), ENOENT);
}

TEST(rename_into_itself_is_EINVAL)
{
	OK(mkdir("d", 0755));
	OK(mkdir("d/e", 0755));
	ERR(rename("d", "d/x"), EINVAL);
	ERR(rename("d", "d/e/x"), EINVAL);
	ERR(rename("d/e", "d"), ENOTEMPTY);
	OK(rename("d", "d"));
}

TEST(rename_same_inode_does_nothing)
{
	put("a", "x");
	OK(link("a", "b"));
	OK(rename("a", "b"));
	CHECK(exists("a"));
	CHECK(exists("b"));
	EQ(nlink_of("a"), 2);
}

TEST(noreplace_onto_existing_is_EEXIST)
{
	put("a", "A");
	put("b", "B");
	ERR(rn2("a", "b", RENAME_NOREPLACE), EEXIST);
	ERR(rn2("a", "a", RENAME_NOREPLACE), EEXIST);
	OK(rn2("a", "c", RENAME_NOREPLACE));
	ERR(rn2("c", lower("file"), RENAME_NOREPLACE), EEXIST);
	OK(symlink("none", "l"));
	ERR(rn2("c", "l", RENAME_NOREPLACE), EEXIST);
}

TEST(exchange_file_and_directory)
{
	put("f", "F");
	OK(mkdir("d", 0755));
	put("d/in", "IN");
	OK(rn2("f", "d", RENAME_EXCHANGE));
	STREQ(get("d"), "F");
	STREQ(get("f/in"), "IN");
	ERR(rn2("f", "none", RENAME_EXCHANGE), ENOENT);
	ERR(rn2("none", "f", RENAME_EXCHANGE), ENOENT);
}

TEST(exchange_with_own_ancestor_is_EINVAL)
{
	OK(mkdir("d", 0755));
	OK(mkdir("d/e", 0755));
	ERR(rn2("d", "d/e", RENAME_EXCHANGE), EINVAL);
	ERR(rn2("d/e", "d", RENAME_EXCHANGE), EINVAL);
}

TEST(exchange_moves_link_counts)
{
	OK(mkdir("p", 0755));
	OK(mkdir("q", 0755));
	OK(mkdir("p/d", 0755));
	put("q/f", "x");
	EQ(nlink_of("p"), 3);
	EQ(nlink_of("q"), 2);
	OK(rn2("p/d", "q/f", RENAME_EXCHANGE));
	EQ(nlink_of("p"), 2);
	EQ(nlink_of("q"), 3);
	struct stat st;
	OK(stat("q/f/..", &st));
	EQ(st.st_ino, ino_of("q"));
}

TEST(exchange_of_lower_names)
{
	OK(rn2(lower("file"), lower("dir"), RENAME_EXCHANGE));
	STREQ(get(lower("dir")), "lower file\n");
	STREQ(get(lower("file/a")), "a\n");
	STREQ(get(lower("file/sub/deep")), "deep\n");
	OK(rn2(lower("file"), lower("dir"), RENAME_EXCHANGE));
	STREQ(get(lower("dir/b")), "b\n");
}

TEST(bad_flags_are_EINVAL)
{
	put("a", "x");
	put("b", "x");
	ERR(rn2("a", "b", 8), EINVAL);
	ERR(rn2("a", "b", 1u << 31), EINVAL);
	ERR(rn2("a", "b", RENAME_NOREPLACE | RENAME_EXCHANGE), EINVAL);
	ERR(rn2("a", "b", RENAME_WHITEOUT | RENAME_EXCHANGE), EINVAL);
}

TEST(lower_directory_moves_with_all_below)
{
	OK(rename(lower("tree"), "moved"));
	CHECK(!exists(lower("tree")));
	STREQ(get("moved/x/y/z"), "y\n");
	put("moved/x/new", "n");
	OK(rename("moved/x", "x"));
	STREQ(get("x/y/z"), "y\n");
	STREQ(get("x/new"), "n");
	OK(mkdir(lower("tree"), 0755));
	ERR(access(lower("tree/x"), F_OK), ENOENT);
	OK(rmdir(lower("tree")));
}

TEST(lower_file_moves_keeping_inode_and_mode)
{
	ino_t ino = ino_of(lower("script.sh"));

	OK(rename(lower("script.sh"), "s"));
	EQ(ino_of("s"), ino);
	EQ(mode_of("s"), 0755);
	CHECK(!exists(lower("script.sh")));
	struct stat st;
	OK(stat("s", &st));
	EQ(st.st_mtim.tv_nsec, 123456789);
}

TEST(rename_replaces_an_emptied_lower_directory)
{
	OK(mkdir("new", 0700));
	ERR(rename("new", lower("dir/sub")), ENOTEMPTY);
	OK(unlink(lower("dir/sub/deep")));
	OK(rename("new", lower("dir/sub")));
	EQ(mode_of(lower("dir/sub")), 0700);
	ERR(access(lower("dir/sub/deep"), F_OK), ENOENT);
}

TEST(rename_of_a_link_moves_the_link)
{
	put("f", "x");
	OK(symlink("f", "l"));
	OK(rename("l", "m"));
	char b[8] = "";
	EQ(readlink("m", b, 8), 1);
	put("g", "y");
	OK(rename("g", "m"));
	STREQ(get("f"), "x");
	STREQ(get("m"), "y");
}

TEST(rename_across_file_systems_is_EXDEV)
{
	int fd = open("/dev/shm/.", O_RDONLY);

	if (fd < 0)
		SKIP("no /dev/shm");
	put("f", "x");
	ERR(rename("f", "/dev/shm/cloche-test-x"), EXDEV);
	ERR(link("f", "/dev/shm/cloche-test-x"), EXDEV);
}

TEST(renameat_relative_to_descriptors)
{
	OK(mkdir("p", 0755));
	OK(mkdir("q", 0755));
	put("p/f", "x");
	int p = OK(open("p", O_RDONLY | O_DIRECTORY));
	int q = OK(open("q", O_PATH));
	OK(renameat(p, "f", q, "g"));
	STREQ(get("q/g"), "x");
	ERR(renameat(p, "f", 99, "g"), EBADF);
	ERR(renameat(99, "f", q, "g"), EBADF);
}

TEST(whiteout_leaves_a_device_that_none_can_open)
{
	struct stat st;

	put("a", "A");
	put("b", "B");
	OK(rn2("a", "b", RENAME_WHITEOUT));
	STREQ(get("b"), "A");
	OK(lstat("a", &st));
	CHECK(S_ISCHR(st.st_mode) && !(st.st_mode & 07777) && !st.st_rdev);
	ERR(open("a", O_RDONLY), geteuid() ? EACCES : ENXIO);
	OK(rn2("b", "c", RENAME_WHITEOUT | RENAME_NOREPLACE));
	STREQ(get("c"), "A");
	ERR(rn2("c", "a", RENAME_WHITEOUT | RENAME_NOREPLACE), EEXIST);
	OK(mkdir("d", 0755));
	OK(rn2("d", "e", RENAME_WHITEOUT));
	OK(lstat("d", &st));
	CHECK(S_ISCHR(st.st_mode));
	OK(unlink("d"));
	OK(rn2(lower("file"), "low", RENAME_WHITEOUT));
	STREQ(get("low"), "lower file\n");
	OK(lstat(lower("file"), &st));
	CHECK(S_ISCHR(st.st_mode));
}
