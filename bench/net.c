/*
 * net.c - the client and the server of bench/net.py.
 *
 *   net serve HOST            echoes; prints its port; "B" in front: 1 GiB back
 *   net connect HOST PORT N   ns of each connect: minimum and median
 *   net request HOST PORT N   ns of one byte there and back
 *   net bulk HOST PORT MIB    bytes a second of one stream
 *   net hold HOST PORT N      N connections, a byte each, "held", until EOF
 */
#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { BUF = 1 << 18 };

static char zeros[BUF];

static long now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000 + ts.tv_nsec;
}

static void must(int ok, const char *what)
{
	if (ok)
		return;
	perror(what);
	exit(1);
}

static struct sockaddr_in address(const char *host, int port)
{
	struct sockaddr_in a = {.sin_family = AF_INET,
				.sin_port = htons((uint16_t)port)};

	must(inet_pton(AF_INET, host, &a.sin_addr) == 1, "an address");
	return a;
}

static int dial(const struct sockaddr_in *a)
{
	int s = socket(AF_INET, SOCK_STREAM, 0), one = 1;

	must(connect(s, (const void *)a, sizeof(*a)) == 0, "connect");
	setsockopt(s, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	return s;
}

static void *serve_one(void *arg)
{
	int c = (int)(long)arg, one = 1;
	char buf[4096];
	ssize_t n;

	setsockopt(c, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	while ((n = read(c, buf, sizeof(buf))) > 0) {
		for (long left = 1L << 30; buf[0] == 'B' && left > 0;) {
			ssize_t w = write(c, zeros, BUF);

			if (w <= 0)
				break;
			left -= w;
		}
		if (buf[0] == 'B' || write(c, buf, (size_t)n) < 0)
			break;
	}
	close(c);
	return NULL;
}

static void serve(const char *host)
{
	struct sockaddr_in a = address(host, 0);
	socklen_t len = sizeof(a);
	int s = socket(AF_INET, SOCK_STREAM, 0);
	pthread_attr_t attr;

	must(bind(s, (void *)&a, len) == 0 && listen(s, 4096) == 0, "listen");
	getsockname(s, (void *)&a, &len);
	printf("%d\n", ntohs(a.sin_port));
	fflush(stdout);
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, 64 << 10);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	for (;;) {
		int c = accept(s, NULL, NULL);
		pthread_t t;

		if (c >= 0 &&
		    pthread_create(&t, &attr, serve_one, (void *)(long)c))
			close(c);
	}
}

static int by_size(const void *a, const void *b)
{
	long x = *(const long *)a, y = *(const long *)b;

	return (x > y) - (x < y);
}

static void report(long *t, int n)
{
	qsort(t, (size_t)n, sizeof(*t), by_size);
	printf("%ld %ld\n", t[0], t[n / 2]);
}

static void connects(const struct sockaddr_in *a, int n)
{
	long *t = calloc((size_t)n, sizeof(*t));

	close(dial(a));
	for (int i = 0; i < n; i++) {
		long begin = now();
		int s = dial(a);

		t[i] = now() - begin;
		close(s);
	}
	report(t, n);
}

static void requests(const struct sockaddr_in *a, int n)
{
	long *t = calloc((size_t)n, sizeof(*t));
	int s = dial(a);
	char c = 'x';

	for (int i = 0; i < n; i++) {
		long begin = now();

		must(write(s, &c, 1) == 1 && read(s, &c, 1) == 1, "request");
		t[i] = now() - begin;
	}
	report(t, n);
}

static void bulk(const struct sockaddr_in *a, long want)
{
	static char buf[1 << 20];
	int s = dial(a);
	long got = 0, begin = now();
	ssize_t n;

	must(write(s, "B", 1) == 1, "write");
	while (got < want && (n = read(s, buf, sizeof(buf))) > 0)
		got += n;
	must(got >= want, "read");
	printf("%.0f\n", (double)got * 1e9 / (double)(now() - begin));
}

static void hold(const struct sockaddr_in *a, int n)
{
	struct rlimit rl = {8192, 8192};
	char c = 'x';

	setrlimit(RLIMIT_NOFILE, &rl);
	for (int i = 0; i < n; i++) {
		int s = dial(a);

		must(write(s, &c, 1) == 1 && read(s, &c, 1) == 1, "request");
	}
	printf("held\n");
	fflush(stdout);
	while (read(0, &c, 1) > 0)
		;
}

int main(int argc, char **argv)
{
	struct sockaddr_in a;

	signal(SIGPIPE, SIG_IGN);
	if (argc == 3 && !strcmp(argv[1], "serve"))
		serve(argv[2]);
	if (argc != 5)
		return 2;
	a = address(argv[2], atoi(argv[3]));
	if (!strcmp(argv[1], "connect"))
		connects(&a, atoi(argv[4]));
	else if (!strcmp(argv[1], "request"))
		requests(&a, atoi(argv[4]));
	else if (!strcmp(argv[1], "bulk"))
		bulk(&a, atol(argv[4]) << 20);
	else if (!strcmp(argv[1], "hold"))
		hold(&a, atoi(argv[4]));
	else
		return 2;
	return 0;
}
