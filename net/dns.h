/*
 * dns.h - the DNS messages that the gateway reads and writes, by ldns.
 *
 * Questions come from guests and answers from outside; both are hostile
 * bytes. Only what is asked about is taken from an answer: the chain of
 * CNAMEs that begins at the name asked for, and the addresses at its end.
 * Pure functions; any thread.
 */
#ifndef CLOCHE_NET_DNS_H
#define CLOCHE_NET_DNS_H

#include "addr.h"

enum { DNS_A = 1, DNS_CNAME = 5, DNS_AAAA = 28 };
enum {
	DNS_OK = 0,
	DNS_FORMERR = 1,
	DNS_SERVFAIL = 2,
	DNS_NXDOMAIN = 3,
	DNS_NOTIMP = 4,
	DNS_REFUSED = 5
};
enum {
	DNS_UDP_MIN = 512,
	DNS_MSG_MAX = 65535,
	DNS_RECORDS_MAX = 64,
	DNS_CHAIN_MAX = 12
};

struct dns_question {
	uint16_t id, type, class;
	uint16_t udp_size; /* what the asker takes by UDP */
	bool recurse, edns;
	char name[NETHOST_SIZE];      /* canonical; "" if it is no host name */
	char shown[NETHOST_SIZE * 4]; /* as asked, for records */
};

struct dns_record {
	uint16_t type; /* DNS_A, DNS_AAAA, DNS_CNAME */
	uint32_t ttl;
	char owner[NETHOST_SIZE], target[NETHOST_SIZE];
	struct netaddr addr;
};

struct dns_answer {
	int rcode;
	bool truncated;
	size_t count;
	struct dns_record rec[DNS_RECORDS_MAX];
};

/* 0; DNS_FORMERR, DNS_NOTIMP: to be answered with that; -EBADMSG: not even a
 * query, no answer. q->id is set unless -EBADMSG. */
int MUST_CHECK dns_parse_question(const uint8_t *msg, size_t len,
				  struct dns_question *q);

/* The bytes of a reply in buf: its length. Where it does not fit into
 * `limit` bytes, without records and marked truncated. -EMSGSIZE only if buf
 * has no room for that. answer may be NULL. */
ssize_t MUST_CHECK dns_build_reply(const struct dns_question *q, int rcode,
				   const struct dns_answer *answer,
				   uint8_t *buf, size_t limit);

/* A recursive query to a resolver: its length or -EMSGSIZE. */
ssize_t MUST_CHECK dns_build_question(uint16_t id, const char *name,
				      uint16_t type, uint8_t *buf, size_t size);
/* 0 if msg answers that question (whatever the rcode); -EBADMSG if not. */
int MUST_CHECK dns_parse_answer(const uint8_t *msg, size_t len, uint16_t id,
				const char *name, uint16_t type,
				struct dns_answer *out);

#endif
