// modes: bare
// timeout: 120
/* getdents, telldir, seekdir, deletion while reading, big directories. */
#include "guest.h"
#include <dirent.h>

#define BIG 50000

static int count(const char *dir)
{
	DIR *d = opendir(dir);
	int n = 0;

	CHECK(d);
	while (readdir(d))
		n++;
	closedir(d);
	return n;
}

TEST(lists_every_name_once_with_types)
{
	struct dirent *e;
	int seen = 0;

	OK(mkdir("w", 0755));
	put("w/f", "x");
	OK(mkdir("w/d", 0755));
	OK(symlink("f", "w/l"));
	OK(mkfifo("w/p", 0600));
	DIR *d = opendir("w");
	CHECK(d);
	while ((e = readdir(d))) {
		struct stat st;
		if (e->d_name[0] == '.') {
			EQ(e->d_type, DT_DIR);
			seen += 100;
			continue;
		}
		OK(fstatat(dirfd(d), e->d_name, &st, AT_SYMLINK_NOFOLLOW));
		EQ(e->d_ino, st.st_ino);
		EQ(e->d_type, IFTODT(st.st_mode));
		seen++;
	}
	EQ(seen, 204);
}

TEST(merged_directory_shows_both_layers)
{
	put(lower("dir/new"), "x");
	OK(unlink(lower("dir/b")));
	put(lower("dir/c"), "changed");
	EQ(count(lower("dir")), 6); /* . .. a c sub new */
	DIR *d = opendir(lower("dir"));
	struct dirent *e;
	CHECK(d);
	while ((e = readdir(d))) {
		CHECK(strcmp(e->d_name, "b"));
		struct stat st;
		OK(fstatat(dirfd(d), e->d_name, &st, AT_SYMLINK_NOFOLLOW));
		if (strcmp(e->d_name, ".."))
			EQ(e->d_ino, st.st_ino);
	}
	OK(unlink(lower("dir/new")));
	EQ(count(lower("dir")), 5);
}

static void fill(int n)
{
	char name[32];

	for (int i = 0; i < n; i++) {
		snprintf(name, sizeof(name), "name%05d", i);
		OK(close(OK(open(name, O_CREAT | O_WRONLY, 0644))));
	}
}

TEST(fifty_thousand_entries)
{
	struct stat st;

	fill(BIG);
	EQ(count("."), BIG + 2);
	ERR(stat("missing", &st), ENOENT);
	OK(stat("name49999", &st));
	static char seen[BIG];
	DIR *d = opendir(".");
	struct dirent *e;
	int n = 0;
	CHECK(d);
	while ((e = readdir(d))) {
		if (e->d_name[0] == '.')
			continue;
		int i = atoi(e->d_name + 4);
		CHECK(!seen[i]);
		seen[i] = 1;
		n++;
		if (i % 5 == 0)
			OK(unlink(e->d_name));
	}
	EQ(n, BIG);
	EQ(count("."), BIG * 4 / 5 + 2);
}

TEST(telldir_and_seekdir_return_to_the_same_entry)
{
	long pos[200];
	char names[200][32];
	struct dirent *e;
	int n = 0;

	fill(198);
	DIR *d = opendir(".");
	CHECK(d);
	for (;;) {
		pos[n] = telldir(d);
		if (!(e = readdir(d)))
			break;
		strcpy(names[n++], e->d_name);
	}
	EQ(n, 200);
	for (int i = 199; i >= 0; i -= 7) {
		seekdir(d, pos[i]);
		CHECK((e = readdir(d)));
		STREQ(e->d_name, names[i]);
	}
	rewinddir(d);
	CHECK((e = readdir(d)));
	STREQ(e->d_name, names[0]);
}

TEST(deleting_while_reading_with_seeks_skips_nothing)
{
	static char seen[3000];
	struct dirent *e;
	int n = 0;

	fill(3000);
	DIR *d = opendir(".");
	CHECK(d);
	while ((e = readdir(d))) {
		if (e->d_name[0] == '.')
			continue;
		int i = atoi(e->d_name + 4);
		CHECK(!seen[i]);
		seen[i] = 1;
		OK(unlink(e->d_name));
		if (++n % 50 == 0)
			seekdir(d, telldir(d));
	}
	EQ(n, 3000);
	EQ(count("."), 2);
}

TEST(rewind_sees_new_names)
{
	put("a", "x");
	DIR *d = opendir(".");
	int n = 0;

	CHECK(d);
	while (readdir(d))
		n++;
	EQ(n, 3);
	put("b", "x");
	rewinddir(d);
	n = 0;
	while (readdir(d))
		n++;
	EQ(n, 4);
}

TEST(getdents_errors)
{
	char buf[1024];
	put("f", "x");
	int f = OK(open("f", O_RDONLY));
	int d = OK(open(".", O_RDONLY | O_DIRECTORY));
	int p = OK(open(".", O_PATH));

	ERR(syscall(SYS_getdents64, f, buf, sizeof(buf)), ENOTDIR);
	ERR(syscall(SYS_getdents64, 99, buf, sizeof(buf)), EBADF);
	ERR(syscall(SYS_getdents64, p, buf, sizeof(buf)), EBADF);
	ERR(syscall(SYS_getdents64, d, buf, 4), EINVAL);
	ERR(read(d, buf, 1), EISDIR);
	CHECK(syscall(SYS_getdents, d, buf, sizeof(buf)) > 0);
}

TEST(small_buffers_get_all)
{
	char buf[64];
	long n, total = 0;

	fill(100);
	int d = OK(open(".", O_RDONLY | O_DIRECTORY));
	while ((n = OK(syscall(SYS_getdents64, d, buf, sizeof(buf)))) > 0)
		for (long o = 0; o < n;) {
			unsigned short len;
			memcpy(&len, buf + o + 16, 2);
			o += len;
			total++;
		}
	EQ(total, 102);
}

TEST(cursor_is_shared_by_dup_and_fork)
{
	char buf[4096];

	fill(300);
	int d = OK(open(".", O_RDONLY | O_DIRECTORY));
	long a = OK(syscall(SYS_getdents64, d, buf, 2048));
	CHECK(a > 0);
	int e = OK(dup(d));
	CHECK(lseek(e, 0, SEEK_CUR) == lseek(d, 0, SEEK_CUR));
	pid_t p = CHILD({
		while (syscall(SYS_getdents64, e, buf, 4096) > 0)
			;
	});
	EQ(wait_for(p), 0);
	EQ(syscall(SYS_getdents64, d, buf, 4096), 0);
	OK(lseek(d, 0, SEEK_SET));
	CHECK(syscall(SYS_getdents64, d, buf, 4096) > 0);
}

TEST(removed_directory_reads_as_empty)
{
	char buf[1024];

	OK(mkdir("d", 0755));
	int d = OK(open("d", O_RDONLY | O_DIRECTORY));
	OK(rmdir("d"));
	long n = syscall(SYS_getdents64, d, buf, sizeof(buf));
	CHECK((n < 0 && errno == ENOENT) || n == 0);
	ERR(openat(d, "x", O_CREAT | O_WRONLY, 0644), ENOENT);
	ERR(mkdirat(d, "x", 0755), ENOENT);
}

/* Names that are there all the time are listed once, whatever others come and
 * go meanwhile, from the start and after a seek. */
TEST(steady_names_are_listed_once_while_others_come_and_go)
{
	enum { STEADY = 300, ROUNDS = 12 };
	static unsigned char seen[STEADY];
	char name[32];
	pid_t busy;

	OK(mkdir("d", 0755));
	OK(chdir("d"));
	for (int i = 0; i < STEADY; i++) {
		snprintf(name, sizeof(name), "steady%d", i);
		put(name, "");
	}
	busy = CHILD(for (unsigned i = 0;; i++) {
		snprintf(name, sizeof(name), "passing%u", i % 97);
		if (unlink(name))
			put(name, "");
		if (i % 5 == 0)
			rename(name, "moving");
	});
	for (int round = 0; round < ROUNDS; round++) {
		DIR *d = opendir(".");
		struct dirent *e;
		long at = -1;
		int count = 0;

		CHECK(d);
		memset(seen, 0, sizeof(seen));
		while ((e = readdir(d))) {
			if (strncmp(e->d_name, "steady", 6))
				continue;
			EQ(seen[atoi(e->d_name + 6)]++, 0);
			if (++count == STEADY / 2 && at < 0) {
				at = telldir(d);
				seekdir(d, 0);
				seekdir(d, at);
			}
		}
		EQ(count, STEADY);
		closedir(d);
	}
	OK(kill(busy, SIGKILL));
	EQ(wait_for(busy), -1000 - SIGKILL);
}
