/*
 * argtext.h - the arguments of a call as the audit stream shows them.
 *
 * Text takes longer to make than many a call takes to answer, so it is made in
 * two steps: argtext_pack copies what the text will be of, for the one who
 * answers; argtext_render makes the text of that, for the stream's writer.
 * What is packed is what was decided on: nothing is read again.
 */
#ifndef CLOCHE_ARGTEXT_H
#define CLOCHE_ARGTEXT_H

#include "table.h"

/* Appends to out the bytes that argtext_render takes. Returns where among them
 * the string lies that c->ev.path is, too, or 0. */
size_t argtext_pack(const struct call *c, struct strbuf *out);

/* An audit_render: appends a JSON object, with paths resolved where known,
 * flags by name and no addresses of output. */
void argtext_render(const struct audit_packed *args, struct strbuf *out,
		    struct audit_span *path);

/* Both steps, for who needs the text at once. */
void argtext_json(const struct call *c, struct strbuf *out);

#endif
