// modes: bare
/* Pointers that are null, unmapped, read-only, or end with a page. */
#include "guest.h"
#include <sys/epoll.h>
#include <sys/uio.h>
#include <sys/vfs.h>

static char *page;   /* a mapped page; the next one gives no access */
static char *ro;     /* a read-only page */
static char *bad[4]; /* pointers that do not work at all */

__attribute__((constructor)) static void set_up(void)
{
	page = mmap(NULL, 8192, PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	mprotect(page + 4096, 4096, PROT_NONE);
	ro = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
		  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	memset(ro, 'r', 4096);
	mprotect(ro, 4096, PROT_READ);
	bad[0] = NULL;
	bad[1] = (char *)16;
	bad[2] = page + 4096;
	bad[3] = (char *)0x00007ffffffff000; /* the last page is never mapped */
}

TEST(bad_path_pointers_are_EFAULT)
{
	struct stat st;
	char b[64];

	put("f", "x");
	for (int i = 0; i < 4; i++) {
		char *p = bad[i];
		ERR(syscall(SYS_open, p, O_RDONLY), EFAULT);
		ERR(syscall(SYS_openat, AT_FDCWD, p, O_RDONLY), EFAULT);
		ERR(syscall(SYS_stat, p, &st), EFAULT);
		ERR(syscall(SYS_newfstatat, AT_FDCWD, p, &st, 0), EFAULT);
		ERR(syscall(SYS_access, p, 0), EFAULT);
		ERR(syscall(SYS_unlink, p), EFAULT);
		ERR(syscall(SYS_mkdir, p, 0755), EFAULT);
		ERR(syscall(SYS_rmdir, p), EFAULT);
		ERR(syscall(SYS_rename, "f", p), EFAULT);
		ERR(syscall(SYS_rename, p, "g"), EFAULT);
		ERR(syscall(SYS_link, "f", p), EFAULT);
		ERR(syscall(SYS_symlink, p, "g"), EFAULT);
		ERR(syscall(SYS_symlink, "f", p), EFAULT);
		ERR(syscall(SYS_readlink, p, b, 64), EFAULT);
		ERR(syscall(SYS_chmod, p, 0600), EFAULT);
		ERR(syscall(SYS_chown, p, -1, -1), EFAULT);
		ERR(syscall(SYS_truncate, p, 0), EFAULT);
		ERR(syscall(SYS_chdir, p), EFAULT);
		ERR(syscall(SYS_mknod, p, S_IFREG | 0644, 0), EFAULT);
		ERR(syscall(SYS_statfs, p, b), EFAULT);
		ERR(syscall(SYS_execve, p, NULL, NULL), EFAULT);
		ERR(syscall(SYS_setxattr, p, "user.a", "1", 1, 0), EFAULT);
		ERR(syscall(SYS_setxattr, "f", p, "1", 1, 0), EFAULT);
	}
	CHECK(!exists("g"));
	STREQ(get("f"), "x");
}

TEST(path_that_ends_with_the_page)
{
	char *p = page + 4096 - 2;
	struct stat st;

	put("f", "x");
	memcpy(p, "f", 2);
	OK(stat(p, &st));
	OK(close(OK(open(p, O_RDONLY))));
	p[1] = 'f'; /* no NUL before the hole */
	ERR(stat(p, &st), EFAULT);
	ERR(open(p, O_CREAT | O_WRONLY, 0644), EFAULT);
	memset(page, 'a', 4096);
	ERR(stat(page, &st), ENAMETOOLONG);
	memset(page, '/', 4096);
	ERR(stat(page + 1, &st), EFAULT);
}

/* Of calls with two arguments in memory each is as it would be alone. */
TEST(two_paths_short_long_and_at_the_end_of_a_page)
{
	static char two[2][4096];
	struct timespec old[2] = {{1000, 1}, {2000, 2}};
	char *end = page + 4096 - 2;
	struct timespec *ts = (void *)(page + 4096 - sizeof(old));
	struct stat st;
	char dir[300];

	memset(dir, 'd', 255);
	dir[255] = '\0';
	OK(mkdir(dir, 0755));
	put("f", "x");
	memcpy(end, "g", 2);
	OK(rename("f", end));
	OK(link(end, "h"));
	OK(rename(end, "f"));
	end[1] = 'g';
	ERR(rename("f", end), EFAULT);
	ERR(rename(end, "f"), EFAULT);
	ERR(link(end, bad[2]), EFAULT);
	/* Longer than what is read at once, one, the other, both. */
	for (int k = 1; k < 4; k++) {
		for (int i = 0; i < 2; i++) {
			const int more = k >> i & 1;

			snprintf(two[i], sizeof(two[i]), "%s%s%s%d",
				 more ? "./././" : "", more ? dir : "",
				 more ? "/n" : "n", i);
		}
		put(two[0], "y");
		OK(rename(two[0], two[1]));
		ERR(stat(two[0], &st), ENOENT);
		STREQ(get(two[1]), "y");
		OK(unlink(two[1]));
	}
	/* The first NUL just within, at, and behind those bytes. */
	for (int n = 254; n < 259; n++) {
		memset(two[1], '/', sizeof(two[1]));
		memcpy(two[1], ".", 1);
		two[1][n - 1] = 'e';
		two[1][n] = '\0';
		OK(rename("f", two[1]));
		OK(rename("e", "f"));
		OK(symlink(two[1], "l"));
		EQ(readlink("l", dir, sizeof(dir)), n);
		OK(unlink("l"));
	}
	memset(two[1], 'a', sizeof(two[1]));
	ERR(rename("f", two[1]), ENAMETOOLONG);
	ERR(rename(two[1], "f"), ENAMETOOLONG);
	memcpy(ts, old, sizeof(old));
	OK(utimensat(AT_FDCWD, "f", ts, 0));
	OK(stat("f", &st));
	EQ(st.st_mtim.tv_sec, 2000);
	ERR(syscall(SYS_utimensat, AT_FDCWD, "f", (char *)ts + 8, 0), EFAULT);
	ERR(syscall(SYS_utimensat, AT_FDCWD, bad[2], ts, 0), EFAULT);
}

TEST(result_into_bad_memory_is_EFAULT)
{
	put("f", "x");
	int fd = OK(open("f", O_RDWR));

	for (int i = 0; i < 4; i++) {
		char *p = bad[i];
		ERR(syscall(SYS_stat, "f", p), EFAULT);
		ERR(syscall(SYS_lstat, "f", p), EFAULT);
		ERR(syscall(SYS_fstat, fd, p), EFAULT);
		ERR(syscall(SYS_newfstatat, AT_FDCWD, "f", p, 0), EFAULT);
		ERR(syscall(SYS_statx, AT_FDCWD, "f", 0, STATX_ALL, p), EFAULT);
		ERR(syscall(SYS_statfs, "/", p), EFAULT);
		ERR(syscall(SYS_readlink, "/proc/self/exe", p, 64), EFAULT);
		ERR(syscall(SYS_getcwd, p, 4096), EFAULT);
		if (p)
			ERR(syscall(SYS_prlimit64, 0, RLIMIT_NOFILE, NULL, p),
			    EFAULT);
		ERR(syscall(SYS_pipe, p), EFAULT);
	}
}

TEST(result_into_read_only_memory_changes_nothing)
{
	put("f", "x");
	int fd = OK(open("f", O_RDWR));
	int d = OK(open(".", O_RDONLY | O_DIRECTORY));

	ERR(syscall(SYS_stat, "f", ro), EFAULT);
	ERR(syscall(SYS_fstat, fd, ro), EFAULT);
	ERR(syscall(SYS_statx, AT_FDCWD, "f", 0, STATX_ALL, ro), EFAULT);
	ERR(syscall(SYS_getcwd, ro, 4096), EFAULT);
	ERR(syscall(SYS_readlink, "/proc/self/exe", ro, 64), EFAULT);
	ERR(syscall(SYS_getdents64, d, ro, 4096), EFAULT);
	ERR(syscall(SYS_statfs, "/", ro), EFAULT);
	ERR(syscall(SYS_fcntl, fd, F_GETLK, ro), EINVAL);
	for (int i = 0; i < 4096; i++)
		CHECK(ro[i] == 'r');
}

TEST(result_that_just_fits_before_the_hole)
{
	put("f", "x");
	char *p = page + 4096 - sizeof(struct stat);

	OK(syscall(SYS_stat, "f", p));
	EQ(((struct stat *)p)->st_size, 1);
	ERR(syscall(SYS_stat, "f", p + 8), EFAULT);
	char cwd[PATH_MAX];
	long n = OK(syscall(SYS_getcwd, cwd, sizeof(cwd)));
	p = page + 4096 - n;
	EQ(syscall(SYS_getcwd, p, 8192), n);
	ERR(syscall(SYS_getcwd, p + 1, 8192), EFAULT);
}

TEST(bad_structures_are_EFAULT)
{
	put("f", "x");
	int fd = OK(open("f", O_RDWR));
	int s = OK(socket(AF_UNIX, SOCK_STREAM, 0));

	for (int i = 1; i < 4; i++) {
		char *p = bad[i];
		ERR(syscall(SYS_utimensat, AT_FDCWD, "f", p, 0), EFAULT);
		ERR(syscall(SYS_fcntl, fd, F_SETLK, p), EFAULT);
		ERR(syscall(SYS_bind, s, p, 20), EFAULT);
		ERR(syscall(SYS_connect, s, p, 20), EFAULT);
		ERR(syscall(SYS_sendmsg, s, p, 0), EFAULT);
		ERR(syscall(SYS_fsetxattr, fd, "user.a", p, 4, 0), EFAULT);
		ERR(syscall(SYS_prlimit64, 0, RLIMIT_NOFILE, p, NULL), EFAULT);
		ERR(syscall(SYS_write, fd, p, 4), EFAULT);
		ERR(syscall(SYS_read, fd, p, 4), EFAULT);
		ERR(syscall(SYS_execve, "/bin/true", p, NULL), EFAULT);
	}
	STREQ(get("f"), "x");
}

TEST(argv_with_a_bad_pointer_is_EFAULT)
{
	char *a[] = {"true", (char *)16, NULL};

	ERR(syscall(SYS_execve, "/bin/true", a, NULL), EFAULT);
	ERR(syscall(SYS_execve, "/bin/true", NULL, a), EFAULT);
	char *b[] = {"true", NULL};
	EQ(wait_for(CHILD(syscall(SYS_execve, "/bin/true", b, NULL))), 0);
}

TEST(paths_in_read_only_memory_work)
{
	static const char name[] = "/etc";
	struct stat st;

	OK(chdir(name));
	OK(stat(name, &st));
}
