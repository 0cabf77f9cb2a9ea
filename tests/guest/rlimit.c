// modes: bare
/* Limits, priorities, prctl, ids. */
#include "guest.h"
#include <grp.h>
#include <sys/fsuid.h>
#include <sys/resource.h>

TEST(NOFILE_gives_EMFILE)
{
	struct rlimit r = {20, 20};
	int fd, n = 0;

	put("f", "x");
	OK(setrlimit(RLIMIT_NOFILE, &r));
	OK(getrlimit(RLIMIT_NOFILE, &r));
	EQ(r.rlim_cur, 20);
	while ((fd = open("f", O_RDONLY)) >= 0) {
		CHECK(fd < 20);
		n++;
	}
	EQ(errno, EMFILE);
	CHECK(n > 10);
	ERR(open("/dev/null", O_RDONLY), EMFILE);
	ERR(open(".", O_RDONLY | O_DIRECTORY), EMFILE);
	ERR(socket(AF_UNIX, SOCK_STREAM, 0), EMFILE);
	ERR(dup(0), EMFILE);
	ERR(dup2(0, 20), EBADF);
	ERR(fcntl(0, F_DUPFD, 20), EINVAL);
	ERR(open("new", O_CREAT | O_RDWR, 0644), EMFILE);
	OK(close(10));
	EQ(open("f", O_RDONLY), 10);
}

TEST(NOFILE_is_inherited_and_survives_exec)
{
	struct rlimit r;

	OK(getrlimit(RLIMIT_NOFILE, &r));
	r.rlim_cur = 64;
	OK(setrlimit(RLIMIT_NOFILE, &r));
	char *v[] = {"sh", "-c", "[ $(ulimit -n) = 64 ]", NULL};
	EQ(run_prog(v), 0);
	char *w[] = {"sh", "-c",
		     "ulimit -n 10; cat </dev/null; [ $(ulimit -n) = 10 ]",
		     NULL};
	EQ(run_prog(w), 0);
	OK(getrlimit(RLIMIT_NOFILE, &r));
	EQ(r.rlim_cur, 64);
}

TEST(limits_cannot_be_raised_by_a_user)
{
	struct rlimit r;

	OK(getrlimit(RLIMIT_NOFILE, &r));
	struct rlimit s = {r.rlim_max, r.rlim_max};
	OK(setrlimit(RLIMIT_NOFILE, &s));
	s.rlim_cur = 10;
	s.rlim_max = 5;
	ERR(setrlimit(RLIMIT_NOFILE, &s), EINVAL);
	ERR(getrlimit(99, &s), EINVAL);
	s.rlim_cur = s.rlim_max = 100;
	OK(setrlimit(RLIMIT_NOFILE, &s));
	if (geteuid()) {
		s.rlim_max = 101;
		ERR(setrlimit(RLIMIT_NOFILE, &s), EPERM);
	}
}

TEST(CORE_limit_is_shown_as_set)
{
	struct rlimit r;

	OK(getrlimit(RLIMIT_CORE, &r));
	EQ(r.rlim_cur, 0);
	EQ(r.rlim_max, 0);
	r.rlim_cur = 0;
	OK(setrlimit(RLIMIT_CORE, &r));
	OK(prlimit(0, RLIMIT_CORE, NULL, &r));
	EQ(r.rlim_max, 0);
	EQ(wait_for(CHILD(abort())), -1000 - SIGABRT);
	CHECK(!exists("core"));
}

TEST(FSIZE_gives_EFBIG)
{
	struct rlimit r = {100, 100};
	int fd = OK(open("f", O_CREAT | O_RDWR, 0644));

	signal(SIGXFSZ, SIG_IGN);
	OK(setrlimit(RLIMIT_FSIZE, &r));
	static char big[200];
	EQ(write(fd, big, 200), 100);
	ERR(write(fd, big, 1), EFBIG);
	ERR(ftruncate(fd, 101), EFBIG);
	ERR(truncate("f", 101), EFBIG);
}

TEST(prlimit_of_a_child)
{
	struct rlimit r = {50, 60}, o;
	pid_t k = CHILD(for (;;) pause());

	OK(prlimit(k, RLIMIT_NOFILE, &r, &o));
	OK(prlimit(k, RLIMIT_NOFILE, NULL, &o));
	EQ(o.rlim_cur, 50);
	OK(kill(k, SIGKILL));
	wait_for(k);
	ERR(prlimit(k, RLIMIT_NOFILE, NULL, &o), ESRCH);
}

TEST(priorities)
{
	errno = 0;
	EQ(getpriority(PRIO_PROCESS, 0), 0);
	OK(setpriority(PRIO_PROCESS, 0, 5));
	EQ(getpriority(PRIO_PROCESS, 0), 5);
	if (geteuid())
		ERR(setpriority(PRIO_PROCESS, 0, -5), EACCES);
	OK(sched_yield());
	cpu_set_t set;
	OK(sched_getaffinity(0, sizeof(set), &set));
	CHECK(CPU_COUNT(&set) > 0);
	OK(sched_setaffinity(0, sizeof(set), &set));
}

TEST(prctl_dumpable_and_others)
{
	EQ(prctl(PR_GET_DUMPABLE), 1);
	OK(prctl(PR_SET_DUMPABLE, 0));
	EQ(prctl(PR_GET_DUMPABLE), 0);
	put("f", "still works");
	STREQ(get("f"), "still works");
	OK(prctl(PR_SET_DUMPABLE, 1));
	OK(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0));
	EQ(prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0), 1);
	OK(prctl(PR_SET_PDEATHSIG, SIGTERM));
	int s = 0;
	OK(prctl(PR_GET_PDEATHSIG, &s));
	EQ(s, SIGTERM);
	ERR(prctl(9999, 0, 0, 0, 0), EINVAL);
}

TEST(ids_are_consistent)
{
	uid_t r, e, s;
	gid_t g[64];

	EQ(getuid(), geteuid());
	EQ(getgid(), getegid());
	OK(getresuid(&r, &e, &s));
	EQ(r, getuid());
	EQ(s, getuid());
	OK(setuid(getuid()));
	OK(setgid(getgid()));
	OK(setresuid((uid_t)-1, getuid(), (uid_t)-1));
	CHECK(getgroups(64, g) >= 0);
	if (geteuid()) {
		ERR(setuid(0), EPERM);
		ERR(setgid(0), EPERM);
		ERR(setgroups(0, NULL), EPERM);
		ERR(setresuid(0, 0, 0), EPERM);
	}
	EQ(setfsuid(getuid()), getuid());
}

TEST(times_and_usage)
{
	struct rusage ru;
	struct timespec t;

	OK(getrusage(RUSAGE_SELF, &ru));
	CHECK(ru.ru_maxrss > 0);
	OK(clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t));
	OK(clock_gettime(CLOCK_BOOTTIME, &t));
	ERR(clock_gettime(99, &t), EINVAL);
	if (geteuid())
		ERR(clock_settime(CLOCK_REALTIME, &t), EPERM);
}
