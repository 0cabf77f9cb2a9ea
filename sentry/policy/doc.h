/*
 * doc.h - a policy file's YAML as a tree that knows its lines.
 *
 * A small part of YAML, on purpose: mappings with plain keys, sequences and
 * scalars, which are all strings. Anchors, aliases, tags, a second document
 * and a key that stands twice are mistakes here: each of them could make a
 * person read another policy than the program does.
 *
 * The bytes are the operator's, bounded before they get here; what is wrong
 * with them is said with its line and column.
 */
#ifndef CLOCHE_DOC_H
#define CLOCHE_DOC_H

#include "../base/base.h"

enum doc_kind { DOC_SCALAR, DOC_SEQUENCE, DOC_MAPPING };

enum { DOC_BYTES_MAX = 1 << 20, DOC_NODES_MAX = 50000, DOC_DEPTH_MAX = 12 };

struct doc_node {
	enum doc_kind kind;
	unsigned line, column; /* from 1 */
	char *text;	       /* DOC_SCALAR; owned */
	bool plain;	       /* DOC_SCALAR: without quotes */
	/* of a sequence its items, of a mapping key, value, key, value ... */
	struct doc_node **child;
	size_t count;
};

struct doc_error {
	unsigned line, column;
	char what[200];
};

/* 0 with a tree in *out; -EINVAL with *err filled; -ENOSYS (no library). */
int MUST_CHECK doc_parse(const char *text, size_t len, struct doc_node **out,
			 struct doc_error *err);
void doc_free(struct doc_node *n);

/* The value of a key, or NULL. */
const struct doc_node *doc_get(const struct doc_node *map, const char *key);

#endif
