/*
 * clock.c - calls that only a program with rights over the machine may make,
 * and that tell any other in the kernel's order what is wrong with its
 * arguments: the clock, the processor's ports, namespaces.
 *
 * A guest never has those rights: what is well-formed is EPERM and recorded.
 */
#include <fcntl.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>

#include "help.h"
#include "pathfd.h"

#define NSEC  1000000000
#define USEC  1000000
#define PORTS 65536

static int64_t clock_refuse(struct call *c)
{
	return help_refuse_args(c, EPERM, "the clock");
}

/* kernel/time/posix-timers.c: only the wall clock can be set. LIMIT: that of
 * another process (a number below 0) is EINVAL whether or not it exists. */
int64_t h_clock_settime(struct call *c)
{
	int clock = arg_int(c, 0);
	struct timespec ts;
	int err;

	if (clock > CLOCK_REALTIME)
		return -EINVAL;
	err = call_read(c, c->args[1], &ts, sizeof(ts));
	if (err)
		return err;
	if (clock < 0)
		return -EINVAL;
	if (ts.tv_sec < 0 || ts.tv_nsec < 0 || ts.tv_nsec >= NSEC)
		return -EINVAL;
	return clock_refuse(c);
}

int64_t h_settimeofday(struct call *c)
{
	struct timeval tv = {0};
	struct timezone tz;
	int err = 0;

	if (c->args[0])
		err = call_read(c, c->args[0], &tv, sizeof(tv));
	if (!err && (tv.tv_usec < 0 || tv.tv_usec > USEC))
		err = -EINVAL;
	if (!err && c->args[1])
		err = call_read(c, c->args[1], &tz, sizeof(tz));
	if (!err && (tv.tv_sec < 0 || tv.tv_usec == USEC))
		err = -EINVAL;
	return err ? err : clock_refuse(c);
}

/* A kernel may be built without both. */
static bool ports_known(void)
{
	return syscall(SYS_iopl, 0) == 0 || errno != ENOSYS;
}

int64_t h_iopl(struct call *c)
{
	unsigned level = (unsigned)c->args[0];

	if (!ports_known())
		return -ENOSYS;
	if (level > 3)
		return -EINVAL;
	return level ? help_refuse_args(c, EPERM, "hardware") : 0;
}

int64_t h_ioperm(struct call *c)
{
	uint64_t from = c->args[0], num = c->args[1];

	if (!ports_known())
		return -ENOSYS;
	if (from + num <= from || from + num > PORTS)
		return -EINVAL;
	return arg_int(c, 2) ? help_refuse_args(c, EPERM, "hardware") : 0;
}

/* No descriptor of a guest is a namespace; a pidfd stands for several. */
int64_t h_setns(struct call *c)
{
	AUTO_PUT_TARGET struct target t = {.fd = -1};
	int err = call_fd_data(c, arg_int(c, 0), &t);

	if (err)
		return err;
	if (!t.foreign || !help_pidfd_pid(t.fd))
		return -EINVAL;
	return help_refuse_args(c, EPERM, "namespaces");
}
