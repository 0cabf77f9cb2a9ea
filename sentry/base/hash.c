/*
 * hash.c - see hash.h.
 */
#include "hash.h"

#include <sys/random.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

enum { HTABLE_MIN = 16 };

static uint64_t hash_seed(void)
{
	static uint64_t seed;

	if (!seed && getrandom(&seed, sizeof(seed), GRND_NONBLOCK) < 0)
		seed = (uint64_t)(uintptr_t)&seed | 1;
	return seed;
}

uint64_t hash_bytes(const void *data, size_t len, uint64_t salt)
{
	return XXH3_64bits_withSeed(data, len, salt ^ hash_seed());
}

uint64_t hash_u64(uint64_t a, uint64_t b)
{
	uint64_t v[2] = {a, b};

	return XXH3_64bits_withSeed(v, sizeof(v), hash_seed());
}

void htable_init(struct htable *t)
{
	t->buckets = xcalloc(HTABLE_MIN, sizeof(*t->buckets));
	t->mask = HTABLE_MIN - 1;
	t->count = 0;
}

void htable_fini(struct htable *t)
{
	free(t->buckets);
	t->buckets = NULL;
}

static void htable_grow(struct htable *t)
{
	size_t size = (t->mask + 1) * 2;
	struct hnode **b = xcalloc(size, sizeof(*b));

	for (size_t i = 0; i <= t->mask; i++) {
		struct hnode *n = t->buckets[i], *next;

		for (; n; n = next) {
			next = n->next;
			n->next = b[n->hash & (size - 1)];
			b[n->hash & (size - 1)] = n;
		}
	}
	free(t->buckets);
	t->buckets = b;
	t->mask = size - 1;
}

void htable_add(struct htable *t, struct hnode *n, uint64_t hash)
{
	/* Half full: what is not there should meet nobody else, whose memory
	 * would have to be fetched. */
	if (t->count > t->mask / 2)
		htable_grow(t);
	n->hash = hash;
	n->next = t->buckets[hash & t->mask];
	t->buckets[hash & t->mask] = n;
	t->count++;
}

void htable_del(struct htable *t, struct hnode *n)
{
	struct hnode **p = &t->buckets[n->hash & t->mask];

	while (*p && *p != n)
		p = &(*p)->next;
	BUG_ON(!*p);
	*p = n->next;
	n->next = NULL;
	t->count--;
}

struct hnode *htable_first(const struct htable *t, uint64_t hash)
{
	struct hnode *n = t->buckets[hash & t->mask];

	while (n && n->hash != hash)
		n = n->next;
	return n;
}

struct hnode *htable_next(const struct hnode *n)
{
	uint64_t hash = n->hash;

	for (n = n->next; n && n->hash != hash; n = n->next)
		;
	return (struct hnode *)n;
}
