// modes: bare
// timeout: 120
/* Large files, large directories, many descriptors. */
#include "guest.h"
#include <dirent.h>
#include <sys/sendfile.h>

#define GIB (1ll << 30)

TEST(sparse_file_of_64_gib)
{
	char b[4] = "";
	int fd = OK(open("f", O_CREAT | O_RDWR, 0644));

	OK(ftruncate(fd, 64 * GIB));
	EQ(pwrite(fd, "mid", 3, 5 * GIB), 3);
	EQ(pwrite(fd, "end", 3, 64 * GIB - 3), 3);
	EQ(pread(fd, b, 3, 5 * GIB), 3);
	STREQ(b, "mid");
	EQ(pread(fd, b, 3, 64 * GIB - 3), 3);
	STREQ(b, "end");
	EQ(pread(fd, b, 3, 64 * GIB), 0);
	struct stat st;
	OK(stat("f", &st));
	EQ(st.st_size, 64 * GIB);
	CHECK(st.st_blocks < 1024);
	EQ(lseek(fd, 0, SEEK_DATA), 5 * GIB);
	CHECK(lseek(fd, 5 * GIB, SEEK_HOLE) <= 5 * GIB + 65536);
	EQ(lseek(fd, -3, SEEK_END), 64 * GIB - 3);
	EQ(read(fd, b, 3), 3);
	STREQ(b, "end");
}

TEST(offsets_past_4_gib_in_other_calls)
{
	char b[4] = "";
	int fd = OK(open("f", O_CREAT | O_RDWR, 0644));
	int to = OK(open("g", O_CREAT | O_RDWR, 0644));
	off_t at = 6 * GIB + 4096, out = 7 * GIB;

	EQ(pwrite(fd, "abc", 3, at), 3);
	char *p = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, at);
	CHECK(p != MAP_FAILED);
	EQ(memcmp(p, "abc", 3), 0);
	p[1] = 'X';
	OK(munmap(p, 4096));
	EQ(copy_file_range(fd, &at, to, &out, 3, 0), 3);
	EQ(pread(to, b, 3, 7 * GIB), 3);
	STREQ(b, "aXc");
	at = 6 * GIB + 4096;
	OK(lseek(to, 8 * GIB, SEEK_SET));
	EQ(sendfile(to, fd, &at, 3), 3);
	EQ(at, 6 * GIB + 4099);
	EQ(pread(to, b, 3, 8 * GIB), 3);
	STREQ(b, "aXc");
	OK(close(OK(open("f", O_WRONLY | O_APPEND))));
	OK(truncate("f", 5 * GIB));
	struct stat st;
	OK(stat("f", &st));
	EQ(st.st_size, 5 * GIB);
	OK(rename("g", "f"));
	OK(stat("f", &st));
	EQ(st.st_size, 8 * GIB + 3);
}

enum { ENTRIES = 8000 };

static void numbered(char name[16], int i)
{
	snprintf(name, 16, "n%d", i);
}

TEST(directory_of_many_entries)
{
	static char seen[ENTRIES];
	char name[16];
	int count = 0, gone = 0;

	OK(mkdir("d", 0755));
	OK(chdir("d"));
	for (int i = 0; i < ENTRIES; i++) {
		numbered(name, i);
		OK(mknod(name, S_IFREG | 0600, 0));
	}
	ERR(access("none", F_OK), ENOENT);
	DIR *d = opendir(".");
	CHECK(d);
	/* every second entry is removed as soon as it is seen; what stays is
	 * listed once, whatever goes */
	for (struct dirent *e; (e = readdir(d));) {
		int i = e->d_name[0] == 'n' ? atoi(e->d_name + 1) : -1;

		if (i < 0)
			continue;
		CHECK(!seen[i]);
		seen[i] = 1;
		if (++count % 2) {
			OK(unlink(e->d_name));
			gone++;
		}
		if (count % 1000 == 0)
			seekdir(d, telldir(d));
	}
	EQ(count, ENTRIES);
	rewinddir(d);
	count = 0;
	for (struct dirent *e; (e = readdir(d));)
		count += e->d_name[0] == 'n';
	EQ(count, ENTRIES - gone);
	closedir(d);
}

TEST(ten_thousand_descriptors)
{
	static int fds[10000];
	struct rlimit r;

	OK(getrlimit(RLIMIT_NOFILE, &r));
	if (r.rlim_max < 10100)
		SKIP("the limit of descriptors is low here");
	r.rlim_cur = r.rlim_max;
	OK(setrlimit(RLIMIT_NOFILE, &r));
	put("f", "x");
	for (int i = 0; i < 10000; i++)
		fds[i] = OK(open("f", O_RDONLY));
	CHECK(fds[9999] >= 9999);
	char b[2] = "";
	EQ(pread(fds[9999], b, 1, 0), 1);
	STREQ(b, "x");
	struct stat st;
	OK(fstat(fds[9999], &st));
	EQ(st.st_size, 1);
	for (int i = 0; i < 10000; i++)
		OK(close(fds[i]));
	ERR(fstat(fds[9999], &st), EBADF);
	OK(unlink("f"));
}
