/*
 * control.h - messages between cloche's commands and a kept sandbox.
 *
 * A SEQPACKET socket; each packet is one JSON object of at most CONTROL_MAX
 * bytes, with descriptors beside it. Every object has "v": CONTROL_VERSION.
 * A request has "op", an answer "ok": true or "error" with a text for a
 * person (and "errno", a number, where it has one), a later word of the
 * sandbox "event". An answer that is too large for a packet comes in a memfd:
 * the packet then is {"v":1,"body":true}. Requests never do.
 *
 * The receiving side trusts neither sizes nor types: control_parse refuses
 * what is not such an object, and the accessors give a default for what is
 * missing or of another type.
 */
#ifndef CLOCHE_CONTROL_H
#define CLOCHE_CONTROL_H

#include <jansson.h>

#include "../base/base.h"

enum {
	CONTROL_VERSION = 1,
	CONTROL_MAX = 64 << 10,
	CONTROL_BODY_MAX = 64 << 20,
	CONTROL_FDS = 8,
	/* The errno of an exec whose output is limited: the client has to count
	 * it ("max_output" of status) and say so ("counted"). */
	CONTROL_COUNT = EXFULL,
};

struct control_msg {
	json_t *root;	      /* owned; an object */
	int fds[CONTROL_FDS]; /* owned; -1: none */
	unsigned nfds;
};

void control_msg_fini(struct control_msg *m);
/* Takes descriptor i out of m; -1 if there is none. */
int control_take_fd(struct control_msg *m, unsigned i);

/* The object in `data`: 0, -EBADMSG (none), -EPROTO (another version). */
int MUST_CHECK control_parse(const char *data, size_t len, json_t **out);

/* Sends root (borrowed; "v" is added) and descriptors (borrowed). bodies: may
 * be sent as a memfd. flags: MSG_DONTWAIT or 0. 0 or -errno. */
int MUST_CHECK control_send(int sock, json_t *root, const int *fds,
			    unsigned nfds, bool bodies, int flags);
/* The next message. 0, -EPIPE at the end, -EAGAIN, -EBADMSG, -EPROTO,
 * -EMSGSIZE. bodies: accepts one that comes in a memfd. */
int MUST_CHECK control_recv(int sock, struct control_msg *m, bool bodies,
			    int flags);

/* Members of an object; borrowed. */
const char *control_text(const json_t *o, const char *key, const char *def);
int64_t control_number(const json_t *o, const char *key, int64_t def);
bool control_flag(const json_t *o, const char *key);
/* A JSON string of bytes that need not be UTF-8 (those become \x escapes as a
 * person sees them); a new reference. */
json_t *control_string(const char *s);

#endif
