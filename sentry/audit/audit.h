/*
 * audit.h - the audit stream: one JSON object a line (docs/audit.md).
 *
 * A record stands for a decision. Records are never dropped: when the
 * destination is slow, audit_emit waits, so the guest does (except from the
 * tracer thread, which queues without a bound). Blocks of up to 256 records
 * end in a chain record. Identical allowed look-ups may be coalesced into one
 * record with "n". All functions may be called from any thread.
 */
#ifndef CLOCHE_AUDIT_H
#define CLOCHE_AUDIT_H

#include "../base/base.h"
#include "../base/strbuf.h"

enum audit_verdict {
	AUDIT_ALLOW,
	AUDIT_DENY,
	AUDIT_EMULATE,
	AUDIT_PASS,
	AUDIT_ASK,
	AUDIT_LIMIT
};

struct audit;

struct audit_span {
	size_t at, len;
};

/* Arguments of which the text is yet to be made: the writer's work, for which
 * nobody waits. */
struct audit_packed {
	const char *data; /* of another call it has other bytes */
	size_t len;
	size_t path_at; /* where in data the event's path is, too, with its NUL;
			 * 0: nowhere. Not the first byte, therefore */
	/* Appends them to out as a JSON object. Where it put the string that is
	 * at path_at goes into *path; untouched without one. Any thread. */
	void (*render)(const struct audit_packed *args, struct strbuf *out,
		       struct audit_span *path);
};

struct audit_event {
	const char *call; /* "openat", or a lifecycle kind: "start", "exec" */
	pid_t pid, tid, ppid; /* as the guest sees them (pid namespace) */
	const char *exe;      /* virtual path of the program; may be NULL */
	const char *args; /* a JSON object's text, or NULL; built by decode */
	size_t args_len;
	struct audit_packed packed; /* in place of args; render NULL: none */
	const char *path; /* main resolved path, NULL if none: for coalescing
			   * and for the refusal lines */
	enum audit_verdict verdict;
	char rule[96];	  /* "" if none: "default", "--hide *.pem" ... */
	const char *hint; /* option that would allow it, or NULL */
	int64_t ret;	  /* >= 0: "ret"; -errno: "errno" (name) */
	uint64_t ns;	  /* time in the sentry */
	uint64_t now;	  /* audit_now of a moment ago, or 0 */
	bool coalesce;	  /* may be merged with identical ones */
	bool probe;	  /* a refusal that every program expects: recorded,
			   * but no line at the end of the run */
	bool tracer;	  /* from the tracer thread: must not wait */
	bool observed;	  /* a native call: its arguments decided nothing */
	const char *more; /* further members, each with a comma before it */
	size_t more_len;
};

/* sink: "FILE", "fd:N", "unix:PATH", "-" or NULL (nothing is written, but
 * denials are still collected). id: the sandbox's. Says what is wrong with a
 * destination and returns -errno. */
int MUST_CHECK audit_open(const char *sink, const char *id, int head_fd,
			  struct audit **out);
void audit_emit(struct audit *a, const struct audit_event *ev);
/* The stream's clock, in ns: cheap, for how long a call took. Settled once,
 * some milliseconds after audit_open, before there are other threads; until
 * then and without a destination it is CLOCK_MONOTONIC. */
void audit_clock_settle(struct audit *a);
uint64_t audit_now(const struct audit *a);
/* Emits "end" with count and final hash, flushes, closes. */
void audit_close(struct audit *a, int status);
/* Waits until all that was emitted reached the destination. */
int audit_flush(struct audit *a);

/* Refusals so far, deduplicated and counted: what a person reads at the end
 * and the guest reads in /run/cloche/denials. Appends text lines. */
void audit_denials(struct audit *a, struct strbuf *out);
uint64_t audit_count(struct audit *a);

/* 0, or the errno with which the destination failed for good (disk full,
 * reader gone). From then on nothing more is recorded, so the sandbox must be
 * stopped. fn, if set, is called once, from the writer thread, when that
 * happens; set it before the first audit_emit. */
int audit_failed(struct audit *a);
void audit_on_failure(struct audit *a, void (*fn)(void *arg, int err),
		      void *arg);
/* What was written to where, for a message: "audit.jsonl". Borrowed. */
const char *audit_sink_name(const struct audit *a);

#endif
