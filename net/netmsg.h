/*
 * netmsg.h - messages between the sentry and the gateway.
 *
 * Fixed size, versioned, over SEQPACKET sockets, at most one descriptor each.
 * Either side checks every message before it uses a field (netmsg_valid): the
 * gateway parses what comes from outside, so the sentry does not trust it,
 * and what the sentry sends repeats what a guest asked for.
 *
 * A connect: the sentry makes a socket pair and sends ASK with one end; all
 * that follows goes over that pair: VERDICT back; GO (after the record has
 * reached its destination); READY or FAILED back; the sentry connects the
 * guest's socket and sends CONNECTED with the port it had. Closing the pair
 * before that cancels. An ASK with value 1 is recorded already, as of name and
 * rule: if the verdict is the same it counts as GO, and VERDICT is not sent.
 * Where a non-blocking connect should not wait longer:
 * HOLD with the port that the guest's socket is bound to; HELD back (or READY,
 * FAILED, if that came first); the socket is then connected, its SYN is not
 * answered before the outside connection stands, and the pair is closed.
 */
#ifndef CLOCHE_NET_NETMSG_H
#define CLOCHE_NET_NETMSG_H

#include "addr.h"

#define NETMSG_VERSION 0x636c6e01u /* "cln", 1 */

enum netmsg_kind {
	/* sentry to gateway, on the main socket, a descriptor attached */
	NETMSG_ASK = 1, /* may addr:port be reached by proto? */
	/* on the socket pair */
	NETMSG_VERDICT,	  /* value: 1 allowed; name, rule */
	NETMSG_GO,	  /* open it */
	NETMSG_READY,	  /* something listens inside at addr:port */
	NETMSG_FAILED,	  /* value: errno that the guest shall see */
	NETMSG_CONNECTED, /* local_port: of the guest's socket */
	NETMSG_HOLD,	  /* local_port: which will connect while we dial */
	NETMSG_HELD,	  /* it may */
	/* gateway to sentry, on the main socket */
	NETMSG_CLOSED,	 /* a connection ended: bytes, duration */
	NETMSG_DNS,	 /* value: 1 allowed; name, qtype; wants an ACK */
	NETMSG_REFUSED,	 /* something was refused later on: why in rule */
	NETMSG_INCOMING, /* a published port was used; addr: from where */
	NETMSG_LIMITED,	 /* a limit stopped or ended one: which in rule */
	NETMSG_STARTED,	 /* the gateway is ready, confined */
	/* sentry to gateway, on the main socket */
	NETMSG_ACK, /* the record of message id is out */
	NETMSG_END, /* close everything, report it, exit */
	NETMSG_KINDS,
};

struct netmsg {
	uint32_t version, kind;
	uint64_t id;
	int32_t value;
	uint8_t proto; /* ALLOW_TCP, ALLOW_UDP */
	uint8_t pad;
	uint16_t port, local_port, qtype;
	struct netaddr addr, local;
	uint64_t sent, received, ns;
	char name[NETHOST_SIZE]; /* canonical host name, or "" */
	char rule[96];		 /* of the rule, as written; or why */
};

/* A zeroed message of a kind. */
void netmsg_init(struct netmsg *m, enum netmsg_kind kind, uint64_t id);
/* Version, kind, NUL-termination, families. */
bool netmsg_valid(const struct netmsg *m, size_t len);

/* fd -1: none. flags as of sendmsg(2). 0 or -errno. */
int MUST_CHECK netmsg_send(int sock, const struct netmsg *m, int fd, int flags);
/* Takes one message; *fd (may be NULL) gets its descriptor or -1. -EPIPE at
 * the end, -EPROTO for one that is not valid, -errno. Not retried at EINTR. */
int MUST_CHECK netmsg_recv(int sock, struct netmsg *m, int *fd, int flags);

#endif
