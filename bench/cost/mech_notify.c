/*
 * mech_notify.c - seccomp user notification: seccomp_unotify(2).
 *
 * The guest loads the filter and passes the listener; the supervisor answers.
 * Four ways to wait: plain; with a synchronous wake-up (kernel 6.6), which
 * hands the processor over; both sides pinned to one processor; and a
 * supervisor that never sleeps, on another processor.
 */
#include "mech.h"

#include <linux/seccomp.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>

#ifndef SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV
#define SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV (1UL << 5)
#endif
#ifndef SECCOMP_IOCTL_NOTIF_SET_FLAGS
#define SECCOMP_IOCTL_NOTIF_SET_FLAGS SECCOMP_IOW(4, __u64)
#endif
#define SYNC_WAKE_UP 1UL

#define OPS                                                                \
	(COST_BIT(COST_CALL) | COST_BIT(COST_STAT) | COST_BIT(COST_OPEN) | \
	 COST_LIFE)

union fd_message {
	struct cmsghdr align;
	char space[CMSG_SPACE(sizeof(int))];
};

static int send_fd(int channel, int fd)
{
	union fd_message u = {0};
	char byte = 0;
	struct iovec iov = {&byte, 1};
	struct msghdr m = {.msg_iov = &iov,
			   .msg_iovlen = 1,
			   .msg_control = u.space,
			   .msg_controllen = sizeof(u.space)};
	struct cmsghdr *h = CMSG_FIRSTHDR(&m);

	h->cmsg_level = SOL_SOCKET;
	h->cmsg_type = SCM_RIGHTS;
	h->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(h), &fd, sizeof(int));
	return sendmsg(channel, &m, 0) == 1 ? 0 : -errno;
}

/* -EOPNOTSUPP: the guest could not load its filter. */
static int recv_fd(int channel, int *fd)
{
	union fd_message u;
	char byte;
	struct iovec iov = {&byte, 1};
	struct msghdr m = {.msg_iov = &iov,
			   .msg_iovlen = 1,
			   .msg_control = u.space,
			   .msg_controllen = sizeof(u.space)};
	struct cmsghdr *h;

	if (recvmsg(channel, &m, MSG_CMSG_CLOEXEC) != 1)
		return -EOPNOTSUPP;
	h = CMSG_FIRSTHDR(&m);
	if (!h || h->cmsg_type != SCM_RIGHTS)
		return -EOPNOTSUPP;
	memcpy(fd, CMSG_DATA(h), sizeof(int));
	return 0;
}

static int intercept(struct cost_cell *c)
{
	int fd = cost_filter_load(
		SECCOMP_RET_USER_NOTIF,
		SECCOMP_FILTER_FLAG_NEW_LISTENER |
			SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV);
	int ret;

	if (fd < 0)
		return fd == -EINVAL ? -EOPNOTSUPP : fd;
	ret = send_fd(c->channel[0], fd);
	close(fd);
	return ret;
}

static int stat_answer(struct cost_cell *c, const struct seccomp_notif *in)
{
	char path[COST_PATH_SIZE];
	struct iovec here = {path, sizeof(path)};
	struct iovec there = {(void *)(uintptr_t)in->data.args[1],
			      sizeof(path)};

	if (process_vm_readv((pid_t)in->pid, &here, 1, &there, 1, 0) < 0)
		return -EFAULT;
	if (strncmp(path, cost_path, sizeof(path)) != 0)
		return -ENOENT;
	here = (struct iovec){&c->st, sizeof(c->st)};
	there = (struct iovec){(void *)(uintptr_t)in->data.args[2],
			       sizeof(c->st)};
	if (process_vm_writev((pid_t)in->pid, &here, 1, &there, 1, 0) < 0)
		return -EFAULT;
	return 0;
}

static void open_answer(struct cost_cell *c, const struct seccomp_notif *in)
{
	struct seccomp_notif_addfd add = {
		.id = in->id,
		.flags = SECCOMP_ADDFD_FLAG_SEND,
		.srcfd = (uint32_t)c->file,
		.newfd_flags = (uint32_t)in->data.args[2] & 02000000,
	};
	char path[COST_PATH_SIZE];
	struct iovec here = {path, sizeof(path)};
	struct iovec there = {(void *)(uintptr_t)in->data.args[1],
			      sizeof(path)};

	(void)!process_vm_readv((pid_t)in->pid, &here, 1, &there, 1, 0);
	(void)ioctl(c->listener, SECCOMP_IOCTL_NOTIF_ADDFD, &add);
}

static void answer_one(struct cost_cell *c, const struct seccomp_notif *in)
{
	struct seccomp_notif_resp out = {.id = in->id, .val = 1};

	if (in->data.nr == SYS_openat) {
		open_answer(c, in);
		return;
	}
	if (in->data.nr == SYS_newfstatat) {
		out.error = stat_answer(c, in);
		out.val = 0;
	}
	(void)ioctl(c->listener, SECCOMP_IOCTL_NOTIF_SEND, &out);
}

static bool gone(int listener)
{
	struct pollfd p = {.fd = listener, .events = POLLIN};

	return poll(&p, 1, 0) == 1 && (p.revents & POLLHUP);
}

static void serve(struct cost_cell *c, bool spin)
{
	struct seccomp_notif in;
	struct pollfd p = {.fd = c->listener, .events = POLLIN};

	for (;;) {
		if (spin) {
			while (poll(&p, 1, 0) == 0)
				;
			if (p.revents & POLLHUP)
				return;
		}
		memset(&in, 0, sizeof(in));
		if (ioctl(c->listener, SECCOMP_IOCTL_NOTIF_RECV, &in) < 0) {
			if (errno == EINTR || !gone(c->listener))
				continue;
			return;
		}
		answer_one(c, &in);
	}
}

static int answer(struct cost_cell *c, pid_t guest, int *status, bool spin,
		  unsigned long flags)
{
	int ret = recv_fd(c->channel[1], &c->listener);

	if (!ret && flags &&
	    ioctl(c->listener, SECCOMP_IOCTL_NOTIF_SET_FLAGS, flags) < 0)
		ret = -EOPNOTSUPP;
	if (!ret)
		serve(c, spin);
	else if (c->listener > 0)
		close(c->listener); /* the guest's calls end by ENOSYS */
	*status = cost_wait(guest);
	return ret;
}

static int answer_plain(struct cost_cell *c, pid_t guest, int *status)
{
	return answer(c, guest, status, false, 0);
}

static int answer_sync(struct cost_cell *c, pid_t guest, int *status)
{
	return answer(c, guest, status, false, SYNC_WAKE_UP);
}

static int answer_spin(struct cost_cell *c, pid_t guest, int *status)
{
	return answer(c, guest, status, true, 0);
}

static int pin(struct cost_cell *c UNUSED)
{
	return cost_pin(); /* the guest inherits it */
}

const struct cost_mech cost_notify = {
	.name = "notify",
	.what = "seccomp user notification to another process",
	.ops = OPS,
	.many = true,
	.intercept = intercept,
	.answer = answer_plain,
};

const struct cost_mech cost_notify_sync = {
	.name = "notify-sync",
	.what = "the same with a synchronous wake-up",
	.ops = OPS,
	.many = true,
	.intercept = intercept,
	.answer = answer_sync,
};

const struct cost_mech cost_notify_pinned = {
	.name = "notify-pinned",
	.what = "the same, both sides on one processor",
	.ops = OPS,
	.many = true,
	.start = pin,
	.intercept = intercept,
	.answer = answer_sync,
};

const struct cost_mech cost_notify_spin = {
	.name = "notify-spin",
	.what = "the supervisor polls and never sleeps",
	.ops = OPS,
	.many = true,
	.intercept = intercept,
	.answer = answer_spin,
};
