// modes: bare
// expect-audit: ptrace deny
// expect-audit: process_vm_readv deny
// expect-audit: process_vm_writev deny
// expect-audit: pidfd_getfd deny
/* Law 6, 8: other processes cannot be read, written, stopped or killed. */
#include "escape.h"
#include <dirent.h>
#include <sys/ptrace.h>
#include <sys/uio.h>

/* Init: our parent is this program, and its parent is init, whose number in
 * bare mode is not 1. */
static pid_t init_pid(void)
{
	char path[64];
	const char *at;

	snprintf(path, sizeof(path), "/proc/%d/status", getppid());
	at = strstr(get(path), "\nPPid:");
	CHECK(at);
	return atoi(at + 6);
}

TEST(ptrace_of_the_parent_and_of_init)
{
	pid_t p[] = {getppid(), 1, getpid()};

	for (int i = 0; i < 3; i++) {
		REFUSED(ptrace(PTRACE_ATTACH, p[i], 0, 0));
		REFUSED(ptrace(PTRACE_SEIZE, p[i], 0, 0));
		REFUSED(ptrace(PTRACE_PEEKDATA, p[i], 0, 0));
	}
}

TEST(process_vm_calls)
{
	char b[8];
	struct iovec l = {b, 8}, r = {(void *)0x400000, 8};
	pid_t p[] = {1, init_pid()};

	for (int i = 0; i < 2; i++) {
		REFUSED(process_vm_readv(p[i], &l, 1, &r, 1, 0));
		REFUSED(process_vm_writev(p[i], &l, 1, &r, 1, 0));
	}
}

TEST(pidfd_getfd_of_others)
{
	pid_t p[] = {1, init_pid()};

	for (int i = 0; i < 2; i++) {
		int fd = (int)syscall(SYS_pidfd_open, p[i], 0);
		for (int n = 0; n < 20; n++)
			REFUSED(syscall(SYS_pidfd_getfd, fd < 0 ? 0 : fd, n,
					0));
	}
}

TEST(signals_to_processes_outside)
{
	/* whatever pid is tried, only our own may answer */
	for (pid_t p = 2; p < 400; p++) {
		char path[64];
		if (p == getpid() || p == getppid() || p == getpgrp())
			continue;
		snprintf(path, sizeof(path), "/proc/%d", p);
		if (!exists(path) && kill(p, 0) == 0)
			guest_fail(__FILE__, __LINE__,
				   "a process that is not shown exists");
	}
}

TEST(kill_everything_spares_the_sandbox)
{
	EQ(wait_for(CHILD({
		   signal(SIGTERM, SIG_IGN);
		   kill(1, SIGKILL);
		   kill(1, SIGSTOP);
		   struct stat st;
		   OK(stat("/", &st));
	   })),
	   0);
}

TEST(limits_and_objects_of_init)
{
	struct rlimit r = {1, 1};

	REFUSED(prlimit(1, RLIMIT_CPU, &r, NULL));
	REFUSED(syscall(SYS_kcmp, getpid(), 1, 0, 0, 0));
	REFUSED(syscall(SYS_kcmp, getpid(), init_pid(), 0, 0, 0));
	void *head;
	size_t len;
	REFUSED(syscall(SYS_get_robust_list, init_pid(), &head, &len));
	REFUSED(syscall(SYS_move_pages, init_pid(), 0, NULL, NULL, NULL, 0));
}

TEST(proc_of_init_and_parent_gives_nothing)
{
	static const char *names[] = {"mem",  "environ", "maps", "fd",	 "exe",
				      "root", "cwd",	 "auxv", "stack"};
	char p[64], b[PATH_MAX];
	pid_t pids[] = {1, getppid()};

	for (int i = 0; i < 2; i++)
		for (size_t j = 0; j < 9; j++) {
			snprintf(p, sizeof(p), "/proc/%d/%s", pids[i],
				 names[j]);
			int fd = open(p, O_RDONLY);
			ssize_t n = fd < 0 ? 0 : read(fd, b, sizeof(b) - 1);
			if (n > 0) {
				b[n] = 0;
				CHECK(!memmem(b, (size_t)n, "cloche", 6) ||
				      strstr(b, "/usr/"));
			}
			snprintf(p, sizeof(p), "/proc/%d/mem", pids[i]);
			fd = open(p, O_RDWR);
			CHECK(fd < 0 || write(fd, "x", 1) < 0);
		}
	/* no process of the host is in the list */
	DIR *d = opendir("/proc");
	struct dirent *e;
	int count = 0;
	CHECK(d);
	while ((e = readdir(d)))
		count += atoi(e->d_name) > 0;
	CHECK(count < 20);
}

TEST(memory_of_a_child_is_not_a_way_out_either)
{
	pid_t k = CHILD(for (;;) pause());
	char p[64];

	snprintf(p, sizeof(p), "/proc/%d/mem", k);
	int fd = open(p, O_RDWR);
	if (fd >= 0) {
		char b[8];
		EQ(pread(fd, b, 8, 0x1000) > 0, 0);
	}
	kill(k, SIGKILL);
	wait_for(k);
}
