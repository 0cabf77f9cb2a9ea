// modes: bare
/* Law 5: other ways into the kernel, and bits above 32. */
#include "escape.h"
#include <sys/ioctl.h>
#include <termios.h>

static long x32(long nr)
{
	return syscall(0x40000000 | nr, 0, 0, 0, 0, 0, 0);
}

TEST(x32_numbers_are_refused)
{
	/* each in a child: being killed is an answer too */
	long nr[] = {SYS_getpid, SYS_open, SYS_openat, SYS_execve,
		     SYS_socket, 520,	   545};
	for (int i = 0; i < 7; i++) {
		int st = wait_for(CHILD({
			long r = x32(nr[i]);
			_exit(r == -1 && errno == ENOSYS ? 0 : 1);
		}));
		CHECK(st == 0 || st < -1000);
	}
}

TEST(int_0x80_is_refused)
{
	int st = wait_for(CHILD({
		long r;
		__asm__ volatile("int $0x80"
				 : "=a"(r)
				 : "a"(20L), "b"(0L), "c"(0L), "d"(0L)
				 : "memory");
		_exit(r == -ENOSYS ? 0 : 1);
	}));
	CHECK(st == 0 || st < -1000);
}

TEST(int_0x80_open_is_refused)
{
	static const char path[] = "/etc/passwd";
	char *low = mmap((void *)0x10000000, 4096, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);

	CHECK(low != MAP_FAILED);
	memcpy(low, path, sizeof(path));
	int st = wait_for(CHILD({
		long r;
		__asm__ volatile("int $0x80"
				 : "=a"(r)
				 : "a"(5L), "b"(low), "c"(0L), "d"(0L)
				 : "memory");
		_exit(r < 0 ? 0 : 1);
	}));
	CHECK(st == 0 || st < -1000);
}

TEST(TIOCSTI_with_high_bits)
{
	char c = 'x';
	unsigned long cmds[] = {TIOCSTI,
				TIOCSTI | 1UL << 32,
				TIOCSTI | 1UL << 63,
				TIOCLINUX,
				TIOCLINUX | 1UL << 32,
				TIOCCONS | 0xffffffff00000000UL};

	for (int fd = 0; fd < 3; fd++)
		for (int i = 0; i < 6; i++)
			REFUSED(syscall(SYS_ioctl, fd, cmds[i], &c));
}

TEST(socket_families_with_high_bits)
{
	int fam[] = {AF_VSOCK, AF_PACKET, AF_ALG, AF_BLUETOOTH, AF_KEY,
		     AF_XDP,   AF_TIPC,	  AF_CAN, AF_RXRPC};

	for (int i = 0; i < 9; i++) {
		REFUSED(syscall(SYS_socket, fam[i], SOCK_STREAM, 0));
		REFUSED(syscall(SYS_socket, fam[i] | 1UL << 32, SOCK_DGRAM, 0));
		REFUSED(syscall(SYS_socket, fam[i], SOCK_SEQPACKET, 0));
	}
	REFUSED(syscall(SYS_socket, AF_NETLINK, SOCK_RAW, 9)); /* audit */
	REFUSED(syscall(SYS_socket, AF_INET, SOCK_RAW, 255));
}

TEST(reserved_words_of_the_loader_are_useless_later)
{
	/* any flags word that openat does not know must fail or be ignored */
	for (int i = 23; i < 64; i++) {
		long r = syscall(SYS_openat, AT_FDCWD, "/none", 1UL << i, 0);
		CHECK(r == -1);
	}
	REFUSED(syscall(SYS_openat, -1, NULL, ~0UL, 0));
	REFUSED(syscall(SYS_openat, AT_FDCWD, "", 0xc10c4eUL, 0));
}

TEST(file_flags_and_leases_of_host_files)
{
	int fd = OK(open("/etc/passwd", O_RDONLY));
	long fl = 0;

	REFUSED(ioctl(fd, 0x40086602, &fl)); /* FS_IOC_SETFLAGS */
	REFUSED(syscall(SYS_ioctl, fd, 0x40086602UL | 1UL << 40, &fl));
	REFUSED(fcntl(fd, F_SETLEASE, F_WRLCK));
	REFUSED(syscall(SYS_fcntl, fd, F_SETLEASE | 1UL << 32, F_WRLCK));
	REFUSED(ioctl(fd, 0xc0045877, &fl)); /* FIFREEZE */
	REFUSED(ioctl(fd, 0x5877, 0));
}
