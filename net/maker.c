/*
 * maker.c - see maker.h. One question, one answer: no state.
 */
#include "maker.h"

#include <linux/filter.h>
#include <netinet/icmp6.h>
#include <netinet/in.h>
#include <netinet/ip.h>
#include <netinet/ip6.h>
#include <netinet/ip_icmp.h>
#include <netinet/udp.h>
#include <sys/socket.h>

enum { DEAFEN = 0, UNREACHABLE = -1 }; /* instead of a family */

struct maker_msg {
	int32_t family, type; /* of an answer: family is 0 or an errno */
	uint32_t count;	      /* DEAFEN: how many ports */
	uint16_t ports[MAKER_PORTS_MAX];
	/* UNREACHABLE: who sent, and to where; ports[0], ports[1] */
	struct netaddr guest, place;
};

union control {
	struct cmsghdr h;
	char space[CMSG_SPACE(sizeof(int))];
};

/* fd -1: none */
static int maker_send(int sock, struct maker_msg *m, int fd)
{
	union control ctl = {0};
	struct iovec iov = {m, sizeof(*m)};
	struct msghdr mh = {.msg_iov = &iov, .msg_iovlen = 1};

	if (fd >= 0) {
		mh.msg_control = ctl.space;
		mh.msg_controllen = sizeof(ctl.space);
		ctl.h.cmsg_level = SOL_SOCKET;
		ctl.h.cmsg_type = SCM_RIGHTS;
		ctl.h.cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(&ctl.h), &fd, sizeof(int));
	}
	return sendmsg(sock, &mh, MSG_NOSIGNAL) < 0 ? -errno : 0;
}

static int maker_recv(int sock, struct maker_msg *m, int *fd)
{
	union control ctl = {0};
	struct iovec iov = {m, sizeof(*m)};
	struct msghdr mh = {.msg_iov = &iov,
			    .msg_iovlen = 1,
			    .msg_control = ctl.space,
			    /* not the padding: a second one fits there */
			    .msg_controllen = CMSG_LEN(sizeof(int))};
	ssize_t n;

	*fd = -1;
	do {
		n = recvmsg(sock, &mh, MSG_CMSG_CLOEXEC);
	} while (n < 0 && errno == EINTR);
	if (n != (ssize_t)sizeof(*m))
		return -EPIPE;
	if (mh.msg_controllen >= CMSG_LEN(sizeof(int)) &&
	    ctl.h.cmsg_type == SCM_RIGHTS)
		memcpy(fd, CMSG_DATA(&ctl.h), sizeof(int));
	return 0;
}

/* A program that drops segments by their source port, the first 16 bits. */
static int deafen(int fd, const struct maker_msg *m)
{
	struct sock_filter f[MAKER_PORTS_MAX + 3] = {
		BPF_STMT(BPF_LD | BPF_H | BPF_ABS, 0),
	};
	struct sock_fprog prog = {.filter = f};
	unsigned n = m->count;
	int none = 0, ret;

	if (n > MAKER_PORTS_MAX)
		return -EINVAL;
	for (unsigned i = 1; i <= n; i++)
		f[i] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K,
						    m->ports[i - 1],
						    (uint8_t)(n + 1 - i), 0);
	f[n + 1] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, UINT32_MAX);
	f[n + 2] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, 0);
	prog.len = (unsigned short)(n + 3);
	ret = n ? setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &prog,
			     sizeof(prog))
		: setsockopt(fd, SOL_SOCKET, SO_DETACH_FILTER, &none,
			     sizeof(none));
	return ret < 0 ? -errno : 0;
}

/* ---- "port unreachable", as the place itself would send it ---- */

struct unreachable4 {
	struct iphdr ip;
	struct icmphdr icmp;
	struct iphdr inner;
	struct udphdr udp;
};

static uint16_t checksum(const void *data, size_t len)
{
	const unsigned char *p = data;
	uint32_t sum = 0;

	for (size_t i = 0; i + 1 < len; i += 2)
		sum += (uint32_t)p[i] << 8 | p[i + 1];
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return htons((uint16_t)~sum);
}

static void ip4_header(struct iphdr *h, const struct netaddr *from,
		       const struct netaddr *to, uint8_t proto, size_t len)
{
	h->version = 4;
	h->ihl = 5;
	h->ttl = 64;
	h->protocol = proto;
	h->tot_len = htons((uint16_t)len);
	memcpy(&h->saddr, from->b, 4);
	memcpy(&h->daddr, to->b, 4);
	h->check = checksum(h, sizeof(*h));
}

static int unreachable4(const struct maker_msg *m)
{
	struct sockaddr_in to = {.sin_family = AF_INET};
	struct unreachable4 p = {0};

	ip4_header(&p.ip, &m->place, &m->guest, IPPROTO_ICMP, sizeof(p));
	ip4_header(&p.inner, &m->guest, &m->place, IPPROTO_UDP,
		   sizeof(p.inner) + sizeof(p.udp));
	p.udp.source = htons(m->ports[0]);
	p.udp.dest = htons(m->ports[1]);
	p.udp.len = htons(sizeof(p.udp));
	p.icmp.type = ICMP_DEST_UNREACH;
	p.icmp.code = ICMP_PORT_UNREACH;
	p.icmp.checksum =
		checksum(&p.icmp, sizeof(p) - offsetof(typeof(p), icmp));
	memcpy(&to.sin_addr, m->guest.b, 4);
	return sendto(MAKER_ICMP4, &p, sizeof(p), MSG_DONTWAIT, (void *)&to,
		      sizeof(to)) < 0
		       ? -errno
		       : 0;
}

struct unreachable6 {
	struct icmp6_hdr icmp; /* the kernel fills in the sum */
	struct ip6_hdr inner;
	struct udphdr udp;
};

static int unreachable6(const struct maker_msg *m)
{
	union {
		struct cmsghdr h;
		char space[CMSG_SPACE(sizeof(struct in6_pktinfo))];
	} ctl = {0};
	struct sockaddr_in6 to = {.sin6_family = AF_INET6};
	struct unreachable6 p = {0};
	struct iovec iov = {&p, sizeof(p)};
	struct msghdr mh = {.msg_name = &to,
			    .msg_namelen = sizeof(to),
			    .msg_iov = &iov,
			    .msg_iovlen = 1,
			    .msg_control = ctl.space,
			    .msg_controllen = sizeof(ctl.space)};
	struct in6_pktinfo from = {0};

	p.icmp.icmp6_type = ICMP6_DST_UNREACH;
	p.icmp.icmp6_code = ICMP6_DST_UNREACH_NOPORT;
	p.inner.ip6_vfc = 6 << 4;
	p.inner.ip6_plen = htons(sizeof(p.udp));
	p.inner.ip6_nxt = IPPROTO_UDP;
	p.inner.ip6_hlim = 64;
	memcpy(&p.inner.ip6_src, m->guest.b, 16);
	memcpy(&p.inner.ip6_dst, m->place.b, 16);
	p.udp.source = htons(m->ports[0]);
	p.udp.dest = htons(m->ports[1]);
	p.udp.len = htons(sizeof(p.udp));
	memcpy(&to.sin6_addr, m->guest.b, 16);
	memcpy(&from.ipi6_addr, m->place.b, 16);
	ctl.h.cmsg_level = IPPROTO_IPV6;
	ctl.h.cmsg_type = IPV6_PKTINFO;
	ctl.h.cmsg_len = CMSG_LEN(sizeof(from));
	memcpy(CMSG_DATA(&ctl.h), &from, sizeof(from));
	return sendmsg(MAKER_ICMP6, &mh, MSG_DONTWAIT) < 0 ? -errno : 0;
}

int maker_icmp(int *four, int *six)
{
	enum { FREEBIND6 = 78 };
	int one = 1;

	*four = socket(AF_INET, SOCK_RAW | SOCK_CLOEXEC, IPPROTO_ICMP);
	*six = socket(AF_INET6, SOCK_RAW | SOCK_CLOEXEC, IPPROTO_ICMPV6);
	if (*six >= 0)
		setsockopt(*six, IPPROTO_IPV6, FREEBIND6, &one, sizeof(one));
	if (*four < 0 ||
	    setsockopt(*four, IPPROTO_IP, IP_HDRINCL, &one, sizeof(one)) < 0)
		return -errno;
	return 0;
}

NORETURN void maker_serve(int sock)
{
	for (;;) {
		struct maker_msg m;
		int fd, ret = 0;

		if (maker_recv(sock, &m, &fd))
			_exit(0);
		if (m.family == DEAFEN) {
			ret = deafen(fd, &m);
			if (fd >= 0)
				close(fd);
			fd = -1;
		} else if (m.family == UNREACHABLE) {
			ret = m.place.family == AF_INET ? unreachable4(&m)
							: unreachable6(&m);
			if (fd >= 0)
				close(fd);
			fd = -1;
		} else {
			if (fd >= 0)
				close(fd);
			fd = socket(m.family,
				    m.type | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
			ret = fd < 0 ? -errno : 0;
		}
		m.family = -ret;
		if (maker_send(sock, &m, fd))
			_exit(0);
		if (fd >= 0)
			close(fd);
	}
}

static int ask(int sock, struct maker_msg *m, int fd, int *got)
{
	int ret = maker_send(sock, m, fd);

	if (!ret)
		ret = maker_recv(sock, m, got);
	return ret ? ret : -m->family;
}

int maker_socket(int sock, int family, int type)
{
	struct maker_msg m = {.family = family, .type = type};
	int fd, ret = ask(sock, &m, -1, &fd);

	if (ret)
		return ret;
	return fd < 0 ? -EPROTO : fd;
}

int maker_deafen(int sock, int listener, const uint16_t *ports, unsigned count)
{
	struct maker_msg m = {.family = DEAFEN, .count = count};
	int fd, ret;

	BUG_ON(count > MAKER_PORTS_MAX);
	memcpy(m.ports, ports, count * sizeof(*ports));
	ret = ask(sock, &m, listener, &fd);
	if (fd >= 0)
		close(fd);
	return ret;
}

int maker_unreachable(int sock, const struct netaddr *guest,
		      uint16_t guest_port, const struct netaddr *place,
		      uint16_t port)
{
	struct maker_msg m = {.family = UNREACHABLE,
			      .ports = {guest_port, port},
			      .guest = *guest,
			      .place = *place};
	int fd, ret = ask(sock, &m, -1, &fd);

	if (!ret && fd >= 0)
		close(fd);
	return ret;
}
