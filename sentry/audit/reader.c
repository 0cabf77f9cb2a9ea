/*
 * reader.c - see reader.h: lines. Their order and hashes are verify.c's.
 */
#include "reader.h"

#include <fcntl.h>

void audit_reader_init(struct audit_reader *r, FILE *in)
{
	memset(r, 0, sizeof(*r));
	r->in = in;
}

int audit_reader_open(struct audit_reader *r, const char *path)
{
	if (strcmp(path, "-") == 0) {
		audit_reader_init(r, stdin);
		return 0;
	}
	audit_reader_init(r, fopen(path, "re"));
	r->close_in = true;
	return r->in ? 0 : -errno;
}

void audit_reader_close(struct audit_reader *r)
{
	if (r->close_in && r->in)
		fclose(r->in);
	json_decref(r->object);
	free(r->line);
	memset(r, 0, sizeof(*r));
}

/* Reads one line into r->line; what is over the bound is read but dropped.
 * False at the end of the file. */
static bool reader_fetch(struct audit_reader *r, bool *too_long)
{
	int c;

	r->len = 0;
	r->newline = false;
	*too_long = false;
	while ((c = getc_unlocked(r->in)) != EOF) {
		if (c == '\n') {
			r->newline = true;
			break;
		}
		if (r->len == READER_LINE_MAX) {
			*too_long = true;
			continue;
		}
		if (r->len + 2 > r->cap) {
			r->cap = r->cap ? r->cap * 2 : 1024;
			r->line = realloc(r->line, r->cap);
			BUG_ON(!r->line);
		}
		r->line[r->len++] = (char)c;
	}
	if (!r->line) {
		r->cap = 16;
		r->line = xcalloc(1, r->cap);
	}
	r->line[r->len] = '\0';
	return r->newline || r->len;
}

/* The parser's message quotes the damaged file. */
static void reader_set_problem(struct audit_reader *r, const json_error_t *err)
{
	struct strbuf b;

	strbuf_init(&b, 0);
	strbuf_visible(&b, err->text, strnlen(err->text, 120));
	snprintf(r->problem, sizeof(r->problem), "%.500s (column %d)%s",
		 b.data ? b.data : "", err->column,
		 r->newline ? "" : "; the line was cut short");
	strbuf_fini(&b);
}

int audit_reader_next(struct audit_reader *r)
{
	bool too_long;
	json_error_t err;

	json_decref(r->object);
	r->object = NULL;
	if (!reader_fetch(r, &too_long))
		return ferror(r->in) ? -EIO : 0;
	r->number++;
	if (too_long) {
		snprintf(r->problem, sizeof(r->problem), "longer than %u bytes",
			 READER_LINE_MAX);
		return 1;
	}
	/* JSON text from guests may hold escaped NULs */
	r->object = json_loadb(r->line, r->len,
			       JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, &err);
	if (r->object && !json_is_object(r->object)) {
		json_decref(r->object);
		r->object = NULL;
		snprintf(err.text, sizeof(err.text), "not a JSON object");
	}
	if (!r->object)
		reader_set_problem(r, &err);
	return 1;
}

const char *audit_text(const json_t *object, const char *key)
{
	const char *s = json_string_value(json_object_get(object, key));

	return s ? s : "";
}

int64_t audit_number(const json_t *object, const char *key)
{
	return json_integer_value(json_object_get(object, key));
}
