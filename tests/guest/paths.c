// modes: bare
/* Path resolution: slashes, dots, lengths, links, strange bytes. */
#include "guest.h"

TEST(trailing_slash_needs_a_directory)
{
	struct stat st;
	put("f", "x");
	OK(mkdir("d", 0755));
	OK(symlink("f", "l"));
	OK(symlink("d", "dl"));

	ERR(stat("f/", &st), ENOTDIR);
	ERR(lstat("l/", &st), ENOTDIR);
	ERR(stat("missing/", &st), ENOENT);
	ERR(unlink("f/"), ENOTDIR);
	ERR(unlink("d/"), EISDIR);
	ERR(rename("f", "g/"), ENOTDIR);
	ERR(link("f", "g/"), ENOENT);
	ERR(symlink("f", "g/"), ENOENT);
	ERR(mknod("g/", S_IFREG | 0644, 0), ENOENT);
	OK(lstat("dl/", &st));
	CHECK(S_ISDIR(st.st_mode));
	OK(mkdir("e/", 0755));
	OK(rename("e/", "e2/"));
	OK(rmdir("e2/"));
	ERR(rmdir("dl/"), ENOTDIR);
	ERR(rmdir("dl"), ENOTDIR);
}

TEST(double_slashes_and_dots)
{
	struct stat a, b;
	OK(mkdir("d", 0755));
	put("d/f", "x");

	OK(stat("d/f", &a));
	OK(stat(".//d///.//f", &b));
	EQ(a.st_ino, b.st_ino);
	OK(stat("d/../d/./f", &b));
	EQ(a.st_ino, b.st_ino);
	ERR(stat("d/f/.", &b), ENOTDIR);
	ERR(stat("d/f/..", &b), ENOTDIR);
	ERR(stat("missing/..", &b), ENOENT);
	OK(stat("/../../..", &a));
	OK(stat("/", &b));
	EQ(a.st_ino, b.st_ino);
	OK(stat("//etc//", &a));
}

TEST(dot_and_dotdot_as_targets)
{
	OK(mkdir("d", 0755));
	ERR(rmdir("."), EINVAL);
	ERR(rmdir("d/."), EINVAL);
	ERR(rmdir("d/.."), ENOTEMPTY);
	ERR(rmdir(".."), ENOTEMPTY);
	ERR(mkdir(".", 0755), EEXIST);
	ERR(mkdir("..", 0755), EEXIST);
	ERR(mkdir("/", 0755), EEXIST);
	ERR(unlink("."), EISDIR);
	ERR(unlink(".."), EISDIR);
	ERR(rename(".", "x"), EBUSY);
	ERR(rename("d", "."), EBUSY);
	ERR(rename("d/..", "x"), EBUSY);
	ERR(link(".", "x"), EPERM);
	ERR(symlink("x", "."), EEXIST);
}

TEST(names_of_255_and_256_bytes)
{
	char n[300];
	struct stat st;

	memset(n, 'n', sizeof(n));
	n[255] = 0;
	put(n, "x");
	OK(stat(n, &st));
	OK(unlink(n));
	OK(mkdir(n, 0755));
	OK(rmdir(n));
	n[255] = 'n', n[256] = 0;
	ERR(open(n, O_CREAT | O_WRONLY, 0644), ENAMETOOLONG);
	ERR(stat(n, &st), ENAMETOOLONG);
	ERR(mkdir(n, 0755), ENAMETOOLONG);
	ERR(unlink(n), ENAMETOOLONG);
	put("f", "x");
	ERR(rename("f", n), ENAMETOOLONG);
	ERR(link("f", n), ENAMETOOLONG);
	ERR(symlink("f", n), ENAMETOOLONG);
	ERR(access(n, F_OK), ENAMETOOLONG);
}

TEST(paths_of_4095_and_4096_bytes)
{
	static char p[5000];
	struct stat st;
	put("f", "x");

	memset(p, '/', sizeof(p));
	memcpy(p, "./", 2);
	p[4094] = 'f', p[4095] = 0;
	EQ(strlen(p), 4095);
	OK(stat(p, &st));
	OK(close(OK(open(p, O_RDONLY))));
	p[4094] = '/', p[4095] = 'f', p[4096] = 0;
	EQ(strlen(p), 4096);
	ERR(stat(p, &st), ENAMETOOLONG);
	ERR(open(p, O_RDONLY), ENAMETOOLONG);
	ERR(chdir(p), ENAMETOOLONG);
	ERR(symlink(p, "l"), ENAMETOOLONG);
	memset(p, 'a', 4096);
	p[4095] = 0;
	OK(symlink(p, "l"));
	OK(lstat("l", &st));
	EQ(st.st_size, 4095);
	ERR(stat("l", &st), ENAMETOOLONG);
}

static void make_chain(int n)
{
	char a[16], b[16];

	put("l0", "end");
	for (int i = 1; i <= n; i++) {
		snprintf(a, sizeof(a), "l%d", i);
		snprintf(b, sizeof(b), "l%d", i - 1);
		OK(symlink(b, a));
	}
}

TEST(forty_links_work_and_41_are_ELOOP)
{
	struct stat st;

	make_chain(41);
	OK(stat("l40", &st));
	ERR(stat("l41", &st), ELOOP);
	ERR(open("l41", O_RDONLY), ELOOP);
	OK(lstat("l41", &st));
	OK(symlink("self", "self"));
	ERR(stat("self", &st), ELOOP);
	ERR(open("self", O_CREAT | O_WRONLY, 0644), ELOOP);
	ERR(stat("self/x", &st), ELOOP);
	ERR(mkdir("self", 0755), EEXIST);
	OK(unlink("self"));
}

TEST(names_that_are_not_utf8)
{
	const char *n = "\xff\xfe\x80 \n\t\"\\\x1b[31m";
	struct stat st;

	put(n, "odd");
	OK(stat(n, &st));
	STREQ(get(n), "odd");
	OK(symlink(n, "l"));
	STREQ(get("l"), "odd");
	OK(rename(n, "\xc3\x28"));
	CHECK(exists("\xc3\x28"));
	OK(chdir("."));
	OK(mkdir("\xe2\x82", 0755));
	OK(chdir("\xe2\x82"));
	char cwd[PATH_MAX];
	CHECK(getcwd(cwd, sizeof(cwd)));
	CHECK(strstr(cwd, "\xe2\x82"));
}

TEST(links_are_resolved_where_they_lie)
{
	OK(mkdir("d", 0755));
	OK(mkdir("d/e", 0755));
	put("d/f", "d's");
	put("f", "top");
	OK(symlink("../f", "d/e/l"));
	STREQ(get("d/e/l"), "d's");
	OK(symlink("d/e", "short"));
	STREQ(get("short/../f"), "d's");
	STREQ(get("short/l"), "d's");
	char b[64] = "";
	EQ(readlink("d/e/l", b, sizeof(b)), 4);
	STREQ(b, "../f");
	EQ(readlink("d/e/l", b, 2), 2);
	ERR(readlink("f", b, sizeof(b)), EINVAL);
	ERR(readlink("d", b, sizeof(b)), EINVAL);
	ERR(readlink("none", b, sizeof(b)), ENOENT);
	ERR(readlink("d/e/l", b, 0), EINVAL);
	ERR(symlink("", "e"), ENOENT);
}

TEST(chdir_and_getcwd)
{
	char cwd[PATH_MAX], want[PATH_MAX + 64];

	OK(mkdir("d", 0755));
	OK(symlink("d", "l"));
	put("f", "x");
	OK(chdir("l"));
	CHECK(getcwd(cwd, sizeof(cwd)));
	snprintf(want, sizeof(want), "%s/chdir_and_getcwd/d", guest_start);
	STREQ(cwd, want);
	ERR(chdir("../f"), ENOTDIR);
	ERR(chdir("../none"), ENOENT);
	ERR(syscall(SYS_getcwd, cwd, 3), ERANGE);
	ERR(syscall(SYS_getcwd, cwd, 0), ERANGE);
	OK(rmdir("../d"));
	ERR(syscall(SYS_getcwd, cwd, sizeof(cwd)), ENOENT);
	ERR(open("x", O_CREAT | O_WRONLY, 0644), ENOENT);
	OK(close(OK(open(".", O_RDONLY))));
	OK(chdir(".."));
	static const char ro[] = "/tmp";
	OK(chdir(ro));
	CHECK(getcwd(cwd, sizeof(cwd)));
	STREQ(cwd, "/tmp");
}

TEST(cwd_follows_a_rename)
{
	char cwd[PATH_MAX];

	OK(mkdir("a", 0755));
	OK(mkdir("a/in", 0755));
	OK(chdir("a/in"));
	OK(rename("../../a", "../../b"));
	CHECK(getcwd(cwd, sizeof(cwd)));
	CHECK(strstr(cwd, "cwd_follows_a_rename/b/in"));
	put("x", "1");
	STREQ(get("../../b/in/x"), "1");
}

TEST(cwd_is_shared_by_threads_and_not_by_fork)
{
	OK(mkdir("d", 0755));
	EQ(wait_for(CHILD(OK(chdir("d")))), 0);
	CHECK(exists("d"));
	pthread_t t;
	void *(*f)(void *) = (void *(*)(void *))(void *)chdir;
	EQ(pthread_create(&t, NULL, f, "d"), 0);
	EQ(pthread_join(t, NULL), 0);
	CHECK(!exists("d"));
	OK(unshare(0));
}

TEST(deep_relative_directories)
{
	char cwd[PATH_MAX];
	int i;

	for (i = 0; i < 40; i++) {
		OK(mkdir("a_name_that_is_long_enough_to_add_up_soon", 0755));
		OK(chdir("a_name_that_is_long_enough_to_add_up_soon"));
	}
	CHECK(getcwd(cwd, sizeof(cwd)));
	put("f", "deep");
	STREQ(get("f"), "deep");
	for (i = 0; i < 40; i++)
		OK(chdir(".."));
	CHECK(exists("a_name_that_is_long_enough_to_add_up_soon"));
}

/* Paths of 4,096 bytes end long before: all steps are relative. */
TEST(a_thousand_levels)
{
	enum { LEVELS = 1000 };
	char cwd[16384];
	struct stat st, top;

	OK(stat(".", &top));
	for (int i = 0; i < LEVELS; i++) {
		OK(mkdir("level", 0755));
		OK(chdir("level"));
	}
	ERR(syscall(SYS_getcwd, cwd, sizeof(cwd)), ENAMETOOLONG);
	put("f", "deep");
	STREQ(get("f"), "deep");
	OK(rename("f", "../f"));
	OK(symlink("../../f", "l"));
	ERR(open("l", O_RDONLY), ENOENT);
	OK(unlink("l"));
	for (int i = 0; i < LEVELS; i++) {
		CHECK(nlink_of(".") <= 2);
		OK(chdir(".."));
		if (i == 0)
			OK(unlink("f"));
		OK(rmdir("level"));
	}
	OK(stat(".", &st));
	EQ(st.st_ino, top.st_ino);
}

TEST(rm_of_a_thousand_levels)
{
	for (int i = 0; i < 1000; i++) {
		OK(mkdir("a_name_of_some_length", 0755));
		OK(chdir("a_name_of_some_length"));
	}
	put("f", "x");
	OK(chdir(guest_start));
	OK(chdir(guest_now));
	EQ(run_prog((char *[]){"rm", "-r", "a_name_of_some_length", NULL}), 0);
	CHECK(!exists("a_name_of_some_length"));
}

/* All bytes but '/' and NUL are names, alone and together. */
TEST(names_of_any_byte)
{
	char name[4] = "";

	OK(mkdir("d", 0755));
	OK(chdir("d"));
	for (int i = 1; i < 256; i++) {
		name[0] = (char)i;
		name[1] = (char)(i % 7 ? 0 : 256 - i);
		if (strchr(name, '/') || !strcmp(name, "."))
			continue;
		put(name, name);
		STREQ(get(name), name);
		OK(rename(name, "other"));
		OK(link("other", name));
		EQ(ino_of(name), ino_of("other"));
		OK(unlink("other"));
		OK(unlink(name));
	}
	OK(chdir(".."));
	OK(rmdir("d"));
}
