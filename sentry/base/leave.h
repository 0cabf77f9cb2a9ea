/*
 * leave.h - closing what takes its time, without waiting for it.
 *
 * The last close of an inotify instance that has watches waits in the kernel
 * until nobody can still look at them (a grace period of SRCU): 13 to 150 ms
 * for one watch as for a hundred, which each run that had a look at its work
 * directory would end with.
 */
#ifndef CLOCHE_LEAVE_H
#define CLOCHE_LEAVE_H

/* Closes *fd, or nothing if it is negative, and sets it to -1. */
void leave_fd(int *fd);

#endif
