/*
 * batch.h - a block of audit records on its way from emitters to the writer.
 *
 * Emitters append copies of events (or add to the count of an identical one);
 * the writer formats a whole batch in order. A batch becomes one block of the
 * chain. Not locked: the owner (audit.c) does that for open batches; a batch
 * that was handed over belongs to the writer alone.
 */
#ifndef CLOCHE_BATCH_H
#define CLOCHE_BATCH_H

#include "../base/list.h"
#include "audit.h"
#include "chain.h"

#define BATCH_BYTES (256u << 10) /* of copied strings: then it is full */
#define BATCH_SLOTS 1024	 /* of the coalescing table; a power of two */

/* Where in the batch's text something was copied to; 0: nothing. */
typedef uint32_t batch_at_t;

struct record {
	uint64_t t, ns, n, hash;
	int64_t ret;
	pid_t pid, tid, ppid;
	batch_at_t call, exe, path, rule; /* with a NUL */
	batch_at_t args, more;
	uint32_t args_len, more_len;
	uint32_t path_at; /* of packed arguments */
	void (*render)(const struct audit_packed *args, struct strbuf *out,
		       struct audit_span *path); /* NULL: args are text */
	uint8_t verdict;			 /* enum audit_verdict */
	bool observed;
};

struct batch {
	struct list link;
	size_t count;
	uint64_t born;	/* CLOCK_MONOTONIC; set by audit.c, as is */
	uint64_t epoch; /* what to add to events' clock for CLOCK_REALTIME */
	char *text;	/* of text_size bytes, text_len used */
	size_t text_len, text_size;
	struct record rec[CHAIN_BLOCK_MAX];
	uint16_t slot[BATCH_SLOTS]; /* record number + 1, 0: free */
};

struct batch *batch_new(void);
void batch_free(struct batch *b);
/* As new, with the memory that it has. */
void batch_reset(struct batch *b);
bool batch_full(const struct batch *b);

/* Copies the event; the batch must not be full. merge: if an identical record
 * is there, only that one's count is raised. */
void batch_add(struct batch *b, const struct audit_event *ev, bool merge);

static inline const char *batch_text(const struct batch *b, batch_at_t at)
{
	return at ? b->text + at : NULL;
}

#endif
