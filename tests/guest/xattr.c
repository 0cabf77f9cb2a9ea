// modes: bare vroot
/* Extended attributes. */
#include "guest.h"
#include <sys/xattr.h>

TEST(set_get_list_remove)
{
	char b[64] = "";

	put("f", "x");
	OK(setxattr("f", "user.one", "1", 1, 0));
	OK(setxattr("f", "user.two", "22", 2, XATTR_CREATE));
	EQ(getxattr("f", "user.one", b, sizeof(b)), 1);
	EQ(b[0], '1');
	EQ(getxattr("f", "user.two", NULL, 0), 2);
	ERR(getxattr("f", "user.two", b, 1), ERANGE);
	ERR(getxattr("f", "user.none", b, sizeof(b)), ENODATA);
	ssize_t n = OK(listxattr("f", b, sizeof(b)));
	EQ(n, 18);
	EQ(listxattr("f", NULL, 0), 18);
	ERR(listxattr("f", b, 3), ERANGE);
	OK(removexattr("f", "user.one"));
	ERR(removexattr("f", "user.one"), ENODATA);
	EQ(listxattr("f", b, sizeof(b)), 9);
	STREQ(b, "user.two");
}

TEST(create_and_replace_flags)
{
	put("f", "x");
	ERR(setxattr("f", "user.a", "1", 1, XATTR_REPLACE), ENODATA);
	OK(setxattr("f", "user.a", "1", 1, XATTR_CREATE));
	ERR(setxattr("f", "user.a", "1", 1, XATTR_CREATE), EEXIST);
	OK(setxattr("f", "user.a", "22", 2, XATTR_REPLACE));
	ERR(setxattr("f", "user.a", "1", 1, 4), EINVAL);
	EQ(getxattr("f", "user.a", NULL, 0), 2);
}

TEST(descriptor_and_link_forms)
{
	char b[8];

	put("f", "x");
	OK(symlink("f", "l"));
	int fd = OK(open("f", O_RDONLY));
	OK(fsetxattr(fd, "user.a", "1", 1, 0));
	EQ(fgetxattr(fd, "user.a", b, 8), 1);
	EQ(getxattr("l", "user.a", b, 8), 1);
	ERR(lgetxattr("l", "user.a", b, 8), ENODATA);
	ERR(lsetxattr("l", "user.a", "1", 1, 0), EPERM);
	EQ(flistxattr(fd, NULL, 0), 7);
	OK(fremovexattr(fd, "user.a"));
	ERR(fgetxattr(99, "user.a", b, 8), EBADF);
}

TEST(bad_names)
{
	char n[300] = "user.";
	char b[8];

	put("f", "x");
	ERR(setxattr("f", "noprefix", "1", 1, 0), EOPNOTSUPP);
	ERR(setxattr("f", "user.", "1", 1, 0), EINVAL);
	ERR(setxattr("f", "", "1", 1, 0), ERANGE);
	memset(n + 5, 'n', 290);
	ERR(setxattr("f", n, "1", 1, 0), ERANGE);
	ERR(getxattr("none", "user.a", b, 8), ENOENT);
	if (geteuid()) {
		ERR(setxattr("f", "trusted.a", "1", 1, 0), EPERM);
		ERR(getxattr("f", "trusted.a", b, 8), ENODATA);
	} else {
		OK(setxattr("f", "trusted.a", "1", 1, 0));
		EQ(getxattr("f", "trusted.a", b, 8), 1);
		OK(removexattr("f", "trusted.a"));
	}
}

TEST(lower_file_takes_attributes_without_losing_data)
{
	ino_t ino = ino_of(lower("file"));
	char b[8];

	OK(setxattr(lower("file"), "user.k", "v", 1, 0));
	EQ(getxattr(lower("file"), "user.k", b, 8), 1);
	EQ(ino_of(lower("file")), ino);
	STREQ(get(lower("file")), "lower file\n");
	put(lower("file"), "new");
	EQ(getxattr(lower("file"), "user.k", b, 8), 1);
}

TEST(directory_takes_attributes)
{
	OK(mkdir("d", 0755));
	OK(setxattr("d", "user.k", "v", 1, 0));
	EQ(getxattr("d", "user.k", NULL, 0), 1);
	OK(rename("d", "e"));
	EQ(getxattr("e", "user.k", NULL, 0), 1);
}

TEST(rights_come_before_names)
{
	char b[8];

	OK(mkfifo("p", 0644));
	ERR(setxattr("p", "user.", "1", 1, 0), EPERM);
	ERR(getxattr("p", "user.", b, 8), ENODATA);
	ERR(setxattr("p", "noprefix", "1", 1, 0), EOPNOTSUPP);
	put("f", "x");
	OK(chmod("f", 0400));
	if (geteuid()) {
		ERR(setxattr("f", "noprefix", "1", 1, 0), EACCES);
		ERR(setxattr("f", "user.", "1", 1, 0), EACCES);
	}
	ERR(setxattr("f", "system.other", "1", 1, 0), EOPNOTSUPP);
}

TEST(trusted_names_are_for_root_alone)
{
	char b[64];

	put("f", "x");
	OK(setxattr("f", "user.a", "1", 1, 0));
	if (geteuid()) {
		ERR(setxattr("f", "trusted.a", "1", 1, 0), EPERM);
		ERR(getxattr("f", "trusted.a", b, 8), ENODATA);
		ERR(removexattr("f", "trusted.a"), EPERM);
		return;
	}
	OK(setxattr("f", "trusted.a", "12", 2, 0));
	EQ(getxattr("f", "trusted.a", b, 8), 2);
	EQ(listxattr("f", b, sizeof(b)), 17);
	OK(removexattr("f", "trusted.a"));
	ERR(getxattr("f", "trusted.a", b, 8), ENODATA);
}
