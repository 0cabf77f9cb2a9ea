// modes: bare
/* FIFOs: blocking opens, signals during them, data. */
#include "guest.h"

static volatile sig_atomic_t hits;

static void on_alarm(int s)
{
	(void)s;
	hits++;
}

static void arm(int ms, int repeat_ms, int flags)
{
	struct sigaction sa = {.sa_handler = on_alarm, .sa_flags = flags};
	struct itimerval it = {
		.it_value = {ms / 1000, ms % 1000 * 1000},
		.it_interval = {repeat_ms / 1000, repeat_ms % 1000 * 1000}};

	OK(sigaction(SIGALRM, &sa, NULL));
	OK(setitimer(ITIMER_REAL, &it, NULL));
}

TEST(open_waits_for_the_other_end)
{
	char b[8] = "";

	OK(mkfifo("p", 0600));
	pid_t k = CHILD({
		int w = OK(open("p", O_WRONLY));
		EQ(write(w, "hi", 2), 2);
	});
	int r = OK(open("p", O_RDONLY));
	EQ(read(r, b, 8), 2);
	STREQ(b, "hi");
	EQ(read(r, b, 8), 0);
	EQ(wait_for(k), 0);
	k = CHILD({
		int q = OK(open("p", O_RDONLY));
		EQ(read(q, b, 1), 1);
	});
	int w = OK(open("p", O_WRONLY));
	EQ(write(w, "x", 1), 1);
	EQ(wait_for(k), 0);
}

TEST(nonblocking_opens)
{
	OK(mkfifo("p", 0600));
	ERR(open("p", O_WRONLY | O_NONBLOCK), ENXIO);
	int r = OK(open("p", O_RDONLY | O_NONBLOCK));
	int w = OK(open("p", O_WRONLY | O_NONBLOCK));
	char b[4];
	ERR(read(r, b, 4), EAGAIN);
	EQ(write(w, "abc", 3), 3);
	EQ(read(r, b, 4), 3);
	int rw = OK(open("p", O_RDWR));
	EQ(write(rw, "z", 1), 1);
	EQ(read(r, b, 4), 1);
}

TEST(alarm_ends_a_blocking_open_with_EINTR)
{
	OK(mkfifo("p", 0600));
	arm(100, 0, 0);
	ERR(open("p", O_RDONLY), EINTR);
	EQ(hits, 1);
	arm(100, 0, 0);
	ERR(open("p", O_WRONLY), EINTR);
}

TEST(SA_RESTART_keeps_the_open_waiting)
{
	OK(mkfifo("p", 0600));
	arm(50, 50, SA_RESTART);
	pid_t k = CHILD({
		usleep(400000);
		OK(open("p", O_WRONLY));
	});
	OK(open("p", O_RDONLY));
	CHECK(hits >= 2);
	EQ(wait_for(k), 0);
}

TEST(kill_ends_a_blocked_opener)
{
	OK(mkfifo("p", 0600));
	pid_t k = CHILD(open("p", O_RDONLY));
	usleep(50000);
	OK(kill(k, SIGKILL));
	EQ(wait_for(k), -1000 - SIGKILL);
	ERR(open("p", O_WRONLY | O_NONBLOCK), ENXIO);
}

TEST(stop_and_continue_during_a_blocking_open)
{
	int st;

	OK(mkfifo("p", 0600));
	pid_t k = CHILD(OK(open("p", O_RDONLY)));
	usleep(50000);
	OK(kill(k, SIGSTOP));
	EQ(waitpid(k, &st, WUNTRACED), k);
	CHECK(WIFSTOPPED(st));
	OK(kill(k, SIGCONT));
	EQ(waitpid(k, &st, WCONTINUED), k);
	CHECK(WIFCONTINUED(st));
	OK(close(OK(open("p", O_WRONLY))));
	EQ(wait_for(k), 0);
}

TEST(fifo_is_found_by_another_name_and_after_rename)
{
	char b[4];

	OK(mkfifo("p", 0600));
	OK(link("p", "q"));
	int r = OK(open("p", O_RDONLY | O_NONBLOCK));
	OK(rename("p", "s"));
	int w = OK(open("q", O_WRONLY));
	EQ(write(w, "abc", 3), 3);
	EQ(read(r, b, 4), 3);
	OK(unlink("q"));
	OK(unlink("s"));
	EQ(write(w, "de", 2), 2);
	EQ(read(r, b, 4), 2);
}

TEST(fifo_permission)
{
	if (geteuid() == 0)
		SKIP("root may open all");
	OK(mkfifo("p", 0400));
	ERR(open("p", O_WRONLY | O_NONBLOCK), EACCES);
	OK(close(OK(open("p", O_RDONLY | O_NONBLOCK))));
}
