/*
 * ctty.h - controlling terminals.
 *
 * The kernel gives a session leader its controlling terminal when it opens
 * one (drivers/tty/tty_jobctrl.c, tty_open_proc_set_tty); a descriptor that we
 * inject was opened by us, so the tracer has the thread itself run
 * ioctl(fd, TIOCSCTTY, 0) just after the open returns.
 */
#ifndef CLOCHE_CTTY_H
#define CLOCHE_CTTY_H

#include "call.h"

/* Answers an open of a terminal (VFS_OPEN_TTY): injects o->fd and, unless
 * O_NOCTTY, makes it the controlling terminal of a leader without one. */
int64_t terminal_open(struct call *c, struct vfs_opened *o, int flags);

/* Tracer only: begins the ioctl at this stop; false: not possible. */
bool ctty_inject(struct sentry *s, pid_t tid);
/* Tracer only: true if the syscall stop belonged to the ioctl. */
bool ctty_syscall_stop(struct sentry *s, pid_t tid);

#endif
