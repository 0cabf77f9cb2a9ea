/* Internet sockets on the loopback, poll, epoll, select. */
#include "guest.h"
#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/select.h>
#include <sys/signalfd.h>
#include <sys/timerfd.h>

static struct sockaddr_in lo(int port)
{
	return (struct sockaddr_in){.sin_family = AF_INET,
				    .sin_port = htons((uint16_t)port),
				    .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
}

static int server(struct sockaddr_in *a, int type)
{
	socklen_t len = sizeof(*a);
	int s = OK(socket(AF_INET, type, 0));

	*a = lo(0);
	OK(bind(s, (void *)a, sizeof(*a)));
	OK(getsockname(s, (void *)a, &len));
	CHECK(a->sin_port);
	if (type == SOCK_STREAM)
		OK(listen(s, 16));
	return s;
}

TEST(tcp_echo_over_loopback)
{
	struct sockaddr_in a, b;
	socklen_t len = sizeof(b);
	char buf[8] = "";
	int s = server(&a, SOCK_STREAM);
	pid_t k = CHILD({
		int c = OK(socket(AF_INET, SOCK_STREAM, 0));
		OK(connect(c, (void *)&a, sizeof(a)));
		OK(getpeername(c, (void *)&b, &len));
		EQ(b.sin_port, a.sin_port);
		EQ(b.sin_addr.s_addr, htonl(INADDR_LOOPBACK));
		EQ(write(c, "ping", 4), 4);
		EQ(read(c, buf, 8), 4);
		STREQ(buf, "pong");
		EQ(read(c, buf, 8), 0);
	});
	int c = OK(accept(s, (void *)&b, &len));
	EQ(b.sin_addr.s_addr, htonl(INADDR_LOOPBACK));
	EQ(read(c, buf, 8), 4);
	EQ(write(c, "pong", 4), 4);
	OK(shutdown(c, SHUT_WR));
	EQ(wait_for(k), 0);
}

TEST(nothing_listening_is_ECONNREFUSED)
{
	struct sockaddr_in a;
	int s = server(&a, SOCK_STREAM);

	OK(close(s));
	int c = OK(socket(AF_INET, SOCK_STREAM, 0));
	ERR(connect(c, (void *)&a, sizeof(a)), ECONNREFUSED);
}

TEST(nonblocking_connect_and_SO_ERROR)
{
	struct sockaddr_in a;
	int s = server(&a, SOCK_STREAM), e = -1;
	socklen_t len = sizeof(e);
	int c = OK(socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0));
	int r = connect(c, (void *)&a, sizeof(a));

	CHECK(r == 0 || errno == EINPROGRESS);
	struct pollfd p = {c, POLLOUT, 0};
	EQ(poll(&p, 1, 5000), 1);
	EQ(p.revents, POLLOUT);
	OK(getsockopt(c, SOL_SOCKET, SO_ERROR, &e, &len));
	EQ(e, 0);
	OK(accept(s, NULL, NULL));
	/* the first after EINPROGRESS is a success, the next is not */
	connect(c, (void *)&a, sizeof(a));
	ERR(connect(c, (void *)&a, sizeof(a)), EISCONN);
}

TEST(udp_both_ways)
{
	struct sockaddr_in a, b, from;
	socklen_t len = sizeof(from);
	char buf[8] = "";
	int s = server(&a, SOCK_DGRAM), c = server(&b, SOCK_DGRAM);

	EQ(sendto(c, "one", 3, 0, (void *)&a, sizeof(a)), 3);
	EQ(recvfrom(s, buf, 8, 0, (void *)&from, &len), 3);
	EQ(from.sin_port, b.sin_port);
	EQ(sendto(s, "two", 3, 0, (void *)&from, len), 3);
	EQ(recv(c, buf, 8, 0), 3);
	OK(connect(c, (void *)&a, sizeof(a)));
	EQ(send(c, "x", 1, 0), 1);
	EQ(recv(s, buf, 8, 0), 1);
}

TEST(ipv6_loopback)
{
	struct sockaddr_in6 a = {.sin6_family = AF_INET6,
				 .sin6_addr = IN6ADDR_LOOPBACK_INIT};
	socklen_t len = sizeof(a);
	int s = socket(AF_INET6, SOCK_STREAM, 0);

	if (s < 0 || bind(s, (void *)&a, sizeof(a)))
		SKIP("no IPv6 here");
	OK(listen(s, 1));
	OK(getsockname(s, (void *)&a, &len));
	int c = OK(socket(AF_INET6, SOCK_STREAM, 0));
	OK(connect(c, (void *)&a, sizeof(a)));
	OK(accept(s, NULL, NULL));
}

TEST(options_read_back)
{
	int s = OK(socket(AF_INET, SOCK_STREAM, 0)), v = 1;
	socklen_t len = sizeof(v);

	OK(setsockopt(s, SOL_SOCKET, SO_REUSEADDR, &v, sizeof(v)));
	OK(setsockopt(s, IPPROTO_TCP, TCP_NODELAY, &v, sizeof(v)));
	OK(setsockopt(s, SOL_SOCKET, SO_KEEPALIVE, &v, sizeof(v)));
	v = 0;
	OK(getsockopt(s, IPPROTO_TCP, TCP_NODELAY, &v, &len));
	EQ(v, 1);
	OK(getsockopt(s, SOL_SOCKET, SO_TYPE, &v, &len));
	EQ(v, SOCK_STREAM);
	ERR(setsockopt(99, SOL_SOCKET, SO_REUSEADDR, &v, sizeof(v)), EBADF);
}

TEST(bad_socket_calls)
{
	struct sockaddr_in a = lo(0);
	int s = OK(socket(AF_INET, SOCK_STREAM, 0)), p[2];

	OK(pipe(p));
	ERR(connect(p[0], (void *)&a, sizeof(a)), ENOTSOCK);
	ERR(bind(99, (void *)&a, sizeof(a)), EBADF);
	ERR(bind(s, (void *)&a, 2), EINVAL);
	ERR(connect(s, (void *)&a, 2), EINVAL);
	ERR(connect(s, NULL, 16), EFAULT);
	ERR(accept(s, NULL, NULL), EINVAL);
	ERR(socket(AF_INET, 99, 0), EINVAL);
	ERR(getpeername(s, (void *)&a, &(socklen_t){sizeof(a)}), ENOTCONN);
}

TEST(wildcard_bind_and_port_in_use)
{
	struct sockaddr_in a = {.sin_family = AF_INET}, b;
	socklen_t len = sizeof(a);
	int s = OK(socket(AF_INET, SOCK_STREAM, 0));

	OK(bind(s, (void *)&a, sizeof(a)));
	OK(listen(s, 1));
	OK(getsockname(s, (void *)&a, &len));
	b = lo(ntohs(a.sin_port));
	int c = OK(socket(AF_INET, SOCK_STREAM, 0));
	OK(connect(c, (void *)&b, sizeof(b)));
	OK(accept(s, NULL, NULL));
	int d = OK(socket(AF_INET, SOCK_STREAM, 0));
	ERR(bind(d, (void *)&a, sizeof(a)), EADDRINUSE);
	if (geteuid()) {
		b = lo(80);
		ERR(bind(d, (void *)&b, sizeof(b)), EACCES);
	}
}

TEST(many_clients_by_threads)
{
	struct sockaddr_in a;
	int s = server(&a, SOCK_STREAM);
	pid_t k[8];

	for (int i = 0; i < 8; i++)
		k[i] = CHILD(for (int j = 0; j < 25; j++) {
			int c = OK(socket(AF_INET, SOCK_STREAM, 0));
			OK(connect(c, (void *)&a, sizeof(a)));
			char ch;
			EQ(read(c, &ch, 1), 1);
			OK(close(c));
		});
	for (int j = 0; j < 200; j++) {
		int c = OK(accept(s, NULL, NULL));
		EQ(write(c, "x", 1), 1);
		OK(close(c));
	}
	for (int i = 0; i < 8; i++)
		EQ(wait_for(k[i]), 0);
}

TEST(poll_and_select_on_pipes)
{
	int p[2];
	fd_set r;

	OK(pipe(p));
	struct pollfd f = {p[0], POLLIN, 0};
	EQ(poll(&f, 1, 0), 0);
	EQ(write(p[1], "x", 1), 1);
	EQ(poll(&f, 1, 0), 1);
	FD_ZERO(&r);
	FD_SET(p[0], &r);
	struct timeval tv = {0, 0};
	EQ(select(p[0] + 1, &r, NULL, NULL, &tv), 1);
	OK(close(p[1]));
	EQ(poll(&f, 1, 0), 1);
	CHECK(f.revents & POLLHUP);
	f.fd = 99;
	EQ(poll(&f, 1, 0), 1);
	EQ(f.revents, POLLNVAL);
}

TEST(epoll_edges_and_files)
{
	int p[2], e = OK(epoll_create1(EPOLL_CLOEXEC));
	struct epoll_event v = {.events = EPOLLIN | EPOLLET, .data.u32 = 7};
	struct epoll_event got[4];

	OK(pipe(p));
	OK(epoll_ctl(e, EPOLL_CTL_ADD, p[0], &v));
	ERR(epoll_ctl(e, EPOLL_CTL_ADD, p[0], &v), EEXIST);
	EQ(write(p[1], "x", 1), 1);
	EQ(epoll_wait(e, got, 4, 1000), 1);
	EQ(got[0].data.u32, 7);
	EQ(epoll_wait(e, got, 4, 0), 0);
	put("f", "x");
	int fd = OK(open("f", O_RDONLY));
	ERR(epoll_ctl(e, EPOLL_CTL_ADD, fd, &v), EPERM);
	int d = OK(open(".", O_RDONLY | O_DIRECTORY));
	ERR(epoll_ctl(e, EPOLL_CTL_ADD, d, &v), EPERM);
}

TEST(eventfd_timerfd_signalfd)
{
	uint64_t n = 3;
	int e = OK(eventfd(0, 0)), t = OK(timerfd_create(CLOCK_MONOTONIC, 0));
	struct itimerspec it = {.it_value.tv_nsec = 1000000};
	sigset_t set;

	EQ(write(e, &n, 8), 8);
	EQ(read(e, &n, 8), 8);
	EQ(n, 3);
	OK(timerfd_settime(t, 0, &it, NULL));
	EQ(read(t, &n, 8), 8);
	CHECK(n >= 1);
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	OK(sigprocmask(SIG_BLOCK, &set, NULL));
	int s = OK(signalfd(-1, &set, 0));
	OK(raise(SIGUSR1));
	struct signalfd_siginfo si;
	EQ(read(s, &si, sizeof(si)), sizeof(si));
	EQ(si.ssi_signo, SIGUSR1);
	EQ(si.ssi_pid, getpid());
}

TEST(udplite_on_the_loopback)
{
	int a = socket(AF_INET, SOCK_DGRAM, 136), b, v = 8;
	struct sockaddr_in in = {.sin_family = AF_INET};
	socklen_t n = sizeof(in);
	char c;

	if (a < 0 && errno == EPROTONOSUPPORT)
		SKIP("no UDP-Lite");
	CHECK(a >= 0);
	in.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	OK(bind(a, (void *)&in, sizeof(in)));
	OK(getsockname(a, (void *)&in, &n));
	OK(setsockopt(a, 136, 10, &v, sizeof(v)));
	b = OK(socket(AF_INET, SOCK_DGRAM, 136));
	EQ(sendto(b, "l", 1, 0, (void *)&in, n), 1);
	EQ(read(a, &c, 1), 1);
	EQ(c, 'l');
}
