/*
 * hash.h - a chained hash table over intrusive nodes, keyed by 64-bit hashes.
 *
 * The table grows by doubling; it owns no node. Hashes are XXH3 with a
 * per-process random seed, so a guest cannot aim names at one bucket. The
 * caller compares keys; the table compares hashes only. Not locked.
 */
#ifndef CLOCHE_HASH_H
#define CLOCHE_HASH_H

#include "base.h"

struct hnode {
	struct hnode *next;
	uint64_t hash;
};

struct htable {
	struct hnode **buckets;
	size_t mask;
	size_t count;
};

void htable_init(struct htable *t);
void htable_fini(struct htable *t); /* frees buckets, not nodes */
void htable_add(struct htable *t, struct hnode *n, uint64_t hash);
void htable_del(struct htable *t, struct hnode *n); /* n must be in t */

/* First node with this hash, and the next one after n; NULL at the end. */
struct hnode *htable_first(const struct htable *t, uint64_t hash);
struct hnode *htable_next(const struct hnode *n);

uint64_t hash_bytes(const void *data, size_t len, uint64_t salt);
uint64_t hash_u64(uint64_t a, uint64_t b);

#endif
