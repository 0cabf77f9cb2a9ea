/*
 * httpmsg.h - what the gateway's HTTP stage tells the sentry, on a socket of
 * its own beside that of netmsg.h: fixed size, versioned, checked by who
 * reads. A REQUEST is held until its ACK says that the record is out.
 */
#ifndef CLOCHE_NET_HTTPMSG_H
#define CLOCHE_NET_HTTPMSG_H

#include "addr.h"

#define HTTPMSG_VERSION 0x636c6801u /* "clh", 1 */

enum httpmsg_kind {
	HTTPMSG_TRUST = 1, /* once, at the start: data is the CA as DER */
	HTTPMSG_REQUEST,   /* allowed; wants an ACK */
	HTTPMSG_REFUSED,   /* why; method and data "" if it was no request */
	HTTPMSG_DONE,	   /* answered: status, bytes */
	HTTPMSG_MISUSE,	   /* the placeholder of secrets, for another host */
	HTTPMSG_ACK,	   /* sentry to gateway */
	HTTPMSG_KINDS,
};

enum { HTTPMSG_DATA = 2048 };

struct httpmsg {
	uint32_t version, kind;
	uint64_t id, conn;
	struct netaddr addr;
	uint16_t port, status;
	bool tls;
	uint64_t sent, received, ns;
	char host[NETHOST_SIZE], method[32];
	char rule[96], why[96];
	char secrets[256]; /* names, with commas */
	uint32_t hash, len;
	char data[HTTPMSG_DATA]; /* len bytes: the path, or the DER */
};

/* What the sentry answers is small, so that none is lost. */
struct httpack {
	uint32_t version, kind;
	uint64_t id;
};

void httpmsg_init(struct httpmsg *m, enum httpmsg_kind kind, uint64_t id);
bool httpmsg_valid(const struct httpmsg *m, size_t len);
int MUST_CHECK httpmsg_send(int sock, const struct httpmsg *m);
int MUST_CHECK httpmsg_recv(int sock, struct httpmsg *m, int flags);
int MUST_CHECK httpack_send(int sock, uint64_t id);
int MUST_CHECK httpack_recv(int sock, uint64_t *id);

#endif
