/*
 * sni.h - the server name in a TLS ClientHello, read and not answered.
 *
 * The gateway looks at the first bytes of a connection that was allowed for a
 * name: where they are TLS, the name asked for must be an allowed one. Parses
 * hostile bytes (the guest's); bounded; pure.
 */
#ifndef CLOCHE_NET_SNI_H
#define CLOCHE_NET_SNI_H

#include "addr.h"

enum { SNI_HELLO_MAX = 16384 }; /* bytes looked at before giving up */

enum sni_result {
	SNI_NOT_TLS, /* no server takes it for TLS */
	SNI_MORE,    /* a ClientHello that is not complete yet */
	SNI_NONE,    /* TLS, without a server name */
	SNI_NAME,    /* name is filled, canonical */
	SNI_BAD,     /* TLS, but not well formed, or a name that is none; a
		      * hello of SSLv2, a record before the hello */
};

enum sni_result sni_parse(const uint8_t *data, size_t len,
			  char name[NETHOST_SIZE]);

#endif
