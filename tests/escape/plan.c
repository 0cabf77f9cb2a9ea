// modes: bare
// timeout: 120
/*
 * The stub's request for a plan, made by others: by who has none to come, and
 * by threads that are killed just then.
 */
#include "escape.h"
#include "../../loader/plan.h"

static char buffer[sizeof(struct plan)];

static long ask(void)
{
	return syscall(SYS_openat, PLAN_DIRFD, buffer, PLAN_FLAGS, PLAN_MODE,
		       sizeof(buffer));
}

TEST(who_has_no_plan_to_come_gets_none)
{
	EQ(ask(), -1);
	for (size_t i = 0; i < sizeof(buffer); i++)
		EQ(buffer[i], 0);
}

static void *pauses(void *arg)
{
	for (;;)
		pause();
	return arg;
}

/* Two that want to run, and many threads to look at: so the sentry's lock is
 * held for long at times. */
static pid_t crowd(void)
{
	pthread_t t;
	pid_t pid;

	for (int i = 0; i < 45; i++)
		EQ(pthread_create(&t, NULL, pauses, NULL), 0);
	pid = OK(fork());
	if (!pid)
		for (volatile long i = 0;; i++)
			;
	return pid;
}

TEST(a_request_of_who_is_killed_is_nothing)
{
	pid_t spinner = crowd(), k[4];
	struct timespec ts = {0};

	for (int i = 0; i < 300; i++) {
		for (int j = 0; j < 4; j++) {
			k[j] = OK(fork());
			if (!k[j])
				for (;;)
					ask();
		}
		ts.tv_nsec = i * 104729 % 3000000 + 200000;
		OK(nanosleep(&ts, NULL));
		for (int j = 0; j < 4; j++)
			OK(kill(k[j], SIGKILL));
		for (int j = 0; j < 4; j++)
			EQ(waitpid(k[j], NULL, 0), k[j]);
	}
	OK(kill(spinner, SIGKILL));
	EQ(waitpid(spinner, NULL, 0), spinner);
}
