/*
 * rtnl.c - see rtnl.h.
 */
#include "rtnl.h"

#include <arpa/inet.h>
#include <linux/if_addr.h>
#include <linux/if_link.h>
#include <linux/neighbour.h>
#include <linux/rtnetlink.h>
#include <linux/veth.h>
#include <net/if.h>
#include <sys/socket.h>

enum { NL_SIZE = 1024 };

struct request {
	union {
		struct nlmsghdr h;
		char space[NL_SIZE];
	};
};

static size_t ip_len(const struct rtnl_ip *ip)
{
	return ip->family == AF_INET ? 4 : 16;
}

struct rtnl_ip rtnl_prefix(const char *text, unsigned bits)
{
	struct rtnl_ip ip = {.bits = bits};

	ip.family = strchr(text, ':') ? AF_INET6 : AF_INET;
	BUG_ON(inet_pton(ip.family, text, ip.b) != 1);
	return ip;
}

struct rtnl_ip rtnl_ip(const char *text)
{
	return rtnl_prefix(text, strchr(text, ':') ? 128 : 32);
}

int rtnl_open(void)
{
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);

	return fd < 0 ? -errno : fd;
}

static void *begin(struct request *q, uint16_t type, uint16_t flags,
		   size_t body)
{
	memset(q, 0, sizeof(*q));
	q->h.nlmsg_len = (uint32_t)NLMSG_LENGTH(body);
	q->h.nlmsg_type = type;
	q->h.nlmsg_flags = (uint16_t)(NLM_F_REQUEST | NLM_F_ACK | flags);
	return NLMSG_DATA(&q->h);
}

static struct rtattr *attr(struct request *q, uint16_t type, const void *data,
			   size_t len)
{
	size_t at = NLMSG_ALIGN(q->h.nlmsg_len);
	struct rtattr *a = (void *)(q->space + at);

	BUG_ON(at + RTA_SPACE(len) > NL_SIZE);
	a->rta_type = type;
	a->rta_len = (uint16_t)RTA_LENGTH(len);
	if (len)
		memcpy(RTA_DATA(a), data, len);
	q->h.nlmsg_len = (uint32_t)(at + RTA_ALIGN(a->rta_len));
	return a;
}

static void attr_end(struct request *q, struct rtattr *a)
{
	a->rta_len = (uint16_t)(q->space + q->h.nlmsg_len - (char *)a);
}

static int commit(int nl, struct request *q)
{
	struct {
		struct nlmsghdr h;
		struct nlmsgerr e;
		char rest[NL_SIZE];
	} r;
	ssize_t n;

	if (send(nl, q->space, q->h.nlmsg_len, 0) < 0)
		return -errno;
	n = recv(nl, &r, sizeof(r), 0);
	if (n < 0)
		return -errno;
	if ((size_t)n < NLMSG_LENGTH(sizeof(r.e)) ||
	    r.h.nlmsg_type != NLMSG_ERROR)
		return -EPROTO;
	return r.e.error;
}

int rtnl_veth(int nl, const char *name, const unsigned char mac[6],
	      const char *peer, const unsigned char peer_mac[6], int peer_netns)
{
	struct rtattr *info, *data, *other;
	struct ifinfomsg none = {0};
	struct request q;

	begin(&q, RTM_NEWLINK, NLM_F_CREATE | NLM_F_EXCL, sizeof(none));
	attr(&q, IFLA_IFNAME, name, strlen(name) + 1);
	attr(&q, IFLA_ADDRESS, mac, 6);
	info = attr(&q, IFLA_LINKINFO, NULL, 0);
	attr(&q, IFLA_INFO_KIND, "veth", 4);
	data = attr(&q, IFLA_INFO_DATA, NULL, 0);
	other = attr(&q, VETH_INFO_PEER, &none, sizeof(none));
	attr(&q, IFLA_IFNAME, peer, strlen(peer) + 1);
	attr(&q, IFLA_ADDRESS, peer_mac, 6);
	attr(&q, IFLA_NET_NS_FD, &peer_netns, sizeof(peer_netns));
	attr_end(&q, other);
	attr_end(&q, data);
	attr_end(&q, info);
	return commit(nl, &q);
}

int rtnl_up(int nl, int ifindex)
{
	struct request q;
	struct ifinfomsg *m = begin(&q, RTM_NEWLINK, 0, sizeof(*m));

	m->ifi_index = ifindex;
	m->ifi_flags = m->ifi_change = IFF_UP;
	return commit(nl, &q);
}

int rtnl_addr(int nl, int ifindex, const struct rtnl_ip *ip)
{
	struct request q;
	struct ifaddrmsg *m =
		begin(&q, RTM_NEWADDR, NLM_F_CREATE | NLM_F_EXCL, sizeof(*m));

	m->ifa_family = (uint8_t)ip->family;
	m->ifa_prefixlen = (uint8_t)ip->bits;
	m->ifa_index = (uint32_t)ifindex;
	if (ip->family == AF_INET6)
		m->ifa_flags = IFA_F_NODAD;
	attr(&q, IFA_LOCAL, ip->b, ip_len(ip));
	attr(&q, IFA_ADDRESS, ip->b, ip_len(ip));
	return commit(nl, &q);
}

int rtnl_route(int nl, int ifindex, int type, int table,
	       const struct rtnl_ip *to, const struct rtnl_ip *via)
{
	struct request q;
	struct rtmsg *m =
		begin(&q, RTM_NEWROUTE, NLM_F_CREATE | NLM_F_EXCL, sizeof(*m));

	m->rtm_family = (uint8_t)to->family;
	m->rtm_dst_len = (uint8_t)to->bits;
	m->rtm_table = (uint8_t)table;
	m->rtm_protocol = RTPROT_STATIC;
	m->rtm_type = (uint8_t)type;
	m->rtm_scope = type == RTN_LOCAL ? RT_SCOPE_HOST
		       : via		 ? RT_SCOPE_UNIVERSE
					 : RT_SCOPE_LINK;
	if (to->bits)
		attr(&q, RTA_DST, to->b, ip_len(to));
	attr(&q, RTA_OIF, &ifindex, sizeof(ifindex));
	if (via) {
		m->rtm_flags = RTNH_F_ONLINK;
		attr(&q, RTA_GATEWAY, via->b, ip_len(via));
	}
	return commit(nl, &q);
}

int rtnl_neigh(int nl, int ifindex, const struct rtnl_ip *ip,
	       const unsigned char mac[6])
{
	struct request q;
	struct ndmsg *m = begin(&q, RTM_NEWNEIGH, NLM_F_CREATE | NLM_F_REPLACE,
				sizeof(*m));

	m->ndm_family = (uint8_t)ip->family;
	m->ndm_ifindex = ifindex;
	m->ndm_state = NUD_PERMANENT;
	attr(&q, NDA_DST, ip->b, ip_len(ip));
	attr(&q, NDA_LLADDR, mac, 6);
	return commit(nl, &q);
}
