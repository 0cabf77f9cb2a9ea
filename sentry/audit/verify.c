/*
 * verify.c - checks an audit stream's numbers and hashes; see reader.h.
 *
 * One file may hold several streams, one after the other or interleaved
 * (two sandboxes that append to it): their lines are told apart by "id".
 * After a damage the stream goes on from what it claims itself, so that one
 * altered line is reported once and not for the rest of the file.
 *
 * Does not know who wrote the file: one who can alter it can also compute a
 * new chain. Only a head kept elsewhere (--audit-head) tells that.
 */
#include "reader.h"

#include "chain.h"

enum {
	STREAMS_MAX = 4096, /* distinct ids in one file */
	DAMAGES_SHOWN = 10,
};

struct stream {
	struct stream *next;
	char *id;
	struct chain chain;
	uint64_t seq;	     /* last record's number */
	uint64_t block;	     /* records since the last chain record */
	uint64_t block_line; /* where the block began */
	bool begun, ended;
};

struct verify {
	struct audit_reader *r;
	const char *head;
	struct audit_verified *v;
	struct strbuf *report;
	struct stream *streams;
	bool at_end; /* what follows is about the file, not a line */
};

static void verify_damage(struct verify *x, const char *fmt, ...) PRINTF(2, 3);
static void verify_damage(struct verify *x, const char *fmt, ...)
{
	char text[800];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	if (x->v->damages++ >= DAMAGES_SHOWN)
		return;
	if (!x->at_end)
		strbuf_printf(x->report,
			      "line %llu: ", (unsigned long long)x->r->number);
	strbuf_visible(x->report, text, strlen(text));
	strbuf_putc(x->report, '\n');
}

static struct stream *verify_stream(struct verify *x, const char *id)
{
	struct stream *s = x->streams;

	while (s && strcmp(s->id, id) != 0)
		s = s->next;
	if (s)
		return s;
	if (x->v->streams == STREAMS_MAX) {
		verify_damage(x, "more than %d streams in one file",
			      STREAMS_MAX);
		return NULL;
	}
	s = xcalloc(1, sizeof(*s));
	chain_init(&s->chain);
	s->id = xstrdup(id);
	s->next = x->streams;
	x->streams = s;
	x->v->streams++;
	return s;
}

static void stream_set_hash(struct stream *s, const char *hex)
{
	for (size_t i = 0; i < CHAIN_HASH_SIZE; i++) {
		unsigned byte;

		if (sscanf(hex + 2 * i, "%2x", &byte) != 1)
			return;
		s->chain.hash[i] = (unsigned char)byte;
	}
}

static void verify_chain(struct verify *x, struct stream *s)
{
	const char *prev = audit_text(x->r->object, "prev");
	const char *hash = audit_text(x->r->object, "hash");
	uint64_t to = (uint64_t)audit_number(x->r->object, "to");
	uint64_t from = (uint64_t)audit_number(x->r->object, "from");
	char want[CHAIN_HEX_SIZE];

	x->v->blocks++;
	chain_hex(&s->chain, want);
	if (strcmp(prev, want) != 0)
		verify_damage(x,
			      "the block before this one is missing or was "
			      "altered (its hash should be %.16s..., this line "
			      "says %.16s...)",
			      want, prev);
	if (to != s->seq || from != s->seq - s->block + 1)
		verify_damage(x,
			      "the block should hold records %llu-%llu but "
			      "has %llu, up to %llu: lines were removed or "
			      "added",
			      (unsigned long long)from, (unsigned long long)to,
			      (unsigned long long)s->block,
			      (unsigned long long)s->seq);
	chain_close(&s->chain);
	chain_hex(&s->chain, want);
	if (strcmp(hash, want) != 0)
		verify_damage(x,
			      "the hash does not fit the block that began "
			      "in line %llu: something in it was altered, "
			      "removed or added",
			      (unsigned long long)s->block_line);
	if (strlen(hash) == 2 * CHAIN_HASH_SIZE)
		stream_set_hash(s, hash);
	s->seq = to;
	s->block = 0;
}

static void verify_end(struct verify *x, struct stream *s)
{
	static const char mark[] = ",\"hash\":\"";
	const char *hash = audit_text(x->r->object, "hash");
	uint64_t count = (uint64_t)audit_number(x->r->object, "count");
	char want[CHAIN_HEX_SIZE];
	char *at = NULL;

	/* the last one: a guest's string cannot follow it */
	for (char *p = x->r->line; (p = strstr(p, mark)); p++)
		at = p;
	if (s->block)
		verify_damage(x, "the last block has no chain record");
	s->chain.open = false;
	chain_add(&s->chain, x->r->line,
		  at ? (size_t)(at - x->r->line) : x->r->len);
	chain_close(&s->chain);
	chain_hex(&s->chain, want);
	if (!at || strcmp(hash, want) != 0)
		verify_damage(x, "the end record or what it stands on was "
				 "altered: its hash does not fit");
	else if (at[sizeof(mark) - 1 + 2 * CHAIN_HASH_SIZE] != '"' ||
		 strcmp(at + sizeof(mark) + 2 * CHAIN_HASH_SIZE, "}") != 0)
		verify_damage(x, "something was added after the final hash");
	if (count != s->seq)
		verify_damage(x,
			      "the end record counts %llu records, %llu are "
			      "here",
			      (unsigned long long)count,
			      (unsigned long long)s->seq);
	s->ended = true;
	memcpy(x->v->last_hash, want, sizeof(want));
	if (x->head && strcmp(x->head, want) == 0)
		x->v->head_found = true;
}

static void verify_record(struct verify *x, struct stream *s, bool end)
{
	uint64_t seq = (uint64_t)audit_number(x->r->object, "seq");

	x->v->records++;
	if (seq != s->seq + 1)
		verify_damage(x, "record %llu follows record %llu",
			      (unsigned long long)seq,
			      (unsigned long long)s->seq);
	s->seq = seq;
	if (end) {
		verify_end(x, s);
		return;
	}
	if (!s->block++)
		s->block_line = x->r->number;
	if (s->block == CHAIN_BLOCK_MAX + 1)
		verify_damage(x,
			      "the block has more than %d records: a chain "
			      "record is missing",
			      CHAIN_BLOCK_MAX);
	chain_add(&s->chain, x->r->line, x->r->len);
	chain_add(&s->chain, "\n", 1);
}

static void verify_line(struct verify *x)
{
	const char *id, *call;
	struct stream *s;

	if (!x->r->object) {
		verify_damage(x, "not a record: %s", x->r->problem);
		return;
	}
	id = audit_text(x->r->object, "id");
	call = audit_text(x->r->object, "call");
	if (!*id || !*call) {
		verify_damage(x, "not a record: no \"%s\"",
			      *id ? "call" : "id");
		return;
	}
	s = verify_stream(x, id);
	if (!s)
		return;
	if (s->ended) {
		verify_damage(x, "a line of stream %s after its end", id);
		return;
	}
	if (!s->begun && strcmp(call, "start") != 0)
		verify_damage(x, "stream %s does not begin with a start record",
			      id);
	s->begun = true;
	if (strcmp(call, "chain") == 0)
		verify_chain(x, s);
	else
		verify_record(x, s, strcmp(call, "end") == 0);
	if (!x->r->newline)
		verify_damage(x, "the last line has no newline: cut short");
}

/* What is only known at the end of the file; frees the streams. */
static void verify_finish(struct verify *x)
{
	struct stream *s, *next;

	x->at_end = true;
	for (s = x->streams; s; s = next) {
		next = s->next;
		if (!s->ended) {
			x->v->unfinished++;
			verify_damage(
				x,
				"stream %s has no end record: it still "
				"runs, was killed, or the file was cut; "
				"%llu records after the last chain record",
				s->id, (unsigned long long)s->block);
		}
		free(s->id);
		free(s);
	}
	if (x->head && !x->v->head_found)
		verify_damage(x,
			      "no stream here ends in the given head "
			      "%.16s...: the file is not the one that was "
			      "written",
			      x->head);
	if (!x->v->streams && !x->v->damages)
		verify_damage(x, "the file is empty");
	x->v->only_unfinished =
		x->v->streams && x->v->unfinished == x->v->damages;
	if (x->v->damages > DAMAGES_SHOWN)
		strbuf_printf(x->report, "and %llu more\n",
			      (unsigned long long)x->v->damages -
				      DAMAGES_SHOWN);
}

int audit_verify(struct audit_reader *r, const char *head,
		 struct audit_verified *v, struct strbuf *report)
{
	struct verify x = {.r = r, .head = head, .v = v, .report = report};
	int got;

	memset(v, 0, sizeof(*v));
	while ((got = audit_reader_next(r)) > 0)
		verify_line(&x);
	verify_finish(&x);
	if (got < 0)
		return got;
	return v->damages ? -EBADMSG : 0;
}
