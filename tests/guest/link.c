// modes: bare
/* link, symlink, unlink, linkat flags, link counts. */
#include "guest.h"

TEST(link_counts_go_up_and_down)
{
	put("a", "x");
	OK(link("a", "b"));
	EQ(nlink_of("a"), 2);
	EQ(ino_of("a"), ino_of("b"));
	OK(unlink("b"));
	EQ(nlink_of("a"), 1);
	OK(link("a", "b"));
	put("c", "y");
	OK(rename("c", "a"));
	EQ(nlink_of("b"), 1);
	STREQ(get("b"), "x");
	STREQ(get("a"), "y");
}

TEST(link_of_lower_file_shares_content)
{
	OK(link(lower("file"), "l"));
	EQ(nlink_of("l"), 2);
	EQ(ino_of("l"), ino_of(lower("file")));
	int fd = OK(open("l", O_WRONLY | O_APPEND));
	EQ(write(fd, "tail\n", 5), 5);
	STREQ(get(lower("file")), "lower file\ntail\n");
	OK(unlink(lower("file")));
	STREQ(get("l"), "lower file\ntail\n");
	EQ(nlink_of("l"), 1);
}

TEST(lower_hard_links_stay_together)
{
	EQ(nlink_of(lower("hard1")), 2);
	EQ(ino_of(lower("hard1")), ino_of(lower("hard2")));
	int fd = OK(open(lower("hard1"), O_WRONLY | O_TRUNC));
	EQ(write(fd, "new", 3), 3);
	STREQ(get(lower("hard2")), "new");
	EQ(ino_of(lower("hard1")), ino_of(lower("hard2")));
	OK(unlink(lower("hard1")));
	EQ(nlink_of(lower("hard2")), 1);
}

TEST(link_errors)
{
	put("a", "x");
	put("b", "y");
	OK(mkdir("d", 0755));
	ERR(link("a", "b"), EEXIST);
	ERR(link("a", "a"), EEXIST);
	ERR(link("a", "d"), EEXIST);
	ERR(link("d", "e"), EPERM);
	ERR(link("none", "e"), ENOENT);
	ERR(link("a", "none/e"), ENOENT);
	ERR(link("a/x", "e"), ENOTDIR);
	ERR(link("a", "b/x"), ENOTDIR);
	ERR(link("a", ""), ENOENT);
	ERR(linkat(AT_FDCWD, "a", AT_FDCWD, "e", 0x40000), EINVAL);
	ERR(linkat(99, "a", AT_FDCWD, "e", 0), EBADF);
	ERR(link("/proc/self/status", "e"), EXDEV);
}

TEST(link_does_not_follow_unless_asked)
{
	struct stat st;

	put("a", "x");
	OK(symlink("a", "s"));
	OK(link("s", "l1"));
	OK(lstat("l1", &st));
	CHECK(S_ISLNK(st.st_mode));
	EQ(st.st_nlink, 2);
	OK(linkat(AT_FDCWD, "s", AT_FDCWD, "l2", AT_SYMLINK_FOLLOW));
	OK(lstat("l2", &st));
	CHECK(S_ISREG(st.st_mode));
	OK(symlink("none", "d"));
	ERR(linkat(AT_FDCWD, "d", AT_FDCWD, "l3", AT_SYMLINK_FOLLOW), ENOENT);
}

TEST(unlink_errors)
{
	put("f", "x");
	OK(mkdir("d", 0755));
	put("d/x", "x");
	ERR(unlink("none"), ENOENT);
	ERR(unlink("d"), EISDIR);
	ERR(unlink("f/x"), ENOTDIR);
	ERR(unlink(""), ENOENT);
	ERR(unlinkat(AT_FDCWD, "d", AT_REMOVEDIR), ENOTEMPTY);
	ERR(unlinkat(AT_FDCWD, "f", AT_REMOVEDIR), ENOTDIR);
	ERR(unlinkat(AT_FDCWD, "f", 0x80000), EINVAL);
	ERR(unlinkat(99, "f", 0), EBADF);
	OK(unlink("f"));
	ERR(unlink("f"), ENOENT);
	OK(symlink("d", "l"));
	OK(unlink("l"));
	CHECK(exists("d"));
}

TEST(unlinked_lower_file_stays_away)
{
	OK(unlink(lower("dir/a")));
	ERR(access(lower("dir/a"), F_OK), ENOENT);
	ERR(open(lower("dir/a"), O_RDONLY), ENOENT);
	ERR(unlink(lower("dir/a")), ENOENT);
	int fd = OK(open(lower("dir/a"), O_CREAT | O_EXCL | O_RDWR, 0600));
	struct stat st;
	OK(fstat(fd, &st));
	EQ(st.st_size, 0);
	EQ(st.st_mode & 07777, 0600);
	OK(unlink(lower("dir/a")));
	OK(mkdir(lower("dir/a"), 0700));
	ERR(open(lower("dir/a/a"), O_RDONLY), ENOENT);
}

TEST(sticky_directory_protects)
{
	if (geteuid() == 0)
		SKIP("root is not bound by the sticky bit");
	ERR(unlink("/tmp/../etc/passwd"), EACCES);
	put(lower("sticky/mine"), "x");
	OK(unlink(lower("sticky/mine")));
}

TEST(unlink_needs_write_on_the_directory)
{
	if (geteuid() == 0)
		SKIP("root may do it");
	OK(mkdir("d", 0755));
	put("d/f", "x");
	OK(chmod("d", 0555));
	ERR(unlink("d/f"), EACCES);
	ERR(rename("d/f", "g"), EACCES);
	ERR(link("d/f", "d/g"), EACCES);
	ERR(mkdir("d/e", 0755), EACCES);
	ERR(symlink("x", "d/s"), EACCES);
	ERR(unlink("d/none"), ENOENT);
	ERR(mkdir("d/f", 0755), EEXIST);
	OK(chmod("d", 0755));
}
