// modes: bare
/*
 * Which errno where several apply, and old calls that few remember: the
 * kernel's order of looking at descriptors, pointers and values.
 */
#include "guest.h"
#include <linux/sockios.h>
#include <linux/unistd.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/sysmacros.h>

#define BAD ((void *)1)

TEST(bad_descriptor_before_unknown_option)
{
	int f = OK(open("f", O_RDWR | O_CREAT, 0644)), v;
	socklen_t n = sizeof(v);

	ERR(getsockopt(-1, SOL_SOCKET, 9999, &v, &n), EBADF);
	ERR(getsockopt(f, SOL_SOCKET, 9999, &v, &n), ENOTSOCK);
	ERR(setsockopt(999, 77, 1, &v, n), EBADF);
	ERR(setsockopt(f, 77, 1, &v, n), ENOTSOCK);
	ERR(ioctl(999, 0x12345678), EBADF);
	ERR(ioctl(f, 0x12345678), ENOTTY);
	ERR(ioctl(999, TIOCCONS), EBADF);
	ERR(ioctl(f, TIOCCONS), ENOTTY);
	ERR(ioctl(f, TIOCSTI, "x"), ENOTTY);
	ERR(fcntl(999, 9999), EBADF);
	ERR(fcntl(f, 9999), EINVAL);
	ERR(syscall(SYS_setns, 999, 0), EBADF);
	ERR(syscall(SYS_setns, f, 0), EINVAL);
}

TEST(unix_sockets_know_no_other_level)
{
	int s = OK(socket(AF_UNIX, SOCK_STREAM, 0)), v = 1;
	socklen_t n = sizeof(v);

	ERR(setsockopt(s, IPPROTO_TCP, TCP_NODELAY, &v, n), EOPNOTSUPP);
	ERR(getsockopt(s, 12345, 1, &v, &n), EOPNOTSUPP);
	ERR(getsockopt(s, SOL_SOCKET, 12345, &v, &n), ENOPROTOOPT);
}

TEST(connect_looks_at_the_address_first)
{
	int f = OK(open("f", O_RDWR | O_CREAT, 0644));
	struct sockaddr_in in = {.sin_family = AF_INET};

	ERR(connect(f, BAD, 16), EFAULT);
	ERR(connect(f, (void *)&in, 4096), EINVAL);
	ERR(connect(f, (void *)&in, sizeof(in)), ENOTSOCK);
	ERR(connect(999, BAD, 16), EBADF);
	ERR(bind(f, BAD, 16), ENOTSOCK);
}

TEST(socketpair_looks_at_the_room_first)
{
	int fd[2];

	ERR(syscall(SYS_socketpair, AF_INET, SOCK_STREAM, 0, BAD), EFAULT);
	ERR(syscall(SYS_socketpair, AF_INET, SOCK_STREAM, 0, NULL), EFAULT);
	ERR(socketpair(99, SOCK_STREAM, 0, fd), EAFNOSUPPORT);
	ERR(socketpair(AF_UNIX, 99, 0, fd), EINVAL);
}

TEST(limits_of_nobody_are_ESRCH)
{
	struct rlimit rl;

	ERR(syscall(SYS_prlimit64, 0x7ffffffe, 99, NULL, &rl), ESRCH);
	ERR(syscall(SYS_prlimit64, 0, 99, NULL, &rl), EINVAL);
	ERR(syscall(SYS_prlimit64, 0, 99, BAD, NULL), EFAULT);
}

TEST(unshare_of_unknown_flags)
{
	ERR(unshare(1), EINVAL);
	ERR(unshare(CLONE_PARENT), EINVAL);
	OK(unshare(0));
	OK(unshare(CLONE_FILES | CLONE_FS));
	OK(unshare(CLONE_THREAD));
}

TEST(flock_of_mandatory_kinds_does_nothing)
{
	OK(flock(0, LOCK_MAND));
	OK(flock(999, LOCK_MAND | LOCK_READ));
	ERR(flock(999, LOCK_EX), EBADF);
	ERR(flock(0, LOCK_EX | LOCK_SH), EINVAL);
}

TEST(clock_settime_of_bad_arguments)
{
	struct timespec bad = {.tv_nsec = -1};
	struct timeval tv = {.tv_usec = -1};

	ERR(syscall(SYS_clock_settime, CLOCK_MONOTONIC, &bad), EINVAL);
	ERR(syscall(SYS_clock_settime, CLOCK_REALTIME, BAD), EFAULT);
	ERR(syscall(SYS_clock_settime, CLOCK_REALTIME, &bad), EINVAL);
	ERR(syscall(SYS_settimeofday, BAD, NULL), EFAULT);
	ERR(syscall(SYS_settimeofday, &tv, NULL), EINVAL);
}

TEST(sysfs_of_known_file_systems)
{
	char name[64];
	long n = OK(syscall(SYS_sysfs, 3)), i;

	CHECK(n > 1);
	i = OK(syscall(SYS_sysfs, 1, "proc"));
	OK(syscall(SYS_sysfs, 2, i, name));
	STREQ(name, "proc");
	ERR(syscall(SYS_sysfs, 1, "nosuchfs"), EINVAL);
	ERR(syscall(SYS_sysfs, 1, BAD), EFAULT);
	ERR(syscall(SYS_sysfs, 2, 1000, name), EINVAL);
	ERR(syscall(SYS_sysfs, 2, i, BAD), EFAULT);
	ERR(syscall(SYS_sysfs, 4), EINVAL);
}

TEST(ustat_by_device)
{
	struct {
		int tfree;
		long tinode;
		char names[12];
	} u;
	struct stat st;

	OK(stat(".", &st));
	OK(syscall(SYS_ustat, (unsigned)st.st_dev, &u));
	CHECK(u.tfree != 0);
	ERR(syscall(SYS_ustat, (unsigned)st.st_dev, BAD), EFAULT);
	ERR(syscall(SYS_ustat, makedev(199, 1), &u), EINVAL);
}

TEST(cachestat_of_an_own_file)
{
	struct {
		uint64_t off, len;
	} all = {0, 0};
	uint64_t out[5] = {0};
	int f = OK(open("f", O_RDWR | O_CREAT, 0644)), p[2];

	EQ(ftruncate(f, 0), 0);
	EQ(write(f, "x", 1), 1);
	if (syscall(451, f, &all, out, 0) < 0 && errno == ENOSYS)
		SKIP("no cachestat");
	EQ(out[0], 1);
	ERR(syscall(451, f, &all, out, 1), EINVAL);
	ERR(syscall(451, f, BAD, out, 0), EFAULT);
	ERR(syscall(451, f, &all, BAD, 0), EFAULT);
	ERR(syscall(451, -1, &all, out, 0), EBADF);
	OK(pipe(p));
}

TEST(modify_ldt_of_the_caller)
{
	char buf[64];
	long n = syscall(SYS_modify_ldt, 0, buf, sizeof(buf));

	if (n < 0 && errno == ENOSYS)
		SKIP("no modify_ldt");
	CHECK(n >= 0);
	/* the kernel gives an unsigned int back */
	EQ((int)syscall(SYS_modify_ldt, 1, buf, 3), -EINVAL);
	EQ((int)syscall(SYS_modify_ldt, 1, BAD, 16), -EFAULT);
}

TEST(fchmod_of_a_memfd_and_a_socket)
{
	int m = OK(memfd_create("m", 0)), s[2];
	struct stat st;

	OK(fchmod(m, 0640));
	OK(fstat(m, &st));
	EQ(st.st_mode & 07777, 0640);
	OK(socketpair(AF_UNIX, SOCK_STREAM, 0, s));
	OK(fchmod(s[0], 0600));
}

TEST(options_of_a_socket_alone)
{
	int s = OK(socket(AF_UNIX, SOCK_DGRAM, 0)), v = 0;
	socklen_t n = sizeof(v);

	OK(getsockopt(s, SOL_SOCKET, SO_MARK, &v, &n));
	OK(getsockopt(s, SOL_SOCKET, SO_DEBUG, &v, &n));
	OK(setsockopt(s, SOL_SOCKET, SO_TIMESTAMPING, &v, n));
	OK(getsockopt(s, SOL_SOCKET, SO_TIMESTAMPING, &v, &n));
	OK(setsockopt(s, SOL_SOCKET, SO_PASSSEC, &v, n));
}

/* Whether there are handles is asked last. */
TEST(name_to_handle_at_looks_at_the_path_first)
{
	struct file_handle h = {.handle_bytes = 0};
	int mount, none = 1 << 18;

	put("f", "x");
	ERR(name_to_handle_at(AT_FDCWD, "none", &h, &mount, 0), ENOENT);
	ERR(name_to_handle_at(AT_FDCWD, "f/x", &h, &mount, 0), ENOTDIR);
	ERR(name_to_handle_at(AT_FDCWD, "", &h, &mount, 0), ENOENT);
	ERR(name_to_handle_at(-1, "f", &h, &mount, 0), EBADF);
	ERR(name_to_handle_at(AT_FDCWD, "none", &h, &mount, none), EINVAL);
	ERR(name_to_handle_at(AT_FDCWD, (char *)8, &h, &mount, 0), EFAULT);
	ERR(open_by_handle_at(-1, &h, 0), EINVAL);
}

TEST(leases_and_dnotify_look_at_the_descriptor_first)
{
	int p[2], d = OK(open(".", O_RDONLY | O_DIRECTORY));

	OK(pipe(p));
	ERR(fcntl(p[0], F_SETLEASE, F_RDLCK), EINVAL);
	ERR(fcntl(-1, F_SETLEASE, F_RDLCK), EBADF);
	ERR(fcntl(d, F_SETLEASE, 9), EINVAL);
	ERR(fcntl(-1, F_NOTIFY, DN_CREATE), EBADF);
	EQ(OK(fcntl(d, F_GETLEASE)), F_UNLCK);
}
