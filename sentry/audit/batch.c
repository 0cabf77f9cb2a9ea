/*
 * batch.c - see batch.h.
 *
 * The emitter's side is on the path of every call: a merge costs two hashes
 * of short strings, one probe and two comparisons.
 */
#include "batch.h"

#include <time.h>

#include "../base/hash.h"

enum { CHUNK_SIZE = 16 << 10 };

struct chunk {
	struct list link;
	size_t used, size;
	char data[];
};

static struct chunk *chunk_new(struct batch *b, size_t size)
{
	struct chunk *c = xmalloc(sizeof(*c) + size);

	c->used = 0;
	c->size = size;
	list_add_tail(&b->text, &c->link);
	return c;
}

struct batch *batch_new(void)
{
	struct batch *b = xmalloc(sizeof(*b));

	list_init(&b->link);
	list_init(&b->text);
	b->count = 0;
	b->bytes = 0;
	memset(b->slot, 0, sizeof(b->slot));
	return b;
}

void batch_free(struct batch *b)
{
	list_for_each_safe (l, &b->text)
		free(list_entry(l, struct chunk, link));
	free(b);
}

bool batch_full(const struct batch *b)
{
	return b->count == CHAIN_BLOCK_MAX || b->bytes >= BATCH_BYTES;
}

static const char *batch_copy(struct batch *b, const char *s, size_t len)
{
	struct chunk *c = NULL;
	char *p;

	if (!list_empty(&b->text))
		c = list_entry(b->text.prev, struct chunk, link);
	if (!c || c->size - c->used < len + 1)
		c = chunk_new(b, len + 1 > CHUNK_SIZE ? len + 1 : CHUNK_SIZE);
	p = c->data + c->used;
	memcpy(p, s, len);
	p[len] = '\0';
	c->used += len + 1;
	b->bytes += len + 1;
	return p;
}

static const char *batch_copy_str(struct batch *b, const char *s)
{
	return s && *s ? batch_copy(b, s, strlen(s)) : NULL;
}

uint64_t batch_hash(const struct audit_event *ev)
{
	const char *path = ev->path ? ev->path : "";
	uint64_t h = hash_bytes(path, strlen(path), (uint64_t)ev->ret);

	if (ev->args)
		h ^= hash_bytes(ev->args, ev->args_len, (uint64_t)ev->tid);
	if (ev->more_len)
		h ^= hash_bytes(ev->more, ev->more_len, 1);
	return h ^ hash_bytes(ev->call, strlen(ev->call),
			      (uint64_t)ev->tid << 3 | ev->verdict);
}

static bool same_str(const char *kept, const char *s)
{
	return strcmp(kept ? kept : "", s ? s : "") == 0;
}

static bool record_same(const struct record *r, const struct audit_event *ev)
{
	return r->pid == ev->pid && r->tid == ev->tid && r->ret == ev->ret &&
	       r->verdict == ev->verdict &&
	       r->args_len == (ev->args ? ev->args_len : 0) &&
	       (!r->args_len || memcmp(r->args, ev->args, r->args_len) == 0) &&
	       r->observed == ev->observed && r->more_len == ev->more_len &&
	       (!r->more_len || memcmp(r->more, ev->more, r->more_len) == 0) &&
	       same_str(r->call, ev->call) && same_str(r->path, ev->path) &&
	       same_str(r->rule, ev->rule) && same_str(r->exe, ev->exe);
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
		if (r->hash == hash && record_same(r, ev))
			return &b->slot[i];
	}
}

bool batch_merge(struct batch *b, const struct audit_event *ev, uint64_t hash)
{
	uint16_t slot = *batch_probe(b, ev, hash);

	if (!slot)
		return false;
	b->rec[slot - 1].n++;
	b->rec[slot - 1].ns += ev->ns;
	return true;
}

void batch_add(struct batch *b, const struct audit_event *ev, uint64_t hash)
{
	struct record *r = &b->rec[b->count];
	struct timespec now;

	BUG_ON(batch_full(b));
	clock_gettime(CLOCK_REALTIME, &now);
	*r = (struct record){
		.t = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec,
		.ns = ev->ns,
		.n = 1,
		.hash = hash,
		.ret = ev->ret,
		.pid = ev->pid,
		.tid = ev->tid,
		.ppid = ev->ppid,
		.verdict = ev->verdict,
		.observed = ev->observed,
		.call = batch_copy(b, ev->call, strlen(ev->call)),
		.exe = batch_copy_str(b, ev->exe),
		.path = batch_copy_str(b, ev->path),
		.rule = batch_copy_str(b, ev->rule),
	};
	if (ev->args && ev->args_len) {
		r->args = batch_copy(b, ev->args, ev->args_len);
		r->args_len = ev->args_len;
	}
	if (ev->more_len) {
		r->more = batch_copy(b, ev->more, ev->more_len);
		r->more_len = ev->more_len;
	}
	if (hash)
		*batch_probe(b, ev, hash) = (uint16_t)(b->count + 1);
	b->count++;
}

const char *audit_verdict_name(enum audit_verdict v)
{
	static const char *const names[] = {
		[AUDIT_ALLOW] = "allow",     [AUDIT_DENY] = "deny",
		[AUDIT_EMULATE] = "emulate", [AUDIT_PASS] = "pass",
		[AUDIT_ASK] = "ask",	     [AUDIT_LIMIT] = "limit",
	};

	return (unsigned)v < ARRAY_SIZE(names) ? names[v] : "deny";
}

/* Most strings need no escape: those go in one piece. */
static void put_json(struct strbuf *out, const char *s)
{
	size_t len = 0;

	while (s[len] >= 0x20 && s[len] < 0x7f && s[len] != '"' &&
	       s[len] != '\\')
		len++;
	if (s[len]) {
		strbuf_json_string(out, s, len + strlen(s + len));
		return;
	}
	strbuf_putc(out, '"');
	strbuf_add(out, s, len);
	strbuf_putc(out, '"');
}

/* label holds its comma, quotes and colon. */
static void put_string(struct strbuf *out, const char *label, const char *s)
{
	if (!s)
		return;
	strbuf_puts(out, label);
	put_json(out, s);
}

static void put_number(struct strbuf *out, const char *label, uint64_t v)
{
	char digits[20];
	size_t at = sizeof(digits);

	do
		digits[--at] = (char)('0' + v % 10);
	while ((v /= 10));
	strbuf_puts(out, label);
	strbuf_add(out, digits + at, sizeof(digits) - at);
}

static void put_result(struct strbuf *out, int64_t ret)
{
	const char *name = NULL;

	if (ret >= 0) {
		put_number(out, ",\"ret\":", (uint64_t)ret);
		return;
	}
	if (ret <= -4096) { /* an address in the upper half, an offset */
		strbuf_printf(out, ",\"ret\":%lld", (long long)ret);
		return;
	}
	name = strerrorname_np((int)-ret);
	if (name)
		put_string(out, ",\"errno\":", name);
	else
		strbuf_printf(out, ",\"errno\":\"E%d\"", (int)-ret);
}

void record_format(const struct record *r, uint64_t seq, const char *id,
		   struct strbuf *out)
{
	put_number(out, "{\"seq\":", seq);
	put_number(out, ",\"t\":", r->t);
	put_string(out, ",\"id\":", id);
	if (strcmp(r->call, "start") == 0)
		strbuf_puts(out, ",\"schema\":1");
	if (r->pid > 0 || r->tid > 0) {
		put_number(out, ",\"pid\":", (uint64_t)r->pid);
		put_number(out, ",\"tid\":", (uint64_t)r->tid);
		put_number(out, ",\"ppid\":", (uint64_t)r->ppid);
	}
	put_string(out, ",\"exe\":", r->exe);
	put_string(out, ",\"call\":", r->call);
	if (r->args_len) {
		strbuf_puts(out, ",\"args\":");
		strbuf_add(out, r->args, r->args_len);
	}
	put_string(out, ",\"path\":", r->path);
	put_string(out, ",\"verdict\":", audit_verdict_name(r->verdict));
	put_string(out, ",\"rule\":", r->rule);
	put_result(out, r->ret);
	put_number(out, ",\"ns\":", r->ns);
	if (r->n > 1)
		put_number(out, ",\"n\":", r->n);
	if (r->observed)
		strbuf_puts(out, ",\"observed\":true");
	if (r->more_len)
		strbuf_add(out, r->more, r->more_len);
	strbuf_puts(out, "}\n");
}
