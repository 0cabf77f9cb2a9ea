/*
 * denials.c - see denials.h.
 */
#include "denials.h"

#include <errno.h>
#include <string.h>

struct denial {
	struct hnode node;
	struct list link;
	char *call, *path, *rule, *hint; /* hint may be NULL */
	enum audit_verdict verdict;
	int64_t ret;
	uint64_t times;
};

void denials_init(struct denials *d)
{
	htable_init(&d->table);
	list_init(&d->order);
	d->count = 0;
	d->more = 0;
}

static void denial_free(struct denial *x)
{
	list_del(&x->link);
	free(x->call);
	free(x->path);
	free(x->rule);
	free(x->hint);
	free(x);
}

void denials_fini(struct denials *d)
{
	list_for_each_safe (l, &d->order)
		denial_free(list_entry(l, struct denial, link));
	htable_fini(&d->table);
}

static struct denial *denials_find(struct denials *d, uint64_t hash,
				   const struct audit_event *ev,
				   const char *path)
{
	struct hnode *n = htable_first(&d->table, hash);

	for (; n; n = htable_next(n)) {
		struct denial *x = container_of(n, struct denial, node);

		if (strcmp(x->call, ev->call) == 0 &&
		    strcmp(x->path, path) == 0 &&
		    strcmp(x->rule, ev->rule) == 0)
			return x;
	}
	return NULL;
}

static unsigned of_kind(const struct denials *d, const char *call,
			const char *rule)
{
	unsigned n = 0;

	list_for_each (l, &d->order) {
		const struct denial *x = list_entry(l, struct denial, link);

		n += !strcmp(x->call, call) && !strcmp(x->rule, rule);
	}
	return n;
}

/* A full table must not hide the first refusal of a kind behind many of
 * another: the newest of a kind that has several gives way. */
static bool make_room(struct denials *d, const struct audit_event *ev)
{
	if (of_kind(d, ev->call, ev->rule))
		return false;
	for (struct list *l = d->order.prev; l != &d->order; l = l->prev) {
		struct denial *x = list_entry(l, struct denial, link);

		if (of_kind(d, x->call, x->rule) < 2)
			continue;
		d->more += x->times;
		d->count--;
		htable_del(&d->table, &x->node);
		denial_free(x);
		return true;
	}
	return false;
}

void denials_add(struct denials *d, const struct audit_event *ev)
{
	const char *path = ev->path ? ev->path : "";
	uint64_t hash = hash_bytes(path, strlen(path), 1) ^
			hash_bytes(ev->call, strlen(ev->call), 2) ^
			hash_bytes(ev->rule, strlen(ev->rule), 3);
	struct denial *x;

	/* A probe for what this kernel does not have: the stream keeps it. */
	if (ev->ret == -ENOSYS)
		return;
	x = denials_find(d, hash, ev, path);
	if (x) {
		x->times++;
		return;
	}
	if (d->count == DENIALS_MAX && !make_room(d, ev)) {
		d->more++;
		return;
	}
	x = xcalloc(1, sizeof(*x));
	x->call = xstrdup(ev->call);
	x->path = xstrdup(path);
	x->rule = xstrdup(ev->rule);
	x->hint = ev->hint ? xstrdup(ev->hint) : NULL;
	x->verdict = ev->verdict;
	x->ret = ev->ret;
	x->times = 1;
	htable_add(&d->table, &x->node, hash);
	list_add_tail(&d->order, &x->link);
	d->count++;
}

static void denial_line(const struct denial *x, struct strbuf *out)
{
	strbuf_puts(out, x->verdict == AUDIT_LIMIT ? "limited: " : "refused: ");
	strbuf_visible(out, x->call, strlen(x->call));
	if (*x->path) {
		strbuf_putc(out, ' ');
		strbuf_visible(out, x->path, strlen(x->path));
	}
	if (x->ret < 0 && x->ret > -4096) {
		const char *name = strerrorname_np((int)-x->ret);

		strbuf_printf(out, " (%s)", name ? name : "error");
	}
	if (*x->rule) {
		strbuf_puts(out, ", rule ");
		strbuf_visible(out, x->rule, strlen(x->rule));
	}
	if (x->times > 1)
		strbuf_printf(out, ", %llu times",
			      (unsigned long long)x->times);
	if (x->hint) {
		strbuf_puts(out, "; to allow: ");
		strbuf_visible(out, x->hint, strlen(x->hint));
	}
	strbuf_putc(out, '\n');
}

void denials_text(const struct denials *d, struct strbuf *out)
{
	list_for_each (l, &d->order)
		denial_line(list_entry(l, struct denial, link), out);
	if (d->more)
		strbuf_printf(out, "refused: %llu more of other kinds\n",
			      (unsigned long long)d->more);
}
