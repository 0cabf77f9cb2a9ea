// modes: bare
/* flock, POSIX record locks, open file description locks. */
#include "guest.h"
#include <sys/file.h>

static struct flock lk(short type, off_t start, off_t len)
{
	return (struct flock){.l_type = type,
			      .l_whence = SEEK_SET,
			      .l_start = start,
			      .l_len = len};
}

static void flock_pair(const char *path)
{
	int a = OK(open(path, O_RDONLY)), b = OK(open(path, O_RDONLY));

	OK(flock(a, LOCK_EX));
	ERR(flock(b, LOCK_EX | LOCK_NB), EWOULDBLOCK);
	ERR(flock(b, LOCK_SH | LOCK_NB), EWOULDBLOCK);
	OK(flock(a, LOCK_SH));
	OK(flock(b, LOCK_SH | LOCK_NB));
	ERR(flock(a, LOCK_EX | LOCK_NB), EWOULDBLOCK);
	OK(flock(b, LOCK_UN));
	OK(flock(a, LOCK_EX | LOCK_NB));
	int c = OK(dup(a));
	OK(close(a));
	ERR(flock(b, LOCK_EX | LOCK_NB), EWOULDBLOCK);
	OK(close(c));
	OK(flock(b, LOCK_EX | LOCK_NB));
}

TEST(flock_on_a_new_file)
{
	put("f", "x");
	flock_pair("f");
}

TEST(flock_on_a_lower_file)
{
	flock_pair(lower("file"));
	STREQ(get(lower("file")), "lower file\n");
}

TEST(flock_on_a_directory)
{
	OK(mkdir("d", 0755));
	flock_pair("d");
}

TEST(flock_on_a_lower_directory)
{
	flock_pair(lower("dir"));
}

TEST(flock_waits_for_another_process)
{
	int p[2];
	char c;

	put("f", "x");
	int fd = OK(open("f", O_RDWR));
	OK(flock(fd, LOCK_EX));
	OK(pipe(p));
	pid_t k = CHILD({
		int g = OK(open("f", O_RDWR));
		EQ(write(p[1], "r", 1), 1);
		OK(flock(g, LOCK_EX));
		EQ(write(p[1], "g", 1), 1);
	});
	EQ(read(p[0], &c, 1), 1);
	struct pollfd pf = {p[0], POLLIN, 0};
	EQ(poll(&pf, 1, 100), 0);
	OK(flock(fd, LOCK_UN));
	EQ(read(p[0], &c, 1), 1);
	EQ(c, 'g');
	EQ(wait_for(k), 0);
}

static void on_alarm(int s)
{
	(void)s;
}

static void arm(int ms, int flags)
{
	struct sigaction sa = {.sa_handler = on_alarm, .sa_flags = flags};
	struct itimerval it = {.it_value = {ms / 1000, ms % 1000 * 1000}};

	OK(sigaction(SIGALRM, &sa, NULL));
	OK(setitimer(ITIMER_REAL, &it, NULL));
}

TEST(flock_wait_is_ended_by_a_signal)
{
	put("f", "x");
	int a = OK(open("f", O_RDWR)), b = OK(open("f", O_RDWR));
	OK(flock(a, LOCK_EX));
	arm(100, 0);
	ERR(flock(b, LOCK_EX), EINTR);
	struct flock l = lk(F_WRLCK, 0, 0);
	pid_t k = CHILD({
		int g = OK(open("f", O_RDWR));
		struct flock m = lk(F_WRLCK, 0, 0);
		OK(fcntl(g, F_SETLK, &m));
		pause();
	});
	/* wait until the child holds its lock */
	while (fcntl(a, F_GETLK, &l) == 0 && l.l_type == F_UNLCK) {
		sched_yield();
		l = lk(F_WRLCK, 0, 0);
	}
	EQ(l.l_pid, k);
	l = lk(F_WRLCK, 0, 0);
	arm(100, 0);
	ERR(fcntl(a, F_SETLKW, &l), EINTR);
	OK(kill(k, SIGKILL));
	EQ(wait_for(k), -1000 - SIGKILL);
}

static void posix_between(const char *path)
{
	int p[2], q[2];
	char c;

	OK(pipe(p));
	OK(pipe(q));
	int fd = OK(open(path, O_RDWR));
	pid_t k = CHILD({
		int g = OK(open(path, O_RDWR));
		struct flock l = lk(F_WRLCK, 10, 20);
		OK(fcntl(g, F_SETLK, &l));
		EQ(write(p[1], "x", 1), 1);
		EQ(read(q[0], &c, 1), 1);
	});
	EQ(read(p[0], &c, 1), 1);
	struct flock l = lk(F_WRLCK, 0, 100);
	OK(fcntl(fd, F_GETLK, &l));
	EQ(l.l_type, F_WRLCK);
	EQ(l.l_pid, k);
	EQ(l.l_start, 10);
	EQ(l.l_len, 20);
	l = lk(F_RDLCK, 15, 1);
	errno = 0;
	CHECK(fcntl(fd, F_SETLK, &l) == -1);
	CHECK(errno == EAGAIN || errno == EACCES);
	l = lk(F_WRLCK, 30, 10);
	OK(fcntl(fd, F_SETLK, &l));
	EQ(write(q[1], "x", 1), 1);
	EQ(wait_for(k), 0);
	l = lk(F_WRLCK, 0, 100);
	OK(fcntl(fd, F_SETLK, &l));
}

TEST(posix_locks_report_pid_and_range)
{
	put("f", "x");
	posix_between("f");
}

TEST(posix_locks_on_a_lower_file)
{
	posix_between(lower("file"));
}

TEST(posix_lock_goes_at_any_close)
{
	put("f", "x");
	int a = OK(open("f", O_RDWR)), b = OK(open("f", O_RDWR));
	struct flock l = lk(F_WRLCK, 0, 0);
	OK(fcntl(a, F_SETLK, &l));
	OK(close(b));
	pid_t k = CHILD({
		int g = OK(open("f", O_RDWR));
		struct flock m = lk(F_WRLCK, 0, 0);
		OK(fcntl(g, F_SETLK, &m));
	});
	EQ(wait_for(k), 0);
}

/* Whether its turn to lock [0, 1) of f has come. */
static bool others_may_lock(void)
{
	pid_t k = CHILD({
		int g = OK(open("f", O_RDWR));
		struct flock m = lk(F_WRLCK, 0, 1);
		_exit(fcntl(g, F_SETLK, &m) ? 7 : 0);
	});
	int st = wait_for(k);

	CHECK(st == 0 || st == 7);
	return st == 0;
}

TEST(posix_locks_of_a_dup_and_after_a_close)
{
	put("f", "x");
	int a = OK(open("f", O_RDWR)), b = OK(dup(a));
	struct flock l = lk(F_WRLCK, 0, 1), m = lk(F_WRLCK, 5, 1);

	for (int round = 0; round < 3; round++) {
		OK(fcntl(a, F_SETLK, &l));
		CHECK(!others_may_lock());
		OK(fcntl(b, F_SETLK, &m));
		CHECK(!others_may_lock());
		OK(close(b));
		CHECK(others_may_lock());
		b = OK(dup(a));
		OK(fcntl(a, F_SETLK, &l));
		OK(close(b));
		/* The first is gone, and a second one finds that out. */
		OK(fcntl(a, F_SETLK, &m));
		CHECK(others_may_lock());
		b = OK(open("f", O_RDONLY));
		m.l_type = l.l_type = F_UNLCK;
		OK(fcntl(a, F_SETLK, &m));
		OK(fcntl(a, F_SETLK, &l));
		CHECK(others_may_lock());
		m.l_type = l.l_type = F_WRLCK;
		OK(close(b));
		b = OK(dup(a));
	}
}

TEST(record_locks_and_description_locks_exclude_each_other)
{
	put("f", "x");
	int a = OK(open("f", O_RDWR)), b = OK(open("f", O_RDWR));
	struct flock l = lk(F_WRLCK, 0, 1);

	OK(fcntl(a, F_SETLK, &l));
	l = lk(F_WRLCK, 0, 1);
	ERR(fcntl(b, F_OFD_SETLK, &l), EAGAIN);
	l = lk(F_UNLCK, 0, 1);
	OK(fcntl(a, F_SETLK, &l));
	l = lk(F_WRLCK, 0, 1);
	OK(fcntl(b, F_OFD_SETLK, &l));
	l = lk(F_WRLCK, 0, 1);
	ERR(fcntl(a, F_SETLK, &l), EAGAIN);
	OK(fcntl(a, F_GETLK, &l));
	EQ(l.l_type, F_WRLCK);
	EQ(l.l_pid, -1);
}

TEST(posix_lock_modes_need_access)
{
	put("f", "x");
	int r = OK(open("f", O_RDONLY)), w = OK(open("f", O_WRONLY));
	struct flock l = lk(F_WRLCK, 0, 0);

	ERR(fcntl(r, F_SETLK, &l), EBADF);
	l = lk(F_RDLCK, 0, 0);
	ERR(fcntl(w, F_SETLK, &l), EBADF);
	OK(fcntl(r, F_SETLK, &l));
	l.l_type = 99;
	ERR(fcntl(r, F_SETLK, &l), EINVAL);
	ERR(fcntl(99, F_SETLK, &l), EBADF);
}

TEST(crossing_waits_are_EDEADLK)
{
	int p[2], q[2];
	char c;

	put("f", "xx");
	OK(pipe(p));
	OK(pipe(q));
	int fd = OK(open("f", O_RDWR));
	struct flock l = lk(F_WRLCK, 0, 1);
	OK(fcntl(fd, F_SETLK, &l));
	pid_t k = CHILD({
		int g = OK(open("f", O_RDWR));
		struct flock m = lk(F_WRLCK, 1, 1);
		OK(fcntl(g, F_SETLK, &m));
		EQ(write(p[1], "x", 1), 1);
		m = lk(F_WRLCK, 0, 1);
		int r = fcntl(g, F_SETLKW, &m);
		_exit(r == 0 ? 0 : errno == EDEADLK ? 35 : 1);
	});
	EQ(read(p[0], &c, 1), 1);
	l = lk(F_WRLCK, 1, 1);
	int r = fcntl(fd, F_SETLKW, &l), e = errno;
	if (r == -1)
		EQ(e, EDEADLK);
	OK(close(fd));
	int s = wait_for(k);
	CHECK((r == -1 && s == 0) || (r == 0 && s == 35));
}

static void ofd(const char *path)
{
	int a = OK(open(path, O_RDWR)), b = OK(open(path, O_RDWR));
	struct flock l = lk(F_WRLCK, 0, 10);

	OK(fcntl(a, F_OFD_SETLK, &l));
	l = lk(F_WRLCK, 5, 1);
	ERR(fcntl(b, F_OFD_SETLK, &l), EAGAIN);
	OK(fcntl(b, F_OFD_GETLK, &l));
	EQ(l.l_pid, -1);
	EQ(l.l_start, 0);
	EQ(l.l_len, 10);
	l = lk(F_WRLCK, 5, 1);
	l.l_pid = 1;
	ERR(fcntl(b, F_OFD_SETLK, &l), EINVAL);
	OK(close(a));
	l = lk(F_WRLCK, 5, 1);
	OK(fcntl(b, F_OFD_SETLK, &l));
}

TEST(ofd_locks)
{
	put("f", "x");
	ofd("f");
}

TEST(ofd_locks_on_a_lower_file)
{
	ofd(lower("file"));
}

TEST(lockf_between_processes)
{
	put("f", "x");
	int fd = OK(open("f", O_RDWR));
	OK(lockf(fd, F_LOCK, 0));
	pid_t k = CHILD({
		int g = OK(open("f", O_RDWR));
		int r = lockf(g, F_TLOCK, 0);
		_exit(r == -1 && (errno == EAGAIN || errno == EACCES) ? 0 : 1);
	});
	EQ(wait_for(k), 0);
}
