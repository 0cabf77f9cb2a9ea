/*
 * notify.c - what one seccomp notification costs by itself.
 *
 * A child has getppid notified; the parent answers at once, decides nothing,
 * reads nothing. Both run on one processor, in two address spaces, with the
 * listener's flags that the sentry uses. It is the floor under every call
 * that the sentry answers; with a descriptor as the answer, which the child
 * closes, under every one that opens something.
 *
 * usage: notify [MS]
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench.h"

#ifndef SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV
#define SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV (1UL << 5)
#endif
#ifndef SECCOMP_IOCTL_NOTIF_SET_FLAGS
#define SECCOMP_IOCTL_NOTIF_SET_FLAGS SECCOMP_IOW(4, __u64)
#endif
#ifndef SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP
#define SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP 1UL
#endif

enum { ANSWER_NUMBER, ANSWER_DESCRIPTOR };

static void call_getppid(uint64_t n)
{
	while (n--)
		syscall(SYS_getppid, ANSWER_NUMBER);
}

static void call_for_descriptor(uint64_t n)
{
	while (n--) {
		int fd = (int)syscall(SYS_getppid, ANSWER_DESCRIPTOR);

		if (fd < 0 || close(fd) < 0)
			_exit(1);
	}
}

static int install(void)
{
	struct sock_filter insns[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
			 offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_getppid, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog prog = {4, insns};

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return -1;
	return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER,
			    SECCOMP_FILTER_FLAG_NEW_LISTENER |
				    SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV,
			    &prog);
}

/* The child shares the descriptor table, so that the listener's number is
 * all that has to be passed. */
static int child(int out, uint64_t ms)
{
	int listener = install();

	if (write(out, &listener, sizeof(listener)) != sizeof(listener) ||
	    listener < 0)
		return 1;
	bench_measure("notify-bare", call_getppid, ms);
	bench_measure("notify-fd", call_for_descriptor, ms);
	return 0;
}

static void answer(int listener)
{
	struct seccomp_notif in;
	struct seccomp_notif_resp out = {.val = 1};
	struct seccomp_notif_addfd add = {
		.flags = SECCOMP_ADDFD_FLAG_SEND,
		.srcfd = (uint32_t)open("/dev/null", O_RDONLY | O_CLOEXEC),
		.newfd_flags = O_CLOEXEC,
	};

	for (;;) {
		memset(&in, 0, sizeof(in));
		if (ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, &in) < 0) {
			if (errno == EINTR)
				continue;
			return; /* the child has ended */
		}
		out.id = add.id = in.id;
		if (in.data.args[0] == ANSWER_DESCRIPTOR)
			(void)ioctl(listener, SECCOMP_IOCTL_NOTIF_ADDFD, &add);
		else
			(void)ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &out);
	}
}

int main(int argc, char **argv)
{
	uint64_t ms = argc > 1 ? strtoull(argv[1], NULL, 10) : 100;
	int fds[2], listener = -1, status;
	cpu_set_t one;
	pid_t pid;

	CPU_ZERO(&one);
	CPU_SET((size_t)sched_getcpu(), &one);
	if (sched_setaffinity(0, sizeof(one), &one) < 0 || pipe(fds) < 0) {
		perror("notify");
		return 1;
	}
	pid = (pid_t)syscall(SYS_clone, CLONE_FILES | SIGCHLD, 0, 0, 0, 0);
	if (pid == 0)
		_exit(child(fds[1], ms));
	if (pid < 0 ||
	    read(fds[0], &listener, sizeof(listener)) != sizeof(listener) ||
	    listener < 0) {
		fprintf(stderr, "notify: no listener\n");
		return 1;
	}
	(void)ioctl(listener, SECCOMP_IOCTL_NOTIF_SET_FLAGS,
		    SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP);
	answer(listener);
	return waitpid(pid, &status, 0) == pid && status == 0 ? 0 : 1;
}
