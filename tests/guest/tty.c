/* Pseudo-terminals, controlling terminals, job control. */
#include "guest.h"
#include <dirent.h>
#include <pty.h>
#include <sys/ioctl.h>
#include <termios.h>

static char *until(int fd, const char *want)
{
	static char b[65536];
	size_t n = 0;
	struct pollfd p = {fd, POLLIN, 0};

	memset(b, 0, sizeof(b));
	while (n < sizeof(b) - 1 && !strstr(b, want)) {
		if (poll(&p, 1, 10000) <= 0)
			guest_fail(__FILE__, __LINE__, "no '%s' in '%s'", want,
				   b);
		ssize_t r = read(fd, b + n, sizeof(b) - 1 - n);
		if (r <= 0)
			break;
		n += (size_t)r;
	}
	if (!strstr(b, want))
		guest_fail(__FILE__, __LINE__, "no '%s' in '%s'", want, b);
	return b;
}

static pid_t sh(int *m, const char *cmd)
{
	fflush(stdout);
	pid_t k = OK(forkpty(m, NULL, NULL, NULL));

	if (k == 0) {
		execl("/bin/sh", "sh", "-c", cmd, NULL);
		_exit(127);
	}
	return k;
}

TEST(openpty_pair_talks)
{
	int m, s;
	char name[64], b[64] = "";
	struct stat st;

	OK(openpty(&m, &s, name, NULL, NULL));
	CHECK(!strncmp(name, "/dev/pts/", 9));
	CHECK(isatty(m) && isatty(s));
	OK(ioctl(s, TIOCGLCKTRMIOS, b));
	STREQ(ttyname(s), name);
	OK(stat(name, &st));
	CHECK(S_ISCHR(st.st_mode));
	EQ(st.st_uid, getuid());
	EQ(write(m, "hi\n", 3), 3);
	EQ(read(s, b, 8), 3);
	OK(close(OK(open(name, O_RDWR | O_NOCTTY))));
}

/* As ttyname(3) compares them. */
static void same_by_path(int fd)
{
	char link[64], path[64] = "";
	struct stat a, b;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	OK(fstat(fd, &a)); /* before anything looks at the path */
	OK(readlink(link, path, sizeof(path) - 1));
	OK(stat(path, &b));
	EQ(a.st_dev, b.st_dev);
	EQ(a.st_ino, b.st_ino);
	EQ(a.st_rdev, b.st_rdev);
	EQ(a.st_mode, b.st_mode);
	EQ(a.st_uid, b.st_uid);
	EQ(a.st_gid, b.st_gid);
	OK(fstat(fd, &a));
	EQ(a.st_ino, b.st_ino);
	CHECK(ttyname(fd));
	STREQ(ttyname(fd), path);
}

TEST(slave_is_the_same_by_descriptor_and_path)
{
	int m, s, p;

	OK(openpty(&m, &s, NULL, NULL, NULL));
	same_by_path(s);
	m = OK(posix_openpt(O_RDWR | O_NOCTTY));
	OK(unlockpt(m));
	p = ioctl(m, TIOCGPTPEER, O_RDWR | O_NOCTTY);
	OK(p);
	same_by_path(p);
}

TEST(peer_of_a_master_is_opened_without_a_path)
{
	int m = OK(posix_openpt(O_RDWR | O_NOCTTY)), p;

	ERR(ioctl(m, TIOCGPTPEER, O_RDWR | O_NOCTTY), EIO); /* locked */
	OK(unlockpt(m));
	p = ioctl(m, TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC);
	CHECK(p >= 0);
	EQ(fcntl(p, F_GETFD), FD_CLOEXEC);
	EQ(fcntl(p, F_GETFL) & O_ACCMODE, O_RDWR);
	ERR(ioctl(p, TIOCGPTPEER, O_RDWR), EIO);
	ERR(ioctl(OK(open("/dev/null", O_RDWR)), TIOCGPTPEER, O_RDWR), ENOTTY);
	ERR(ioctl(-1, TIOCGPTPEER, O_RDWR), EBADF);
	EQ(wait_for(CHILD({
		   OK(setsid());
		   OK(ioctl(m, TIOCGPTPEER, O_RDWR));
		   int c = open("/dev/tty", O_RDWR);
		   CHECK(c >= 0);
		   EQ(tcgetsid(c), getpid());
	   })),
	   0);
}

TEST(twenty_slaves_are_the_same_by_path)
{
	int m, s;

	for (int i = 0; i < 20; i++) {
		OK(openpty(&m, &s, NULL, NULL, NULL));
		same_by_path(s);
	}
}

TEST(listing_shows_the_number_of_the_slave)
{
	int m, s, found = 0;
	char name[64];
	struct dirent *e;
	struct stat st;
	DIR *d = opendir("/dev/pts");

	OK(openpty(&m, &s, name, NULL, NULL));
	OK(fstat(s, &st));
	CHECK(d);
	while ((e = readdir(d)))
		if (!strcmp(e->d_name, name + 9)) {
			EQ(e->d_ino, st.st_ino);
			found++;
		}
	EQ(found, 1);
}

TEST(terminal_of_script_has_its_name)
{
	fflush(stdout);
	EQ(wait_for(CHILD({
		   execlp("script", "script", "-qefc",
			  "tty >out && test -c $(cat out) && exit 6",
			  "/dev/null", NULL);
	   })),
	   6);
}

TEST(posix_openpt_grantpt_unlockpt)
{
	int m = OK(posix_openpt(O_RDWR | O_NOCTTY));

	OK(grantpt(m));
	OK(unlockpt(m));
	char *n = ptsname(m);
	CHECK(n);
	int s = OK(open(n, O_RDWR | O_NOCTTY));
	struct winsize w = {24, 80, 0, 0}, v;
	OK(ioctl(m, TIOCSWINSZ, &w));
	OK(ioctl(s, TIOCGWINSZ, &v));
	EQ(v.ws_col, 80);
}

TEST(shell_on_a_terminal_has_it_as_dev_tty)
{
	int m;
	pid_t k = sh(&m, "tty >/dev/null && echo in >/dev/tty && "
			 "test -t 0 && echo yes");

	until(m, "yes");
	EQ(wait_for(k), 0);
}

TEST(no_controlling_terminal_is_ENXIO)
{
	EQ(wait_for(CHILD({
		   OK(setsid());
		   ERR(open("/dev/tty", O_RDWR), ENXIO);
	   })),
	   0);
}

TEST(session_leader_gets_a_terminal_by_opening_it)
{
	int m, s;
	char name[64];

	OK(openpty(&m, &s, name, NULL, NULL));
	OK(close(s));
	EQ(wait_for(CHILD({
		   OK(setsid());
		   int t = OK(open(name, O_RDWR));
		   int c = OK(open("/dev/tty", O_RDWR));
		   EQ(write(c, "mine\n", 5), 5);
		   EQ(tcgetpgrp(t), getpgrp());
	   })),
	   0);
	EQ(wait_for(CHILD({
		   OK(setsid());
		   int t = OK(open(name, O_RDWR | O_NOCTTY));
		   ERR(open("/dev/tty", O_RDWR), ENXIO);
		   OK(ioctl(t, TIOCSCTTY, 0));
		   OK(open("/dev/tty", O_RDWR));
	   })),
	   0);
}

TEST(control_c_interrupts_the_foreground)
{
	int m;
	pid_t k = sh(&m, "trap 'echo caught; exit 5' INT; echo ready;"
			 "while :; do sleep 0.1; done");

	until(m, "ready");
	EQ(write(m, "\003", 1), 1);
	until(m, "caught");
	EQ(wait_for(k), 5);
}

TEST(control_z_stops_and_continues)
{
	int m, st;
	pid_t k = sh(&m, "echo ready; exec sleep 100");

	until(m, "ready");
	usleep(50000);
	EQ(write(m, "\032", 1), 1);
	/* a session leader's group is orphaned: the stop is discarded */
	EQ(waitpid(k, &st, WNOHANG | WUNTRACED), 0);
	EQ(write(m, "\003", 1), 1);
	EQ(wait_for(k), -1000 - SIGINT);
}

TEST(job_control_of_an_interactive_shell)
{
	int m;
	fflush(stdout);
	pid_t k = OK(forkpty(&m, NULL, NULL, NULL));

	if (k == 0) {
		setenv("PS1", "prompt> ", 1);
		execl("/bin/bash", "bash", "--norc", "--noprofile", "-i", NULL);
		_exit(127);
	}
	until(m, "prompt> ");
	dprintf(m, "sleep 100\n");
	until(m, "sleep 100");
	usleep(200000);
	EQ(write(m, "\032", 1), 1);
	until(m, "Stopped");
	dprintf(m, "jobs; echo en\"d\"1\n");
	until(m, "end1");
	dprintf(m, "bg >/dev/null; kill %%1; wait %%1; echo st=$?\n");
	until(m, "st=143");
	dprintf(m, "exit 3\n");
	EQ(wait_for(k), 3);
}

TEST(window_size_change_signals)
{
	int m;
	pid_t k = sh(&m, "trap 'stty size; exit 0' WINCH; echo ready;"
			 "while :; do sleep 0.1; done");
	struct winsize w = {33, 111, 0, 0};

	until(m, "ready");
	OK(ioctl(m, TIOCSWINSZ, &w));
	until(m, "33 111");
	EQ(wait_for(k), 0);
}

TEST(hang_up_kills)
{
	int m;
	pid_t k = sh(&m, "echo ready; exec sleep 100");

	until(m, "ready");
	OK(close(m));
	EQ(wait_for(k), -1000 - SIGHUP);
}

TEST(raw_mode_and_back)
{
	int m, s;
	struct termios t, u;
	char b[4];

	OK(openpty(&m, &s, NULL, NULL, NULL));
	OK(tcgetattr(s, &t));
	u = t;
	cfmakeraw(&u);
	OK(tcsetattr(s, TCSANOW, &u));
	EQ(write(m, "\003", 1), 1);
	EQ(read(s, b, 4), 1);
	EQ(b[0], 3);
	OK(tcsetattr(s, TCSAFLUSH, &t));
	ERR(tcgetattr(OK(open("/dev/null", O_RDONLY)), &t), ENOTTY);
}
