/*
 * names.c - see names.h.
 */
#include "names.h"

struct entry {
	struct hnode node; /* by address */
	struct netaddr addr;
	uint64_t until;
	char name[NETHOST_SIZE];
};

static uint64_t addr_hash(const struct netaddr *a)
{
	return hash_bytes(a, sizeof(*a), 0x6e616d65u);
}

void names_init(struct names *t)
{
	htable_init(&t->by_addr);
}

static void sweep(struct names *t, uint64_t now, bool all)
{
	for (size_t i = 0; t->by_addr.buckets && i <= t->by_addr.mask; i++) {
		struct hnode *n = t->by_addr.buckets[i], *next;

		for (; n; n = next) {
			struct entry *e = container_of(n, struct entry, node);

			next = n->next;
			if (!all && e->until > now)
				continue;
			htable_del(&t->by_addr, n);
			free(e);
		}
	}
}

void names_fini(struct names *t)
{
	sweep(t, 0, true);
	htable_fini(&t->by_addr);
}

static struct entry *find(struct names *t, const struct netaddr *addr,
			  const char *name, size_t *count)
{
	*count = 0;
	for (struct hnode *n = htable_first(&t->by_addr, addr_hash(addr)); n;
	     n = htable_next(n)) {
		struct entry *e = container_of(n, struct entry, node);

		if (!netaddr_equal(&e->addr, addr))
			continue;
		if (!strcmp(e->name, name))
			return e;
		++*count;
	}
	return NULL;
}

void names_add(struct names *t, const struct netaddr *addr, const char *name,
	       uint64_t until, uint64_t now)
{
	size_t count;
	struct entry *e = find(t, addr, name, &count);

	if (e) {
		if (e->until < until)
			e->until = until;
		return;
	}
	if (t->by_addr.count >= NAMES_MAX || count >= NAMES_PER_ADDR_MAX)
		sweep(t, now, false);
	find(t, addr, name, &count);
	if (t->by_addr.count >= NAMES_MAX || count >= NAMES_PER_ADDR_MAX)
		return;
	e = xcalloc(1, sizeof(*e));
	e->addr = *addr;
	e->until = until;
	memcpy(e->name, name, strlen(name) + 1);
	htable_add(&t->by_addr, &e->node, addr_hash(addr));
}

size_t names_find(const struct names *t, const struct netaddr *addr,
		  uint64_t now, const char **out, size_t max)
{
	size_t k = 0;

	for (struct hnode *n = htable_first(&t->by_addr, addr_hash(addr));
	     n && k < max; n = htable_next(n)) {
		struct entry *e = container_of(n, struct entry, node);

		if (netaddr_equal(&e->addr, addr) && e->until > now)
			out[k++] = e->name;
	}
	return k;
}

size_t names_addresses(const struct names *t, const char *name,
		       struct netaddr *out, size_t max)
{
	size_t k = 0;

	for (size_t i = 0; t->by_addr.buckets && i <= t->by_addr.mask; i++)
		for (struct hnode *n = t->by_addr.buckets[i]; n; n = n->next) {
			struct entry *e = container_of(n, struct entry, node);

			if (k < max && e->until == NAMES_FOREVER &&
			    !strcmp(e->name, name))
				out[k++] = e->addr;
		}
	return k;
}
