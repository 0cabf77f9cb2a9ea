/*
 * listen.c - a listener of the host, outside of any sandbox: TCP, UDP and an
 * abstract Unix socket. Prints "ready TCP-PORT UDP-PORT", then one line for
 * each thing that arrives, until its stdin ends.
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static int inet_any(int type, int *port)
{
	struct sockaddr_in a = {.sin_family = AF_INET};
	socklen_t len = sizeof(a);
	int s = socket(AF_INET, type, 0);

	if (s < 0 || bind(s, (void *)&a, sizeof(a)) ||
	    getsockname(s, (void *)&a, &len))
		return -1;
	*port = ntohs(a.sin_port);
	if (type == SOCK_STREAM && listen(s, 16))
		return -1;
	return s;
}

int main(void)
{
	struct sockaddr_un u = {.sun_family = AF_UNIX};
	int tcp_port, udp_port, un = socket(AF_UNIX, SOCK_STREAM, 0);
	int tcp = inet_any(SOCK_STREAM, &tcp_port);
	int udp = inet_any(SOCK_DGRAM, &udp_port);
	const char *name = "cloche-escape-abstract";
	char b[64];

	memcpy(u.sun_path + 1, name, strlen(name));
	if (tcp < 0 || udp < 0 || un < 0 ||
	    bind(un, (void *)&u,
		 (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 +
			     strlen(name))) ||
	    listen(un, 4))
		return 1;
	printf("ready %d %d\n", tcp_port, udp_port);
	fflush(stdout);
	struct pollfd p[] = {{tcp, POLLIN, 0},
			     {udp, POLLIN, 0},
			     {un, POLLIN, 0},
			     {0, POLLIN, 0}};
	while (poll(p, 4, -1) > 0) {
		if (p[3].revents)
			break;
		if (p[0].revents)
			printf("tcp %d\n", close(accept(tcp, NULL, NULL)));
		if (p[1].revents)
			printf("udp %zd\n", recv(udp, b, sizeof(b), 0));
		if (p[2].revents)
			printf("unix %d\n", close(accept(un, NULL, NULL)));
		fflush(stdout);
	}
	return 0;
}
