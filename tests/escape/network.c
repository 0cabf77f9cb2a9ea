// expect-audit: connect deny
// expect-audit: sendto deny
// timeout: 120
/* Law 3, 4, 11: with an empty allowlist nothing leaves, whatever the call. */
#include "escape.h"
#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>

static struct sockaddr_in to(const char *ip, int port)
{
	struct sockaddr_in a = {.sin_family = AF_INET,
				.sin_port = htons((uint16_t)port)};

	inet_pton(AF_INET, ip, &a.sin_addr);
	return a;
}

TEST(connect_to_an_address_outside)
{
	const char *ip[] = {"1.1.1.1",	  "192.0.2.1",	     "10.0.0.1",
			    "172.17.0.1", "169.254.169.254", "10.0.2.2"};
	for (int i = 0; i < 6; i++) {
		struct sockaddr_in a = to(ip[i], 443);
		int s = OK(socket(AF_INET, SOCK_STREAM, 0));
		REFUSED(connect(s, (void *)&a, sizeof(a)));
		int d = OK(dup(s));
		REFUSED(connect(d, (void *)&a, sizeof(a)));
		OK(close(s));
		OK(close(d));
	}
}

TEST(datagrams_by_every_call)
{
	struct sockaddr_in a = to("192.0.2.1", 53);
	struct iovec v = {"x", 1};
	struct msghdr m = {.msg_name = &a,
			   .msg_namelen = sizeof(a),
			   .msg_iov = &v,
			   .msg_iovlen = 1};
	struct mmsghdr mm = {.msg_hdr = m};
	int s = OK(socket(AF_INET, SOCK_DGRAM, 0));

	REFUSED(sendto(s, "x", 1, 0, (void *)&a, sizeof(a)));
	REFUSED(sendmsg(s, &m, 0));
	CHECK(sendmmsg(s, &mm, 1, 0) <= 0);
	REFUSED(connect(s, (void *)&a, sizeof(a)));
	REFUSED(sendto(s, "x", 1, 0x80000000, (void *)&a, sizeof(a)));
}

TEST(fast_open)
{
	struct sockaddr_in a = to("192.0.2.1", 80);
	int s = OK(socket(AF_INET, SOCK_STREAM, 0)), one = 1;

	REFUSED(sendto(s, "x", 1, MSG_FASTOPEN | MSG_NOSIGNAL, (void *)&a,
		       sizeof(a)));
	s = OK(socket(AF_INET, SOCK_STREAM, 0));
	setsockopt(s, IPPROTO_TCP, TCP_FASTOPEN_CONNECT, &one, sizeof(one));
	REFUSED(connect(s, (void *)&a, sizeof(a)));
}

TEST(mapped_and_version_6_addresses)
{
	struct sockaddr_in6 a = {.sin6_family = AF_INET6,
				 .sin6_port = htons(80)};
	const char *ip[] = {"::ffff:1.2.3.4", "2001:db8::1", "fe80::1",
			    "64:ff9b::1.2.3.4", "::1.2.3.4"};

	for (int i = 0; i < 5; i++) {
		inet_pton(AF_INET6, ip[i], &a.sin6_addr);
		int s = socket(AF_INET6, SOCK_STREAM, 0);
		if (s < 0)
			continue;
		REFUSED(connect(s, (void *)&a, sizeof(a)));
		OK(close(s));
		s = OK(socket(AF_INET6, SOCK_DGRAM, 0));
		REFUSED(sendto(s, "x", 1, 0, (void *)&a, sizeof(a)));
		OK(close(s));
	}
}

static struct sockaddr_in racing;
static volatile int stop;

static void *flip(void *arg)
{
	struct sockaddr_in a = to("127.0.0.1", 9), b = to("192.0.2.1", 9);

	(void)arg;
	while (!stop) {
		memcpy(&racing, &a, sizeof(a));
		memcpy(&racing, &b, sizeof(b));
	}
	return NULL;
}

TEST(an_address_that_changes_while_it_is_read)
{
	pthread_t t;
	int s = OK(socket(AF_INET, SOCK_DGRAM, 0)), got = 0;

	racing = to("127.0.0.1", 9);
	EQ(pthread_create(&t, NULL, flip, NULL), 0);
	for (int i = 0; i < 20000; i++) {
		struct sockaddr_in p;
		socklen_t len = sizeof(p);
		if (connect(s, (void *)&racing, sizeof(racing)))
			continue;
		OK(getpeername(s, (void *)&p, &len));
		if (p.sin_addr.s_addr != htonl(INADDR_LOOPBACK))
			guest_fail(__FILE__, __LINE__, "connected outside");
		got++;
	}
	stop = 1;
	pthread_join(t, NULL);
	CHECK(got >= 0);
}

TEST(only_loopback_has_an_address)
{
	struct sockaddr_in a = to("10.0.0.5", 0);
	int s = OK(socket(AF_INET, SOCK_STREAM, 0));

	REFUSED(bind(s, (void *)&a, sizeof(a)));
	a = to("127.0.0.1", 0);
	OK(bind(s, (void *)&a, sizeof(a)));
}

TEST(abstract_sockets_of_the_host)
{
	/* names that a desktop or the test's listener would have */
	const char *n[] = {"/tmp/.X11-unix/X0", "cloche-escape-abstract",
			   "/tmp/dbus-x"};
	for (int i = 0; i < 3; i++) {
		struct sockaddr_un u = {.sun_family = AF_UNIX};
		strcpy(u.sun_path + 1, n[i]);
		int s = OK(socket(AF_UNIX, SOCK_STREAM, 0));
		REFUSED(connect(s, (void *)&u, (socklen_t)(3 + strlen(n[i]))));
	}
}
