/*
 * netsend.c - sendmsg(2) and sendmmsg(2) of a sandbox that has rules about
 * datagrams (filter_build_datagrams).
 *
 * Containment does not rest on this: datagrams of guests reach nothing but
 * places that the gateway has opened. Here the places that a call names are
 * opened, each by the rules and with its record, and then the kernel runs the
 * call itself, with the guest's own memory. A name that another thread changes
 * meanwhile leads to a place that is open, or to none.
 *
 * LIMIT: of one sendmmsg the first PLACES_MAX places are opened; datagrams to
 * others are lost, as on a full network.
 */
#include "sockets.h"
#include "../sentry/outside.h"

enum { PLACES_MAX = 32, MESSAGES_MAX = 1024 /* UIO_MAXIOV */ };

struct sends {
	struct sockop op; /* the socket, and the place in question */
	size_t count;
	struct {
		struct netaddr addr;
		uint16_t port;
	} place[PLACES_MAX];
};

static bool is_listed(const struct sends *s)
{
	for (size_t i = 0; i < s->count; i++)
		if (s->place[i].port == s->op.out_port &&
		    netaddr_equal(&s->place[i].addr, &s->op.out_addr))
			return true;
	return false;
}

/* Notes where a message goes, if that is to be opened first. What is wrong
 * with it is the kernel's to say. */
static void look(struct call *c, struct sends *s, gaddr_t at)
{
	struct msghdr h;
	size_t n;

	if (s->count == PLACES_MAX || call_read(c, at, &h, sizeof(h)) ||
	    !h.msg_name || !h.msg_namelen)
		return;
	n = h.msg_namelen > sizeof(s->op.addr) ? sizeof(s->op.addr)
					       : h.msg_namelen;
	memset(&s->op.addr, 0, sizeof(s->op.addr));
	if (call_read(c, (gaddr_t)(uintptr_t)h.msg_name, &s->op.addr, n))
		return;
	s->op.len = (socklen_t)n;
	s->op.leaves = false;
	s->op.may_leave = true;
	if (sockaddr_resolve(c, &s->op) || !s->op.leaves || is_listed(s) ||
	    netconnect_datagram_known(c, &s->op))
		return;
	s->place[s->count].addr = s->op.out_addr;
	s->place[s->count++].port = s->op.out_port;
}

static int64_t open_places(struct call *c, void *arg)
{
	struct sends *s = arg;

	for (size_t i = 0; i < s->count; i++) {
		int ret;

		s->op.out_addr = s->place[i].addr;
		s->op.out_port = s->place[i].port;
		ret = c->cancel ? -EINTR : netconnect_datagram(c, &s->op);
		/* of several only the first one's error is the call's */
		if (ret && (i == 0 || ret == -EINTR))
			return ret;
	}
	return CALL_CONTINUE;
}

int64_t netsend_call(struct call *c, unsigned count)
{
	struct sends *s = call_alloc(c, sizeof(*s));
	gaddr_t at = c->args[1];

	if (!s)
		return -ENOMEM;
	memset(s, 0, sizeof(*s));
	if (sockop_fd(c, arg_int(c, 0), &s->op) || s->op.type != SOCK_DGRAM ||
	    (s->op.domain != AF_INET && s->op.domain != AF_INET6))
		return CALL_CONTINUE;
	for (unsigned i = 0; i < count && i < MESSAGES_MAX; i++)
		look(c, s, at + i * sizeof(struct mmsghdr));
	return s->count ? call_block(c, open_places, s) : CALL_CONTINUE;
}
