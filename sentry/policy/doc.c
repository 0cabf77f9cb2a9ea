/*
 * doc.c - see doc.h. Built from libyaml's events, loaded when there is a file
 * to read.
 */
#include "doc.h"

#include <stdio.h>
#include <yaml.h>

#include "../base/extlib.h"

static struct {
	EXTLIB_FN(yaml_parser_initialize);
	EXTLIB_FN(yaml_parser_delete);
	EXTLIB_FN(yaml_parser_set_input_string);
	EXTLIB_FN(yaml_parser_set_encoding);
	EXTLIB_FN(yaml_parser_parse);
	EXTLIB_FN(yaml_event_delete);
} lib;

struct builder {
	yaml_parser_t parser;
	const char *text;
	size_t len;
	struct doc_error *err;
	size_t nodes;
};

static int load(void)
{
#define SYMBOL(f)                   \
	{                           \
#f, (void **)&lib.f \
	}
	static const struct extlib_symbol symbols[] = {
		SYMBOL(yaml_parser_initialize),
		SYMBOL(yaml_parser_delete),
		SYMBOL(yaml_parser_set_input_string),
		SYMBOL(yaml_parser_set_encoding),
		SYMBOL(yaml_parser_parse),
		SYMBOL(yaml_event_delete),
	};
#undef SYMBOL

	if (lib.yaml_event_delete)
		return 0;
	return extlib_load("libyaml-0.so.2", symbols, ARRAY_SIZE(symbols));
}

static int bad(struct doc_error *err, yaml_mark_t at, const char *what)
{
	err->line = (unsigned)at.line + 1;
	err->column = (unsigned)at.column + 1;
	snprintf(err->what, sizeof(err->what), "%s", what);
	return -EINVAL;
}

/* What is not text has an offset and no mark. */
static yaml_mark_t mark_of(const struct builder *b, size_t offset)
{
	yaml_mark_t at = {0};

	for (size_t i = 0; i < offset && i < b->len; i++) {
		at.column = b->text[i] == '\n' ? 0 : at.column + 1;
		at.line += b->text[i] == '\n';
	}
	return at;
}

static int next(struct builder *b, yaml_event_t *ev)
{
	const yaml_parser_t *p = &b->parser;
	yaml_mark_t at;

	if (lib.yaml_parser_parse(&b->parser, ev))
		return 0;
	at = p->error == YAML_READER_ERROR ? mark_of(b, p->problem_offset)
					   : p->problem_mark;
	bad(b->err, at, "");
	snprintf(b->err->what, sizeof(b->err->what), "%s%s%s",
		 p->problem ? p->problem : "not YAML", p->context ? " " : "",
		 p->context ? p->context : "");
	return -EINVAL;
}

static int build(struct builder *b, const yaml_event_t *ev, unsigned depth,
		 struct doc_node **out);

static void append(struct doc_node *n, struct doc_node *child)
{
	/* doubled at each power of two */
	if (!(n->count & (n->count - 1))) {
		size_t room = n->count ? 2 * n->count : 1;

		n->child = realloc(n->child, room * sizeof(struct doc_node *));
		BUG_ON(!n->child);
	}
	n->child[n->count++] = child;
}

static int build_scalar(struct builder *b, const yaml_event_t *ev,
			struct doc_node *n)
{
	const char *text = (const char *)ev->data.scalar.value;

	if (ev->data.scalar.anchor || ev->data.scalar.tag)
		return bad(b->err, ev->start_mark,
			   "a value without an anchor or a tag was expected");
	if (strlen(text) != ev->data.scalar.length)
		return bad(b->err, ev->start_mark,
			   "a value without a NUL byte was expected");
	n->plain = ev->data.scalar.style == YAML_PLAIN_SCALAR_STYLE;
	n->text = xstrdup(text);
	return 0;
}

static int check_key(struct builder *b, const struct doc_node *map,
		     const struct doc_node *key)
{
	yaml_mark_t at = {0, key->line - 1, key->column - 1};

	if (key->kind != DOC_SCALAR)
		return bad(b->err, at, "a name was expected as a key");
	for (size_t i = 0; i < map->count; i += 2)
		if (strcmp(map->child[i]->text, key->text) == 0)
			return bad(b->err, at,
				   "this key stands here a second time");
	return 0;
}

/* The children of a sequence or a mapping, up to its end. */
static int build_children(struct builder *b, yaml_event_type_t end,
			  unsigned depth, struct doc_node *n)
{
	for (;;) {
		struct doc_node *child = NULL;
		yaml_event_t ev;
		int ret = next(b, &ev);

		if (ret)
			return ret;
		if (ev.type == end) {
			lib.yaml_event_delete(&ev);
			return 0;
		}
		ret = build(b, &ev, depth, &child);
		lib.yaml_event_delete(&ev);
		if (!ret && n->kind == DOC_MAPPING && !(n->count & 1))
			ret = check_key(b, n, child);
		if (ret) {
			doc_free(child);
			return ret;
		}
		append(n, child);
	}
}

static int build_inner(struct builder *b, const yaml_event_t *ev,
		       unsigned depth, struct doc_node *n)
{
	bool map = ev->type == YAML_MAPPING_START_EVENT;
	const yaml_char_t *anchor = map ? ev->data.mapping_start.anchor
					: ev->data.sequence_start.anchor;
	const yaml_char_t *tag =
		map ? ev->data.mapping_start.tag : ev->data.sequence_start.tag;

	if (anchor || tag)
		return bad(b->err, ev->start_mark,
			   "a value without an anchor or a tag was expected");
	if (depth >= DOC_DEPTH_MAX)
		return bad(b->err, ev->start_mark, "nested too deeply");
	n->kind = map ? DOC_MAPPING : DOC_SEQUENCE;
	return build_children(
		b, map ? YAML_MAPPING_END_EVENT : YAML_SEQUENCE_END_EVENT,
		depth + 1, n);
}

/* *out is to be freed on failure, too. */
static int build(struct builder *b, const yaml_event_t *ev, unsigned depth,
		 struct doc_node **out)
{
	struct doc_node *n;

	if (ev->type == YAML_ALIAS_EVENT)
		return bad(b->err, ev->start_mark,
			   "an alias: write the value itself");
	if (++b->nodes > DOC_NODES_MAX)
		return bad(b->err, ev->start_mark, "too many values");
	*out = n = xcalloc(1, sizeof(*n));
	n->line = (unsigned)ev->start_mark.line + 1;
	n->column = (unsigned)ev->start_mark.column + 1;
	return ev->type == YAML_SCALAR_EVENT ? build_scalar(b, ev, n)
					     : build_inner(b, ev, depth, n);
}

/* Takes an event that must be of a type. */
static int expect(struct builder *b, yaml_event_type_t type, const char *what)
{
	yaml_event_t ev;
	int ret = next(b, &ev);

	if (ret)
		return ret;
	if (ev.type != type)
		ret = bad(b->err, ev.start_mark, what);
	lib.yaml_event_delete(&ev);
	return ret;
}

static int build_all(struct builder *b, struct doc_node **out)
{
	yaml_event_t ev;
	int ret = expect(b, YAML_STREAM_START_EVENT, "not YAML");

	if (!ret)
		ret = expect(b, YAML_DOCUMENT_START_EVENT,
			     "\"version: 1\" was expected; the file is empty");
	if (!ret)
		ret = next(b, &ev);
	if (ret)
		return ret;
	ret = build(b, &ev, 0, out);
	lib.yaml_event_delete(&ev);
	if (!ret)
		ret = expect(b, YAML_DOCUMENT_END_EVENT, "not YAML");
	if (!ret)
		ret = expect(b, YAML_STREAM_END_EVENT,
			     "the end was expected: one document in a file");
	return ret;
}

int doc_parse(const char *text, size_t len, struct doc_node **out,
	      struct doc_error *err)
{
	struct builder b = {.text = text, .len = len, .err = err};
	struct doc_node *root = NULL;
	int ret = load();

	memset(err, 0, sizeof(*err));
	if (ret)
		return ret;
	if (len > DOC_BYTES_MAX)
		return bad(err, (yaml_mark_t){0}, "longer than 1 MiB");
	if (!lib.yaml_parser_initialize(&b.parser))
		return bad(err, (yaml_mark_t){0}, "no memory");
	lib.yaml_parser_set_encoding(&b.parser, YAML_UTF8_ENCODING);
	lib.yaml_parser_set_input_string(&b.parser, (const unsigned char *)text,
					 len);
	ret = build_all(&b, &root);
	lib.yaml_parser_delete(&b.parser);
	if (ret)
		doc_free(root);
	else
		*out = root;
	return ret;
}

void doc_free(struct doc_node *n)
{
	if (!n)
		return;
	for (size_t i = 0; i < n->count; i++)
		doc_free(n->child[i]);
	free(n->child);
	free(n->text);
	free(n);
}

const struct doc_node *doc_get(const struct doc_node *map, const char *key)
{
	for (size_t i = 0; map->kind == DOC_MAPPING && i + 1 < map->count;
	     i += 2)
		if (strcmp(map->child[i]->text, key) == 0)
			return map->child[i + 1];
	return NULL;
}
