// modes: bare
// timeout: 120
/* Signals: what cannot fail with EINTR never does; handlers, masks, queues. */
#include "guest.h"
#include <sys/epoll.h>
#include <ucontext.h>

static volatile sig_atomic_t hits, depth, max_depth;

static void on_alarm(int s)
{
	(void)s;
	hits++;
}

static void storm(int us)
{
	struct sigaction sa = {.sa_handler = on_alarm};
	struct itimerval it = {{0, us}, {0, us}};

	OK(sigaction(SIGALRM, &sa, NULL));
	OK(setitimer(ITIMER_REAL, &it, NULL));
}

static void calm(void)
{
	struct itimerval it = {{0, 0}, {0, 0}};

	OK(setitimer(ITIMER_REAL, &it, NULL));
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void one_round(void)
{
	struct stat st;
	int fd = OK(open("f", O_CREAT | O_RDWR, 0644));
	int e = OK(dup(fd));

	OK(dup2(fd, e));
	OK(close(e));
	OK(close(fd));
	OK(stat("f", &st));
	OK(fchmodat(AT_FDCWD, "f", 0644, 0));
	OK(access("f", R_OK));
	OK(mkdir("d", 0755));
	OK(rename("d", "e"));
	OK(rmdir("e"));
	OK(link("f", "g"));
	OK(unlink("g"));
	OK(symlink("f", "l"));
	char b[8];
	OK(readlink("l", b, 8));
	OK(unlink("l"));
	OK(truncate("f", 10));
	pid_t p = OK(fork());
	if (p == 0)
		_exit(0);
	int w;
	while ((w = waitpid(p, NULL, 0)) < 0 && errno == EINTR)
		; /* wait may: it is interruptible natively */
	EQ(w, p);
	fd = OK(open("/bin/true", O_RDONLY));
	OK(close(fd));
}

TEST(no_call_fails_with_EINTR_under_a_timer)
{
	double end = now() + 3;

	storm(200);
	while (now() < end)
		one_round();
	calm();
	CHECK(hits > 100);
}

static void nested(int s)
{
	struct stat st;
	int e = errno;

	(void)s;
	if (++depth > max_depth)
		max_depth = depth;
	if (stat("f", &st) || access("f", F_OK)) {
		printf("# in handler: %s\n", strerrorname_np(errno));
		fflush(stdout);
		_exit(1);
	}
	depth--;
	errno = e;
}

TEST(calls_inside_nested_handlers)
{
	struct sigaction sa = {.sa_handler = nested, .sa_flags = SA_NODEFER};
	struct sigaction sb = {.sa_handler = nested};
	struct itimerval it = {{0, 300}, {0, 300}};
	struct sigevent ev = {.sigev_notify = SIGEV_SIGNAL,
			      .sigev_signo = SIGUSR1};
	struct itimerspec is = {{0, 500000}, {0, 500000}};
	timer_t t;

	put("f", "x");
	OK(sigaction(SIGALRM, &sa, NULL));
	OK(sigaction(SIGUSR1, &sb, NULL));
	OK(timer_create(CLOCK_MONOTONIC, &ev, &t));
	OK(timer_settime(t, 0, &is, NULL));
	OK(setitimer(ITIMER_REAL, &it, NULL));
	for (int i = 0; i < 3000; i++) {
		struct stat st;
		OK(stat("f", &st));
		OK(close(OK(open("f", O_RDONLY))));
	}
	calm();
	OK(timer_delete(t));
	EQ(depth, 0);
}

TEST(SIGCHLD_does_not_disturb)
{
	struct sigaction sa = {.sa_handler = on_alarm};

	OK(sigaction(SIGCHLD, &sa, NULL));
	for (int i = 0; i < 100; i++) {
		pid_t p = OK(fork());
		if (p == 0)
			_exit(0);
		for (int j = 0; j < 5; j++) {
			int q[2];
			OK(pipe(q));
			OK(close(q[0]));
			OK(close(q[1]));
			OK(close(OK(open("f", O_CREAT | O_RDWR, 0600))));
		}
		int w;
		while ((w = waitpid(p, NULL, 0)) < 0 && errno == EINTR)
			;
		EQ(w, p);
	}
	CHECK(hits > 0);
}

TEST(waits_are_interrupted_or_restarted_as_natively)
{
	int p[2];
	char c;

	OK(pipe(p));
	storm(20000);
	ERR(read(p[0], &c, 1), EINTR);
	ERR(poll(NULL, 0, -1), EINTR);
	ERR(pause(), EINTR);
	struct timespec ts = {10, 0};
	ERR(nanosleep(&ts, &ts), EINTR);
	sigset_t none;
	sigemptyset(&none);
	ERR(sigsuspend(&none), EINTR);
	struct sigaction sa = {.sa_handler = on_alarm, .sa_flags = SA_RESTART};
	OK(sigaction(SIGALRM, &sa, NULL));
	ERR(poll(NULL, 0, -1), EINTR);
	pid_t k = CHILD({
		usleep(100000);
		EQ(write(p[1], "x", 1), 1);
	});
	EQ(read(p[0], &c, 1), 1);
	calm();
	EQ(wait_for(k), 0);
}

TEST(fd_relative_calls_under_a_timer_in_threads)
{
	pthread_t t[3];
	void *body(void *arg)
	{
		char n[16];
		struct stat st;
		snprintf(n, sizeof(n), "t%ld", (long)arg);
		for (int i = 0; i < 1000; i++) {
			int fd = OK(open(n, O_CREAT | O_RDWR, 0600));
			OK(fstat(fd, &st));
			OK(fchmod(fd, 0640));
			OK(ftruncate(fd, i));
			OK(close(fd));
		}
		return NULL;
	}

	storm(500);
	for (long i = 0; i < 3; i++)
		EQ(pthread_create(&t[i], NULL, body, (void *)i), 0);
	for (int i = 0; i < 3; i++)
		EQ(pthread_join(t[i], NULL), 0);
	calm();
	CHECK(hits > 0);
}

static volatile siginfo_t last;

static void info(int s, siginfo_t *i, void *u)
{
	(void)s;
	(void)u;
	last = *i;
	hits++;
}

TEST(siginfo_tells_the_sender)
{
	struct sigaction sa = {.sa_sigaction = info, .sa_flags = SA_SIGINFO};
	union sigval v = {.sival_int = 77};

	OK(sigaction(SIGUSR1, &sa, NULL));
	OK(kill(getpid(), SIGUSR1));
	EQ(last.si_pid, getpid());
	EQ(last.si_uid, getuid());
	EQ(last.si_code, SI_USER);
	OK(sigqueue(getpid(), SIGUSR1, v));
	EQ(last.si_value.sival_int, 77);
	EQ(last.si_code, SI_QUEUE);
	OK(raise(SIGUSR1));
	EQ(last.si_code, SI_TKILL);
	pid_t k = CHILD(OK(kill(getppid(), SIGUSR1)));
	EQ(wait_for(k), 0);
	EQ(last.si_pid, k);
}

TEST(realtime_signals_queue_in_order)
{
	sigset_t set;
	siginfo_t si;

	sigemptyset(&set);
	sigaddset(&set, SIGRTMIN);
	sigaddset(&set, SIGRTMIN + 1);
	OK(sigprocmask(SIG_BLOCK, &set, NULL));
	for (int i = 0; i < 5; i++) {
		OK(sigqueue(getpid(), SIGRTMIN + 1,
			    (union sigval){.sival_int = i}));
		OK(sigqueue(getpid(), SIGRTMIN,
			    (union sigval){.sival_int = i}));
	}
	for (int i = 0; i < 10; i++) {
		int sig = OK(sigwaitinfo(&set, &si));
		EQ(sig, SIGRTMIN + (i >= 5));
		EQ(si.si_value.sival_int, i % 5);
	}
	struct timespec zero = {0, 0};
	ERR(sigtimedwait(&set, &si, &zero), EAGAIN);
}

TEST(faults_reach_the_handler_on_an_alternate_stack)
{
	static char stack[65536];
	stack_t ss = {.ss_sp = stack, .ss_size = sizeof(stack)};
	void handler(int s, siginfo_t *i, void *u)
	{
		(void)u;
		char *here = (char *)&s;
		_exit(s == SIGSEGV && i->si_addr == (void *)16 &&
				      here > stack &&
				      here < stack + sizeof(stack)
			      ? 0
			      : 1);
	}
	struct sigaction sa = {.sa_sigaction = handler,
			       .sa_flags = SA_SIGINFO | SA_ONSTACK};

	OK(sigaltstack(&ss, NULL));
	OK(sigaction(SIGSEGV, &sa, NULL));
	*(volatile int *)16 = 1;
}

TEST(kill_errors)
{
	ERR(kill(getpid(), 99), EINVAL);
	OK(kill(getpid(), 0));
	pid_t k = CHILD(_exit(0));
	EQ(wait_for(k), 0);
	ERR(kill(k, 0), ESRCH);
	ERR(sigaction(SIGKILL, &(struct sigaction){0}, NULL), EINVAL);
	ERR(syscall(SYS_tgkill, getpid(), k, 0), ESRCH);
	ERR(syscall(SYS_tgkill, -1, 1, 0), EINVAL);
}

TEST(blocked_signal_waits_for_unblock)
{
	sigset_t set, pend;

	OK(sigaction(SIGUSR1, &(struct sigaction){.sa_handler = on_alarm},
		     NULL));
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	OK(sigprocmask(SIG_BLOCK, &set, NULL));
	OK(raise(SIGUSR1));
	EQ(hits, 0);
	OK(sigpending(&pend));
	CHECK(sigismember(&pend, SIGUSR1));
	OK(sigprocmask(SIG_UNBLOCK, &set, NULL));
	EQ(hits, 1);
}

/* A signal to us in 20 ms, of a child's end. */
static int poll_through(int sig)
{
	struct epoll_event e;
	int ep = OK(epoll_create1(0));
	pid_t me = getpid();
	pid_t k = CHILD(usleep(20000); if (sig) kill(me, sig); _exit(0));
	int n = epoll_wait(ep, &e, 1, 200), err = errno;

	OK(close(ep));
	EQ(wait_for(k), 0);
	errno = err;
	return n;
}

TEST(ignored_signals_end_no_wait)
{
	struct timeval limit = {0, 200000};
	int s[2];
	char c;

	EQ(poll_through(0), 0);
	EQ(poll_through(SIGWINCH), 0);
	OK(sigaction(SIGUSR1, &(struct sigaction){.sa_handler = SIG_IGN},
		     NULL));
	EQ(poll_through(SIGUSR1), 0);
	OK(socketpair(AF_UNIX, SOCK_STREAM, 0, s));
	OK(setsockopt(s[0], SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit)));
	pid_t k = CHILD(usleep(20000); _exit(0));
	ERR(recv(s[0], &c, 1, 0), EAGAIN);
	EQ(wait_for(k), 0);
}

TEST(handlers_end_waits_that_do_not_restart)
{
	OK(sigaction(SIGUSR1,
		     &(struct sigaction){.sa_handler = on_alarm,
					 .sa_flags = SA_RESTART},
		     NULL));
	ERR(poll_through(SIGUSR1), EINTR);
	EQ(hits, 1);
}
