/*
 * batch.c - see batch.h.
 *
 * The emitter's side is on the path of every call: a merge costs two hashes
 * of short strings, one probe and two comparisons; a new record a few copies
 * into memory that is there already. No text is made here.
 */
#include "batch.h"

#include "../base/hash.h"
#include "../base/ticks.h"

enum { TEXT_FIRST = 32 << 10, TEXT_KEPT = 128 << 10 };

struct batch *batch_new(void)
{
	struct batch *b = xmalloc(sizeof(*b));

	b->text = NULL;
	b->text_size = 0;
	batch_reset(b);
	return b;
}

void batch_reset(struct batch *b)
{
	list_init(&b->link);
	b->count = 0;
	b->born = b->epoch = 0;
	if (!b->text || b->text_size > TEXT_KEPT) {
		free(b->text);
		b->text_size = TEXT_FIRST;
		b->text = xmalloc(b->text_size);
	}
	b->text_len = 1; /* at 0 there is nothing */
	memset(b->slot, 0, sizeof(b->slot));
}

void batch_free(struct batch *b)
{
	free(b->text);
	free(b);
}

bool batch_full(const struct batch *b)
{
	return b->count == CHAIN_BLOCK_MAX || b->text_len >= BATCH_BYTES;
}

static void batch_grow(struct batch *b, size_t len)
{
	while (b->text_size - b->text_len < len)
		b->text_size *= 2;
	b->text = realloc(b->text, b->text_size);
	BUG_ON(!b->text);
}

/* With a NUL after it. */
static batch_at_t batch_copy(struct batch *b, const void *s, size_t len)
{
	size_t at = b->text_len;

	BUG_ON(len >= UINT32_MAX - BATCH_BYTES);
	if (b->text_size - at < len + 1)
		batch_grow(b, len + 1);
	memcpy(b->text + at, s, len);
	b->text[at + len] = '\0';
	b->text_len = at + len + 1;
	return (batch_at_t)at;
}

static batch_at_t batch_copy_str(struct batch *b, const char *s)
{
	return s && *s ? batch_copy(b, s, strlen(s)) : 0;
}

static const void *event_args(const struct audit_event *ev, size_t *len)
{
	if (ev->packed.render) {
		*len = ev->packed.len;
		return ev->packed.data;
	}
	*len = ev->args ? ev->args_len : 0;
	return ev->args;
}

/* Packed arguments of other calls differ, and hold the path mostly. */
static uint64_t batch_hash(const struct audit_event *ev)
{
	uint64_t h = (uint64_t)ev->tid << 3 | ev->verdict;
	size_t len;
	const void *args = event_args(ev, &len);

	if (len)
		h = hash_bytes(args, len, h);
	if (!ev->packed.render)
		h = hash_bytes(ev->call, strlen(ev->call), h);
	if (ev->path && !ev->packed.path_at)
		h = hash_bytes(ev->path, strlen(ev->path), h);
	if (ev->more_len)
		h = hash_bytes(ev->more, ev->more_len, h);
	return h ^ (uint64_t)ev->ret;
}

static bool same_str(const struct batch *b, batch_at_t kept, const char *s)
{
	if (!kept || !s || !*s)
		return !kept && (!s || !*s);
	return strcmp(b->text + kept, s) == 0;
}

static bool same_bytes(const struct batch *b, batch_at_t at, size_t kept,
		       const void *data, size_t len)
{
	return kept == len && (!len || !memcmp(b->text + at, data, len));
}

static bool record_same(const struct batch *b, const struct record *r,
			const struct audit_event *ev)
{
	size_t len;
	const void *args = event_args(ev, &len);

	return r->pid == ev->pid && r->tid == ev->tid && r->ppid == ev->ppid &&
	       r->ret == ev->ret && r->verdict == ev->verdict &&
	       r->observed == ev->observed && r->render == ev->packed.render &&
	       same_bytes(b, r->args, r->args_len, args, len) &&
	       same_bytes(b, r->more, r->more_len, ev->more, ev->more_len) &&
	       (r->render || same_str(b, r->call, ev->call)) &&
	       (r->path_at ? r->path_at == ev->packed.path_at
			   : same_str(b, r->path, ev->path)) &&
	       same_str(b, r->rule, ev->rule) && same_str(b, r->exe, ev->exe);
}

/* The slot of an identical record, or the free one where it would go. */
static uint16_t *batch_probe(struct batch *b, const struct audit_event *ev,
			     uint64_t hash)
{
	size_t i = hash & (BATCH_SLOTS - 1);

	/* ends: 256 records at most in 1,024 slots */
	for (;; i = (i + 1) & (BATCH_SLOTS - 1)) {
		const struct record *r;

		if (!b->slot[i])
			return &b->slot[i];
		r = &b->rec[b->slot[i] - 1];
		if (r->hash == hash && record_same(b, r, ev))
			return &b->slot[i];
	}
}

/* When it was. One clock is read for a record, and the emitter has done that.
 */
static uint64_t batch_time(const struct batch *b, const struct audit_event *ev)
{
	return ev->now ? ev->now + b->epoch : ticks_clock(CLOCK_REALTIME);
}

/* Most records are of the same few programs and calls as those before. */
static batch_at_t batch_again(struct batch *b, batch_at_t last, const char *s)
{
	if (last && s && strcmp(b->text + last, s) == 0)
		return last;
	return batch_copy_str(b, s);
}

static void record_args(struct batch *b, struct record *r,
			const struct audit_event *ev)
{
	size_t len;
	const void *args = event_args(ev, &len);

	if (!len)
		return;
	r->args = batch_copy(b, args, len);
	r->args_len = (uint32_t)len;
	r->render = ev->packed.render;
	if (r->render)
		r->path_at = (uint32_t)ev->packed.path_at;
}

static void batch_append(struct batch *b, const struct audit_event *ev,
			 uint64_t hash)
{
	const struct record none = {0};
	const struct record *last = b->count ? &b->rec[b->count - 1] : &none;
	struct record *r = &b->rec[b->count];

	BUG_ON(batch_full(b));
	*r = (struct record){
		.t = batch_time(b, ev),
		.ns = ev->ns,
		.n = 1,
		.hash = hash,
		.ret = ev->ret,
		.pid = ev->pid,
		.tid = ev->tid,
		.ppid = ev->ppid,
		.verdict = (uint8_t)ev->verdict,
		.observed = ev->observed,
		.call = batch_again(b, last->call, ev->call),
		.exe = batch_again(b, last->exe, ev->exe),
		.rule = batch_copy_str(b, ev->rule),
	};
	record_args(b, r, ev);
	r->path =
		r->path_at ? r->args + r->path_at : batch_copy_str(b, ev->path);
	if (ev->more_len) {
		r->more = batch_copy(b, ev->more, ev->more_len);
		r->more_len = (uint32_t)ev->more_len;
	}
	b->count++;
}

void batch_add(struct batch *b, const struct audit_event *ev, bool merge)
{
	uint64_t hash = merge ? batch_hash(ev) : 0;
	uint16_t *slot = merge ? batch_probe(b, ev, hash) : NULL;

	if (slot && *slot) {
		b->rec[*slot - 1].n++;
		b->rec[*slot - 1].ns += ev->ns;
		return;
	}
	batch_append(b, ev, hash);
	if (slot)
		*slot = (uint16_t)b->count;
}
