/*
 * stdio.h - what cloche's own descriptors 0-2 are, and what a guest gets.
 *
 * A terminal becomes the sandbox's pty; pipes, /dev/null and its like and
 * regular files pass as they are (a regular file as a stdio inode, whose
 * reopen never gives more access than the original and keeps O_APPEND); a
 * socket is relayed through a socketpair of ours, since a guest could ask a
 * real one who its peer is or connect it elsewhere; a directory, another
 * device or an O_PATH descriptor ends the run: nobody means to pass those.
 * With --max-output, stdout and stderr go through pipes of ours; what is over
 * is read and dropped, so that the program is not blocked. LIMIT: output to a
 * terminal is not counted.
 */
#ifndef CLOCHE_STDIO_H
#define CLOCHE_STDIO_H

#include "sentry.h"

struct stdio {
	int fds[3]; /* to pass; -1: closed. The terminal's: -1 until it is
		     * known */
	bool tty[3];
	bool want_tty;
	int relay_local[3], relay_remote[3]; /* -1: not relayed */
	bool counted[3]; /* relayed by a pipe, for --max-output */
	pthread_t relay_thread[6];
	unsigned nrelays;
	pthread_mutex_t lock;
	uint64_t output_left, output_cut; /* bytes; under lock */
};

/* Dies with a message on what cannot be passed. */
void stdio_classify(struct stdio *io, uint64_t max_output);
/* No descriptors at all. */
void stdio_none(struct stdio *io);
/* What a descriptor is that may not be passed to a guest ("a directory"), NULL
 * if it may: files, pipes, harmless devices and Unix sockets. */
const char *stdio_refused(int fd);
/* Registers regular files with the VFS. 0 or -errno. */
int MUST_CHECK stdio_register(struct stdio *io, struct sentry *s);
/* Starts the relays; after init was started. */
int MUST_CHECK stdio_relay_start(struct stdio *io);
/* Waits until what the guests wrote has been passed on, and says on stderr
 * what --max-output cut. */
void stdio_relay_finish(struct stdio *io);

#endif
