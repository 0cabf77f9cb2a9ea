/*
 * gensyscalls.c - writes the documents that come from syscalls/table.def.
 *
 *   gensyscalls table      docs/syscalls.md
 *   gensyscalls summary    the counts that README.md shows
 *
 * A program of the build, not of cloche: it reads the rows as text only and
 * needs neither the handlers nor the headers of the sentry.
 */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

struct row {
	int nr;
	const char *name, *jailed, *bare, *support, *note;
};

#define NATIVE(nr, name, spec, intr, why) \
	{nr, #name, "NATIVE", "NATIVE", "NATIVE", why},
#define JAILED(nr, name, spec, intr, err, why) \
	{nr, #name, "NATIVE", #err, "JAILED", why},
#define REFUSE(nr, name, spec, err, note) \
	{nr, #name, #err, #err, "REFUSED", note},
#define ROW(nr, name, spec, jailed, bare, flags, intr, support, h, note) \
	{nr, #name, #jailed, #bare, #support, note},

static const struct row rows[] = {
#include "../syscalls/table.def"
};

#define NROWS (sizeof(rows) / sizeof(rows[0]))

struct word {
	const char *key, *text;
};

/* How a call is answered. A word that is not here is the errno it gets. */
static const struct word classes[] = {
	{"NATIVE", "kernel"},
	{"ARGS", "by argument"},
	{"NOTIFY", "sentry"},
	{"PASS", "sentry, then kernel"},
	{"TRACE", "tracer"},
	{"REFUSE", "refused"},
	{NULL, NULL},
};

static const struct word levels[] = {
	{"NATIVE", "native"},
	{"JAILED", "native when jailed"},
	{"FULL", "complete"},
	{"PART", "in part"},
	{"EMUL", "emulated"},
	{"REFUSED", "refused"},
	{NULL, NULL},
};

static const char *const meanings[] = {
	"runs in the kernel, unchanged, at native speed",
	"the same in the jail; refused where user namespaces do not work",
	"answered by the sentry with the native results",
	"answered by the sentry; the note says what is missing",
	"answered from the sandbox's own state, not the host's",
	"refused with the errno shown, and recorded",
};

static const char *look_up(const struct word *list, const char *key)
{
	for (; list->key; list++)
		if (strcmp(list->key, key) == 0)
			return list->text;
	return NULL;
}

static const char *class_text(const char *key)
{
	const char *text = look_up(classes, key);

	return text ? text : key;
}

static int count(const char *support)
{
	int n = 0;

	for (size_t i = 0; i < NROWS; i++)
		n += strcmp(rows[i].support, support) == 0;
	return n;
}

static void print_summary(void)
{
	puts("| support | calls | meaning |\n|---|---:|---|");
	for (size_t i = 0; levels[i].key; i++)
		printf("| %s | %d | %s |\n", levels[i].text,
		       count(levels[i].key), meanings[i]);
	printf("| **all** | %zu | a number that is in no row gets ENOSYS, and "
	       "is recorded |\n", NROWS);
}

/* A table's cell: a bar would end it. */
static void print_cell(const char *text)
{
	for (; *text; text++)
		printf(*text == '|' ? "\\|" : "%c", *text);
}

static int print_table(void)
{
	int wrong = 0;

	puts("# System calls\n\n"
	     "Generated from `syscalls/table.def` by `make docs`; do not "
	     "edit.\n");
	print_summary();
	puts("\n*Jailed* is the usual case; *bare* is a machine without user "
	     "namespaces. The columns say\nwho answers: the `kernel`, "
	     "unchanged; the `sentry`; `by argument` the one or the other;\n"
	     "the `tracer`; or nobody: then the errno is shown.\n\n"
	     "| nr | call | jailed | bare | support | note |\n"
	     "|---:|---|---|---|---|---|");
	for (size_t i = 0; i < NROWS; i++) {
		const struct row *r = &rows[i];
		const char *support = look_up(levels, r->support);

		if (!support) {
			fprintf(stderr, "%s: support level %s is unknown\n",
				r->name, r->support);
			wrong = 1;
			continue;
		}
		printf("| %d | %s | %s | %s | %s | ", r->nr, r->name,
		       class_text(r->jailed), class_text(r->bare), support);
		print_cell(r->note);
		puts(" |");
	}
	return wrong;
}

int main(int argc, char **argv)
{
	const char *what = argc == 2 ? argv[1] : "";

	if (strcmp(what, "table") == 0)
		return print_table();
	if (strcmp(what, "summary") == 0) {
		print_summary();
		return 0;
	}
	fprintf(stderr, "usage: gensyscalls table|summary\n");
	return 2;
}
