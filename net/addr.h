/*
 * addr.h - internet addresses and host names in their one canonical form.
 *
 * Rules, questions and connections are compared in this form only, so two
 * spellings of one thing can never have two verdicts. What is ambiguous is
 * refused, not guessed: octal, short and hexadecimal IPv4, leading zeros,
 * zone ids, bytes that no host name has (NUL first of all). An IPv4 address
 * mapped into IPv6 is that IPv4 address.
 *
 * Pure functions on bytes; any thread.
 */
#ifndef CLOCHE_NET_ADDR_H
#define CLOCHE_NET_ADDR_H

#include <netinet/in.h>
#include <sys/socket.h>

#include "../sentry/base/base.h"

#define NETADDR_TEXT 46	 /* bytes of an address as text, with NUL */
#define NETHOST_SIZE 254 /* bytes of a host name, with NUL */

struct netaddr {
	uint16_t family; /* AF_INET, AF_INET6; 0: none */
	uint8_t b[16];	 /* network order; IPv4 in the first four */
};

/* What an address is for; all but PUBLIC is reached by a rule about
 * addresses only, never by a name. */
enum netaddr_kind {
	NETADDR_PUBLIC,
	NETADDR_LOOPBACK, /* and unspecified: this very machine */
	NETADDR_PRIVATE,
	NETADDR_LINKLOCAL,
	NETADDR_RESERVED, /* multicast, broadcast, documentation ... */
};

/* Dotted quad or RFC 4291 text of len bytes, without brackets: 0, -EINVAL. */
int MUST_CHECK netaddr_parse(const char *s, size_t len, struct netaddr *out);
void netaddr_format(const struct netaddr *a, char out[NETADDR_TEXT]);
/* "1.2.3.4:80", "[::1]:80" */
void netaddr_format_port(const struct netaddr *a, uint16_t port, char *out,
			 size_t size);

/* 0, or -EINVAL (too short), -EAFNOSUPPORT. A mapped address comes out as
 * IPv4. Scope ids are dropped: link-local needs none here. */
int MUST_CHECK netaddr_from_sockaddr(const struct sockaddr_storage *ss,
				     size_t len, struct netaddr *out,
				     uint16_t *port);
socklen_t netaddr_to_sockaddr(const struct netaddr *a, uint16_t port,
			      struct sockaddr_storage *out);

bool netaddr_equal(const struct netaddr *a, const struct netaddr *b);
/* Are the first `bits` bits the same? False across families. */
bool netaddr_in(const struct netaddr *a, const struct netaddr *net,
		unsigned bits);
/* Looks through the IPv4 that NAT64, 6to4 and the like carry inside. */
enum netaddr_kind netaddr_kind(const struct netaddr *a);

/*
 * The canonical form of a host name of len bytes: lower case, no trailing
 * dot. Labels of letters, digits, '-' and '_'. -EINVAL for anything else, for
 * one that is too long, and for a last label that could be read as a number
 * ("127.1", "0x7f.1").
 */
int MUST_CHECK nethost_canon(const char *s, size_t len, char out[NETHOST_SIZE]);

#endif
