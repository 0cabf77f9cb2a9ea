/*
 * terminal.c - the relay of the user's terminal; see terminal.h.
 *
 * The user's terminal is shared with their shell, so O_NONBLOCK is never set
 * on an inherited description: the terminal is opened anew through
 * /proc/self/fd; where that is refused (after su), reads and writes are done
 * only when poll allows, in small pieces.
 *
 * LAW 1: the terminal is raw only between terminal_start and terminal_stop,
 *   while cloche runs in the foreground.
 *   Held by terminal_test.c.
 * LAW 2: handlers use async-signal-safe calls only, and change the terminal
 *   only with signals blocked.
 * LAW 3: the terminal's output keeps its processing where others write to it.
 *   Held by terminal_test.c.
 *
 * LIMIT: SIGKILL and SIGSTOP cannot be caught and leave the terminal raw;
 *   shells put it right themselves for a stopped job.
 * LIMIT: with standard input elsewhere nothing is read from the terminal, which
 *   may be another program's of the pipeline to read; a guest that reads
 *   /dev/tty (a pager behind a pipe) waits for ever.
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <time.h>

#include "terminal.h"

#define WRITE_SAFE 128 /* bytes a terminal takes once poll says so */
#define DRAIN_MS   2000

static const int fatal_signals[] = {SIGHUP,  SIGINT,  SIGQUIT, SIGTERM,
				    SIGSEGV, SIGBUS,  SIGILL,  SIGFPE,
				    SIGABRT, SIGXCPU, SIGSYS,  SIGXFSZ,
				    SIGALRM, SIGUSR1, SIGPROF, SIGVTALRM};

/* File-scope because signal handlers get no argument. */
static struct {
	int fd;	     /* the user's terminal, -1: none */
	int wake;    /* copy of terminal.wake */
	pid_t owner; /* a forked child inherits handlers and exit hooks */
	struct termios cooked, raw;
	atomic_bool is_raw;
	atomic_bool changed; /* size or foreground may have changed */
	struct sigaction old[ARRAY_SIZE(fatal_signals)];
	struct sigaction old_tstp, old_cont, old_winch;
} tty = {.fd = -1, .wake = -1};

/* SIGTTOU would stop us, and others must find mode and is_raw agreeing. */
static void signals_block(sigset_t *old)
{
	sigset_t set;

	sigfillset(&set);
	pthread_sigmask(SIG_BLOCK, &set, old);
}

static bool in_foreground(void)
{
	return tcgetpgrp(tty.fd) == getpgrp();
}

/* Both are safe in handlers, and do nothing twice. */
static void mode_restore(void)
{
	sigset_t old;

	if (tty.fd < 0 || tty.owner != getpid() ||
	    !atomic_exchange(&tty.is_raw, false))
		return;
	if (!in_foreground())
		return; /* the terminal is somebody else's now */
	signals_block(&old);
	tcsetattr(tty.fd, TCSANOW, &tty.cooked);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
}

static void mode_raw(void)
{
	sigset_t old;

	if (tty.fd < 0 || !in_foreground())
		return;
	signals_block(&old);
	/* before the change: a handler in another thread undoes it then */
	atomic_store(&tty.is_raw, true);
	if (tcsetattr(tty.fd, TCSANOW, &tty.raw) < 0)
		atomic_store(&tty.is_raw, false);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
}

static void wake_loop(void)
{
	const uint64_t one = 1;
	int saved = errno;

	atomic_store(&tty.changed, true);
	/* a full counter has woken the loop already */
	if (write(tty.wake, &one, sizeof(one)) < 0)
		errno = saved;
	errno = saved;
}

/* Takes the default (or the earlier handler's) course with a sane terminal. */
static void on_fatal(int sig)
{
	mode_restore();
	for (size_t i = 0; i < ARRAY_SIZE(fatal_signals); i++)
		if (fatal_signals[i] == sig)
			sigaction(sig, &tty.old[i], NULL);
	raise(sig); /* delivered when this handler returns */
}

/* Stops as a program without a handler does; runs on after SIGCONT. */
static void on_tstp(int sig)
{
	int saved = errno;

	(void)sig;
	mode_restore();
	raise(SIGSTOP);
	errno = saved;
}

static void on_change(int sig)
{
	(void)sig;
	wake_loop();
}

static void handlers_set(void)
{
	struct sigaction sa = {.sa_handler = on_fatal};

	sigfillset(&sa.sa_mask);
	for (size_t i = 0; i < ARRAY_SIZE(fatal_signals); i++) {
		sigaction(fatal_signals[i], NULL, &tty.old[i]);
		/* nohup and the like stay ignored */
		if (tty.old[i].sa_handler != SIG_IGN)
			sigaction(fatal_signals[i], &sa, NULL);
	}
	sa.sa_flags = SA_RESTART;
	sa.sa_handler = on_tstp;
	sigaction(SIGTSTP, &sa, &tty.old_tstp);
	if (tty.old_tstp.sa_handler == SIG_IGN)
		sigaction(SIGTSTP, &tty.old_tstp, NULL);
	sa.sa_handler = on_change;
	sigaction(SIGCONT, &sa, &tty.old_cont);
	sigaction(SIGWINCH, &sa, &tty.old_winch);
}

static void handlers_reset(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(fatal_signals); i++)
		sigaction(fatal_signals[i], &tty.old[i], NULL);
	sigaction(SIGTSTP, &tty.old_tstp, NULL);
	sigaction(SIGCONT, &tty.old_cont, NULL);
	sigaction(SIGWINCH, &tty.old_winch, NULL);
}

static void buffer_reset(struct terminal_buffer *b)
{
	b->start = b->end = 0;
}

static size_t buffer_space(struct terminal_buffer *b)
{
	if (b->start == b->end)
		buffer_reset(b);
	return sizeof(b->data) - b->end;
}

/* Reads once. Bytes, 0 at the end or on hang-up, -errno (EAGAIN too). */
static ssize_t buffer_fill(struct terminal_buffer *b, int fd)
{
	ssize_t n = read(fd, b->data + b->end, buffer_space(b));

	if (n < 0)
		return errno == EIO ? 0 : -errno;
	b->end += (size_t)n;
	return n;
}

/* Writes once, at most `max`: bytes or -errno. */
static ssize_t buffer_flush(struct terminal_buffer *b, int fd, size_t max)
{
	size_t len = b->end - b->start;
	ssize_t n = write(fd, b->data + b->start, len < max ? len : max);

	if (n < 0)
		return -errno;
	b->start += (size_t)n;
	return n;
}

static bool is_transient(ssize_t err)
{
	return err == -EAGAIN || err == -EINTR;
}

static int first_terminal(void)
{
	for (int fd = 0; fd <= 2; fd++)
		if (isatty(fd))
			return fd;
	return -1;
}

/* Output goes to a terminal on 1 or 2 rather than on 0, which may be
 * read-only. */
static int output_terminal(void)
{
	if (isatty(1))
		return 1;
	return isatty(2) ? 2 : first_terminal();
}

bool terminal_present(void)
{
	return first_terminal() >= 0;
}

/* A description of its own of terminal `fd`, or -errno. This names no host
 * path: it is the descriptor that cloche was given. */
static int reopen(int fd, int flags)
{
	char path[32];
	int own;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	own = open(path, flags | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	return own < 0 ? -errno : own;
}

/* Opens in and out; falls back to copies of the inherited descriptions. */
static int ends_open(struct terminal *t)
{
	int out = output_terminal(), in = isatty(0) ? 0 : -1;

	t->in = in < 0 ? -1 : reopen(in, O_RDONLY);
	t->out = reopen(out, O_WRONLY);
	t->reopened = t->out >= 0 && (in < 0 || t->in >= 0);
	if (t->reopened)
		return 0;
	if (t->in >= 0)
		close(t->in);
	if (t->out >= 0)
		close(t->out);
	t->in = in < 0 ? -1 : fcntl(in, F_DUPFD_CLOEXEC, 3);
	t->out = fcntl(out, F_DUPFD_CLOEXEC, 3);
	return t->out < 0 || (in >= 0 && t->in < 0) ? -errno : 0;
}

static void ends_close(struct terminal *t)
{
	auto_close_fd(&t->in);
	auto_close_fd(&t->out);
	auto_close_fd(&t->wake);
	t->in = t->out = t->wake = -1;
}

static int set_nonblocking(int fd)
{
	int flags = fcntl(fd, F_GETFL);

	if (flags < 0 || fcntl(fd, F_SETFL, flags | O_NONBLOCK) < 0)
		return -errno;
	return 0;
}

void terminal_resize(const struct terminal *t)
{
	struct winsize size;

	if (ioctl(t->out, TIOCGWINSZ, &size) == 0)
		ioctl(t->master, TIOCSWINSZ, &size); /* signals the guests */
}

static bool is_same_terminal(int a, int b)
{
	struct stat x, y;

	return isatty(a) && isatty(b) && !fstat(a, &x) && !fstat(b, &y) &&
	       x.st_rdev == y.st_rdev;
}

/* What stdout feeds (a pager, tee) writes to the terminal as well, and counts
 * on its line ends. LIMIT: of a guest that draws on standard error meanwhile,
 * "\n" goes to the first column too. */
static void raw_init(int in)
{
	tty.raw = tty.cooked;
	cfmakeraw(&tty.raw);
	if (!is_same_terminal(in, STDOUT_FILENO))
		tty.raw.c_oflag = tty.cooked.c_oflag;
}

/* The pty starts with the settings of the user's terminal. */
static int modes_init(const struct terminal *t)
{
	if (t->in < 0)
		return 0;
	if (tcgetattr(t->in, &tty.cooked) < 0)
		return -errno;
	if (tcsetattr(t->master, TCSANOW, &tty.cooked) < 0)
		log_debug("terminal: cannot copy the settings to the pty");
	raw_init(t->in);
	return 0;
}

int terminal_start(struct terminal *t, int master)
{
	int err;

	BUG_ON(tty.fd >= 0);
	memset(t, 0, sizeof(*t));
	t->in = t->out = t->wake = -1;
	t->master = master;
	if (!terminal_present())
		return -ENOTTY;
	err = ends_open(t);
	if (!err)
		err = set_nonblocking(master);
	if (!err)
		err = modes_init(t);
	if (!err) {
		t->wake = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
		err = t->wake < 0 ? -errno : 0;
	}
	if (err) {
		ends_close(t);
		return err;
	}
	tty.wake = t->wake;
	tty.owner = getpid();
	tty.fd = t->in; /* without a terminal to read, no mode is changed */
	handlers_set();
	atexit(mode_restore);
	terminal_resize(t);
	mode_raw();
	return 0;
}

static struct pollfd want(int fd, int events)
{
	return (struct pollfd){.fd = events ? fd : -1, .events = (short)events};
}

/* While in the background the terminal's input is not ours: reading would
 * stop cloche by SIGTTIN, as it would any program that reads. */
static bool may_read_user(struct terminal *t)
{
	return t->in >= 0 && !t->in_eof && buffer_space(&t->to_guest) &&
	       atomic_load(&tty.is_raw);
}

void terminal_pollfds(struct terminal *t, struct pollfd *p)
{
	int master = 0;

	if (!t->master_hup && buffer_space(&t->to_user))
		master |= POLLIN;
	if (!t->master_hup && t->to_guest.start < t->to_guest.end)
		master |= POLLOUT;
	p[0] = want(t->in, may_read_user(t) ? POLLIN : 0);
	p[1] = want(t->out, t->to_user.start < t->to_user.end ? POLLOUT : 0);
	p[2] = want(t->master, master);
	p[3] = want(t->wake, POLLIN);
}

static void read_user(struct terminal *t)
{
	ssize_t n = buffer_fill(&t->to_guest, t->in);

	/* raw, so no bytes means that the terminal has hung up */
	if (n == 0 || (n < 0 && !is_transient(n)))
		t->in_eof = true;
}

static void read_master(struct terminal *t)
{
	ssize_t n = buffer_fill(&t->to_user, t->master);

	if (n == 0 || (n < 0 && !is_transient(n)))
		t->master_hup = true;
}

static void write_user(struct terminal *t)
{
	size_t max = t->reopened ? TERMINAL_BUFFER : WRITE_SAFE;
	ssize_t n;

	if (t->out_broken) {
		buffer_reset(&t->to_user);
		return;
	}
	n = buffer_flush(&t->to_user, t->out, max);
	if (n < 0 && !is_transient(n))
		t->out_broken = true;
}

static void write_master(struct terminal *t)
{
	ssize_t n = buffer_flush(&t->to_guest, t->master, TERMINAL_BUFFER);

	if (n < 0 && !is_transient(n))
		t->master_hup = true;
}

/* After SIGWINCH or SIGCONT. */
static void take_changes(struct terminal *t)
{
	uint64_t count;

	if (read(t->wake, &count, sizeof(count)) < 0 && errno != EAGAIN)
		log_host(errno, "read(eventfd)");
	if (!atomic_exchange(&tty.changed, false))
		return;
	terminal_resize(t);
	/* another program may have had the terminal: set it in any case */
	mode_raw();
}

void terminal_handle(struct terminal *t, const struct pollfd *p)
{
	if (p[3].revents)
		take_changes(t);
	if (p[0].fd >= 0 && p[0].revents)
		read_user(t);
	if (p[2].fd >= 0 && p[2].revents & (POLLIN | POLLHUP | POLLERR))
		read_master(t);
	if (p[2].fd >= 0 && p[2].revents & POLLOUT)
		write_master(t);
	if (p[1].fd >= 0 && p[1].revents)
		write_user(t);
}

static int64_t now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

/* The guests have gone: what the pty holds is all that there will be. */
static void drain(struct terminal *t)
{
	int64_t last = now_ms();

	while (now_ms() - last < DRAIN_MS && !t->out_broken) {
		struct pollfd p = {.fd = t->out, .events = POLLOUT};

		if (t->to_user.start == t->to_user.end) {
			buffer_reset(&t->to_user);
			if (t->master_hup ||
			    buffer_fill(&t->to_user, t->master) <= 0)
				return;
		}
		if (poll(&p, 1, 100) <= 0)
			continue;
		write_user(t);
		last = now_ms();
	}
}

void terminal_stop(struct terminal *t)
{
	drain(t);
	mode_restore();
	handlers_reset();
	tty.fd = tty.wake = -1;
	ends_close(t);
}
