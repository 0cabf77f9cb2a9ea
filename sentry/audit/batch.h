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

struct record {
	uint64_t t, ns, n, hash;
	int64_t ret;
	pid_t pid, tid, ppid;
	const char *call; /* in the batch's text, as all strings here */
	const char *exe, *args, *path, *rule; /* NULL: none */
	const char *more;		      /* further members */
	size_t args_len, more_len;
	enum audit_verdict verdict;
	bool observed;
};

struct batch {
	struct list link;
	size_t count;
	struct record rec[CHAIN_BLOCK_MAX];
	uint16_t slot[BATCH_SLOTS]; /* record number + 1, 0: free */
	struct list text;	    /* chunks that hold the strings */
	size_t bytes;
};

struct batch *batch_new(void);
void batch_free(struct batch *b);
bool batch_full(const struct batch *b);

/* True if an identical record was there, and its count was raised. */
bool batch_merge(struct batch *b, const struct audit_event *ev, uint64_t hash);
/* Copies the event; the batch must not be full. */
void batch_add(struct batch *b, const struct audit_event *ev, uint64_t hash);
uint64_t batch_hash(const struct audit_event *ev);

/* Appends the JSON line of a record, with its newline. */
void record_format(const struct record *r, uint64_t seq, const char *id,
		   struct strbuf *out);
const char *audit_verdict_name(enum audit_verdict v);

#endif
