// modes: bare
/* Which events watchers see, step by step: the runner compares what is printed
 * natively and inside. */
#include "guest.h"
#include <sys/inotify.h>
#include <sys/xattr.h>

#define ALL  IN_ALL_EVENTS
#define SELF (IN_MODIFY | IN_ATTRIB | IN_DELETE_SELF | IN_MOVE_SELF)

static const char *const names[] = {
	"ACCESS",	 "MODIFY", "ATTRIB",	  "CLOSE_WRITE",
	"CLOSE_NOWRITE", "OPEN",   "FROM",	  "TO",
	"CREATE",	 "DELETE", "DELETE_SELF", "MOVE_SELF"};

static int in;
static uint32_t cookies[64];
static int ncookies;

static int cookie_number(uint32_t c)
{
	for (int i = 0; i < ncookies; i++)
		if (cookies[i] == c)
			return i + 1;
	CHECK(ncookies < 64);
	cookies[ncookies++] = c;
	return ncookies;
}

static void print_event(const struct inotify_event *e)
{
	printf("  %d", e->wd);
	for (unsigned i = 0; i < 12; i++)
		if (e->mask >> i & 1)
			printf(" %s", names[i]);
	printf("%s%s%s%s", e->mask & IN_ISDIR ? " ISDIR" : "",
	       e->mask & IN_IGNORED ? " IGNORED" : "",
	       e->mask & IN_Q_OVERFLOW ? " OVERFLOW" : "",
	       e->mask & IN_UNMOUNT ? " UNMOUNT" : "");
	printf(" '%s'", e->len ? e->name : "");
	if (e->cookie)
		printf(" c%d", cookie_number(e->cookie));
	printf("\n");
}

/* What has happened until now. */
static void show(const char *step)
{
	static char buf[1 << 16] __attribute__((aligned(8)));
	ssize_t n;

	printf("%s:\n", step);
	while ((n = read(in, buf, sizeof(buf))) > 0)
		for (ssize_t at = 0; at < n;) {
			struct inotify_event *e = (void *)(buf + at);

			print_event(e);
			at += (ssize_t)(sizeof(*e) + e->len);
		}
	CHECK(errno == EAGAIN);
}

static int watch(const char *path, uint32_t mask)
{
	if (!in)
		in = OK(inotify_init1(IN_NONBLOCK | IN_CLOEXEC));
	return OK(inotify_add_watch(in, path, mask));
}

static void append(const char *path)
{
	int fd = OK(open(path, O_WRONLY | O_APPEND));

	EQ(write(fd, "more", 4), 4);
	OK(close(fd));
}

static void look(const char *path)
{
	char b[64];
	int fd = OK(open(path, O_RDONLY));

	CHECK(read(fd, b, sizeof(b)) > 0);
	OK(close(fd));
}

static void list(const char *path)
{
	char b[4096];
	int fd = OK(open(path, O_RDONLY | O_DIRECTORY));

	while (OK(syscall(SYS_getdents64, fd, b, sizeof(b))) > 0)
		;
	OK(close(fd));
}

TEST(lower_directory_read_and_changed)
{
	watch(lower("dir"), ALL);
	look(lower("dir/a"));
	show("read");
	list(lower("dir"));
	show("list");
	OK(chmod(lower("dir/a"), 0640));
	show("chmod");
	append(lower("dir/b"));
	show("append");
	OK(close(OK(open(lower("dir/c"), O_WRONLY | O_TRUNC))));
	show("truncating open");
	OK(truncate(lower("dir/c"), 100));
	show("truncate");
	OK(rename(lower("dir/c"), lower("dir/c2")));
	show("rename");
	OK(link(lower("dir/c2"), lower("dir/c3")));
	OK(unlink(lower("dir/c2")));
	OK(unlink(lower("dir/c3")));
	show("link, unlink, unlink");
	OK(chmod(lower("dir"), 0711));
	show("chmod of the directory");
}

TEST(lower_file_itself_read_and_renamed)
{
	watch(lower("dir/a"), ALL);
	look(lower("dir/a"));
	show("read");
	OK(chmod(lower("dir/a"), 0600));
	show("chmod");
	OK(rename(lower("dir/a"), lower("dir/z")));
	show("rename");
}

TEST(attributes_tell)
{
	put("f", "x");
	watch("f", ALL);
	watch(".", IN_ATTRIB);
	if (setxattr("f", "user.x", "1", 1, 0) < 0)
		SKIP("no user xattrs here");
	show("setxattr");
	OK(removexattr("f", "user.x"));
	show("removexattr");
	struct timespec t[2] = {{1, 0}, {2, 0}};
	OK(utimensat(AT_FDCWD, "f", t, 0));
	show("utimensat");
	OK(chown("f", (uid_t)-1, getegid()));
	show("chown");
}

TEST(descriptor_calls)
{
	char b[8];

	OK(mkdir("d", 0755));
	watch("d", ALL);
	int fd = OK(open("d/t", O_CREAT | O_RDWR, 0644));
	EQ(write(fd, "hello", 5), 5);
	EQ(pread(fd, b, 3, 0), 3);
	OK(fsync(fd));
	OK(ftruncate(fd, 1));
	OK(fchmod(fd, 0600));
	show("calls");
	OK(unlink("d/t"));
	show("unlinked");
	EQ(write(fd, "x", 1), 1);
	OK(close(fd));
	show("written and closed");
	OK(rmdir("d"));
	show("rmdir");
}

TEST(moves_between_directories)
{
	OK(mkdir("p", 0755));
	OK(mkdir("q", 0755));
	OK(mkdir("p/s", 0755));
	watch("p", ALL);
	watch("q", ALL);
	watch("p/s", ALL);
	put("p/s/f", "1");
	OK(rename("p/s", "q/s"));
	show("directory moved");
	append("q/s/f");
	OK(unlink("q/s/f"));
	show("changed below");
	OK(rmdir("q/s"));
	show("removed");
	put("p/1", "1");
	put("q/2", "2");
	show("two files");
	OK(syscall(SYS_renameat2, AT_FDCWD, "p/1", AT_FDCWD, "q/2", 2));
	show("exchanged");
	OK(rename("p/1", "q/2"));
	show("renamed over");
}

TEST(flags_of_a_watch)
{
	OK(mkdir("d", 0755));
	int wd = watch("d", IN_CREATE | IN_ONESHOT);
	put("d/1", "x");
	put("d/2", "x");
	show("oneshot");
	ERR(inotify_rm_watch(in, wd), EINVAL);
	wd = watch("d", IN_CREATE);
	EQ(watch("d", IN_DELETE | IN_MASK_ADD), wd);
	put("d/3", "x");
	OK(unlink("d/3"));
	show("mask added");
	ERR(inotify_add_watch(in, "d", IN_CREATE | IN_MASK_CREATE), EEXIST);
	ERR(inotify_add_watch(in, "d",
			      IN_CREATE | IN_MASK_CREATE | IN_MASK_ADD),
	    EINVAL);
	EQ(watch("d", ALL | IN_EXCL_UNLINK), wd);
	int fd = OK(open("d/1", O_RDWR));
	OK(unlink("d/1"));
	EQ(write(fd, "1", 1), 1);
	OK(close(fd));
	show("nothing of the unlinked");
	OK(symlink("d", "l"));
	CHECK(watch("l", ALL | IN_DONT_FOLLOW) != wd);
	put("d/4", "x");
	OK(unlink("l"));
	show("the link itself");
	ERR(inotify_add_watch(in, "d/2", IN_MODIFY | IN_ONLYDIR), ENOTDIR);
}

TEST(hard_links_are_one_file)
{
	put("k", "1");
	OK(link("k", "k2"));
	int wd = watch("k", SELF);
	EQ(watch("k2", SELF), wd);
	append("k2");
	show("append to the other");
	OK(unlink("k"));
	show("one is gone");
	OK(rename("k2", "k3"));
	show("renamed");
}

TEST(overflow_of_the_queue)
{
	struct inotify_event last = {0};
	char b[4096];
	ssize_t n;

	OK(mkdir("d", 0755));
	watch("d", IN_ATTRIB);
	put("d/1", "");
	put("d/2", "");
	for (int i = 0; i < 17000; i++)
		OK(chmod(i & 1 ? "d/1" : "d/2", 0600));
	while ((n = read(in, b, sizeof(b))) > 0)
		for (ssize_t at = 0; at < n;) {
			memcpy(&last, b + at, sizeof(last));
			at += (ssize_t)(sizeof(last) + last.len);
		}
	CHECK(last.mask == IN_Q_OVERFLOW);
	EQ(last.wd, -1);
}

TEST(pseudo_files_stay_silent)
{
	watch("/proc/self/status", ALL);
	watch("/dev/null", IN_MODIFY);
	watch("/sys", IN_CREATE);
	show("watched");
}

TEST(mappings_and_copies)
{
	char block[4096] = "x";

	put("m", "x");
	OK(truncate("m", 4096));
	watch("m", ALL);
	int fd = OK(open("m", O_RDWR));
	char *p = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	CHECK(p != MAP_FAILED);
	p[0] = 'y';
	OK(munmap(p, 4096));
	OK(close(fd));
	show("mapped");
	int to = OK(open("m2", O_CREAT | O_RDWR, 0644));
	fd = OK(open("m", O_RDONLY));
	EQ(syscall(SYS_sendfile, to, fd, NULL, 100), 100);
	show("sendfile");
	EQ(read(fd, block, sizeof(block)), 3996);
	OK(close(fd));
	OK(close(to));
	show("read");
}

TEST(another_process_execs)
{
	OK(mkdir("d", 0755));
	OK(close(OK(open("d/f", O_CREAT | O_WRONLY, 0755))));
	watch("d", ALL);
	pid_t p = CHILD({
		execl("/bin/sh", "sh", "-c",
		      "echo x >d/n; cat d/n >d/f; rm d/n", NULL);
	});
	EQ(wait_for(p), 0);
	show("sh");
}
