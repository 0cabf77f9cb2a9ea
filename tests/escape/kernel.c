// modes: bare
// expect-audit: io_uring_setup deny
// expect-audit: unshare deny
// expect-audit: clone3 deny
// expect-audit: mount deny
// expect-audit: bpf deny
// expect-audit: setns deny
/* Law 3, 4, 9: parts of the kernel that no guest reaches. */
#include "escape.h"
#include <linux/sched.h>
#include <sys/mount.h>

TEST(io_uring)
{
	char params[120] = "";

	ERR(syscall(SYS_io_uring_setup, 8, params), ENOSYS);
	ERR(syscall(SYS_io_uring_enter, 0, 0, 0, 0, NULL, 0), ENOSYS);
	ERR(syscall(SYS_io_uring_register, 0, 0, NULL, 0), ENOSYS);
}

TEST(new_namespaces)
{
	int flags[] = {CLONE_NEWUSER,  CLONE_NEWNS,  CLONE_NEWPID,
		       CLONE_NEWNET,   CLONE_NEWIPC, CLONE_NEWUTS,
		       CLONE_NEWCGROUP};

	for (int i = 0; i < 7; i++) {
		REFUSED2(unshare(flags[i]), EPERM, ENOSYS);
		REFUSED(syscall(SYS_clone, flags[i] | SIGCHLD, 0, 0, 0, 0));
		struct clone_args ca = {.flags = (unsigned)flags[i],
					.exit_signal = SIGCHLD};
		REFUSED2(syscall(SYS_clone3, &ca, sizeof(ca)), ENOSYS, EPERM);
	}
	/* with garbage in the high half of the flags */
	REFUSED(syscall(SYS_clone, 0xf00000000UL | CLONE_NEWUSER | SIGCHLD, 0,
			0, 0, 0));
	pthread_t t;
	void *body(void *a)
	{
		return a;
	}
	EQ(pthread_create(&t, NULL, body, NULL), 0);
	EQ(pthread_join(t, NULL), 0);
}

TEST(untraced_children)
{
	long r = syscall(SYS_clone, CLONE_UNTRACED | SIGCHLD, 0, 0, 0, 0);

	if (r == 0) {
		struct stat st;
		_exit(stat("/", &st) ? 1 : 0);
	}
	if (r > 0)
		EQ(wait_for((pid_t)r), 0);
}

TEST(mounts_and_roots)
{
	REFUSED(mount("none", "/tmp", "tmpfs", 0, NULL));
	REFUSED(mount("/", "/tmp", NULL, MS_BIND, NULL));
	REFUSED(mount("none", "/proc", "proc", 0, NULL));
	REFUSED(umount("/proc"));
	REFUSED(umount2("/", MNT_DETACH));
	REFUSED(syscall(SYS_pivot_root, ".", "."));
	REFUSED(syscall(428, AT_FDCWD, "/", 1));  /* open_tree */
	REFUSED(syscall(429, -1, "", -1, "", 0)); /* move_mount */
	REFUSED(syscall(430, "tmpfs", 0));	  /* fsopen */
	REFUSED(syscall(442, AT_FDCWD, "/", 0, NULL, 0));
	REFUSED(syscall(SYS_swapon, "x", 0));
	REFUSED(syscall(SYS_quotactl, 0, "x", 0, NULL));
}

TEST(kernel_interfaces)
{
	char b[128] = "";

	REFUSED(syscall(SYS_bpf, 0, b, sizeof(b)));
	REFUSED(syscall(SYS_perf_event_open, b, 0, -1, -1, 0));
	REFUSED(syscall(SYS_userfaultfd, 0));
	REFUSED(syscall(SYS_keyctl, 0, -3, 0, 0, 0));
	REFUSED(syscall(SYS_add_key, "user", "x", "y", 1, -3));
	REFUSED(syscall(SYS_request_key, "user", "x", NULL, 0));
	REFUSED(syscall(SYS_kexec_load, 0, 0, NULL, 0));
	REFUSED(syscall(SYS_init_module, NULL, 0, ""));
	REFUSED(syscall(SYS_finit_module, 0, "", 0));
	REFUSED(syscall(SYS_delete_module, "x", 0));
	REFUSED(syscall(SYS_fanotify_init, 0, 0));
	REFUSED(syscall(SYS_open_by_handle_at, AT_FDCWD, b, O_RDONLY));
	REFUSED(syscall(SYS_iopl, 3));
	REFUSED(syscall(SYS_ioperm, 0, 1, 1));
	REFUSED(syscall(SYS_syslog, 3, b, 100));
	REFUSED(syscall(SYS_acct, NULL));
	REFUSED(syscall(SYS_setns, 0, 0));
	REFUSED(syscall(SYS_setns, syscall(SYS_pidfd_open, getpid(), 0),
			CLONE_NEWNET));
	REFUSED(syscall(SYS_reboot, 0xfee1dead, 672274793, 0, NULL));
	REFUSED(syscall(SYS_sethostname, "x", 1));
	struct timespec ts = {1, 1};
	REFUSED(clock_settime(CLOCK_REALTIME, &ts));
}

TEST(no_raw_sockets)
{
	/* they need capabilities */
	REFUSED(socket(AF_PACKET, SOCK_RAW, 0));
	REFUSED(socket(AF_INET, SOCK_RAW, 1));
}

TEST(no_own_filter_takes_the_sandbox_away)
{
	/* a listener of the guest's own */
	struct {
		unsigned short len;
		void *p;
	} prog = {0, NULL};

	OK(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0));
	REFUSED(syscall(SYS_seccomp, 1, 8, &prog));
}
