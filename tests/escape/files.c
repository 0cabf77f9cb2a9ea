// modes: bare
// timeout: 120
/*
 * Laws 1, 2, 8: no way to a host file. The runner compares the project of the
 * host afterwards; other places are looked at by escape/host_files.sh.
 */
#include "escape.h"
#include <linux/openat2.h>
#include <sys/sendfile.h>
#include <sys/xattr.h>

TEST(links_out_of_the_work_directory)
{
	char b[64];

	OK(symlink("/etc/shadow", "x"));
	OK(symlink("/", "r"));
	int fd = open("x", O_RDONLY);
	if (fd >= 0)
		CHECK(read(fd, b, 1) <= 0 || geteuid() == 0);
	fd = open("r/var/tmp/cloche-escape-o", O_CREAT | O_WRONLY, 0644);
	if (fd >= 0)
		EQ(write(fd, "z\n", 2), 2);
	fd = open("r/tmp/cloche-escape-o", O_CREAT | O_WRONLY, 0644);
	if (fd >= 0)
		EQ(write(fd, "z\n", 2), 2);
}

TEST(shadow_is_not_readable)
{
	REFUSED(open("/etc/shadow", O_RDONLY));
	REFUSED(open("/etc/gshadow", O_RDONLY));
	OK(symlink("/etc/shadow", "s"));
	REFUSED(open("s", O_RDONLY));
	REFUSED(open("/proc/self/root/etc/shadow", O_RDONLY));
	REFUSED(link("/etc/shadow", "h") == 0 ? open("h", O_RDONLY) : -1);
	int d = OK(open("/etc", O_RDONLY | O_DIRECTORY));
	REFUSED(openat(d, "shadow", O_RDONLY));
	OK(fchdir(d));
	REFUSED(open("shadow", O_RDONLY));
	char *v[] = {"cat", "/etc/shadow", NULL};
	int null = OK(open("/dev/null", O_WRONLY));
	EQ(wait_for(CHILD({
		   dup2(null, 2);
		   execvp("cat", v);
	   })),
	   1);
}

static volatile int stop;

static void *swapper(void *arg)
{
	(void)arg;
	while (!stop) {
		symlink("/etc", "swap.new");
		rename("swap.new", "swap");
		mkdir("swap.dir", 0755);
		unlink("swap");
		rename("swap.dir", "swap");
		rmdir("swap");
	}
	return NULL;
}

TEST(a_link_swapped_in_the_middle_of_a_path)
{
	pthread_t t;

	EQ(pthread_create(&t, NULL, swapper, NULL), 0);
	for (int i = 0; i < 20000; i++) {
		int fd = open("swap/cloche-escape", O_CREAT | O_WRONLY, 0644);
		if (fd >= 0)
			close(fd);
		fd = open("swap/shadow", O_RDONLY);
		CHECK(fd < 0);
	}
	stop = 1;
	pthread_join(t, NULL);
}

static char racing[64];

static void *flipper(void *arg)
{
	(void)arg;
	while (!stop) {
		strcpy(racing, "/etc/hostname");
		strcpy(racing, "/etc/shadow\0\0");
	}
	return NULL;
}

TEST(a_path_that_changes_while_it_is_read)
{
	pthread_t t;
	char b[64];

	strcpy(racing, "/etc/hostname");
	EQ(pthread_create(&t, NULL, flipper, NULL), 0);
	for (int i = 0; i < 20000; i++) {
		int fd = open(racing, O_RDONLY);
		if (fd < 0)
			continue;
		ssize_t n = read(fd, b, sizeof(b) - 1);
		CHECK(n >= 0);
		b[n] = 0;
		CHECK(!strstr(b, "root:"));
		close(fd);
	}
	stop = 1;
	pthread_join(t, NULL);
}

TEST(read_only_descriptors_are_not_a_way_to_write)
{
	char p[64];
	int fd = OK(open("/etc/passwd", O_RDONLY));

	snprintf(p, sizeof(p), "/proc/self/fd/%d", fd);
	int w = open(p, O_WRONLY);
	if (w >= 0) /* allowed for root: a copy */
		EQ(write(w, "x", 1), 1);
	if (geteuid()) {
		REFUSED(fchmod(fd, 0666));
		REFUSED(fchown(fd, getuid(), getgid()));
		REFUSED(fsetxattr(fd, "user.x", "1", 1, 0));
		REFUSED(futimens(fd, NULL));
	}
	REFUSED(ftruncate(fd, 0));
	REFUSED(fallocate(fd, 0, 0, 1));
	CHECK(mmap(NULL, 4096, PROT_WRITE, MAP_SHARED, fd, 0) == MAP_FAILED);
	void *m = mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0);
	if (m != MAP_FAILED)
		REFUSED(mprotect(m, 4096, PROT_READ | PROT_WRITE));
	snprintf(p, sizeof(p), "/dev/fd/%d", fd);
	if (geteuid())
		REFUSED(open(p, O_RDWR));
	REFUSED(syscall(SYS_openat, fd, "..", O_RDONLY));
}

TEST(own_program_for_writing)
{
	REFUSED2(open("/proc/self/exe", O_WRONLY), ETXTBSY, EACCES);
	REFUSED2(open("/proc/self/exe", O_RDWR | O_TRUNC), ETXTBSY, EACCES);
	OK(close(OK(open("/proc/self/exe", O_RDONLY))));
}

TEST(inherited_descriptors_are_only_three)
{
	char p[64], b[64];
	struct stat st;

	for (int i = 3; i < 1024; i++) {
		ERR(fcntl(i, F_GETFD), EBADF);
		ERR(fstat(i, &st), EBADF);
		snprintf(p, sizeof(p), "/proc/self/fd/%d", i);
		ERR(readlink(p, b, sizeof(b)), ENOENT);
	}
}

TEST(dotdot_from_a_directory_descriptor)
{
	int d = OK(open(".", O_RDONLY | O_DIRECTORY));
	struct stat a, b;

	OK(stat("/", &a));
	for (int i = 0; i < 30; i++) {
		d = OK(openat(d, "..", O_RDONLY | O_DIRECTORY));
	}
	OK(fstat(d, &b));
	EQ(a.st_ino, b.st_ino);
	EQ(a.st_dev, b.st_dev);
	REFUSED(openat(d, "etc/shadow", O_RDONLY));
}

TEST(setuid_programs_give_nothing)
{
	char *v[] = {"su", "-c", "id -u", NULL};
	int null = OK(open("/dev/null", O_RDWR));
	pid_t k = CHILD({
		dup2(null, 0);
		dup2(null, 2);
		execvp("su", v);
		_exit(1);
	});
	if (geteuid())
		CHECK(wait_for(k) != 0);
	else
		wait_for(k);
	/* an own set-id file is no use either */
	int in = OK(open("/usr/bin/id", O_RDONLY));
	struct stat st;
	OK(fstat(in, &st));
	int o = OK(open("id", O_CREAT | O_WRONLY, 0755));
	EQ(sendfile(o, in, NULL, (size_t)st.st_size), st.st_size);
	OK(close(o));
	OK(chmod("id", 06755));
	EQ(wait_for(CHILD(execl("./id", "id", "-u", NULL))), 0);
}

TEST(openat2_and_renameat_make_nothing_on_the_host)
{
	struct open_how how = {.flags = O_CREAT | O_TRUNC | O_WRONLY,
			       .mode = 0644};

	long fd = OK(syscall(SYS_openat2, AT_FDCWD, lower("file"), &how,
			     sizeof(how)));
	EQ(write((int)fd, "changed", 7), 7);
	OK(renameat(AT_FDCWD, lower("dir/a"), AT_FDCWD, lower("dir/b")));
	OK(renameat2(AT_FDCWD, lower("dir"), AT_FDCWD, lower("tree"),
		     RENAME_EXCHANGE));
	OK(unlink(lower("data")));
	OK(truncate(lower("empty"), 100));
	OK(chmod(lower("script.sh"), 0600));
	OK(utimensat(AT_FDCWD, lower("hard1"), NULL, 0));
}

TEST(sockets_and_devices_of_the_host_are_not_shown)
{
	const char *p[] = {"/var/run/docker.sock",
			   "/run/docker.sock",
			   "/run/dbus/system_bus_socket",
			   "/dev/mem",
			   "/dev/kmem",
			   "/dev/sda",
			   "/dev/vda",
			   "/dev/kvm",
			   "/dev/fuse",
			   "/dev/net/tun",
			   "/dev/kmsg",
			   "/proc/kcore",
			   "/proc/sysrq-trigger",
			   "/sys/kernel/debug",
			   "/dev/vsock"};

	for (size_t i = 0; i < sizeof(p) / sizeof(*p); i++) {
		REFUSED(open(p[i], O_RDONLY));
		REFUSED(open(p[i], O_WRONLY));
	}
	struct stat st;
	OK(stat("/dev/null", &st));
	REFUSED(mknod("disk", S_IFBLK | 0600, (254 << 8) | 0) == 0
			? open("disk", O_RDONLY)
			: -1);
	REFUSED(open("/proc/sys/kernel/core_pattern", O_WRONLY));
	REFUSED(open("/proc/sys/kernel/hostname", O_WRONLY));
}
