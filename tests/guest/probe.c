// modes: bare
/* Raw probes as runtimes make them; high halves of arguments. */
#include "guest.h"
#include <linux/openat2.h>

#define HIGH 0xdeadbeef00000000UL

static bool here_or_ENOSYS(long r)
{
	return r >= 0 || errno == ENOSYS;
}

TEST(probes_of_newer_calls)
{
	struct statx x;
	struct open_how how = {.resolve = RESOLVE_BENEATH};

	CHECK(here_or_ENOSYS(syscall(SYS_faccessat2, AT_FDCWD, "/bin/sh", X_OK,
				     AT_EACCESS)));
	OK(statx(AT_FDCWD, "/", 0, STATX_ALL, &x));
	errno = 0;
	long r = syscall(SYS_openat2, AT_FDCWD, "../x", &how, sizeof(how));
	CHECK(r == -1 && (errno == EXDEV || errno == ENOSYS));
	OK(syscall(SYS_getrandom, &x, 16, 0));
	OK(syscall(SYS_membarrier, 0, 0));
	CHECK(here_or_ENOSYS(syscall(SYS_rseq, NULL, 0, 0, 0)) ||
	      errno == EINVAL || errno == EBUSY || errno == EPERM ||
	      errno == EFAULT);
	CHECK(here_or_ENOSYS(syscall(441, -1, NULL, 0, NULL, NULL, 8)) ||
	      errno == EINVAL || errno == EBADF); /* epoll_pwait2 */
	/* cachestat, map_shadow_stack and beyond: never EPERM, but for 467,
	 * open_tree_attr, a call about mounts */
	for (int n = 451; n < 470; n++) {
		if (n == 467)
			continue;
		errno = 0;
		r = syscall(n, -1, -1, -1, -1, -1, -1);
		if (r == -1 && errno == EPERM)
			guest_fail(__FILE__, __LINE__, "call %d: EPERM", n);
	}
}

TEST(close_range_forms)
{
	int a = OK(dup(0)), b = OK(dup(0));
	long r = syscall(SYS_close_range, a, a, 4); /* CLOEXEC */

	if (r < 0 && errno == ENOSYS)
		SKIP("no close_range");
	EQ(fcntl(a, F_GETFD), FD_CLOEXEC);
	OK(syscall(SYS_close_range, b, b, 0));
	ERR(fcntl(b, F_GETFD), EBADF);
	ERR(syscall(SYS_close_range, 9, 8, 0), EINVAL);
	ERR(syscall(SYS_close_range, 3, ~0U, 0x80), EINVAL);
	OK(syscall(SYS_close_range, 3, ~0U, 0));
	ERR(fcntl(a, F_GETFD), EBADF);
	put("f", "x");
	STREQ(get("f"), "x");
}

TEST(unknown_numbers_are_ENOSYS)
{
	ERR(syscall(500), ENOSYS);
	ERR(syscall(1000), ENOSYS);
	ERR(syscall(400), ENOSYS);
	ERR(syscall(0x7fffffff), ENOSYS);
	ERR(syscall(-1), ENOSYS);
	ERR(syscall(SYS_tuxcall), ENOSYS);
	ERR(syscall(SYS_nfsservctl), ENOSYS);
	ERR(syscall(SYS_create_module), ENOSYS);
}

TEST(threads_start_without_clone3)
{
	pthread_t t;
	void *body(void *a)
	{
		return a;
	}
	void *r;

	EQ(pthread_create(&t, NULL, body, "x"), 0);
	EQ(pthread_join(t, &r), 0);
	STREQ((char *)r, "x");
}

/* int arguments are 32 bits wide: the kernel ignores what is above. */
TEST(high_halves_of_int_arguments_are_ignored)
{
	struct stat st;

	put("f", "abc");
	long fd = syscall(SYS_openat, HIGH | (unsigned)AT_FDCWD, "f",
			  HIGH | O_RDWR, HIGH);
	CHECK(fd >= 0);
	OK(syscall(SYS_fstat, HIGH | (unsigned long)fd, &st));
	EQ(st.st_size, 3);
	OK(syscall(SYS_newfstatat, HIGH | (unsigned)AT_FDCWD, "f", &st, HIGH));
	OK(syscall(SYS_faccessat, HIGH | (unsigned)AT_FDCWD, "f", HIGH | R_OK));
	OK(syscall(SYS_fchmod, HIGH | (unsigned long)fd, HIGH | 0640));
	EQ(mode_of("f"), 0640);
	OK(syscall(SYS_mkdirat, HIGH | (unsigned)AT_FDCWD, "d", HIGH | 0700));
	EQ(mode_of("d"), 0700);
	OK(syscall(SYS_unlinkat, HIGH | (unsigned)AT_FDCWD, "d",
		   HIGH | AT_REMOVEDIR));
	OK(syscall(SYS_renameat2, HIGH | (unsigned)AT_FDCWD, "f",
		   HIGH | (unsigned)AT_FDCWD, "g", HIGH));
	OK(syscall(SYS_fcntl, HIGH | (unsigned long)fd, HIGH | F_GETFL, 0));
	long s = syscall(SYS_socket, HIGH | AF_UNIX, HIGH | SOCK_STREAM, HIGH);
	CHECK(s >= 0);
	EQ(syscall(SYS_umask, HIGH | 022), 022);
	OK(syscall(SYS_fchmodat, HIGH | (unsigned)AT_FDCWD, "g", 0600));
	OK(syscall(SYS_close, HIGH | (unsigned long)fd));
}

TEST(lengths_are_64_bits_wide)
{
	put("f", "abc");
	ERR(syscall(SYS_truncate, "f", 1UL << 63), EINVAL);
	int fd = OK(open("f", O_RDWR));
	char b[8];
	EQ(syscall(SYS_pread64, fd, b, 8, 1UL << 32), 0);
	OK(syscall(SYS_ftruncate, fd, (1UL << 32) + 1));
	struct stat st;
	OK(fstat(fd, &st));
	EQ(st.st_size, (1L << 32) + 1);
	ERR(syscall(SYS_getcwd, b, 1UL), ERANGE);
}

TEST(old_calls_work_too)
{
	char b[64];
	struct stat st;

	long fd = OK(syscall(SYS_open, "f", O_CREAT | O_RDWR, 0644));
	OK(syscall(SYS_close, fd));
	OK(syscall(SYS_stat, "f", &st));
	OK(syscall(SYS_lstat, "f", &st));
	OK(syscall(SYS_access, "f", R_OK));
	OK(syscall(SYS_link, "f", "g"));
	OK(syscall(SYS_symlink, "f", "s"));
	EQ(syscall(SYS_readlink, "s", b, 64), 1);
	OK(syscall(SYS_rename, "g", "h"));
	OK(syscall(SYS_mkdir, "d", 0755));
	OK(syscall(SYS_rmdir, "d"));
	OK(syscall(SYS_chmod, "f", 0600));
	OK(syscall(SYS_chown, "f", -1, -1));
	OK(syscall(SYS_lchown, "f", -1, -1));
	OK(syscall(SYS_unlink, "h"));
	OK(syscall(SYS_creat, "c", 0644));
	OK(syscall(SYS_utime, "f", NULL));
	OK(syscall(SYS_mknod, "m", S_IFREG | 0644, 0));
	OK(syscall(SYS_dup2, 0, 50));
	int p[2];
	OK(syscall(SYS_pipe, p));
	OK(syscall(SYS_inotify_init));
	OK(syscall(SYS_epoll_create, 1));
	OK(syscall(SYS_eventfd, 0));
	OK(syscall(SYS_time, NULL));
	OK(syscall(SYS_getpgrp));
	OK(syscall(SYS_sync));
}

TEST(a_million_closes_of_free_numbers)
{
	int bad = 0;

	for (int i = 3; i < 1048576; i++)
		bad += close(i) == 0;
	(void)bad;
	put("f", "x");
}

TEST(refused_families_say_ENOSYS_or_EPERM)
{
	if (geteuid() == 0)
		SKIP("root may natively");
	ERR(syscall(SYS_mount, "a", ".", "tmpfs", 0, NULL), EPERM);
	ERR(syscall(SYS_umount2, "/", 0), EPERM);
	ERR(syscall(SYS_reboot, 0, 0, 0, NULL), EPERM);
	ERR(syscall(SYS_sethostname, "x", 1), EPERM);
	ERR(syscall(SYS_chroot, "."), EPERM);
	ERR(syscall(SYS_acct, "f"), EPERM);
	ERR(syscall(SYS_swapoff, "f"), EPERM);
}
