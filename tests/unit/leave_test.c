/*
 * leave_test.c - descriptors that are left to the kernel are closed all the
 * same.
 */
#include <criterion/criterion.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/inotify.h>

#include "../../sentry/base/base.h"
#include "../../sentry/base/leave.h"

Test(leave, the_number_is_free_at_once)
{
	int fd = inotify_init1(IN_CLOEXEC), was = fd;

	cr_assert_geq(fd, 0);
	leave_fd(&fd);
	cr_assert_eq(fd, -1);
	cr_assert_lt(fcntl(was, F_GETFD), 0);
	leave_fd(&fd); /* nothing to do */
}

Test(leave, the_last_descriptor_is_really_closed)
{
	int p[2];
	struct pollfd poll_end;

	cr_assert_eq(pipe2(p, O_CLOEXEC), 0);
	leave_fd(&p[1]);
	poll_end = (struct pollfd){.fd = p[0], .events = POLLIN};
	cr_assert_eq(poll(&poll_end, 1, 60000), 1);
	cr_assert(poll_end.revents & POLLHUP);
	close(p[0]);
}

/* A user has 128 of them, where nobody said otherwise. */
Test(leave, instances_with_watches_are_given_back)
{
	for (int i = 0; i < 1000; i++) {
		int fd = inotify_init1(IN_CLOEXEC);

		for (int tries = 0; fd < 0 && tries < 600; tries++) {
			poll(NULL, 0, 100); /* others may have them */
			fd = inotify_init1(IN_CLOEXEC);
		}
		cr_assert_geq(fd, 0, "%d: %s", i, strerror(errno));
		cr_assert_geq(inotify_add_watch(fd, "/tmp", IN_CREATE), 0);
		leave_fd(&fd);
	}
}
