// modes: bare
/* stat, lstat, fstat, fstatat, statx, statfs and access. */
#include "guest.h"
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <sys/sysmacros.h>

TEST(all_forms_agree)
{
	struct stat a, b;
	struct statx x;
	put("f", "hello");
	OK(chmod("f", 0640));
	int fd = OK(open("f", O_RDONLY));

	OK(stat("f", &a));
	OK(fstat(fd, &b));
	EQ(a.st_ino, b.st_ino);
	EQ(a.st_dev, b.st_dev);
	EQ(a.st_mode, b.st_mode);
	EQ(a.st_size, b.st_size);
	EQ(a.st_mtim.tv_nsec, b.st_mtim.tv_nsec);
	EQ(a.st_ctim.tv_nsec, b.st_ctim.tv_nsec);
	OK(fstatat(fd, "", &b, AT_EMPTY_PATH));
	EQ(a.st_ino, b.st_ino);
	OK(statx(AT_FDCWD, "f", 0, STATX_ALL, &x));
	EQ(x.stx_ino, a.st_ino);
	EQ(x.stx_mode, a.st_mode);
	EQ(x.stx_size, 5);
	EQ(x.stx_nlink, 1);
	EQ(x.stx_uid, getuid());
	EQ(makedev(x.stx_dev_major, x.stx_dev_minor), a.st_dev);
	EQ(x.stx_mask & STATX_BASIC_STATS, STATX_BASIC_STATS);
	OK(statx(fd, "", AT_EMPTY_PATH, STATX_INO, &x));
	EQ(x.stx_ino, a.st_ino);
}

TEST(statx_every_mask_bit)
{
	struct statx x;

	put("f", "x");
	for (int i = 0; i < 31; i++)
		OK(statx(AT_FDCWD, "f", 0, 1u << i, &x));
	ERR(statx(AT_FDCWD, "f", 0, 1u << 31, &x), EINVAL);
	ERR(statx(AT_FDCWD, "f", 0x6000, STATX_ALL, &x), EINVAL);
	ERR(statx(AT_FDCWD, "f", 0x100000, STATX_ALL, &x), EINVAL);
	OK(statx(AT_FDCWD, "f", AT_STATX_FORCE_SYNC, STATX_ALL, &x));
	OK(statx(AT_FDCWD, "f", AT_STATX_DONT_SYNC, STATX_ALL, &x));
}

TEST(lstat_shows_the_link)
{
	struct stat st;

	OK(symlink("target", "l"));
	OK(lstat("l", &st));
	CHECK(S_ISLNK(st.st_mode));
	EQ(st.st_size, 6);
	EQ(st.st_mode & 07777, 0777);
	ERR(stat("l", &st), ENOENT);
	OK(fstatat(AT_FDCWD, "l", &st, AT_SYMLINK_NOFOLLOW));
	CHECK(S_ISLNK(st.st_mode));
	ERR(fstatat(AT_FDCWD, "l", &st, 0x40000000), EINVAL);
}

TEST(kinds_of_files)
{
	struct stat st;
	int p[2];

	OK(mkdir("d", 0755));
	OK(stat("d", &st));
	CHECK(S_ISDIR(st.st_mode));
	OK(mkfifo("p", 0600));
	OK(stat("p", &st));
	CHECK(S_ISFIFO(st.st_mode));
	EQ(st.st_mode & 07777, 0600);
	OK(pipe(p));
	OK(fstat(p[0], &st));
	CHECK(S_ISFIFO(st.st_mode));
	int s = OK(socket(AF_UNIX, SOCK_STREAM, 0));
	OK(fstat(s, &st));
	CHECK(S_ISSOCK(st.st_mode));
	int m = OK(memfd_create("m", 0));
	OK(fstat(m, &st));
	CHECK(S_ISREG(st.st_mode));
	EQ(st.st_size, 0);
}

TEST(bad_descriptors_and_paths)
{
	struct stat st;

	ERR(fstat(-1, &st), EBADF);
	ERR(fstat(99, &st), EBADF);
	ERR(fstatat(99, "x", &st, 0), EBADF);
	ERR(stat("", &st), ENOENT);
	ERR(fstatat(AT_FDCWD, "", &st, 0), ENOENT);
	OK(fstatat(AT_FDCWD, "", &st, AT_EMPTY_PATH));
	CHECK(S_ISDIR(st.st_mode));
	OK(fstatat(99, "/", &st, 0));
}

TEST(inode_number_is_stable_over_the_first_write)
{
	ino_t before = ino_of(lower("file"));
	dev_t dev;
	struct stat st;

	OK(stat(lower("file"), &st));
	dev = st.st_dev;
	int fd = OK(open(lower("file"), O_WRONLY | O_APPEND));
	EQ(write(fd, "more\n", 5), 5);
	OK(fstat(fd, &st));
	EQ(st.st_ino, before);
	EQ(st.st_dev, dev);
	EQ(st.st_size, 16);
	EQ(ino_of(lower("file")), before);
	STREQ(get(lower("file")), "lower file\nmore\n");
}

TEST(times_advance_on_change)
{
	struct stat a, b;
	struct timespec old[2] = {{1000, 5}, {2000, 7}};

	put("f", "x");
	OK(utimensat(AT_FDCWD, "f", old, 0));
	OK(stat("f", &a));
	EQ(a.st_mtim.tv_sec, 2000);
	int fd = OK(open("f", O_WRONLY));
	EQ(write(fd, "y", 1), 1);
	OK(stat("f", &b));
	CHECK(b.st_mtim.tv_sec > 1000000000);
	CHECK(b.st_ctim.tv_sec >= a.st_ctim.tv_sec);
	OK(mkdir("d", 0755));
	OK(utimensat(AT_FDCWD, "d", old, 0));
	put("d/x", "");
	OK(stat("d", &b));
	CHECK(b.st_mtim.tv_sec > 1000000000);
}

TEST(directory_link_counts)
{
	OK(mkdir("d", 0755));
	EQ(nlink_of("d"), 2);
	OK(mkdir("d/a", 0755));
	OK(mkdir("d/b", 0755));
	EQ(nlink_of("d"), 4);
	OK(rename("d/a", "a"));
	EQ(nlink_of("d"), 3);
	OK(rmdir("d/b"));
	EQ(nlink_of("d"), 2);
}

TEST(statfs_forms)
{
	struct statfs a, b;
	struct statvfs v;

	put("f", "x");
	OK(statfs(".", &a));
	int fd = OK(open("f", O_RDONLY));
	OK(fstatfs(fd, &b));
	EQ(a.f_type, b.f_type);
	EQ(a.f_bsize, b.f_bsize);
	EQ(a.f_namelen, 255);
	CHECK(a.f_blocks > 0);
	OK(statvfs(".", &v));
	ERR(statfs("none", &a), ENOENT);
	ERR(fstatfs(99, &a), EBADF);
	OK(statfs("/proc", &a));
	EQ(a.f_type, 0x9fa0);
}

TEST(access_forms)
{
	put("f", "x");
	OK(chmod("f", 0600));
	OK(access("f", F_OK));
	OK(access("f", R_OK | W_OK));
	ERR(access("f", X_OK), EACCES);
	ERR(access("none", F_OK), ENOENT);
	ERR(access("f/x", F_OK), ENOTDIR);
	ERR(access("f", 8), EINVAL);
	OK(faccessat(AT_FDCWD, "f", R_OK, AT_EACCESS));
	ERR(faccessat(AT_FDCWD, "f", X_OK, AT_EACCESS), EACCES);
	OK(syscall(SYS_faccessat2, AT_FDCWD, "/bin/sh", X_OK, 0));
	ERR(syscall(SYS_faccessat2, AT_FDCWD, "f", R_OK, 0x8000), EINVAL);
	OK(symlink("none", "l"));
	ERR(access("l", F_OK), ENOENT);
	OK(syscall(SYS_faccessat2, AT_FDCWD, "l", F_OK, AT_SYMLINK_NOFOLLOW));
	int fd = OK(open("f", O_RDONLY));
	OK(syscall(SYS_faccessat2, fd, "", R_OK, AT_EMPTY_PATH));
	ERR(syscall(SYS_faccessat, 99, "f", R_OK), EBADF);
	OK(access(".", X_OK));
}

TEST(access_of_others_files)
{
	if (geteuid() == 0 || !exists(lower("rootfile")))
		SKIP("needs an unprivileged user and a file of root");
	OK(access(lower("rootfile"), R_OK));
	ERR(access(lower("rootfile"), W_OK), EACCES);
	ERR(open(lower("rootfile"), O_WRONLY | O_APPEND), EACCES);
	ERR(chmod(lower("rootfile"), 0644), EPERM);
	ERR(truncate(lower("rootfile"), 0), EACCES);
	ERR(access("/etc/passwd", W_OK), EACCES);
	ERR(open("/etc/new", O_CREAT | O_WRONLY, 0644), EACCES);
}

TEST(statx_tells_when_a_file_was_made)
{
	struct statx a, b;
	struct timespec old[2] = {{1000, 0}, {1000, 0}};

	put("f", "x");
	OK(statx(AT_FDCWD, "f", 0, STATX_BASIC_STATS | STATX_BTIME, &a));
	if (!(a.stx_mask & STATX_BTIME))
		SKIP("no birth times here");
	CHECK(a.stx_btime.tv_sec > 1000000000);
	OK(utimensat(AT_FDCWD, "f", old, 0));
	OK(rename("f", "g"));
	OK(statx(AT_FDCWD, "g", 0, STATX_BTIME, &b));
	EQ(b.stx_btime.tv_sec, a.stx_btime.tv_sec);
	EQ(b.stx_btime.tv_nsec, a.stx_btime.tv_nsec);
	OK(statx(AT_FDCWD, lower("file"), 0, STATX_BTIME, &a));
	CHECK(a.stx_mask & STATX_BTIME);
	OK(chmod(lower("file"), 0600));
	OK(statx(AT_FDCWD, lower("file"), 0, STATX_BTIME, &b));
	EQ(b.stx_btime.tv_sec, a.stx_btime.tv_sec);
	EQ(b.stx_btime.tv_nsec, a.stx_btime.tv_nsec);
}
