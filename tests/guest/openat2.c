// modes: bare
/* openat2(2): resolve flags, sizes, unknown bits. */
#include "guest.h"
#include <linux/openat2.h>

static int o2(int dfd, const char *path, uint64_t flags, uint64_t resolve)
{
	struct open_how how = {.flags = flags, .resolve = resolve};

	if (flags & O_CREAT)
		how.mode = 0644;
	return (int)syscall(SYS_openat2, dfd, path, &how, sizeof(how));
}

TEST(openat2_plain_open_and_create)
{
	int fd = OK(o2(AT_FDCWD, "f", O_CREAT | O_RDWR, 0));

	EQ(write(fd, "x", 1), 1);
	EQ(mode_of("f"), 0644);
}

TEST(openat2_beneath_escape_is_EXDEV)
{
	OK(mkdir("d", 0755));
	put("d/f", "x");
	put("out", "y");
	OK(symlink("../out", "d/up"));
	OK(symlink("/etc/passwd", "d/abs"));
	OK(symlink("f", "d/in"));
	int d = OK(open("d", O_RDONLY | O_DIRECTORY));

	OK(o2(d, "f", O_RDONLY, RESOLVE_BENEATH));
	OK(o2(d, "in", O_RDONLY, RESOLVE_BENEATH));
	ERR(o2(d, "../out", O_RDONLY, RESOLVE_BENEATH), EXDEV);
	ERR(o2(d, "..", O_RDONLY, RESOLVE_BENEATH), EXDEV);
	ERR(o2(d, "up", O_RDONLY, RESOLVE_BENEATH), EXDEV);
	ERR(o2(d, "abs", O_RDONLY, RESOLVE_BENEATH), EXDEV);
	ERR(o2(d, "/etc/passwd", O_RDONLY, RESOLVE_BENEATH), EXDEV);
}

TEST(openat2_in_root_confines)
{
	OK(mkdir("d", 0755));
	put("d/f", "inside");
	put("f", "outside");
	OK(symlink("/f", "d/abs"));
	int d = OK(open("d", O_RDONLY | O_DIRECTORY)), fd;
	char buf[16] = "";

	fd = OK(o2(d, "abs", O_RDONLY, RESOLVE_IN_ROOT));
	EQ(read(fd, buf, 16), 6);
	fd = OK(o2(d, "../../../f", O_RDONLY, RESOLVE_IN_ROOT));
	EQ(read(fd, buf, 16), 6);
	fd = OK(o2(d, "/f", O_RDONLY, RESOLVE_IN_ROOT));
	EQ(read(fd, buf, 16), 6);
}

TEST(openat2_no_symlinks_is_ELOOP)
{
	put("f", "x");
	OK(symlink("f", "l"));
	OK(mkdir("d", 0755));
	put("d/f", "x");
	OK(symlink("d", "dl"));
	ERR(o2(AT_FDCWD, "l", O_RDONLY, RESOLVE_NO_SYMLINKS), ELOOP);
	ERR(o2(AT_FDCWD, "dl/f", O_RDONLY, RESOLVE_NO_SYMLINKS), ELOOP);
	OK(o2(AT_FDCWD, "d/f", O_RDONLY, RESOLVE_NO_SYMLINKS));
	OK(o2(AT_FDCWD, "l", O_PATH | O_NOFOLLOW, RESOLVE_NO_SYMLINKS));
}

TEST(openat2_no_magiclinks_is_ELOOP)
{
	ERR(o2(AT_FDCWD, "/proc/self/exe", O_RDONLY, RESOLVE_NO_MAGICLINKS),
	    ELOOP);
	put("f", "x");
	OK(symlink("f", "l"));
	OK(o2(AT_FDCWD, "l", O_RDONLY, RESOLVE_NO_MAGICLINKS));
}

TEST(openat2_no_xdev_is_EXDEV)
{
	int r = OK(open("/", O_RDONLY | O_DIRECTORY));

	ERR(o2(r, "proc/self/stat", O_RDONLY, RESOLVE_NO_XDEV), EXDEV);
	put("f", "x");
	OK(o2(AT_FDCWD, "f", O_RDONLY, RESOLVE_NO_XDEV));
}

TEST(openat2_unknown_bits_are_EINVAL)
{
	put("f", "x");
	ERR(o2(AT_FDCWD, "f", O_RDONLY, 1 << 30), EINVAL);
	ERR(o2(AT_FDCWD, "f", O_RDONLY, 1ULL << 40), EINVAL);
	ERR(o2(AT_FDCWD, "f", 1ULL << 40, 0), EINVAL);
	ERR(o2(AT_FDCWD, "f", 0x40000000, 0), EINVAL);
	ERR(o2(AT_FDCWD, "f", O_RDONLY, RESOLVE_BENEATH | RESOLVE_IN_ROOT),
	    EINVAL);
}

TEST(openat2_mode_without_create_is_EINVAL)
{
	struct open_how how = {.flags = O_RDONLY, .mode = 0600};

	put("f", "x");
	ERR(syscall(SYS_openat2, AT_FDCWD, "f", &how, sizeof(how)), EINVAL);
	how.flags = O_CREAT | O_RDWR;
	how.mode = 010000;
	ERR(syscall(SYS_openat2, AT_FDCWD, "f", &how, sizeof(how)), EINVAL);
}

TEST(openat2_sizes)
{
	struct {
		struct open_how how;
		uint64_t more[2];
	} big = {.how.flags = O_RDONLY};

	put("f", "x");
	OK(syscall(SYS_openat2, AT_FDCWD, "f", &big, sizeof(big)));
	big.more[1] = 1;
	ERR(syscall(SYS_openat2, AT_FDCWD, "f", &big, sizeof(big)), E2BIG);
	ERR(syscall(SYS_openat2, AT_FDCWD, "f", &big, 8), EINVAL);
	ERR(syscall(SYS_openat2, AT_FDCWD, "f", &big, 0), EINVAL);
	ERR(syscall(SYS_openat2, AT_FDCWD, "f", &big, 1 << 20), E2BIG);
	ERR(syscall(SYS_openat2, AT_FDCWD, "f", NULL, 24), EFAULT);
}
