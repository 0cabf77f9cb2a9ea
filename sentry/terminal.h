/*
 * terminal.h - the relay between the user's terminal and the sandbox's pty.
 *
 * The user's terminal (whichever of descriptors 0-2 is one) goes into raw
 * mode, so that ^C, ^Z and job control happen on the pty inside; with stdout
 * elsewhere its output stays processed, for whom stdout feeds. Its mode
 * comes back at terminal_stop, at exit(3), on fatal signals, and while cloche
 * is stopped by the user's shell; after SIGCONT it is raw again if cloche is
 * in the foreground. Window sizes are passed on. Bytes are never lost: a full
 * side stops the reading of the other.
 *
 * Used by one thread, the one that polls; only the signal handlers run in
 * others. One relay at a time per process.
 */
#ifndef CLOCHE_TERMINAL_H
#define CLOCHE_TERMINAL_H

#include <poll.h>
#include <signal.h>
#include <termios.h>

#include "base/base.h"

#define TERMINAL_POLLFDS 4
#define TERMINAL_BUFFER	 (16u << 10)

/* Bytes on their way; [start, end) of data. */
struct terminal_buffer {
	size_t start, end;
	char data[TERMINAL_BUFFER];
};

struct terminal {
	int master;	 /* borrowed; made non-blocking */
	int in, out;	 /* own descriptions of the user's terminal, or -1 */
	int wake;	 /* eventfd, written by the signal handlers */
	bool reopened;	 /* in and out are ours and non-blocking */
	bool in_eof;	 /* the user's terminal hung up */
	bool master_hup; /* nobody has the slave open any more */
	bool out_broken; /* output goes nowhere and is dropped */
	struct terminal_buffer to_guest, to_user;
};

/* Is any of descriptors 0-2 a terminal? Then a pty is wanted. */
bool terminal_present(void);

/*
 * Starts relaying. Keep one descriptor of the slave open until the last guest
 * has gone, else `master_hup` ends the relay early. 0, -ENOTTY, or -errno;
 * call terminal_stop only after success.
 */
int MUST_CHECK terminal_start(struct terminal *t, int master);

/* Fills p[0..TERMINAL_POLLFDS) for poll(2); unused ones have fd -1. */
void terminal_pollfds(struct terminal *t, struct pollfd *p);

/* Does what poll reported; never blocks. */
void terminal_handle(struct terminal *t, const struct pollfd *p);

/* Copies the user's window size to the pty. */
void terminal_resize(const struct terminal *t);

/* Passes on what the pty still holds (for two seconds at most when the user's
 * terminal takes nothing), gives the terminal its mode back. */
void terminal_stop(struct terminal *t);

#endif
