/*
 * terminal_test.c - the relay between a user's terminal and a sandbox's pty.
 *
 * Each test plays the user: it forks a session whose controlling terminal is
 * a pty ("outer"), where the relay runs over a second pty ("inner") on which
 * a guest program is played by a shell.
 */
#include <criterion/criterion.h>
#include <fcntl.h>
#include <pty.h>
#include <signal.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utmp.h>

#include "../../sentry/terminal.h"

struct session {
	int outer, slave; /* slave: kept open to ask for its mode */
	struct termios before;
	pid_t relay;
	char seen[1 << 20];
	size_t len;
};

static struct session ses;

/* In the session: a guest on the inner pty, relayed until it ends. */
static void relay(const char *script)
{
	static struct terminal t;
	struct pollfd p[TERMINAL_POLLFDS];
	int master, slave, status;
	pid_t guest;

	if (openpty(&master, &slave, NULL, NULL, NULL))
		_exit(99);
	guest = fork();
	if (!guest) {
		close(master);
		login_tty(slave);
		execl("/bin/sh", "sh", "-c", script, NULL);
		_exit(98);
	}
	if (terminal_start(&t, master))
		_exit(97);
	while (!waitpid(guest, &status, WNOHANG)) {
		terminal_pollfds(&t, p);
		if (poll(p, TERMINAL_POLLFDS, 20) > 0)
			terminal_handle(&t, p);
	}
	terminal_stop(&t);
	_exit(WIFEXITED(status) ? WEXITSTATUS(status) : 96);
}

/* out: what the relay has as stdout, -1: the terminal too. */
static void session_start_with(const char *script, int out)
{
	cr_assert_eq(openpty(&ses.outer, &ses.slave, NULL, NULL, NULL), 0);
	cr_assert_eq(tcgetattr(ses.slave, &ses.before), 0);
	ses.relay = fork();
	if (!ses.relay) {
		int slave = dup(ses.slave);

		close(ses.outer);
		close(ses.slave);
		login_tty(slave);
		if (out >= 0)
			dup2(out, 1);
		relay(script);
	}
}

static void session_start(const char *script)
{
	session_start_with(script, -1);
}

/* Reads what the user sees until `text` has come. */
static void expect(const char *text)
{
	struct pollfd p = {.fd = ses.outer, .events = POLLIN};

	while (!memmem(ses.seen, ses.len, text, strlen(text))) {
		ssize_t n;

		cr_assert_eq(poll(&p, 1, 10000), 1, "no \"%s\" in \"%s\"", text,
			     ses.seen);
		n = read(ses.outer, ses.seen + ses.len,
			 sizeof(ses.seen) - 1 - ses.len);
		cr_assert_gt(n, 0);
		ses.len += (size_t)n;
	}
}

static void type(const char *text)
{
	cr_assert_eq(write(ses.outer, text, strlen(text)),
		     (ssize_t)strlen(text));
}

static bool is_raw(void)
{
	struct termios m;

	cr_assert_eq(tcgetattr(ses.slave, &m), 0);
	return !(m.c_lflag & ICANON);
}

static void wait_mode(bool raw)
{
	for (int i = 0; i < 500 && is_raw() != raw; i++)
		usleep(10000);
	cr_assert_eq(is_raw(), raw);
}

/* Not raw in part either. */
static bool is_as_before(void)
{
	struct termios m;

	cr_assert_eq(tcgetattr(ses.slave, &m), 0);
	return m.c_iflag == ses.before.c_iflag &&
	       m.c_oflag == ses.before.c_oflag &&
	       m.c_cflag == ses.before.c_cflag &&
	       m.c_lflag == ses.before.c_lflag &&
	       !memcmp(m.c_cc, ses.before.c_cc, sizeof(m.c_cc));
}

static int session_end(int flags)
{
	int status;

	cr_assert_eq(waitpid(ses.relay, &status, flags), ses.relay);
	return status;
}

Test(terminal, relays_both_ways_and_restores_the_mode, .timeout = 30)
{
	session_start("stty -echo; echo ready; read x; echo got-$x; exit 7");
	expect("ready");
	cr_assert(is_raw());
	type("hello\r");
	expect("got-hello");
	cr_assert_eq(WEXITSTATUS(session_end(0)), 7);
	cr_assert(is_as_before());
}

Test(terminal, what_stdout_feeds_has_its_line_ends, .timeout = 30)
{
	int feed[2];

	cr_assert_eq(pipe(feed), 0);
	session_start_with("echo ready; read x; exit 5", feed[1]);
	wait_mode(true);
	cr_assert_eq(write(ses.slave, "1\n2\n", 4), 4);
	expect("1\r\n2\r\n");
	expect("ready");
	type("on\r");
	cr_assert_eq(WEXITSTATUS(session_end(0)), 5);
	cr_assert(is_as_before());
}

Test(terminal, output_to_the_terminal_itself_is_raw, .timeout = 30)
{
	session_start("stty -opost; echo ready; read x; printf 'a\\nb'");
	expect("ready");
	wait_mode(true);
	type("on\r");
	expect("a\nb");
	cr_assert_eq(session_end(0), 0);
	cr_assert(is_as_before());
}

Test(terminal, unusual_signals_restore_the_mode_too, .timeout = 30)
{
	session_start("echo ready; sleep 5");
	expect("ready");
	wait_mode(true);
	kill(ses.relay, SIGALRM);
	cr_assert_eq(WTERMSIG(session_end(0)), SIGALRM);
	cr_assert(is_as_before());
}

Test(terminal, interrupt_character_reaches_the_guest, .timeout = 30)
{
	session_start("trap 'echo int; exit 3' INT; echo ready; "
		      "while :; do sleep 0.05; done");
	expect("ready");
	type("\003");
	expect("int");
	cr_assert_eq(WEXITSTATUS(session_end(0)), 3);
}

Test(terminal, window_size_is_passed_on, .timeout = 30)
{
	struct winsize size = {.ws_row = 41, .ws_col = 133};

	session_start("trap 'stty size; exit 0' WINCH; echo ready; "
		      "while :; do sleep 0.05; done");
	expect("ready");
	cr_assert_eq(ioctl(ses.outer, TIOCSWINSZ, &size), 0);
	expect("41 133");
	cr_assert_eq(session_end(0), 0);
}

Test(terminal, much_output_and_input_lose_no_byte, .timeout = 60)
{
	char lines[30];

	session_start("stty -echo -onlcr; echo ready; n=0; "
		      "while read x; do [ $x = end ] && break; n=$((n+1)); "
		      "done; echo lines-$n; seq 60000; echo done-all");
	expect("ready");
	for (int i = 0; i < 20000; i++) {
		snprintf(lines, sizeof(lines), "%d\n", i);
		type(lines);
	}
	type("end\n");
	expect("lines-20000");
	expect("done-all");
	for (int i = 1; i < 60000; i += 997) {
		snprintf(lines, sizeof(lines), "\n%d\n%d\n", i, i + 1);
		cr_assert(memmem(ses.seen, ses.len, lines, strlen(lines)));
	}
	cr_assert_eq(session_end(0), 0);
}

Test(terminal, output_before_the_end_is_drained, .timeout = 30)
{
	session_start("seq 300; echo last");
	expect("last");
	cr_assert_eq(session_end(0), 0);
}

Test(terminal, fatal_signal_restores_the_mode, .timeout = 30)
{
	session_start("echo ready; sleep 5");
	expect("ready");
	wait_mode(true);
	kill(ses.relay, SIGTERM);
	cr_assert_eq(WTERMSIG(session_end(0)), SIGTERM);
	cr_assert(is_as_before());
}

Test(terminal, stop_and_continue_switch_the_mode, .timeout = 30)
{
	session_start("echo ready; read x; echo got-$x");
	expect("ready");
	wait_mode(true);
	kill(ses.relay, SIGTSTP);
	cr_assert(WIFSTOPPED(session_end(WUNTRACED)));
	cr_assert(is_as_before());
	kill(ses.relay, SIGCONT);
	wait_mode(true);
	type("on\r");
	expect("got-on");
	cr_assert_eq(session_end(0), 0);
	cr_assert(is_as_before());
}
