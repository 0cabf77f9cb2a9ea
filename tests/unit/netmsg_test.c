/*
 * netmsg_test.c - messages between sentry and gateway.
 */
#include <criterion/criterion.h>
#include <fcntl.h>
#include <sys/socket.h>

#include "../../net/netmsg.h"

static int sv[2];
static struct netmsg m, got;

static void init(void)
{
	cr_assert_eq(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, sv), 0);
	netmsg_init(&m, NETMSG_ASK, 7);
}

static void fini(void)
{
	close(sv[0]);
	close(sv[1]);
}

TestSuite(netmsg, .init = init, .fini = fini);

Test(netmsg, goes_through_with_a_descriptor)
{
	int fd;

	strcpy(m.name, "example.org");
	cr_assert_eq(netmsg_send(sv[0], &m, sv[0], 0), 0);
	cr_assert_eq(netmsg_recv(sv[1], &got, &fd, 0), 0);
	cr_assert_eq(memcmp(&m, &got, sizeof(m)), 0);
	cr_assert_geq(fd, 0);
	cr_assert(fcntl(fd, F_GETFD) & FD_CLOEXEC);
	close(fd);
	cr_assert_eq(netmsg_recv(sv[1], &got, &fd, MSG_DONTWAIT), -EAGAIN);
}

Test(netmsg, a_descriptor_that_nobody_wants_is_an_error)
{
	cr_assert_eq(netmsg_send(sv[0], &m, sv[0], 0), 0);
	cr_assert_eq(netmsg_recv(sv[1], &got, NULL, 0), -EPROTO);
}

/* Room for one is room for two, by the padding. */
Test(netmsg, a_second_descriptor_does_not_stay)
{
	union {
		struct cmsghdr h;
		char space[CMSG_SPACE(2 * sizeof(int))];
	} ctl = {0};
	struct iovec iov = {&m, sizeof(m)};
	struct msghdr mh = {.msg_iov = &iov,
			    .msg_iovlen = 1,
			    .msg_control = ctl.space,
			    .msg_controllen = CMSG_LEN(2 * sizeof(int))};
	int before = dup(0), fd, two[2] = {0, 0};

	close(before);
	ctl.h.cmsg_level = SOL_SOCKET;
	ctl.h.cmsg_type = SCM_RIGHTS;
	ctl.h.cmsg_len = CMSG_LEN(sizeof(two));
	memcpy(CMSG_DATA(&ctl.h), two, sizeof(two));
	cr_assert_eq(sendmsg(sv[0], &mh, 0), (ssize_t)sizeof(m));
	cr_assert_eq(netmsg_recv(sv[1], &got, &fd, 0), -EPROTO);
	fd = dup(0);
	cr_assert_eq(fd, before);
	close(fd);
}

Test(netmsg, the_end)
{
	shutdown(sv[0], SHUT_WR);
	cr_assert_eq(netmsg_recv(sv[1], &got, NULL, 0), -EPIPE);
}

static void refused(void)
{
	cr_assert_eq(send(sv[0], &m, sizeof(m), 0), (ssize_t)sizeof(m));
	cr_assert_eq(netmsg_recv(sv[1], &got, NULL, 0), -EPROTO);
	netmsg_init(&m, NETMSG_ASK, 7);
}

Test(netmsg, what_is_not_valid_is_refused)
{
	m.version++;
	refused();
	m.kind = 0;
	refused();
	m.kind = NETMSG_KINDS;
	refused();
	memset(m.name, 'a', sizeof(m.name));
	refused();
	memset(m.rule, 'a', sizeof(m.rule));
	refused();
	strcpy(m.name, "Upper.case");
	refused();
	strcpy(m.name, "a b");
	refused();
	m.addr.family = AF_UNIX;
	refused();
	cr_assert_eq(send(sv[0], &m, sizeof(m) - 1, 0), (ssize_t)sizeof(m) - 1);
	cr_assert_eq(netmsg_recv(sv[1], &got, NULL, 0), -EPROTO);
}
