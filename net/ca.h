/*
 * ca.h - the certificates of a run: an authority made for it, whose key never
 * leaves the gateway's memory, and one certificate per server name.
 */
#ifndef CLOCHE_NET_CA_H
#define CLOCHE_NET_CA_H

#include "addr.h"
#include "tlslib.h"

enum { CA_LEAVES_MAX = 1024, CA_DER_MAX = 2048 };

struct ca;

/* After tlslib_load. 0 or -EIO. */
int MUST_CHECK ca_new(struct ca **out);
/* The authority's certificate as DER: its length, at most CA_DER_MAX. */
size_t ca_der(const struct ca *ca, uint8_t out[CA_DER_MAX]);
/* Of the name under which OpenSSL's folders of certificates have it. */
uint32_t ca_hash(const struct ca *ca);
/* The certificate for a host's canonical name or an address's text, kept for
 * the next time: borrowed until the next call; NULL on failure. */
X509 *ca_leaf(struct ca *ca, const char *host);
EVP_PKEY *ca_leaf_key(struct ca *ca); /* of all leaves; borrowed */

#endif
