/*
 * names.h - which address was given for which name, and until when.
 *
 * So a rule about a name governs connects by address. An entry lives for the
 * TTL that the resolver said and NAMES_GRACE_S longer: programs keep what they
 * looked up. Bounded; when full, entries that have expired go, and if there
 * are none, new ones are not taken (their connects are refused).
 */
#ifndef CLOCHE_NET_NAMES_H
#define CLOCHE_NET_NAMES_H

#include "addr.h"
#include "../sentry/base/hash.h"

enum { NAMES_MAX = 65536, NAMES_PER_ADDR_MAX = 64, NAMES_GRACE_S = 600 };
#define NAMES_FOREVER UINT64_MAX

struct names {
	struct htable by_addr;
};

void names_init(struct names *t);
void names_fini(struct names *t);
/* until in seconds of the caller's clock. */
void names_add(struct names *t, const struct netaddr *addr, const char *name,
	       uint64_t until, uint64_t now);
/* Those known for addr, up to max, into out (borrowed until the next
 * names_add): how many. */
size_t names_find(const struct names *t, const struct netaddr *addr,
		  uint64_t now, const char **out, size_t max);
/* The addresses known for a name (entries that never expire only: the hosts
 * file), up to max. */
size_t names_addresses(const struct names *t, const char *name,
		       struct netaddr *out, size_t max);

#endif
