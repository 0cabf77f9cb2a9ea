/*
 * guestcalls_test.c - the file calls end to end: a child under a real seccomp
 * listener, answered by the notify thread's loop from a VFS of one tmpfs.
 *
 * No jail, no tracer, no exec: only what a call gets back is looked at. The
 * child says which check failed by its exit status, the line number's low
 * byte.
 */
#include <criterion/criterion.h>
#include <dirent.h>
#include <linux/filter.h>
#include <linux/openat2.h>
#include <linux/seccomp.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <sys/xattr.h>

#include "../../sentry/workers.h"
#include "../../syscalls/table.h"
#include "onetask.h"

#define CHECK(x)                                                        \
	do {                                                            \
		if (!(x)) {                                             \
			dprintf(2, "line %d: %s: errno %d\n", __LINE__, \
				#x, errno);                             \
			_exit(__LINE__ % 250 + 1);                      \
		}                                                       \
	} while (0)
#define FAILS(x, e) CHECK((errno = 0, (x)) == -1 && errno == (e))

/* Notifies what this folder's file handlers answer. */
static const int trapped[] = {
	SYS_open, SYS_openat, SYS_openat2, SYS_creat, SYS_stat, SYS_lstat,
	SYS_fstat, SYS_newfstatat, SYS_statx, SYS_statfs, SYS_fstatfs,
	SYS_access, SYS_faccessat, SYS_faccessat2, SYS_link, SYS_linkat,
	SYS_symlink, SYS_symlinkat, SYS_unlink, SYS_unlinkat, SYS_rename,
	SYS_renameat, SYS_renameat2, SYS_mkdir, SYS_mkdirat, SYS_mknod,
	SYS_mknodat, SYS_rmdir, SYS_readlink, SYS_readlinkat, SYS_chmod,
	SYS_fchmod, SYS_fchmodat, SYS_chown, SYS_fchown, SYS_lchown,
	SYS_fchownat, SYS_utime, SYS_utimes, SYS_futimesat, SYS_utimensat,
	SYS_truncate, SYS_setxattr, SYS_fsetxattr, SYS_getxattr,
	SYS_fgetxattr, SYS_listxattr, SYS_removexattr, SYS_getdents,
	SYS_getdents64, SYS_getcwd, SYS_chdir, SYS_fchdir, SYS_umask,
	SYS_mount, 452 /* fchmodat2 */,
};

static int listener_new(void)
{
	struct sock_filter prog[2 * ARRAY_SIZE(trapped) + 2];
	struct sock_fprog fprog = { .filter = prog };
	size_t n = 0;

	prog[n++] = (struct sock_filter)BPF_STMT(
		BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
	for (size_t i = 0; i < ARRAY_SIZE(trapped); i++) {
		prog[n++] = (struct sock_filter)BPF_JUMP(
			BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)trapped[i], 0, 1);
		prog[n++] = (struct sock_filter)BPF_STMT(
			BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF);
	}
	prog[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K,
						 SECCOMP_RET_ALLOW);
	fprog.len = (unsigned short)n;
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER,
			    SECCOMP_FILTER_FLAG_NEW_LISTENER |
				    SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV,
			    &fprog);
}

static void guest_main(int to_parent, void (*fn)(void))
{
	int fd = listener_new();

	if (fd < 0)
		_exit(255);
	if (write(to_parent, &fd, sizeof(fd)) != sizeof(fd))
		_exit(254);
	while (fcntl(fd, F_GETFD) >= 0) /* until the parent closed it here */
		usleep(1000);
	fn();
	_exit(0);
}

/* The child's tid is known only now. */
static void guest_adopt(pid_t pid)
{
	htable_del(&sentry.tasks, &task.by_tid);
	tg.pid = tg.vpid = task.tid = task.vtid = pid;
	htable_add(&sentry.tasks, &task.by_tid, hash_u64((uint64_t)pid, 0));
	if (!task_find(&sentry, pid))
		htable_del(&sentry.tasks, &task.by_tid);
}

static int guest_run(void (*fn)(void))
{
	int p[2], fd, status;
	pid_t pid;

	cr_assert_eq(pipe(p), 0);
	pid = fork();
	if (!pid)
		guest_main(p[1], fn);
	cr_assert_eq(read(p[0], &fd, sizeof(fd)), sizeof(fd));
	(void)status;
	return pid;
}
