// modes: bare
/* open(2): flags, modes and errnos. */
#include "guest.h"

TEST(open_missing_is_ENOENT)
{
	ERR(open("missing", O_RDONLY), ENOENT);
	ERR(open("missing", O_RDWR), ENOENT);
	ERR(open("missing/x", O_RDWR | O_CREAT, 0644), ENOENT);
	ERR(open("", O_RDONLY), ENOENT);
}

TEST(open_create_excl_existing_is_EEXIST)
{
	put("f", "x");
	OK(symlink("nowhere", "l"));
	OK(mkdir("d", 0755));
	ERR(open("f", O_CREAT | O_EXCL | O_WRONLY, 0644), EEXIST);
	ERR(open("l", O_CREAT | O_EXCL | O_WRONLY, 0644), EEXIST);
	ERR(open("d", O_CREAT | O_EXCL | O_WRONLY, 0644), EEXIST);
	ERR(open(lower("file"), O_CREAT | O_EXCL | O_WRONLY, 0644), EEXIST);
	CHECK(!exists("nowhere"));
}

TEST(open_create_through_dangling_link_makes_target)
{
	OK(symlink("target", "l"));
	OK(close(OK(open("l", O_CREAT | O_WRONLY, 0644))));
	CHECK(exists("target"));
}

TEST(open_directory_for_write_is_EISDIR)
{
	OK(mkdir("d", 0755));
	ERR(open("d", O_WRONLY), EISDIR);
	ERR(open("d", O_RDWR), EISDIR);
	ERR(open("d", O_RDONLY | O_CREAT, 0644), EISDIR);
	ERR(open(lower("dir"), O_WRONLY), EISDIR);
	ERR(open("d/", O_CREAT | O_WRONLY, 0644), EISDIR);
	ERR(open("new/", O_CREAT | O_WRONLY, 0644), EISDIR);
}

TEST(open_O_DIRECTORY_on_file_is_ENOTDIR)
{
	put("f", "x");
	ERR(open("f", O_RDONLY | O_DIRECTORY), ENOTDIR);
	ERR(open("f/x", O_RDONLY), ENOTDIR);
	ERR(open("f/", O_RDONLY), ENOTDIR);
	ERR(open(lower("file/x"), O_RDONLY), ENOTDIR);
	OK(symlink("f", "l"));
	ERR(open("l", O_RDONLY | O_DIRECTORY), ENOTDIR);
	ERR(open("l", O_RDONLY | O_DIRECTORY | O_NOFOLLOW), ENOTDIR);
}

TEST(open_O_NOFOLLOW_on_link_is_ELOOP)
{
	put("f", "x");
	OK(symlink("f", "l"));
	ERR(open("l", O_RDONLY | O_NOFOLLOW), ELOOP);
	ERR(open(lower("link"), O_RDONLY | O_NOFOLLOW), ELOOP);
	OK(close(OK(open("l", O_PATH | O_NOFOLLOW))));
	OK(mkdir("d", 0755));
	OK(symlink("d", "dl"));
	put("d/in", "y");
	OK(close(OK(open("dl/in", O_RDONLY | O_NOFOLLOW))));
}

TEST(open_creates_with_umask)
{
	umask(027);
	OK(close(OK(open("a", O_CREAT | O_WRONLY, 0666))));
	EQ(mode_of("a"), 0640);
	umask(0);
	OK(close(OK(open("b", O_CREAT | O_WRONLY, 0777))));
	EQ(mode_of("b"), 0777);
	OK(close(OK(open("c", O_CREAT | O_WRONLY, 07777))));
	EQ(mode_of("c"), 07777);
}

TEST(open_new_file_ignores_its_own_mode)
{
	int fd = OK(open("f", O_CREAT | O_RDWR, 0));

	EQ(write(fd, "abc", 3), 3);
	EQ(mode_of("f"), 0);
	OK(close(fd));
	if (geteuid())
		ERR(open("f", O_RDONLY), EACCES);
}

TEST(open_trunc_empties)
{
	struct stat st;

	put("f", "0123456789");
	int fd = OK(open("f", O_WRONLY | O_TRUNC));
	OK(fstat(fd, &st));
	EQ(st.st_size, 0);
	OK(close(fd));
	put("g", "xyz");
	OK(close(OK(open("g", O_WRONLY | O_CREAT, 0600))));
	STREQ(get("g"), "xyz");
	EQ(mode_of("g"), 0644);
}

TEST(open_access_modes_hold)
{
	char c;
	put("f", "abc");
	int r = OK(open("f", O_RDONLY)), w = OK(open("f", O_WRONLY));

	ERR(write(r, "x", 1), EBADF);
	ERR(read(w, &c, 1), EBADF);
	ERR(ftruncate(r, 0), EINVAL);
	EQ(fcntl(r, F_GETFL) & O_ACCMODE, O_RDONLY);
	EQ(fcntl(w, F_GETFL) & O_ACCMODE, O_WRONLY);
	int rl = OK(open(lower("file"), O_RDONLY));
	ERR(write(rl, "x", 1), EBADF);
	ERR(ftruncate(rl, 0), EINVAL);
}

TEST(open_flags_read_back)
{
	int fd = OK(open("f",
			 O_CREAT | O_RDWR | O_APPEND | O_NONBLOCK | O_CLOEXEC,
			 0644));
	int fl = fcntl(fd, F_GETFL);

	EQ(fl & (O_APPEND | O_NONBLOCK | O_ACCMODE),
	   O_APPEND | O_NONBLOCK | O_RDWR);
	EQ(fl & (O_CREAT | O_EXCL | O_TRUNC | O_DIRECTORY), 0);
	EQ(fcntl(fd, F_GETFD), FD_CLOEXEC);
	OK(fcntl(fd, F_SETFL, 0));
	EQ(fcntl(fd, F_GETFL) & (O_APPEND | O_NONBLOCK), 0);
	int d = OK(open(".", O_RDONLY | O_DIRECTORY));
	EQ(fcntl(d, F_GETFL) & (O_DIRECTORY | O_ACCMODE), O_DIRECTORY);
}

TEST(open_lowest_free_descriptor)
{
	int a = OK(open("/dev/null", O_RDONLY));
	int b = OK(open("/dev/null", O_RDONLY));

	EQ(b, a + 1);
	OK(close(a));
	put("f", "x");
	/* put used and freed the slot */
	EQ(OK(open("f", O_RDONLY)), a);
}

TEST(open_permission_denied)
{
	if (geteuid() == 0)
		SKIP("root may read everything");
	put("f", "x");
	OK(chmod("f", 0));
	ERR(open("f", O_RDONLY), EACCES);
	ERR(open("f", O_WRONLY), EACCES);
	OK(chmod("f", 0200));
	ERR(open("f", O_RDONLY), EACCES);
	OK(close(OK(open("f", O_WRONLY))));
	OK(mkdir("d", 0755));
	put("d/in", "x");
	OK(chmod("d", 0600));
	ERR(open("d/in", O_RDONLY), EACCES);
	ERR(open("d/missing", O_RDONLY), EACCES);
	OK(chmod("d", 0500));
	ERR(open("d/new", O_CREAT | O_WRONLY, 0644), EACCES);
	OK(close(OK(open("d/in", O_CREAT | O_WRONLY, 0644))));
	OK(chmod("d", 0700));
}

TEST(open_creat_call_truncates)
{
	put("f", "abc");
	OK(close(OK(creat("f", 0600))));
	STREQ(get("f"), "");
	EQ(mode_of("f"), 0644);
}

TEST(open_O_PATH_gives_no_data)
{
	char c;
	struct stat st;
	put("f", "abc");
	int fd = OK(open("f", O_PATH));

	ERR(read(fd, &c, 1), EBADF);
	ERR(write(fd, "x", 1), EBADF);
	ERR(fchmod(fd, 0600), EBADF);
	OK(fstat(fd, &st));
	EQ(st.st_size, 3);
	CHECK(fcntl(fd, F_GETFL) & O_PATH);
}

TEST(open_O_EXEC_like_wrong_access_mode)
{
	char c;
	put("f", "abc");
	int fd = OK(open("f", 3));

	ERR(read(fd, &c, 1), EBADF);
	ERR(write(fd, "x", 1), EBADF);
}

TEST(open_O_TMPFILE_needs_write_and_directory)
{
	ERR(open(".", O_TMPFILE | O_RDONLY, 0600), EINVAL);
	put("f", "x");
	ERR(open("f", O_TMPFILE | O_RDWR, 0600), ENOTDIR);
	OK(close(OK(open(".", O_TMPFILE | O_RDWR, 0600))));
}

TEST(openat_bad_dirfd)
{
	ERR(openat(-1, "f", O_RDONLY), EBADF);
	ERR(openat(99, "f", O_RDONLY), EBADF);
	put("f", "x");
	int fd = OK(open("f", O_RDONLY));
	ERR(openat(fd, "g", O_RDONLY), ENOTDIR);
	OK(close(OK(openat(fd, guest_self, O_RDONLY))));
	ERR(openat(fd, "", O_RDONLY), ENOENT);
}

TEST(open_device_files)
{
	char buf[16];
	int fd = OK(open("/dev/null", O_RDWR));

	EQ(write(fd, "abc", 3), 3);
	EQ(read(fd, buf, 3), 0);
	fd = OK(open("/dev/zero", O_RDONLY));
	memset(buf, 1, sizeof(buf));
	EQ(read(fd, buf, 16), 16);
	EQ(buf[15], 0);
	fd = OK(open("/dev/full", O_WRONLY));
	ERR(write(fd, "abc", 3), ENOSPC);
	fd = OK(open("/dev/urandom", O_RDONLY));
	EQ(read(fd, buf, 16), 16);
	struct stat st;
	OK(stat("/dev/null", &st));
	CHECK(S_ISCHR(st.st_mode));
	EQ(st.st_rdev, (1 << 8) | 3);
}

TEST(open_unix_socket_is_ENXIO)
{
	struct sockaddr_un a = {.sun_family = AF_UNIX, .sun_path = "s"};
	int s = OK(socket(AF_UNIX, SOCK_STREAM, 0));

	OK(bind(s, (void *)&a, sizeof(a)));
	ERR(open("s", O_RDWR), ENXIO);
}

TEST(open_running_program_for_write_is_ETXTBSY)
{
	ERR(open(guest_self, O_WRONLY), ETXTBSY);
	ERR(truncate(guest_self, 0), ETXTBSY);
}

static void *fill_and_ask(void *limit)
{
	int fd;

	for (int i = 0; i < 40; i++)
		ERR(open("none", O_RDONLY), ENOENT);
	while ((fd = dup(0)) >= 0)
		;
	EQ(errno, EMFILE);
	for (int i = 0; i < 2; i++)
		ERR(open("none", O_RDONLY), EMFILE);
	/* one number is left, and it is not the highest */
	OK(close(7));
	ERR(open("none", O_RDONLY), ENOENT);
	EQ(dup(0), 7);
	ERR(open("none", O_RDONLY), EMFILE);
	/* numbers above the limit do not count against those below */
	OK(close(9));
	OK(setrlimit(RLIMIT_NOFILE, limit));
	ERR(open("none", O_RDONLY), ENOENT);
	EQ(dup(0), 9);
	ERR(open("none", O_RDONLY), EMFILE);
	return NULL;
}

/* However often there was room before; in a thread as well. */
TEST(open_of_nothing_tells_a_full_table)
{
	struct rlimit r, less;
	pthread_t t;

	OK(getrlimit(RLIMIT_NOFILE, &r));
	r.rlim_cur = 64;
	OK(setrlimit(RLIMIT_NOFILE, &r));
	less = r;
	less.rlim_cur = 32;
	fill_and_ask(&less);
	for (int fd = 3; fd < 64; fd++)
		close(fd);
	OK(setrlimit(RLIMIT_NOFILE, &r));
	EQ(pthread_create(&t, NULL, fill_and_ask, &less), 0);
	EQ(pthread_join(t, NULL), 0);
}

/* A number is reserved before the path is looked at. */
TEST(open_with_a_full_table_changes_nothing)
{
	int fd, first = OK(dup(0));
	struct rlimit r;

	struct stat before, st;

	OK(mkdir("dir", 0755));
	put("dir/old", "data");
	put("old", "data");
	OK(stat("dir", &before));
	OK(getrlimit(RLIMIT_NOFILE, &r));
	r.rlim_cur = 32;
	OK(setrlimit(RLIMIT_NOFILE, &r));
	while ((fd = dup(0)) >= 0)
		;
	EQ(errno, EMFILE);
	ERR(open("f", O_CREAT | O_WRONLY, 0644), EMFILE);
	ERR(open("old", O_TRUNC | O_WRONLY), EMFILE);
	ERR(open("old", O_RDONLY), EMFILE);
	/* before any fault that the path has, but not of the path itself */
	ERR(open("none", O_RDONLY), EMFILE);
	ERR(open("old/under", O_RDONLY), EMFILE);
	ERR(openat(-5, "old", O_RDONLY), EMFILE);
	ERR(open("old", O_RDONLY | O_DIRECTORY), EMFILE);
	ERR(open("old", O_CREAT | O_EXCL | O_WRONLY, 0644), EMFILE);
	ERR(open("none", O_PATH), EMFILE);
	ERR(open("", O_RDONLY), ENOENT);
	ERR(open("", O_CREAT | O_WRONLY, 0644), ENOENT);
	ERR(open((char *)8, O_CREAT | O_WRONLY, 0644), EFAULT);
	ERR(open("old", O_CREAT | O_DIRECTORY, 0644), EINVAL);
	ERR(open("dir/f", O_CREAT | O_EXCL | O_WRONLY, 0644), EMFILE);
	ERR(open("dir/f", O_CREAT | O_TRUNC | O_RDWR, 0644), EMFILE);
	ERR(open("dir/old", O_CREAT | O_TRUNC | O_RDWR, 0644), EMFILE);
	ERR(open("dir/f", O_RDONLY), EMFILE);
	ERR(stat("f", &st), ENOENT);
	ERR(stat("dir/f", &st), ENOENT);
	OK(stat("old", &st));
	EQ(st.st_size, 4);
	OK(stat("dir/old", &st));
	EQ(st.st_size, 4);
	OK(stat("dir", &st));
	EQ(st.st_mtim.tv_nsec, before.st_mtim.tv_nsec);
	EQ(st.st_ctim.tv_nsec, before.st_ctim.tv_nsec);
	OK(close(first));
	EQ(OK(open("f", O_CREAT | O_EXCL | O_WRONLY, 0644)), first);
}

/* F_GETFL: what was asked for, and O_LARGEFILE, whose value 64-bit headers
 * hide. */
TEST(status_flags_are_what_was_asked_for)
{
	static const int more[] = {0, O_NOFOLLOW, O_APPEND, O_NONBLOCK,
				   O_NONBLOCK | O_NOFOLLOW | O_SYNC};
	const char *files[] = {"f", lower("file")};
	const int large = 0100000;

	put("f", "x");
	for (size_t i = 0; i < 5; i++)
		for (size_t k = 0; k < 2; k++) {
			int fd = OK(open(files[k], O_RDONLY | more[i]));

			EQ(fcntl(fd, F_GETFL) | (more[i] & O_NOFOLLOW),
			   large | more[i]);
			OK(close(fd));
		}
	for (size_t i = 0; i < 5; i++)
		for (size_t k = 0; k < 2; k++) {
			int fd = OK(open(files[k], O_RDWR | more[i]));

			EQ(fcntl(fd, F_GETFL), large | O_RDWR | more[i]);
			OK(close(fd));
		}
	EQ(fcntl(OK(open(".", O_RDONLY)), F_GETFL), large);
	EQ(fcntl(OK(open(".", O_DIRECTORY)), F_GETFL), large | O_DIRECTORY);
	EQ(fcntl(OK(open("/dev/null", O_WRONLY)), F_GETFL), large | O_WRONLY);
	EQ(fcntl(OK(open("/proc/self/status", O_RDONLY)), F_GETFL), large);
	EQ(fcntl(OK(creat("g", 0600)), F_GETFL), large | O_WRONLY);
}

TEST(direct_is_for_files)
{
	OK(mkdir("d", 0755));
	ERR(open("d", O_RDONLY | O_DIRECT), EINVAL);
	OK(mkfifo("p", 0644));
	ERR(open("p", O_RDWR | O_DIRECT), EINVAL);
	ERR(open("p", 3 | O_NONBLOCK), EINVAL);
	put("f", "x");
	close(OK(open("f", 3)));
}

/* As tail -f does: it asks by fstat whether there is more. */
TEST(descriptor_opened_before_the_first_write_follows_the_file)
{
	char b[64] = "";
	struct stat st;
	int fd = OK(open(lower("file"), O_RDONLY));
	ssize_t n = OK(read(fd, b, sizeof(b)));
	int w = OK(open(lower("file"), O_WRONLY | O_APPEND));

	EQ(n, 11);
	EQ(write(w, "more\n", 5), 5);
	OK(fstat(fd, &st));
	EQ(st.st_size, 16);
	EQ(read(fd, b, sizeof(b)), 5);
	CHECK(memcmp(b, "more\n", 5) == 0);
	EQ(fcntl(fd, F_GETFL) & O_ACCMODE, O_RDONLY);
	EQ(fcntl(fd, F_GETFD), 0);
	EQ(write(w, "yet\n", 4), 4);
	EQ(read(fd, b, sizeof(b)), 4);
	EQ(write(fd, "x", 1), -1);
	OK(close(w));
	OK(close(fd));
}

/* A shell's `while read` and the programs in it share one offset. */
TEST(offset_shared_with_a_child_stays_shared)
{
	char b[4];
	struct stat st;
	int fd = OK(open(lower("file"), O_RDONLY)), w;

	w = OK(open(lower("file"), O_WRONLY | O_APPEND));
	EQ(write(w, "more\n", 5), 5);
	EQ(wait_for(CHILD({
		   OK(fstat(fd, &st));
		   EQ(read(fd, b, 4), 4);
	   })),
	   0);
	EQ(lseek(fd, 0, SEEK_CUR), 4);
	OK(close(w));
	OK(close(fd));
}
