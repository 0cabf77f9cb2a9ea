// modes: bare
/* Law 9: a virtual root has no right of the host's over limits: what it
 * lowered it may raise again, but not beyond what the sandbox began with. */
#include "escape.h"

static void not_beyond(int resource, rlim_t more)
{
	struct rlimit r, old;

	OK(getrlimit(resource, &old));
	if (old.rlim_max >= more)
		return;
	r = (struct rlimit){more, more};
	REFUSED(prlimit(0, resource, &r, NULL));
	REFUSED(prlimit(getpid(), resource, &r, NULL));
	REFUSED(setrlimit(resource, &r));
	OK(getrlimit(resource, &r));
	EQ(r.rlim_max, old.rlim_max);
}

TEST(limits_of_the_host_stay)
{
	not_beyond(RLIMIT_RTPRIO, 99);
	not_beyond(RLIMIT_NICE, 40);
	not_beyond(RLIMIT_NPROC, 1000000);
	not_beyond(RLIMIT_MEMLOCK, RLIM_INFINITY);
	not_beyond(RLIMIT_MSGQUEUE, RLIM_INFINITY);
	not_beyond(RLIMIT_SIGPENDING, 1000000000);
}

static long take_all(int (*one)(void))
{
	long n = 0;

	while (n < 100000 && one() >= 0)
		n++;
	return n;
}

static int one_aio(void)
{
	unsigned long ctx = 0;

	return (int)syscall(SYS_io_setup, 4096, &ctx);
}

static int one_pty(void)
{
	return open("/dev/ptmx", O_RDWR | O_NOCTTY);
}

/* What the whole machine shares is not one sandbox's. */
TEST(shared_tables_of_the_kernel)
{
	struct rlimit r;

	OK(getrlimit(RLIMIT_NOFILE, &r));
	r.rlim_cur = r.rlim_max;
	OK(setrlimit(RLIMIT_NOFILE, &r));
	CHECK(take_all(one_aio) <= 2);
	CHECK(take_all(one_pty) <= 512);
}

TEST(no_real_time)
{
	struct sched_param sp = {.sched_priority = 50};
	struct rlimit r = {99, 99};

	prlimit(getpid(), RLIMIT_RTPRIO, &r, NULL);
	REFUSED(sched_setscheduler(0, SCHED_FIFO, &sp));
	REFUSED(setpriority(PRIO_PROCESS, 0, -10));
}
