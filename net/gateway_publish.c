/*
 * gateway_publish.c - ports outside that lead to servers inside, and what is
 * read before the fork: name servers and the hosts file.
 */
#include "gateway_priv.h"
#include "maker.h"

#include <stdio.h>

enum { BACKLOG = 128 };

struct incoming {
	struct source inside;
	int outside;
	struct conn_info info;
};

static void incoming_end(struct gw *gw, struct incoming *in)
{
	gw_unwatch(gw, &in->inside);
	if (in->outside >= 0)
		gw_reset(fd_take(&in->outside));
	gw_free(gw, in);
}

static void on_inside(struct gw *gw, struct source *s, uint32_t events)
{
	struct incoming *in = container_of(s, struct incoming, inside);
	int err = 0, fd;
	socklen_t len = sizeof(err);

	if (!(events & (EPOLLOUT | EPOLLERR | EPOLLHUP)))
		return;
	if (getsockopt(s->fd, SOL_SOCKET, SO_ERROR, &err, &len) < 0 || err) {
		incoming_end(gw, in);
		return;
	}
	fd = fd_take(&s->fd);
	if (epoll_ctl(gw->ep, EPOLL_CTL_DEL, fd, NULL) < 0)
		log_debug("epoll_ctl: %s", strerror(errno));
	conn_new(gw, fd, fd_take(&in->outside), &in->info);
	incoming_end(gw, in);
}

static void tell_incoming(struct gw *gw, const struct incoming *in,
			  uint16_t guest)
{
	struct netmsg m;

	netmsg_init(&m, NETMSG_INCOMING, 0);
	m.proto = ALLOW_TCP;
	m.addr = in->info.addr;
	m.port = in->info.port;
	m.local = gw->cfg->guest4;
	m.local_port = guest;
	gw_tell(gw, &m);
}

static void incoming_new(struct gw *gw, int outside, uint16_t guest,
			 const struct netaddr *from, uint16_t port)
{
	struct incoming *in = gw_alloc(sizeof(*in));
	struct sockaddr_storage ss;
	socklen_t len = netaddr_to_sockaddr(&gw->cfg->guest4, guest, &ss);
	int fd = maker_socket(gw->cfg->maker, AF_INET, SOCK_STREAM);

	in->outside = outside;
	in->inside = (struct source){fd, on_inside};
	in->info.addr = *from;
	in->info.port = port;
	tell_incoming(gw, in, guest);
	if (fd < 0 || gw->nconns >= GW_CONNS_MAX ||
	    (connect(fd, (void *)&ss, len) < 0 && errno != EINPROGRESS) ||
	    gw_watch(gw, &in->inside, EPOLLOUT | EPOLLET))
		incoming_end(gw, in);
}

struct published {
	struct source src;
	uint16_t guest;
};

static void on_outside(struct gw *gw, struct source *s, uint32_t events)
{
	struct published *p = container_of(s, struct published, src);

	(void)events;
	for (int i = 0; i < BACKLOG; i++) {
		struct sockaddr_storage ss;
		socklen_t len = sizeof(ss);
		struct netaddr from;
		uint16_t port;
		int fd = accept4(s->fd, (void *)&ss, &len,
				 SOCK_NONBLOCK | SOCK_CLOEXEC);

		if (fd < 0)
			return;
		if (netaddr_from_sockaddr(&ss, len, &from, &port))
			close(fd);
		else
			incoming_new(gw, fd, p->guest, &from, port);
	}
}

int publish_start(struct gw *gw)
{
	int ret = 0;

	for (size_t i = 0; !ret && i < gw->cfg->npublish; i++) {
		struct published *p = gw_alloc(sizeof(*p));

		p->src = (struct source){gw->cfg->publish_fd[i], on_outside};
		p->guest = gw->cfg->publish_guest[i];
		ret = gw_watch(gw, &p->src, EPOLLIN);
	}
	return ret;
}

/* ---- before the fork ---- */

static int read_port(const char *s, size_t len, uint16_t *out)
{
	unsigned v = 0;

	if (!len || len > 5 || *s == '0')
		return -EINVAL;
	for (size_t i = 0; i < len; i++) {
		if (s[i] < '0' || s[i] > '9')
			return -EINVAL;
		v = v * 10 + (unsigned)(s[i] - '0');
	}
	if (!v || v > 65535)
		return -EINVAL;
	*out = (uint16_t)v;
	return 0;
}

int gateway_publish_parse(const char *text, struct gateway_publish *out)
{
	const char *guest = strrchr(text, ':'), *port, *ip = text;
	size_t len;

	memset(out, 0, sizeof(*out));
	if (!guest || read_port(guest + 1, strlen(guest + 1), &out->guest))
		return -EINVAL;
	for (port = guest; port > text && port[-1] != ':'; port--)
		;
	if (read_port(port, (size_t)(guest - port), &out->port))
		return -EINVAL;
	if (port == text)
		return 0;
	len = (size_t)(port - 1 - ip);
	if (len > 2 && ip[0] == '[' && ip[len - 1] == ']') {
		ip++;
		len -= 2;
	}
	return netaddr_parse(ip, len, &out->addr);
}

static int publish_one(struct gateway *g, const struct netaddr *addr,
		       const struct gateway_publish *p)
{
	struct sockaddr_storage ss;
	socklen_t len = netaddr_to_sockaddr(addr, p->port, &ss);
	int fd = socket(addr->family,
			SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0),
	    one = 1;

	if (fd < 0)
		return -errno;
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (addr->family == AF_INET6)
		setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &one, sizeof(one));
	if (bind(fd, (void *)&ss, len) < 0 || listen(fd, BACKLOG) < 0) {
		int err = errno;

		close(fd);
		return -err;
	}
	g->publish_fd[g->npublish] = fd;
	g->publish_guest[g->npublish++] = p->guest;
	return 0;
}

int gateway_publish_open(struct gateway *g, const struct gateway_publish *p)
{
	static const struct netaddr four = {AF_INET, {127, 0, 0, 1}};
	static const struct netaddr six = {AF_INET6, {[15] = 1}};
	int ret;

	if (g->npublish + 2 > ARRAY_SIZE(g->publish_fd))
		return -E2BIG;
	if (p->addr.family)
		return publish_one(g, &p->addr, p);
	ret = publish_one(g, &four, p);
	if (!ret && publish_one(g, &six, p) < 0)
		log_debug("port %u of ::1 is not published", p->port);
	return ret;
}

static void read_nameserver(struct gateway *g, char *line)
{
	char *word = strtok(line, " \t\n"), *ip;

	if (!word || strcmp(word, "nameserver"))
		return;
	ip = strtok(NULL, " \t\n");
	/* LIMIT: a server with a scope (fe80::1%eth0) is not used. */
	if (ip && g->nservers < GATEWAY_SERVERS_MAX &&
	    !netaddr_parse(ip, strlen(ip), &g->servers[g->nservers]))
		g->nservers++;
}

static void read_host(struct gateway *g, char *line)
{
	struct netaddr addr;
	char name[NETHOST_SIZE], *word;

	line[strcspn(line, "#\n")] = '\0';
	word = strtok(line, " \t");
	if (!word || netaddr_parse(word, strlen(word), &addr))
		return;
	/* The host's loopback has one name only. */
	if (netaddr_kind(&addr) == NETADDR_LOOPBACK)
		return;
	while ((word = strtok(NULL, " \t"))) {
		if (nethost_canon(word, strlen(word), name) ||
		    !allow_match_name(&g->rules, name).allowed)
			continue;
		names_add(&g->names, &addr, name, NAMES_FOREVER, 0);
	}
}

static void read_lines(struct gateway *g, const char *path,
		       void (*fn)(struct gateway *, char *))
{
	FILE *f = fopen(path, "re");
	char line[1024];

	while (f && fgets(line, sizeof(line), f))
		fn(g, line);
	if (f)
		fclose(f);
}

void gateway_read_files(struct gateway *g, const char *resolv_conf,
			const char *hosts)
{
	g->server_port = DNS_PORT;
	read_lines(g, resolv_conf, read_nameserver);
	read_lines(g, hosts, read_host);
}
