/*
 * audit_by.c - see audit_by.h.
 *
 * A site is the instruction that made the call (`insn`), and the nearest frame
 * of the stack in another image, which is what the program's author knows: the
 * instruction itself is mostly in libc.
 */
#include "audit_by.h"

#include <stdio.h>

#include "../audit/reader.h"
#include "../base/hash.h"

enum { SHOWN_MAX = 40 };

struct rank {
	struct hnode node;
	char *key;
	uint64_t n;
	double ns;
};

struct audit_ranks {
	enum audit_by by;
	struct htable table;
	uint64_t without; /* records that have no site */
};

int audit_by_read(const char *word, enum audit_by *by, struct strbuf *err)
{
	static const char *const words[] = {"", "site", "call", "program"};

	for (size_t i = 1; i < ARRAY_SIZE(words); i++) {
		if (strcmp(words[i], word) == 0) {
			*by = (enum audit_by)i;
			return 0;
		}
	}
	strbuf_puts(err, "--by: site, call or program was expected");
	return -EINVAL;
}

struct audit_ranks *audit_ranks_new(enum audit_by by)
{
	struct audit_ranks *r = xcalloc(1, sizeof(*r));

	r->by = by;
	htable_init(&r->table);
	return r;
}

static struct rank **sorted(const struct audit_ranks *r,
			    int (*order)(const void *, const void *))
{
	struct rank **all = xcalloc(r->table.count + 1, sizeof(*all));
	size_t n = 0;

	for (size_t i = 0; i <= r->table.mask; i++)
		for (struct hnode *h = r->table.buckets[i]; h; h = h->next)
			all[n++] = container_of(h, struct rank, node);
	if (order)
		qsort(all, n, sizeof(*all), order);
	return all;
}

void audit_ranks_free(struct audit_ranks *r)
{
	AUTO_FREE struct rank **all = NULL;

	if (!r)
		return;
	all = sorted(r, NULL);
	for (size_t i = 0; i < r->table.count; i++) {
		free(all[i]->key);
		free(all[i]);
	}
	htable_fini(&r->table);
	free(r);
}

/* Bytes of the image's name in "IMAGE!SYMBOL+0x1" or "IMAGE+0x1". */
static size_t image_len(const char *frame)
{
	const char *bang = strrchr(frame, '!'), *plus = strrchr(frame, '+');

	if (bang)
		return (size_t)(bang - frame);
	return plus ? (size_t)(plus - frame) : strlen(frame);
}

/* Owned; NULL if the record was made without stacks. */
static char *site_of(const json_t *rec)
{
	const char *at = audit_text(json_object_get(rec, "insn"), "at");
	const json_t *stack = json_object_get(rec, "stack"), *f;
	size_t len = image_len(at), i;

	if (!*at)
		return NULL;
	json_array_foreach(stack, i, f)
	{
		const char *frame = json_string_value(f);

		if (frame &&
		    (image_len(frame) != len || strncmp(frame, at, len) != 0))
			return xasprintf("%s at %s from %s",
					 audit_text(rec, "call"), at, frame);
	}
	return xasprintf("%s at %s", audit_text(rec, "call"), at);
}

static char *key_of(const struct audit_ranks *r, const json_t *rec)
{
	switch (r->by) {
	case BY_SITE:
		return site_of(rec);
	case BY_EACH_PROGRAM:
		return xstrdup(audit_text(rec, "exe"));
	default:
		return xstrdup(audit_text(rec, "call"));
	}
}

static struct rank *rank_get(struct audit_ranks *r, const char *key)
{
	uint64_t hash = hash_bytes(key, strlen(key), 0);
	struct rank *x;

	for (struct hnode *h = htable_first(&r->table, hash); h;
	     h = htable_next(h)) {
		x = container_of(h, struct rank, node);
		if (strcmp(x->key, key) == 0)
			return x;
	}
	x = xcalloc(1, sizeof(*x));
	x->key = xstrdup(key);
	htable_add(&r->table, &x->node, hash);
	return x;
}

void audit_ranks_add(struct audit_ranks *r, const json_t *rec)
{
	AUTO_FREE char *key = NULL;
	uint64_t n = (uint64_t)audit_number(rec, "n");
	struct rank *x;

	if (!json_object_get(rec, "pid"))
		return; /* of the sandbox, not of a program */
	key = key_of(r, rec);
	n = n ? n : 1;
	if (!key) {
		r->without += n;
		return;
	}
	x = rank_get(r, key);
	x->n += n;
	x->ns += (double)audit_number(rec, "ns");
}

static int by_time(const void *a, const void *b)
{
	const struct rank *x = *(struct rank *const *)a;
	const struct rank *y = *(struct rank *const *)b;

	if (x->ns != y->ns)
		return x->ns < y->ns ? 1 : -1;
	return strcmp(x->key, y->key);
}

static void print_json(struct rank *const *all, size_t count)
{
	json_t *list = json_array();

	for (size_t i = 0; i < count; i++)
		json_array_append_new(
			list, json_pack("{s:s,s:I,s:I}", "key", all[i]->key,
					"n", (json_int_t)all[i]->n, "ns",
					(json_int_t)all[i]->ns));
	json_dumpf(list, stdout, JSON_INDENT(2));
	putchar('\n');
	json_decref(list);
}

void audit_ranks_print(struct audit_ranks *r, bool json)
{
	AUTO_FREE struct rank **all = sorted(r, by_time);
	size_t count = r->table.count;
	struct strbuf b;

	if (json) {
		print_json(all, count);
		return;
	}
	strbuf_init(&b, 0);
	strbuf_printf(&b, "%9s %10s %10s\n", "calls", "ms", "us a call");
	for (size_t i = 0; i < count && i < SHOWN_MAX; i++) {
		strbuf_printf(&b, "%9llu %10.2f %10.1f  ",
			      (unsigned long long)all[i]->n, all[i]->ns / 1e6,
			      all[i]->ns / 1e3 / (double)all[i]->n);
		strbuf_visible(&b, all[i]->key, strlen(all[i]->key));
		strbuf_putc(&b, '\n');
	}
	if (count > SHOWN_MAX)
		strbuf_printf(&b, "and %zu more\n", count - SHOWN_MAX);
	if (r->without && r->by == BY_SITE)
		strbuf_printf(&b,
			      "%llu calls have no site: it is recorded by "
			      "--stacks\n",
			      (unsigned long long)r->without);
	fwrite(b.data, 1, b.len, stdout);
	strbuf_fini(&b);
}
