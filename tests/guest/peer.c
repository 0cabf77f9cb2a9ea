// modes: bare
/*
 * Another process of the same user: its memory, descriptors, and which of the
 * kernel's objects it shares.
 */
#include "guest.h"
#include <linux/kcmp.h>
#include <sys/epoll.h>
#include <sys/uio.h>

/* A child that waits, with what it needs made before. */
static pid_t waiting(void)
{
	return CHILD(for (;;) pause());
}

static void ended(pid_t pid)
{
	OK(kill(pid, SIGKILL));
	EQ(wait_for(pid), -1000 - SIGKILL);
}

static long kcmp(pid_t a, pid_t b, int type, unsigned long x, unsigned long y)
{
	return syscall(SYS_kcmp, a, b, type, x, y);
}

TEST(process_vm_readv_of_a_child)
{
	char *mem = OK(mmap(NULL, 8192, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
	char a[3000], b[6000];
	struct iovec l[2] = {{a, sizeof(a)}, {b, sizeof(b)}};
	struct iovec r[2] = {{mem + 100, 5000}, {mem + 6000, 1000}};

	memset(mem, 'x', 8192);
	pid_t pid = CHILD(memset(mem, 'y', 8192); for (;;) pause());
	while (OK(process_vm_readv(pid, l, 2, r, 2, 0)) != 6000 || *a != 'y')
		usleep(1000);
	EQ(a[2999], 'y');
	EQ(b[2999], 'y');
	EQ(*mem, 'x');
	/* as far as it goes */
	r[0] = (struct iovec){mem + 4096, 8192};
	OK(munmap(mem + 4096, 4096));
	EQ(process_vm_readv(getpid(), l, 2, r + 1, 0, 0), 0);
	r[0] = (struct iovec){mem, 8192};
	EQ(process_vm_readv(getpid(), l, 2, r, 1, 0), 4096);
	r[0] = (struct iovec){mem + 4096, 10};
	ERR(process_vm_readv(getpid(), l, 2, r, 1, 0), EFAULT);
	ERR(process_vm_readv(pid, l, 2, r, 1, 1), EINVAL);
	ERR(process_vm_readv(pid, l, 1025, r, 1, 0), EINVAL);
	ERR(process_vm_readv(pid, (void *)1, 1, r, 1, 0), EFAULT);
	ERR(process_vm_readv(0x7ffffffe, l, 1, r, 1, 0), ESRCH);
	ended(pid);
}

TEST(process_vm_writev_to_a_child)
{
	volatile int *go = OK(mmap(NULL, 4096, PROT_READ | PROT_WRITE,
				   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
	int value = 7;
	struct iovec l = {&value, sizeof(value)};
	struct iovec r = {(void *)go, sizeof(value)};
	pid_t pid = CHILD(while (!*go) usleep(1000); _exit(*go));

	EQ(process_vm_writev(pid, &l, 1, &r, 1, 0), sizeof(value));
	EQ(wait_for(pid), 7);
	EQ(*go, 0);
	OK(mprotect((void *)go, 4096, PROT_READ));
	ERR(process_vm_writev(getpid(), &l, 1, &r, 1, 0), EFAULT);
}

TEST(process_vm_of_an_undumpable_process)
{
	int p[2], value;
	struct iovec l = {&value, sizeof(value)}, r = {&value, sizeof(value)};

	if (geteuid() == 0)
		SKIP("root may");
	OK(pipe(p));
	pid_t pid = CHILD(OK(prctl(PR_SET_DUMPABLE, 0)); write(p[1], "", 1);
			  for (;;) pause());
	EQ(read(p[0], &value, 1), 1);
	ERR(process_vm_readv(pid, &l, 1, &r, 1, 0), EPERM);
	ERR(kcmp(pid, getpid(), KCMP_VM, 0, 0), EPERM);
	ended(pid);
}

TEST(kcmp_of_shared_and_own_objects)
{
	int a = OK(open("f", O_RDWR | O_CREAT, 0644)), b = OK(dup(a));
	int other = OK(open("f", O_RDONLY));
	pid_t pid = waiting(), me = getpid();

	EQ(kcmp(me, me, KCMP_FILE, a, b), 0);
	CHECK(kcmp(me, me, KCMP_FILE, a, other) > 0);
	EQ(kcmp(me, pid, KCMP_FILE, a, b), 0);
	CHECK(kcmp(me, pid, KCMP_VM, 0, 0) > 0);
	CHECK(kcmp(me, pid, KCMP_FILES, 0, 0) > 0);
	EQ(kcmp(me, me, KCMP_FILES, 0, 0), 0);
	ERR(kcmp(me, me, KCMP_FILE, a, 999), EBADF);
	ERR(kcmp(me, me, 99, 0, 0), EINVAL);
	ERR(kcmp(me, 0x7ffffffe, KCMP_VM, 0, 0), ESRCH);
	ended(pid);
}

TEST(kcmp_of_an_epoll_target)
{
	int ep = OK(epoll_create1(0)), p[2];
	struct epoll_event ev = {.events = EPOLLIN};
	struct kcmp_epoll_slot slot = {.efd = (uint32_t)ep};

	OK(pipe(p));
	OK(epoll_ctl(ep, EPOLL_CTL_ADD, p[0], &ev));
	slot.tfd = (uint32_t)p[0];
	EQ(kcmp(getpid(), getpid(), KCMP_EPOLL_TFD, p[0], (long)&slot), 0);
	ERR(kcmp(getpid(), getpid(), KCMP_EPOLL_TFD, p[0], 1), EFAULT);
}

TEST(pidfd_getfd_of_a_child)
{
	int p[2], fd, pidfd;
	char c;

	OK(pipe(p));
	pid_t pid = waiting();
	pidfd = OK(syscall(SYS_pidfd_open, pid, 0));
	OK(close(p[1]));
	fd = OK(syscall(SYS_pidfd_getfd, pidfd, p[1], 0));
	EQ(fcntl(fd, F_GETFD), FD_CLOEXEC);
	EQ(write(fd, "z", 1), 1);
	EQ(read(p[0], &c, 1), 1);
	EQ(c, 'z');
	ERR(syscall(SYS_pidfd_getfd, pidfd, 999, 0), EBADF);
	ERR(syscall(SYS_pidfd_getfd, pidfd, -1, 0), EBADF);
	ERR(syscall(SYS_pidfd_getfd, fd, 0, 0), EBADF);
	ERR(syscall(SYS_pidfd_getfd, pidfd, 0, 1), EINVAL);
	ended(pid);
	ERR(syscall(SYS_pidfd_getfd, pidfd, 0, 0), ESRCH);
}

TEST(robust_list_of_a_child)
{
	void *head, *own;
	size_t len;

	OK(syscall(SYS_get_robust_list, 0, &own, &len));
	EQ(len, 24);
	pid_t pid = waiting();
	OK(syscall(SYS_get_robust_list, pid, &head, &len));
	EQ(len, 24);
	ERR(syscall(SYS_get_robust_list, 0x7ffffffe, &head, &len), ESRCH);
	ERR(syscall(SYS_get_robust_list, pid, &head, NULL), EFAULT);
	ended(pid);
}
