// modes: bare
/*
 * Masks of processors: what the sentry does with them is not to be seen, and
 * what a program sets stays. The tests expect to be started on all.
 */
#include "guest.h"
#include <pthread.h>
#include <sched.h>
#include <sys/wait.h>

enum { CALLS = 2000, THREAD_CALLS = 500 };

static void calls(int n)
{
	for (int i = 0; i < n; i++) {
		int fd = open("f", O_RDONLY);

		CHECK(fd >= 0);
		OK(close(fd));
	}
}

static cpu_set_t mask_of(pid_t pid)
{
	cpu_set_t set;

	OK(sched_getaffinity(pid, sizeof(set), &set));
	return set;
}

static void all_of(const cpu_set_t *set)
{
	EQ(CPU_COUNT(set), sysconf(_SC_NPROCESSORS_ONLN));
}

/* As the kernel's "Cpus_allowed:", of up to 32 processors. */
static unsigned status_mask(const char *path)
{
	char line[256];
	unsigned mask = 0;
	FILE *f = fopen(path, "r");

	CHECK(f);
	while (fgets(line, sizeof(line), f)) {
		char *p = strrchr(line, ',');

		if (!strncmp(line, "Cpus_allowed:", 13))
			mask = (unsigned)strtoul(p ? p + 1 : line + 13, NULL,
						 16);
	}
	fclose(f);
	return mask;
}

static void status_is(const char *path, const cpu_set_t *set)
{
	unsigned mask = status_mask(path);

	for (int i = 0; i < 32; i++)
		EQ(mask >> i & 1, CPU_ISSET(i, set) != 0);
}

TEST(a_mask_is_whole_while_calls_are_made)
{
	put("f", "x");
	for (int i = 0; i < 5; i++) {
		cpu_set_t set = mask_of(0);

		all_of(&set);
		status_is("/proc/self/status", &set);
		status_is("/proc/thread-self/status", &set);
		calls(CALLS / 5);
	}
}

TEST(a_child_has_the_whole_mask)
{
	put("f", "x");
	for (int i = 0; i < 20; i++) {
		int asked[2], st;
		char c;

		calls(50);
		OK(pipe(asked));
		pid_t pid = OK(fork());
		if (!pid) {
			cpu_set_t set = mask_of(0);

			all_of(&set);
			set = mask_of(getppid());
			all_of(&set);
			_exit(read(asked[0], &c, 1) == 1 ? 0 : 1);
		}
		cpu_set_t set = mask_of(pid);

		all_of(&set);
		EQ(write(asked[1], "x", 1), 1);
		OK(waitpid(pid, &st, 0));
		EQ(st, 0);
		OK(close(asked[0]));
		OK(close(asked[1]));
	}
}

static void *mask_in_thread(void *arg)
{
	cpu_set_t set = mask_of(0);

	(void)arg;
	all_of(&set);
	calls(THREAD_CALLS);
	set = mask_of(0);
	all_of(&set);
	set = mask_of(getpid());
	all_of(&set);
	return NULL;
}

TEST(threads_have_the_whole_mask)
{
	pthread_t t[4];

	put("f", "x");
	calls(50);
	for (int i = 0; i < 4; i++)
		EQ(pthread_create(&t[i], NULL, mask_in_thread, NULL), 0);
	calls(THREAD_CALLS);
	for (int i = 0; i < 4; i++)
		EQ(pthread_join(t[i], NULL), 0);
}

TEST(a_mask_that_was_set_stays)
{
	cpu_set_t whole = mask_of(0), last, set;
	int cpu = CPU_SETSIZE;

	put("f", "x");
	calls(100);
	while (!CPU_ISSET(--cpu, &whole))
		;
	CPU_ZERO(&last);
	CPU_SET(cpu, &last);
	OK(sched_setaffinity(0, sizeof(last), &last));
	EQ(sched_getcpu(), cpu);
	for (int i = 0; i < 5; i++) {
		calls(100);
		EQ(sched_getcpu(), cpu);
		set = mask_of(0);
		CHECK(CPU_EQUAL(&set, &last));
		status_is("/proc/self/status", &last);
	}
	pid_t pid = fork();
	int st;

	OK(pid);
	if (!pid) {
		calls(100);
		EQ(sched_getcpu(), cpu);
		set = mask_of(0);
		CHECK(CPU_EQUAL(&set, &last));
		OK(sched_setaffinity(0, sizeof(whole), &whole));
		calls(100);
		set = mask_of(0);
		CHECK(CPU_EQUAL(&set, &whole));
		_exit(0);
	}
	OK(waitpid(pid, &st, 0));
	EQ(st, 0);
}

TEST(the_mask_of_another_process_is_set)
{
	cpu_set_t whole = mask_of(0), one, set;
	int go[2];

	put("f", "x");
	OK(pipe(go));
	pid_t pid = fork();
	int st;
	char c;

	OK(pid);
	if (!pid) {
		calls(200);
		EQ(read(go[0], &c, 1), 1);
		calls(200);
		set = mask_of(0);
		_exit(CPU_COUNT(&set) == 1 ? 0 : 1);
	}
	CPU_ZERO(&one);
	for (int i = 0; i < CPU_SETSIZE && !CPU_COUNT(&one); i++)
		if (CPU_ISSET(i, &whole))
			CPU_SET(i, &one);
	calls(100);
	OK(sched_setaffinity(pid, sizeof(one), &one));
	EQ(write(go[1], "x", 1), 1);
	set = mask_of(pid);
	CHECK(CPU_EQUAL(&set, &one));
	OK(waitpid(pid, &st, 0));
	EQ(st, 0);
	set = mask_of(0);
	CHECK(CPU_EQUAL(&set, &whole));
}

TEST(a_bad_mask_is_EINVAL_and_a_strange_pid_ESRCH)
{
	cpu_set_t none, set;

	CPU_ZERO(&none);
	ERR(sched_setaffinity(0, sizeof(none), &none), EINVAL);
	ERR(sched_setaffinity(0, 0, &none), EINVAL);
	ERR(sched_getaffinity(0, 0, &set), EINVAL);
	ERR(sched_getaffinity(0, 7, &set), EINVAL);
	ERR(sched_getaffinity(0, sizeof(set), (cpu_set_t *)8), EFAULT);
	ERR(sched_getaffinity(2000000, sizeof(set), &set), ESRCH);
	ERR(sched_getaffinity(-1, sizeof(set), &set), ESRCH);
	ERR(sched_setaffinity(-1, sizeof(none), &none), ESRCH);
}

static volatile pid_t asked;
static volatile bool go, enough;
static cpu_set_t everywhere;

static void *opener(void *arg)
{
	(void)arg;
	asked = (pid_t)syscall(SYS_gettid);
	while (!enough)
		calls(10);
	return NULL;
}

TEST(the_mask_of_a_busy_thread_is_whole)
{
	pthread_t t;

	put("f", "x");
	EQ(pthread_create(&t, NULL, opener, NULL), 0);
	while (!asked)
		sched_yield();
	for (int i = 0; i < 2000; i++) {
		cpu_set_t set = mask_of(asked);

		all_of(&set);
	}
	enough = true;
	EQ(pthread_join(t, NULL), 0);
}

static void *setter(void *arg)
{
	(void)arg;
	while (!enough) {
		if (!go) {
			sched_yield();
			continue;
		}
		go = false;
		sched_setaffinity(asked, sizeof(everywhere), &everywhere);
	}
	return NULL;
}

/* Forks just when another thread sets its mask. */
static void *forker(void *arg)
{
	int st;

	(void)arg;
	asked = (pid_t)syscall(SYS_gettid);
	calls(30);
	go = true;
	pid_t pid = OK(fork());
	if (!pid) {
		cpu_set_t set = mask_of(0);

		_exit(CPU_EQUAL(&set, &everywhere) ? 0 : 1);
	}
	OK(waitpid(pid, &st, 0));
	EQ(st, 0);
	return NULL;
}

TEST(a_child_keeps_no_mask_that_its_parent_lost_meanwhile)
{
	pthread_t t, f;

	put("f", "x");
	everywhere = mask_of(0);
	EQ(pthread_create(&t, NULL, setter, NULL), 0);
	for (int i = 0; i < 400; i++) {
		EQ(pthread_create(&f, NULL, forker, NULL), 0);
		EQ(pthread_join(f, NULL), 0);
	}
	enough = true;
	EQ(pthread_join(t, NULL), 0);
}
