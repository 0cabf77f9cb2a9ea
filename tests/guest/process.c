// modes: bare
// timeout: 120
/* fork, vfork, clone, threads, wait, sessions, exit codes. */
#include "guest.h"
#include <sched.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>

extern char **environ;

TEST(exit_codes_and_killing_signals)
{
	EQ(wait_for(CHILD(_exit(0))), 0);
	EQ(wait_for(CHILD(_exit(255))), 255);
	EQ(wait_for(CHILD(_exit(256 + 3))), 3);
	int sigs[] = {SIGKILL, SIGTERM, SIGSEGV, SIGABRT, SIGPIPE, SIGHUP};
	for (int i = 0; i < 6; i++)
		EQ(wait_for(CHILD({
			   signal(sigs[i], SIG_DFL);
			   kill(getpid(), sigs[i]);
		   })),
		   -1000 - sigs[i]);
	EQ(wait_for(CHILD(*(volatile int *)0 = 1)), -1000 - SIGSEGV);
	EQ(wait_for(CHILD(__builtin_trap())), -1000 - SIGILL);
	EQ(wait_for(CHILD(abort())), -1000 - SIGABRT);
}

TEST(exit_from_a_second_thread)
{
	void *body(void *a)
	{
		exit(a ? 5 : 6);
	}

	for (int i = 0; i < 20; i++)
		EQ(wait_for(CHILD({
			   pthread_t t;
			   pthread_create(&t, NULL, body, "x");
			   pause();
		   })),
		   5);
}

TEST(death_of_the_leader_leaves_threads)
{
	void *body(void *a)
	{
		(void)a;
		usleep(50000);
		put("after", "x");
		_exit(7);
	}

	EQ(wait_for(CHILD({
		   pthread_t t;
		   pthread_create(&t, NULL, body, NULL);
		   pthread_exit(NULL);
	   })),
	   7);
	STREQ(get("after"), "x");
}

TEST(wait_forms)
{
	siginfo_t si;
	struct rusage ru;
	int st;

	ERR(wait(&st), ECHILD);
	pid_t k = CHILD(_exit(3));
	OK(waitid(P_PID, (id_t)k, &si, WEXITED | WNOWAIT));
	EQ(si.si_pid, k);
	EQ(si.si_status, 3);
	EQ(si.si_code, CLD_EXITED);
	EQ(wait4(k, &st, 0, &ru), k);
	k = CHILD(pause());
	EQ(waitpid(k, &st, WNOHANG), 0);
	OK(kill(k, SIGTERM));
	OK(waitid(P_ALL, 0, &si, WEXITED));
	EQ(si.si_code, CLD_KILLED);
	EQ(si.si_status, SIGTERM);
	ERR(waitpid(k, &st, 0), ECHILD);
	ERR(waitpid(-1, &st, 0x100), EINVAL);
}

TEST(stop_and_continue)
{
	int st;
	pid_t k = CHILD(while (1) pause());

	for (int i = 0; i < 5; i++) {
		OK(kill(k, SIGSTOP));
		EQ(waitpid(k, &st, WUNTRACED), k);
		CHECK(WIFSTOPPED(st) && WSTOPSIG(st) == SIGSTOP);
		OK(kill(k, SIGCONT));
		EQ(waitpid(k, &st, WCONTINUED), k);
		CHECK(WIFCONTINUED(st));
	}
	OK(kill(k, SIGTSTP));
	EQ(waitpid(k, &st, WUNTRACED), k);
	EQ(WSTOPSIG(st), SIGTSTP);
	OK(kill(k, SIGKILL));
	EQ(wait_for(k), -1000 - SIGKILL);
}

TEST(stop_while_calling)
{
	int st;

	put("f", "x");
	pid_t k = CHILD(for (;;) access("f", F_OK));
	for (int i = 0; i < 50; i++) {
		OK(kill(k, SIGSTOP));
		EQ(waitpid(k, &st, WUNTRACED), k);
		OK(kill(k, SIGCONT));
	}
	OK(kill(k, SIGKILL));
	EQ(wait_for(k), -1000 - SIGKILL);
}

TEST(orphans_get_a_new_parent)
{
	int p[2];
	pid_t me;

	OK(pipe(p));
	OK(prctl(PR_SET_CHILD_SUBREAPER, 1));
	pid_t k = CHILD({
		pid_t mid = getpid();
		if (fork() == 0) {
			while (getppid() == mid)
				sched_yield();
			me = getppid();
			EQ(write(p[1], &me, sizeof(me)), sizeof(me));
			_exit(9);
		}
	});
	EQ(wait_for(k), 0);
	EQ(read(p[0], &me, sizeof(me)), sizeof(me));
	EQ(me, getpid());
	int st;
	CHECK(wait(&st) > 0);
	EQ(WEXITSTATUS(st), 9);
}

TEST(parent_death_signal)
{
	int p[2];
	char c;

	OK(pipe(p));
	pid_t k = CHILD({
		if (fork() == 0) {
			OK(prctl(PR_SET_PDEATHSIG, SIGKILL));
			EQ(write(p[1], "r", 1), 1);
			for (;;)
				pause();
		}
		EQ(read(p[0], &c, 1), 1);
	});
	EQ(wait_for(k), 0);
	OK(close(p[1]));
	EQ(read(p[0], &c, 1), 0);
}

TEST(sessions_and_groups)
{
	pid_t k = CHILD({
		OK(setpgid(0, 0));
		EQ(getpgrp(), getpid());
		ERR(setsid(), EPERM);
		if (fork() == 0) {
			EQ(OK(setsid()), getpid());
			EQ(getsid(0), getpid());
			EQ(getpgrp(), getpid());
			ERR(setpgid(0, 0), EPERM);
			_exit(0);
		}
		int st;
		wait(&st);
		EQ(st, 0);
	});
	EQ(wait_for(k), 0);
	ERR(setpgid(0, 999999), EPERM);
	ERR(getpgid(9999999), ESRCH);
	ERR(setpgid(-1, 0), EINVAL);
}

TEST(signal_to_a_process_group)
{
	int p[2];
	char c;
	pid_t k[3], g = 0;

	OK(pipe(p));
	for (int i = 0; i < 3; i++) {
		k[i] = CHILD({
			setpgid(0, g);
			EQ(write(p[1], "x", 1), 1);
			for (;;)
				pause();
		});
		if (!g)
			g = k[i];
		setpgid(k[i], g);
	}
	for (int i = 0; i < 3; i++)
		EQ(read(p[0], &c, 1), 1);
	OK(kill(-g, SIGTERM));
	for (int i = 0; i < 3; i++)
		EQ(wait_for(k[i]), -1000 - SIGTERM);
	ERR(kill(-g, 0), ESRCH);
}

TEST(vfork_child_execs_then_parent_allocates)
{
	char *argv[] = {"/bin/true", NULL};

	for (int i = 0; i < 20; i++) {
		pid_t k = vfork();
		if (k == 0) {
			execv(argv[0], argv);
			_exit(127);
		}
		char *m = malloc(100 << 20);
		CHECK(m);
		for (size_t j = 0; j < 100 << 20; j += 1 << 20)
			m[j] = 1;
		free(m);
		EQ(wait_for(k), 0);
	}
}

TEST(vfork_shares_memory_until_exit)
{
	volatile int x = 1;
	pid_t k = vfork();

	if (k == 0) {
		x = 2;
		_exit(4);
	}
	EQ(x, 2);
	EQ(wait_for(k), 4);
}

static int spawned_ok;
static pthread_mutex_t mu = PTHREAD_MUTEX_INITIALIZER;

static void *spawner(void *arg)
{
	int n = (int)(long)arg;
	char *argv[] = {"/bin/true", NULL};

	for (int i = 0; i < n; i++) {
		pid_t k;
		int st;
		if (posix_spawn(&k, argv[0], NULL, NULL, argv, environ))
			continue;
		if (waitpid(k, &st, 0) != k || st)
			continue;
		pthread_mutex_lock(&mu);
		spawned_ok++;
		pthread_mutex_unlock(&mu);
	}
	return NULL;
}

TEST(posix_spawn_from_16_threads)
{
	pthread_t t[16];

	for (int i = 0; i < 16; i++)
		EQ(pthread_create(&t[i], NULL, spawner, (void *)32L), 0);
	for (int i = 0; i < 16; i++)
		EQ(pthread_join(t[i], NULL), 0);
	EQ(spawned_ok, 512);
}

static int vfork_true(void)
{
	char *argv[] = {"/bin/true", NULL};
	pid_t k = vfork();

	if (k == 0) {
		execv(argv[0], argv);
		_exit(127);
	}
	return k < 0 ? -1 : wait_for(k);
}

static void *vforker(void *arg)
{
	for (long i = 0; i < (long)arg; i++)
		if (vfork_true())
			return "bad";
	return NULL;
}

TEST(vfork_exec_from_8_threads)
{
	pthread_t t[8];
	void *r;

	for (int i = 0; i < 8; i++)
		EQ(pthread_create(&t[i], NULL, vforker, (void *)60L), 0);
	for (int i = 0; i < 8; i++) {
		EQ(pthread_join(t[i], &r), 0);
		CHECK(!r);
	}
}

TEST(raw_clone_and_vfork_by_inline_syscalls)
{
	long r;

	__asm__ volatile("syscall"
			 : "=a"(r)
			 : "a"(SYS_clone), "D"((long)SIGCHLD), "S"(0L), "d"(0L)
			 : "rcx", "r11", "memory");
	if (r == 0)
		_exit(11);
	EQ(wait_for((pid_t)r), 11);
	r = syscall(SYS_fork);
	if (r == 0)
		_exit(12);
	EQ(wait_for((pid_t)r), 12);
}

TEST(three_hundred_threads)
{
	pthread_t t[300];
	void *body(void *a)
	{
		struct stat st;
		return stat("/etc/passwd", &st) ? "bad" : a;
	}
	void *r;

	for (int i = 0; i < 300; i++)
		EQ(pthread_create(&t[i], NULL, body, NULL), 0);
	for (int i = 0; i < 300; i++) {
		EQ(pthread_join(t[i], &r), 0);
		CHECK(!r);
	}
}

TEST(fork_from_a_thread)
{
	void *body(void *a)
	{
		return (void *)(long)(wait_for(CHILD(_exit(21))) + !!a);
	}
	pthread_t t;
	void *r;

	EQ(pthread_create(&t, NULL, body, NULL), 0);
	EQ(pthread_join(t, &r), 0);
	EQ((long)r, 21);
}

TEST(clone_sharing_files_and_cwd)
{
	static char stack[65536];
	int body(void *a)
	{
		OK(chdir("sub"));
		int fd = OK(open("x", O_CREAT | O_RDWR, 0600));
		*(int *)a = fd;
		return 0;
	}
	int fd = -1;

	OK(mkdir("sub", 0755));
	pid_t k = OK(clone(body, stack + sizeof(stack),
			   CLONE_FS | CLONE_FILES | CLONE_VM | SIGCHLD, &fd));
	EQ(wait_for(k), 0);
	CHECK(exists("x"));
	EQ(write(fd, "a", 1), 1);
}

TEST(pids_are_consistent)
{
	int p[2];
	pid_t ids[2];

	OK(pipe(p));
	pid_t k = CHILD({
		ids[0] = getpid();
		ids[1] = getppid();
		EQ(write(p[1], ids, sizeof(ids)), sizeof(ids));
	});
	EQ(read(p[0], ids, sizeof(ids)), sizeof(ids));
	EQ(ids[0], k);
	EQ(ids[1], getpid());
	EQ(wait_for(k), 0);
	EQ(syscall(SYS_gettid), getpid());
	CHECK(getpgrp() > 0 || getpgrp() == 0);
}

TEST(pidfd_open_and_wait)
{
	siginfo_t si;
	pid_t k = CHILD(pause());
	int fd = (int)syscall(SYS_pidfd_open, k, 0);

	if (fd < 0 && errno == ENOSYS)
		SKIP("no pidfd_open");
	CHECK(fd >= 0);
	OK(syscall(SYS_pidfd_send_signal, fd, SIGTERM, NULL, 0));
	struct pollfd pf = {fd, POLLIN, 0};
	EQ(poll(&pf, 1, 5000), 1);
	OK(waitid(P_PIDFD, (id_t)fd, &si, WEXITED));
	EQ(si.si_status, SIGTERM);
}

TEST(children_that_crash_do_not_hang)
{
	for (int i = 0; i < 60; i++) {
		EQ(wait_for(CHILD(*(volatile int *)8 = 0)), -1000 - SIGSEGV);
		EQ(wait_for(CHILD(kill(getpid(), SIGKILL))), -1000 - SIGKILL);
	}
}

TEST(clone_parent_makes_a_sibling)
{
	int p[2];
	pid_t pid, sibling;

	OK(pipe(p));
	pid_t k = CHILD({
		pid = OK(syscall(SYS_clone, CLONE_PARENT | SIGCHLD, NULL, NULL,
				 NULL, NULL));
		if (pid == 0) {
			pid = getppid();
			EQ(write(p[1], &pid, sizeof(pid)), sizeof(pid));
			_exit(5);
		}
		ERR(waitpid(pid, NULL, 0), ECHILD);
		EQ(write(p[1], &pid, sizeof(pid)), sizeof(pid));
	});
	EQ(wait_for(k), 0);
	EQ(read(p[0], &pid, sizeof(pid)), sizeof(pid));
	EQ(read(p[0], &sibling, sizeof(pid)), sizeof(pid));
	if (pid != getpid()) {
		k = pid;
		pid = sibling;
		sibling = k;
	}
	EQ(pid, getpid());
	EQ(wait_for(sibling), 5);
}

/* At any moment of what a process does to begin a program. */
TEST(children_that_are_killed_while_they_begin_a_program)
{
	for (volatile int i = 0; i < 600; i++) {
		struct timespec ts = {0, i % 40 * 10000};
		pid_t k[4];
		int st;

		for (volatile int j = 0; j < 4; j++) {
			k[j] = vfork();
			if (!k[j]) {
				execl("/bin/true", "true", (char *)NULL);
				_exit(1);
			}
			OK(k[j]);
			OK(nanosleep(&ts, NULL));
			/* LIMIT: ESRCH in bare mode for one that has ended. */
			CHECK(!kill(k[j], SIGKILL) || errno == ESRCH);
		}
		for (int j = 0; j < 4; j++) {
			EQ(waitpid(k[j], &st, 0), k[j]);
			CHECK(st == 0 || st == SIGKILL);
		}
	}
}
