/* Law 8: no memory of the sentry reaches a guest. A send with MSG_ZEROCOPY and
 * an address is made by the sentry, whose buffer is free long before the
 * kernel reads it: what arrives must be what the guest sent. */
#include "escape.h"
#include <arpa/inet.h>
#include <netinet/in.h>

enum { FILL = 64 << 10, PIECE = 40000, PIECES = 8 };

static void tcp_pair(int fds[2], struct sockaddr_in *a)
{
	socklen_t n = sizeof(*a);
	int l = OK(socket(AF_INET, SOCK_STREAM, 0)), small = 4096;
	int big = 4 << 20;

	*a = (struct sockaddr_in){.sin_family = AF_INET,
				  .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	OK(setsockopt(l, SOL_SOCKET, SO_RCVBUF, &small, sizeof(small)));
	OK(bind(l, (void *)a, n));
	OK(listen(l, 1));
	OK(getsockname(l, (void *)a, &n));
	fds[0] = OK(socket(AF_INET, SOCK_STREAM, 0));
	OK(setsockopt(fds[0], SOL_SOCKET, SO_SNDBUF, &big, sizeof(big)));
	OK(connect(fds[0], (void *)a, n));
	fds[1] = OK(accept(l, NULL, NULL));
	OK(fcntl(fds[0], F_SETFL, O_NONBLOCK));
}

TEST(zerocopy_by_the_sentry_shows_nothing_of_it)
{
	static char buf[FILL];
	struct sockaddr_in a;
	int fds[2], on = 1;
	long foreign = 0;
	ssize_t n;

	tcp_pair(fds, &a);
	setsockopt(fds[0], SOL_SOCKET, SO_ZEROCOPY, &on, sizeof(on));
	memset(buf, 'A', sizeof(buf));
	for (int i = 0; i < 5; i++)
		if (write(fds[0], buf, sizeof(buf)) < 0)
			break;
	for (int i = 0; i < PIECES; i++) {
		memset(buf, 'B' + i, PIECE);
		sendto(fds[0], buf, PIECE, MSG_ZEROCOPY | MSG_DONTWAIT,
		       (void *)&a, sizeof(a));
	}
	/* the sentry uses its memory for something else */
	for (int i = 0; i < 500; i++) {
		snprintf(buf, sizeof(buf), "/none/%d", i);
		access(buf, F_OK);
		close(open("/proc/self/maps", O_RDONLY));
	}
	OK(shutdown(fds[0], SHUT_WR));
	while ((n = read(fds[1], buf, sizeof(buf))) > 0)
		for (ssize_t i = 0; i < n; i++)
			foreign += buf[i] < 'A' || buf[i] >= 'B' + PIECES;
	EQ(foreign, 0);
}
