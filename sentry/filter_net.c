/*
 * filter_net.c - the seccomp filters of the gateway and of the maker of its
 * sockets: lists of what they do; anything else kills them. Compiled by
 * filtergen.c.
 *
 * Neither opens a file, executes a program or touches another process. The
 * gateway may make internet sockets only.
 */
#include <seccomp.h>
#include <sys/socket.h>

#include "filter.h"

#ifdef __SANITIZE_ADDRESS__ /* asks before every call that does not return */
#define OF_SANITIZER SCMP_SYS(sigaltstack),
#else
#define OF_SANITIZER
#endif

static const int gateway_calls[] = {
	OF_SANITIZER SCMP_SYS(read),
	SCMP_SYS(write),
	SCMP_SYS(readv),
	SCMP_SYS(writev),
	SCMP_SYS(close),
	SCMP_SYS(splice),
	SCMP_SYS(pipe2),
	SCMP_SYS(fcntl),
	SCMP_SYS(bind),
	SCMP_SYS(connect),
	SCMP_SYS(listen),
	SCMP_SYS(accept4),
	SCMP_SYS(shutdown),
	SCMP_SYS(sendto),
	SCMP_SYS(recvfrom),
	SCMP_SYS(sendmsg),
	SCMP_SYS(recvmsg),
	SCMP_SYS(sendmmsg),
	SCMP_SYS(recvmmsg),
	SCMP_SYS(setsockopt),
	SCMP_SYS(getsockopt),
	SCMP_SYS(getsockname),
	SCMP_SYS(getpeername),
	SCMP_SYS(epoll_ctl),
	SCMP_SYS(epoll_wait),
	SCMP_SYS(epoll_pwait),
	SCMP_SYS(poll),
	SCMP_SYS(clock_gettime),
	SCMP_SYS(gettimeofday),
	SCMP_SYS(getrandom),
	SCMP_SYS(brk),
	SCMP_SYS(munmap),
	SCMP_SYS(mremap),
	SCMP_SYS(madvise),
	SCMP_SYS(futex),
	SCMP_SYS(rt_sigreturn),
	SCMP_SYS(rt_sigprocmask),
	SCMP_SYS(restart_syscall),
	SCMP_SYS(exit),
	SCMP_SYS(exit_group),
	SCMP_SYS(getpid),
	SCMP_SYS(gettid),
	SCMP_SYS(tgkill),
};

static const int maker_calls[] = {
	OF_SANITIZER SCMP_SYS(recvmsg),
	SCMP_SYS(sendmsg),
	SCMP_SYS(sendto),
	SCMP_SYS(write),
	SCMP_SYS(close),
	SCMP_SYS(rt_sigreturn),
	SCMP_SYS(restart_syscall),
	SCMP_SYS(exit),
	SCMP_SYS(exit_group),
};

static int add_inet(scmp_filter_ctx f)
{
	int ret = seccomp_rule_add(f, SCMP_ACT_ALLOW, SCMP_SYS(socket), 1,
				   SCMP_A0(SCMP_CMP_EQ, AF_INET));

	return ret ? ret
		   : seccomp_rule_add(f, SCMP_ACT_ALLOW, SCMP_SYS(socket), 1,
				      SCMP_A0(SCMP_CMP_EQ, AF_INET6));
}

/* Anonymous memory, never executable. */
static int add_memory(scmp_filter_ctx f)
{
	enum { EXEC = 4, ANONYMOUS = 0x20 };
	int ret = seccomp_rule_add(
		f, SCMP_ACT_ALLOW, SCMP_SYS(mmap), 2,
		SCMP_A2(SCMP_CMP_MASKED_EQ, EXEC, 0),
		SCMP_A3(SCMP_CMP_MASKED_EQ, ANONYMOUS, ANONYMOUS));

	return ret ? ret
		   : seccomp_rule_add(f, SCMP_ACT_ALLOW, SCMP_SYS(mprotect), 1,
				      SCMP_A2(SCMP_CMP_MASKED_EQ, EXEC, 0));
}

/* Which SYNs a listener leaves unanswered. */
static int add_deafen(scmp_filter_ctx f)
{
	static const int options[] = {SO_ATTACH_FILTER, SO_DETACH_FILTER};
	int ret = 0;

	for (size_t i = 0; !ret && i < ARRAY_SIZE(options); i++)
		ret = seccomp_rule_add(f, SCMP_ACT_ALLOW, SCMP_SYS(setsockopt),
				       2, SCMP_A1(SCMP_CMP_EQ, SOL_SOCKET),
				       SCMP_A2(SCMP_CMP_EQ, options[i]));
	return ret;
}

static int build(const int *calls, size_t n, bool gateway,
		 struct sock_fprog *out)
{
	scmp_filter_ctx f = seccomp_init(SCMP_ACT_KILL_PROCESS);
	int ret = f ? add_inet(f) : -ENOMEM;

	for (size_t i = 0; !ret && i < n; i++)
		ret = seccomp_rule_add(f, SCMP_ACT_ALLOW, calls[i], 0);
	if (!ret)
		ret = gateway ? add_memory(f) : add_deafen(f);
	if (!ret)
		ret = seccomp_attr_set(f, SCMP_FLTATR_CTL_OPTIMIZE, 2);
	if (!ret)
		ret = filter_export(f, out);
	if (f)
		seccomp_release(f);
	return ret;
}

int filter_build_gateway(struct sock_fprog *out)
{
	return build(gateway_calls, ARRAY_SIZE(gateway_calls), true, out);
}

int filter_build_maker(struct sock_fprog *out)
{
	return build(maker_calls, ARRAY_SIZE(maker_calls), false, out);
}
