// modes: bare
/* Directory descriptors, unlinked files, O_PATH, O_TMPFILE, O_APPEND. */
#include "guest.h"

TEST(relative_opens_from_a_system_directory)
{
	int d = OK(open("/usr/lib", O_RDONLY | O_DIRECTORY));
	struct stat a, b;

	OK(fstatat(d, ".", &a, 0));
	OK(stat("/usr/lib", &b));
	EQ(a.st_ino, b.st_ino);
	OK(fstatat(d, "../bin/env", &a, 0));
	OK(stat("/usr/bin/env", &b));
	EQ(a.st_ino, b.st_ino);
	OK(fchdir(d));
	OK(stat("../bin/env", &a));
	EQ(a.st_ino, b.st_ino);
}

TEST(descriptor_follows_its_directory_through_renames)
{
	OK(mkdir("a", 0755));
	put("a/f", "x");
	int d = OK(open("a", O_RDONLY | O_DIRECTORY));
	OK(rename("a", "b"));
	OK(mkdir("a", 0755));
	OK(faccessat(d, "f", F_OK, 0));
	int fd = OK(openat(d, "g", O_CREAT | O_WRONLY, 0644));
	OK(close(fd));
	CHECK(exists("b/g"));
	CHECK(!exists("a/g"));
	OK(fchdir(d));
	char cwd[PATH_MAX];
	CHECK(getcwd(cwd, sizeof(cwd)));
	CHECK(strstr(cwd, "/b"));
	ERR(openat(d, "../b/none", O_RDONLY), ENOENT);
	OK(close(OK(openat(d, "../b/g", O_RDONLY))));
}

TEST(lower_descriptor_follows_too)
{
	int d = OK(open(lower("dir"), O_RDONLY | O_DIRECTORY));

	OK(rename(lower("dir"), "moved"));
	OK(faccessat(d, "sub/deep", F_OK, 0));
	OK(close(OK(openat(d, "made", O_CREAT | O_WRONLY, 0644))));
	CHECK(exists("moved/made"));
	ERR(faccessat(d, "../dir", F_OK, 0), ENOENT);
}

TEST(fchdir_errors)
{
	put("f", "x");
	int f = OK(open("f", O_RDONLY)), p = OK(open(".", O_PATH));

	ERR(fchdir(f), ENOTDIR);
	ERR(fchdir(99), EBADF);
	OK(fchdir(p));
}

TEST(unlinked_file_lives_while_open)
{
	char buf[16] = "";
	struct stat st;
	int fd = OK(open("f", O_CREAT | O_RDWR, 0644));

	EQ(write(fd, "abc", 3), 3);
	OK(unlink("f"));
	OK(fstat(fd, &st));
	EQ(st.st_nlink, 0);
	EQ(st.st_size, 3);
	EQ(pread(fd, buf, 16, 0), 3);
	EQ(write(fd, "def", 3), 3);
	OK(ftruncate(fd, 5));
	OK(fchmod(fd, 0600));
	OK(fstat(fd, &st));
	EQ(st.st_mode & 07777, 0600);
	EQ(st.st_size, 5);
	put("f", "other");
	EQ(pread(fd, buf, 16, 0), 5);
	CHECK(!memcmp(buf, "abcde", 5));
}

TEST(unlinked_lower_file_lives_while_open)
{
	char buf[32] = "";
	struct stat st;
	int fd = OK(open(lower("file"), O_RDONLY));

	OK(unlink(lower("file")));
	OK(fstat(fd, &st));
	EQ(st.st_nlink, 0);
	EQ(read(fd, buf, 32), 11);
	STREQ(buf, "lower file\n");
}

TEST(reopen_by_proc_self_fd)
{
	char p[64], buf[8] = "";
	int fd = OK(open("f", O_CREAT | O_RDWR, 0644));

	EQ(write(fd, "abc", 3), 3);
	OK(unlink("f"));
	snprintf(p, sizeof(p), "/proc/self/fd/%d", fd);
	int g = OK(open(p, O_RDONLY));
	EQ(read(g, buf, 8), 3);
	STREQ(buf, "abc");
	snprintf(p, sizeof(p), "/dev/fd/%d", fd);
	OK(close(OK(open(p, O_RDWR))));
	ERR(open("/proc/self/fd/99", O_RDONLY), ENOENT);
}

TEST(tmpfile_linked_into_place)
{
	char p[64];
	struct stat st;
	int fd = OK(open(".", O_TMPFILE | O_RDWR, 0640));

	EQ(write(fd, "data", 4), 4);
	OK(fstat(fd, &st));
	EQ(st.st_nlink, 0);
	snprintf(p, sizeof(p), "/proc/self/fd/%d", fd);
	OK(linkat(AT_FDCWD, p, AT_FDCWD, "named", AT_SYMLINK_FOLLOW));
	STREQ(get("named"), "data");
	EQ(mode_of("named"), 0640);
	EQ(nlink_of("named"), 1);
	ERR(linkat(AT_FDCWD, p, AT_FDCWD, "named", AT_SYMLINK_FOLLOW), EEXIST);
	fd = OK(open(".", O_TMPFILE | O_RDWR | O_EXCL, 0640));
	snprintf(p, sizeof(p), "/proc/self/fd/%d", fd);
	ERR(linkat(AT_FDCWD, p, AT_FDCWD, "x", AT_SYMLINK_FOLLOW), ENOENT);
}

TEST(O_PATH_of_links_and_files)
{
	struct stat st;
	char b[8] = "";

	put("f", "x");
	OK(symlink("f", "l"));
	int l = OK(open("l", O_PATH | O_NOFOLLOW));
	OK(fstat(l, &st));
	CHECK(S_ISLNK(st.st_mode));
	EQ(readlinkat(l, "", b, 8), 1);
	STREQ(b, "f");
	int f = OK(open("f", O_PATH));
	void *m = mmap(NULL, 1, PROT_READ, MAP_PRIVATE, f, 0);
	/* Natively both EBADF; inside, where these are not looked at, the
	 * descriptor is of a file that may not be read or written. */
	CHECK(m == MAP_FAILED && (errno == EBADF || errno == EACCES));
	CHECK(ftruncate(f, 0) < 0 && (errno == EBADF || errno == EINVAL));
	CHECK(getsockname(f, (void *)b, &(socklen_t){8}) < 0 &&
	      (errno == EBADF || errno == ENOTSOCK));
	OK(dup(f));
	if (geteuid()) {
		OK(chmod("f", 0));
		OK(close(OK(open("f", O_PATH))));
	}
}

TEST(append_goes_to_the_end_from_every_description)
{
	int a = OK(open("f", O_CREAT | O_WRONLY | O_APPEND, 0644));
	int b = OK(open("f", O_WRONLY | O_APPEND));
	int c = OK(open("f", O_RDWR));

	EQ(write(a, "1", 1), 1);
	EQ(write(b, "2", 1), 1);
	EQ(write(a, "3", 1), 1);
	EQ(pwrite(c, "x", 1, 1), 1);
	EQ(write(b, "4", 1), 1);
	STREQ(get("f"), "1x34");
	pid_t p[4];
	for (int i = 0; i < 4; i++)
		p[i] = CHILD(for (int j = 0; j < 200; j++)
				     EQ(write(a, "line\n", 5), 5));
	for (int i = 0; i < 4; i++)
		EQ(wait_for(p[i]), 0);
	struct stat st;
	OK(fstat(a, &st));
	EQ(st.st_size, 4 + 4000);
}

TEST(old_reader_sees_the_new_content_after_first_write)
{
	char buf[32] = "";
	int r = OK(open(lower("file"), O_RDONLY));

	EQ(pread(r, buf, 5, 0), 5);
	int w = OK(open(lower("file"), O_WRONLY));
	EQ(write(w, "LOWER", 5), 5);
	int r2 = OK(open(lower("file"), O_RDONLY));
	EQ(read(r2, buf, 32), 11);
	STREQ(buf, "LOWER file\n");
}

TEST(copy_between_files)
{
	int in = OK(open(lower("data"), O_RDONLY));
	int out = OK(open("copy", O_CREAT | O_WRONLY, 0644));
	ssize_t n, total = 0;

	while ((n = copy_file_range(in, NULL, out, NULL, 30000, 0)) > 0)
		total += n;
	if (n < 0) {
		CHECK(errno == EXDEV || errno == EINVAL || errno == ENOSYS);
		char buf[4096];
		while ((n = read(in, buf, sizeof(buf))) > 0)
			total += write(out, buf, (size_t)n);
	}
	EQ(total, 100000);
	struct stat st;
	OK(stat("copy", &st));
	EQ(st.st_size, 100000);
}
