/*
 * tls.h - one side of a connection, in TLS or plain, without blocking.
 *
 * To the guest we are the server, with a certificate of the run's authority;
 * to the world a strict client: chain to the host's bundle, name, dates, TLS
 * 1.2 or newer. No session is resumed and nothing is renegotiated.
 *
 * LIMIT: no CRL and no OCSP is asked for.
 */
#ifndef CLOCHE_NET_TLS_H
#define CLOCHE_NET_TLS_H

#include "ca.h"

struct tls;

/* Loads the library, makes the authority and reads the bundles (bundle may be
 * NULL, more too). The last files that are opened. 0 or -errno after a
 * message. */
int MUST_CHECK tls_init(const char *bundle, const char *more, struct tls **out);
/* Takes in some of what was read: each certificate takes a third of a
 * millisecond, and there are 140 as a rule. False if that was all. tls_join
 * does not wait for it: it loads the rest. */
bool tls_load(struct tls *t);
struct ca *tls_ca(struct tls *t); /* borrowed */

struct tls_side {
	int fd;	    /* borrowed */
	SSL *ssl;   /* NULL: plain */
	bool ready; /* the handshake is done, or there is none */
	bool eof;   /* nothing more can be read */
};

int MUST_CHECK tls_serve(struct tls *t, struct tls_side *s, const char *host);
int MUST_CHECK tls_join(struct tls *t, struct tls_side *s, const char *host);
void tls_fini(struct tls_side *s);

/* 0: done; -EAGAIN; -EPROTO: failed, *why says how (static or borrowed). */
int MUST_CHECK tls_handshake(struct tls_side *s, const char **why);
/* Did it fail because no authority known here vouches for the peer? */
bool tls_unknown_issuer(const struct tls_side *s);
/* What the guest asked for, after its handshake: NULL if none. */
const char *tls_server_name(const struct tls_side *s);
/* Bytes, 0 at the end (of TLS: its close_notify), -EAGAIN, -errno; an end
 * without close_notify is -ECONNRESET. */
ssize_t tls_read(struct tls_side *s, void *buf, size_t len);
ssize_t tls_write(struct tls_side *s, const void *buf, size_t len);
/* No more will be written. */
void tls_end_writing(struct tls_side *s);

#endif
