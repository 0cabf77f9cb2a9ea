/*
 * socknames.c - the names that guests gave to Unix sockets; socknames.h.
 */
#include "socknames.h"

/* By age, oldest first. One process holds one sandbox, so the list's head
 * lives beside the table: at hash 0, which no entry uses. */
struct names_head {
	struct hnode node;
	struct list ages;
	size_t count;
};

#define HEAD_HASH 0

static uint64_t ino_hash(ino_t ino)
{
	uint64_t h = hash_u64(ino, 1);

	return h == HEAD_HASH ? 1 : h;
}

static struct names_head *names(struct sentry *s)
{
	struct names_head *h;
	struct hnode *n;

	if (!s->sockets.buckets)
		htable_init(&s->sockets);
	n = htable_first(&s->sockets, HEAD_HASH);
	if (n)
		return container_of(n, struct names_head, node);
	h = xcalloc(1, sizeof(*h));
	list_init(&h->ages);
	htable_add(&s->sockets, &h->node, HEAD_HASH);
	return h;
}

struct sockname *sockname_by_ino(struct sentry *s, ino_t ino)
{
	struct hnode *n;

	names(s);
	for (n = htable_first(&s->sockets, ino_hash(ino)); n;
	     n = htable_next(n)) {
		struct sockname *k = container_of(n, struct sockname, node);

		if (k->ino == ino)
			return k;
	}
	return NULL;
}

struct sockname *sockname_by_real(struct sentry *s,
				  const struct sockaddr_un *real, socklen_t len)
{
	struct names_head *h = names(s);
	struct sockname *best = NULL;

	list_for_each (p, &h->ages) {
		struct sockname *k = list_entry(p, struct sockname, age);

		if (k->real_len == len && !memcmp(&k->real, real, len))
			best = k;
	}
	return best;
}

struct sockname *sockname_add(struct sentry *s, ino_t ino,
			      const struct sockaddr_un *given,
			      socklen_t given_len,
			      const struct sockaddr_un *real,
			      socklen_t real_len)
{
	struct names_head *h = names(s);
	struct sockname *k = sockname_by_ino(s, ino);

	if (!k) {
		if (h->count >= SOCKNAMES_MAX) {
			k = list_entry(h->ages.next, struct sockname, age);
			list_del(&k->age);
			htable_del(&s->sockets, &k->node);
			free(k->path);
			free(k);
			h->count--;
		}
		k = xcalloc(1, sizeof(*k));
		k->ino = ino;
		htable_add(&s->sockets, &k->node, ino_hash(ino));
		list_add_tail(&h->ages, &k->age);
		h->count++;
	}
	k->given = *given;
	k->given_len = given_len;
	k->real = *real;
	k->real_len = real_len;
	free(k->path);
	k->path = NULL;
	return k;
}
