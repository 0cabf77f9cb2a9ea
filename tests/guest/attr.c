// modes: bare vroot
/* chmod, chown, utimes and truncate families, and umask. */
#include "guest.h"
#include <dirent.h>
#include <grp.h>
#include <sys/statvfs.h>
#include <sys/fsuid.h>
#include <utime.h>

TEST(chmod_forms)
{
	put("f", "x");
	OK(symlink("f", "l"));
	OK(chmod("f", 0604));
	EQ(mode_of("f"), 0604);
	OK(chmod("l", 0640));
	EQ(mode_of("f"), 0640);
	int fd = OK(open("f", O_RDONLY));
	OK(fchmod(fd, 04711));
	EQ(mode_of("f"), 04711);
	OK(fchmodat(AT_FDCWD, "f", 0600, 0));
	EQ(mode_of("f"), 0600);
	ERR(chmod("none", 0600), ENOENT);
	ERR(fchmod(99, 0600), EBADF);
	ERR(chmod("f/x", 0600), ENOTDIR);
	OK(chmod("f", 0170777));
	EQ(mode_of("f"), 0777);
}

TEST(fchmodat2_flags)
{
	put("f", "x");
	OK(symlink("f", "l"));
	long r = syscall(SYS_fchmodat + 0, AT_FDCWD, "f", 0611);
	EQ(r, 0);
	EQ(mode_of("f"), 0611);
	errno = 0;
	r = syscall(452, AT_FDCWD, "f", 0600, 0);
	if (r < 0 && errno == ENOSYS)
		SKIP("no fchmodat2 in this kernel");
	EQ(r, 0);
	EQ(mode_of("f"), 0600);
	ERR(syscall(452, AT_FDCWD, "l", 0644, AT_SYMLINK_NOFOLLOW), EOPNOTSUPP);
	EQ(mode_of("f"), 0600);
	ERR(syscall(452, AT_FDCWD, "f", 0600, 1), EINVAL);
	int fd = OK(open("f", O_PATH));
	OK(syscall(452, fd, "", 0640, AT_EMPTY_PATH));
	EQ(mode_of("f"), 0640);
}

TEST(chmod_of_lower_file_keeps_data_and_inode)
{
	ino_t ino = ino_of(lower("script.sh"));
	struct stat st;

	OK(chmod(lower("script.sh"), 0700));
	EQ(mode_of(lower("script.sh")), 0700);
	EQ(ino_of(lower("script.sh")), ino);
	OK(stat(lower("script.sh"), &st));
	EQ(st.st_mtim.tv_nsec, 123456789);
	CHECK(strstr(get(lower("script.sh")), "echo script"));
	put(lower("script.sh"), "other");
	EQ(mode_of(lower("script.sh")), 0700);
}

TEST(copy_up_keeps_the_exec_bit)
{
	int fd = OK(open(lower("script.sh"), O_WRONLY | O_APPEND));

	EQ(write(fd, "# end\n", 6), 6);
	OK(close(fd));
	EQ(mode_of(lower("script.sh")), 0755);
}

TEST(write_clears_setid_bits)
{
	put("f", "x");
	OK(chmod("f", 06755));
	int fd = OK(open("f", O_WRONLY));
	EQ(write(fd, "y", 1), 1);
	EQ(mode_of("f"), geteuid() ? 0755 : 06755);
	EQ(mode_of(lower("setuid")), 06755);
	fd = OK(open(lower("setuid"), O_WRONLY | O_APPEND));
	EQ(write(fd, "y", 1), 1);
	EQ(mode_of(lower("setuid")), geteuid() ? 0755 : 06755);
}

TEST(chmod_of_others_is_EPERM)
{
	if (geteuid() == 0)
		SKIP("root may");
	ERR(chmod("/etc/passwd", 0600), EPERM);
	ERR(chmod("/", 0700), EPERM);
	int fd = OK(open("/etc/passwd", O_RDONLY));
	ERR(fchmod(fd, 0600), EPERM);
	ERR(fchown(fd, getuid(), getgid()), EPERM);
	ERR(futimens(fd, NULL), EACCES);
	ERR(utimensat(AT_FDCWD, "/etc/passwd",
		      (struct timespec[2]){{1, 1}, {1, 1}}, 0),
	    EPERM);
}

TEST(chown_to_oneself)
{
	struct stat st;

	put("f", "x");
	OK(symlink("f", "l"));
	OK(chown("f", getuid(), getgid()));
	OK(chown("f", (uid_t)-1, (gid_t)-1));
	OK(lchown("l", getuid(), (gid_t)-1));
	int fd = OK(open("f", O_RDONLY));
	OK(fchown(fd, getuid(), getgid()));
	OK(fchownat(fd, "", getuid(), getgid(), AT_EMPTY_PATH));
	ERR(fchownat(AT_FDCWD, "f", getuid(), getgid(), 0x40000), EINVAL);
	ERR(chown("none", getuid(), getgid()), ENOENT);
	OK(stat("f", &st));
	EQ(st.st_uid, getuid());
	EQ(st.st_gid, getgid());
	if (geteuid()) {
		ERR(chown("f", 0, (gid_t)-1), EPERM);
		ERR(chown("f", (uid_t)-1, 0), EPERM);
	}
}

TEST(chown_by_root_shows)
{
	struct stat st;

	if (geteuid())
		SKIP("only root may give files away");
	put("f", "x");
	OK(chown("f", 12, 34));
	OK(stat("f", &st));
	EQ(st.st_uid, 12);
	EQ(st.st_gid, 34);
	OK(chown(lower("file"), 1, 2));
	OK(stat(lower("file"), &st));
	EQ(st.st_uid, 1);
	STREQ(get(lower("file")), "lower file\n");
}

TEST(chown_clears_setid)
{
	put("f", "x");
	OK(chmod("f", 06755));
	OK(chown("f", getuid(), getgid()));
	EQ(mode_of("f"), 0755);
}

static void times(const char *p, long a, long an, long m, long mn)
{
	struct stat st;

	OK(lstat(p, &st));
	EQ(st.st_atim.tv_sec, a);
	EQ(st.st_atim.tv_nsec, an);
	EQ(st.st_mtim.tv_sec, m);
	EQ(st.st_mtim.tv_nsec, mn);
}

TEST(utimens_forms)
{
	struct timespec t[2] = {{1111, 111}, {2222, 222}};

	put("f", "x");
	OK(symlink("f", "l"));
	OK(utimensat(AT_FDCWD, "f", t, 0));
	times("f", 1111, 111, 2222, 222);
	t[0].tv_nsec = UTIME_OMIT;
	t[1].tv_sec = 3333;
	OK(utimensat(AT_FDCWD, "f", t, 0));
	times("f", 1111, 111, 3333, 222);
	t[0].tv_nsec = 5;
	OK(utimensat(AT_FDCWD, "l", t, AT_SYMLINK_NOFOLLOW));
	times("l", 1111, 5, 3333, 222);
	times("f", 1111, 111, 3333, 222);
	int fd = OK(open("f", O_RDONLY));
	t[0].tv_sec = 7;
	OK(futimens(fd, t));
	times("f", 7, 5, 3333, 222);
	struct utimbuf ub = {10, 20};
	OK(utime("f", &ub));
	times("f", 10, 0, 20, 0);
	struct timeval tv[2] = {{30, 40}, {50, 60}};
	OK(utimes("f", tv));
	times("f", 30, 40000, 50, 60000);
	OK(syscall(SYS_futimesat, AT_FDCWD, "f", tv));
	t[0].tv_nsec = 1000000000;
	ERR(utimensat(AT_FDCWD, "f", t, 0), EINVAL);
	ERR(utimensat(AT_FDCWD, "none", NULL, 0), ENOENT);
	ERR(futimens(99, NULL), EBADF);
	OK(utimensat(AT_FDCWD, lower("file"),
		     (struct timespec[2]){{1, 2}, {3, 4}}, 0));
	times(lower("file"), 1, 2, 3, 4);
	STREQ(get(lower("file")), "lower file\n");
}

TEST(utimens_now_sets_the_clock)
{
	struct stat st;
	struct timespec t[2] = {{1, UTIME_NOW}, {1, UTIME_NOW}};

	put("f", "x");
	OK(utimensat(AT_FDCWD, "f", (struct timespec[2]){{1, 1}, {1, 1}}, 0));
	OK(utimensat(AT_FDCWD, "f", t, 0));
	OK(stat("f", &st));
	CHECK(st.st_mtim.tv_sec > 1000000000);
	CHECK(st.st_atim.tv_sec > 1000000000);
}

TEST(truncate_forms)
{
	struct stat st;

	put("f", "0123456789");
	OK(truncate("f", 4));
	STREQ(get("f"), "0123");
	OK(truncate("f", 8));
	OK(stat("f", &st));
	EQ(st.st_size, 8);
	int fd = OK(open("f", O_RDWR));
	OK(ftruncate(fd, 2));
	STREQ(get("f"), "01");
	ERR(truncate("f", -1), EINVAL);
	ERR(ftruncate(fd, -1), EINVAL);
	ERR(truncate("none", 0), ENOENT);
	ERR(truncate(".", 0), EISDIR);
	OK(truncate(lower("data"), 10));
	STREQ(get(lower("data")), "xxxxxxxxxx");
	if (geteuid())
		ERR(truncate(lower("ro"), 0), EACCES);
}

TEST(fallocate_modes)
{
	struct stat st;
	char c;
	int fd = OK(open("f", O_CREAT | O_RDWR, 0644));

	OK(fallocate(fd, 0, 0, 8192));
	OK(fstat(fd, &st));
	EQ(st.st_size, 8192);
	OK(fallocate(fd, FALLOC_FL_KEEP_SIZE, 0, 65536));
	OK(fstat(fd, &st));
	EQ(st.st_size, 8192);
	EQ(pwrite(fd, "abcd", 4, 4096), 4);
	OK(fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 4096,
		     4096));
	EQ(pread(fd, &c, 1, 4096), 1);
	EQ(c, 0);
	EQ(posix_fallocate(fd, 0, 16384), 0);
	ERR(fallocate(fd, 0, -1, 10), EINVAL);
}

TEST(umask_round_trip_and_inheritance)
{
	EQ(umask(0123), 022);
	EQ(umask(0777), 0123);
	EQ(umask(037777), 0777);
	EQ(umask(027), 0777);
	pid_t p = CHILD({
		EQ(umask(0), 027);
		umask(077);
	});
	EQ(wait_for(p), 0);
	EQ(umask(0), 027);
}

TEST(chown_to_nobody_else_takes_set_id_bits)
{
	put("f", "x");
	OK(chmod("f", 06755));
	OK(chown("f", -1, -1));
	EQ(mode_of("f"), 0755);
	OK(mkdir("d", 0755));
	OK(chmod("d", 02755));
	OK(chown("d", -1, -1));
	EQ(mode_of("d"), 02755);
	if (geteuid() && !access("/usr/bin/su", F_OK))
		ERR(chown("/usr/bin/su", -1, -1), EPERM);
}

static struct timespec changed(const char *path, bool data)
{
	struct stat st;

	OK(lstat(path, &st));
	return data ? st.st_mtim : st.st_ctim;
}

static bool in_order(struct timespec a, struct timespec b)
{
	return a.tv_sec < b.tv_sec ||
	       (a.tv_sec == b.tv_sec && a.tv_nsec <= b.tv_nsec);
}

TEST(later_changes_have_later_times)
{
	struct timespec t[8];
	char name[16];

	OK(mkdir("d", 0755));
	for (int i = 0; i < 50; i++) {
		put("f", "x");
		t[0] = changed("f", true);
		OK(chmod("f", i & 1 ? 0600 : 0644));
		t[1] = changed("f", false);
		snprintf(name, sizeof(name), "d/%d", i);
		OK(mkfifo(name, 0600));
		t[2] = changed(name, false);
		t[3] = changed("d", true);
		OK(utimensat(AT_FDCWD, "f", NULL, 0));
		t[4] = changed("f", true);
		OK(symlink("x", "l"));
		t[5] = changed("l", true);
		OK(rename("l", "m"));
		t[6] = changed("m", false);
		t[7] = changed(".", true);
		for (int k = 0; k < 7; k++)
			CHECK(in_order(t[k], t[k + 1]));
		OK(unlink("m"));
	}
}

TEST(changes_that_nobody_looks_at_are_in_order)
{
	struct timespec t[6];
	char name[16];
	struct stat st;
	int fd;

	OK(mkdir("d", 0755));
	for (int i = 0; i < 50; i++) {
		snprintf(name, sizeof(name), "d/%d", i);
		put("f", "x");
		changed("f", false);
		OK(rename("f", "g"));
		OK(mkfifo(name, 0600));
		t[0] = changed("g", false);
		t[1] = changed(name, false);
		OK(link("g", "h"));
		OK(symlink("x", "l"));
		t[2] = changed("h", false);
		t[3] = changed("l", false);
		OK(unlink("h"));
		fd = OK(open("g", O_RDONLY));
		OK(fstat(fd, &st));
		OK(fchown(fd, -1, -1));
		OK(mkdir("e", 0755));
		t[4] = changed("g", false);
		t[5] = changed("e", false);
		for (int k = 0; k < 5; k++)
			CHECK(in_order(t[k], t[k + 1]));
		OK(close(fd));
		OK(unlink("g"));
		OK(unlink("l"));
		OK(rmdir("e"));
	}
}

static void next_tick(void)
{
	struct timespec was, now;

	OK(clock_gettime(CLOCK_REALTIME_COARSE, &was));
	do
		OK(clock_gettime(CLOCK_REALTIME_COARSE, &now));
	while (in_order(now, was));
}

static void one_change(int k, int fd)
{
	struct timespec old[2] = {{1000, 0}, {2000, 0}};

	switch (k) {
	case 0:
		OK(chmod("f", 0600));
		break;
	case 1:
		OK(fchmod(fd, 0644));
		break;
	case 2:
		OK(chown("f", -1, -1));
		break;
	case 3:
		OK(utimensat(AT_FDCWD, "f", old, 0));
		break;
	case 4:
		OK(futimens(fd, NULL));
		break;
	case 5:
		OK(link("f", "g"));
		break;
	case 6:
		OK(unlink("g"));
		break;
	case 7:
		OK(rename("f", "h"));
		OK(rename("h", "f"));
		break;
	case 8:
		EQ(write(fd, "x", 1), 1);
		break;
	case 9:
		OK(truncate("f", 5));
		break;
	}
}

/* Whatever was done before, and whether somebody looked. */
TEST(each_change_moves_ctime)
{
	enum { KINDS = 10 };
	struct timespec was;

	put("f", "x");
	int fd = OK(open("f", O_RDWR));
	for (int i = 0; i < KINDS * KINDS; i++) {
		int first = i / KINDS, then = i % KINDS;

		if (then == 6 || first == 5 || then == 5 || first == 6)
			continue; /* each other's */
		next_tick();
		OK(clock_gettime(CLOCK_REALTIME_COARSE, &was));
		OK(truncate("f", 1));
		one_change(first, fd);
		CHECK(i & 1 || in_order(was, changed("f", false)));
		next_tick();
		OK(clock_gettime(CLOCK_REALTIME_COARSE, &was));
		one_change(then, fd);
		CHECK(in_order(was, changed("f", false)));
		CHECK(in_order(was, changed("f", false)));
	}
	next_tick();
	for (int k = 5; k < 7; k++) {
		OK(clock_gettime(CLOCK_REALTIME_COARSE, &was));
		one_change(k, fd);
		CHECK(in_order(was, changed("f", false)));
		next_tick();
	}
}

TEST(reading_links_and_directories_moves_atime)
{
	struct timespec old[2] = {{1000, 0}, {2000, 0}};
	struct statvfs v;
	struct stat st;
	char b[8];

	OK(statvfs(".", &v));
	if (v.f_flag & ST_NOATIME)
		SKIP("a mount without atime");
	put("f", "x");
	OK(symlink("f", "l"));
	OK(mkdir("d", 0755));
	OK(utimensat(AT_FDCWD, "l", old, AT_SYMLINK_NOFOLLOW));
	EQ(readlink("l", b, 8), 1);
	OK(lstat("l", &st));
	CHECK(st.st_atime > 2000);
	OK(utimensat(AT_FDCWD, "l", old, AT_SYMLINK_NOFOLLOW));
	OK(access("l", F_OK));
	OK(lstat("l", &st));
	CHECK(st.st_atime > 2000);
	OK(utimensat(AT_FDCWD, "d", old, 0));
	DIR *d = opendir("d");
	CHECK(d && readdir(d));
	closedir(d);
	OK(stat("d", &st));
	CHECK(st.st_atime > 2000);
}

TEST(set_gid_stays_for_members_who_write)
{
	if (geteuid())
		SKIP("needs root");
	put("f", "x");
	OK(chown("f", 1000, 2000));
	for (int member = 0; member < 2; member++) {
		gid_t more = member ? 2000 : 2001;

		OK(chmod("f", 02746));
		pid_t pid = CHILD({
			int fd;

			OK(setgroups(1, &more));
			OK(setresgid(1000, 1000, 1000));
			OK(setresuid(1000, 1000, 1000));
			fd = OK(open("f", O_WRONLY));
			EQ(write(fd, "y", 1), 1);
		});
		EQ(wait_for(pid), 0);
		EQ(mode_of("f"), member ? 02746 : 0746);
	}
}
