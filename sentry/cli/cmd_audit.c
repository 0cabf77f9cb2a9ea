/*
 * cmd_audit.c - `cloche audit show`, `summary` and `verify`.
 *
 * The stream is data from a hostile program: every string of it that a person
 * sees is escaped.
 */
#include <stdio.h>
#include <strings.h>
#include <time.h>

#include "../audit/reader.h"
#include "../base/hash.h"
#include "../policy/glob.h"
#include "audit_by.h"
#include "cli.h"

struct audit_options {
	char *call, *path, *verdict, *head;
	uint64_t pid;
	enum audit_by by;
	bool json;
};

#define AT(field) offsetof(struct audit_options, field)

static int check_verdict(void *t, const char *value, struct strbuf *err)
{
	static const char *const words[] = {"allow", "deny", "emulate",
					    "pass",  "ask",  "limit"};

	((struct audit_options *)t)->verdict = (char *)value;
	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		if (strcmp(words[i], value) == 0)
			return 0;
	strbuf_puts(err, "--verdict: allow, deny, emulate, pass, ask or limit "
			 "was expected");
	return -EINVAL;
}

/* A hash, or the whole line that --audit-head gave out. */
static int check_head(void *t, const char *value, struct strbuf *err)
{
	const char *at = strstr(value, "\"hash\":\"");

	if (at)
		value = at + 8;
	if (strspn(value, "0123456789abcdef") != 64 ||
	    (value[64] && value[64] != '"')) {
		strbuf_puts(err, "--head: the 64 hexadecimal digits that "
				 "--audit-head gave out were expected");
		return -EINVAL;
	}
	((struct audit_options *)t)->head = strndup(value, 64);
	return 0;
}

static int check_path(void *t, const char *value, struct strbuf *err)
{
	struct audit_options *o = t;
	const char *wrong = glob_check(value);

	if (wrong) {
		strbuf_printf(err, "--path: bad pattern: %s", wrong);
		return -EINVAL;
	}
	free(o->path);
	o->path = *value == '/' ? xstrdup(value) : xasprintf("/**/%s", value);
	return 0;
}

static int check_by(void *t, const char *value, struct strbuf *err)
{
	return audit_by_read(value, &((struct audit_options *)t)->by, err);
}

const struct opt cli_audit_options[] = {
	{"call", 'c', "NAME", OPT_STRING, AT(call), NULL,
	 "only this call or kind of record"},
	{"path", 0, "GLOB", OPT_CALL, 0, check_path,
	 "only records on a path; /dir/** is all below dir"},
	{"verdict", 0, "VERDICT", OPT_CALL, 0, check_verdict,
	 "only allow, deny, emulate, pass, ask or limit"},
	{"pid", 0, "PID", OPT_COUNT, AT(pid), NULL,
	 "only this process, by its number inside"},
	{"by", 0, "WHAT", OPT_CALL, 0, check_by,
	 "summary: rank by site (of --stacks), call or program"},
	{"json", 0, NULL, OPT_FLAG, AT(json), NULL, "JSON instead of text"},
	{"head", 0, "HASH", OPT_CALL, 0, check_head,
	 "verify: what --audit-head gave out"},
	{NULL, 0, NULL, OPT_FLAG, 0, NULL, NULL},
};

static bool audit_selected(const struct audit_options *o, const json_t *rec)
{
	if (o->call && strcmp(o->call, audit_text(rec, "call")) != 0)
		return false;
	if (o->verdict && strcmp(o->verdict, audit_text(rec, "verdict")) != 0)
		return false;
	if (o->pid && (uint64_t)audit_number(rec, "pid") != o->pid)
		return false;
	return !o->path || glob_match(o->path, audit_text(rec, "path"));
}

static bool is_filtered(const struct audit_options *o)
{
	return o->call || o->verdict || o->pid || o->path;
}

/* ---- damaged lines --------------------------------------------------- */

enum { BAD_SHOWN = 10 };

static void bad_line(const struct audit_reader *r, uint64_t *bad)
{
	if ((*bad)++ < BAD_SHOWN)
		log_warn("line %llu: %s", (unsigned long long)r->number,
			 r->problem);
}

static int bad_lines(uint64_t bad)
{
	if (bad > BAD_SHOWN)
		log_warn("and %llu more lines that are no records",
			 (unsigned long long)bad - BAD_SHOWN);
	return bad != 0;
}

/* ---- show ------------------------------------------------------------ */

static void show_visible(struct strbuf *b, const char *before, const char *s)
{
	strbuf_puts(b, before);
	strbuf_visible(b, s, strlen(s));
}

static void show_args(struct strbuf *b, const json_t *rec)
{
	json_t *args = json_object_get(rec, "args");
	AUTO_FREE char *text = NULL;

	if (!args || *audit_text(rec, "path"))
		return;
	text = json_dumps(args, JSON_COMPACT | JSON_ENSURE_ASCII);
	if (text)
		show_visible(b, " ", text);
}

static void show_stack(struct strbuf *b, const json_t *rec)
{
	const json_t *insn = json_object_get(rec, "insn"), *f;
	size_t i;

	if (insn) {
		show_visible(b, "      ", audit_text(insn, "text"));
		show_visible(b, " at ", audit_text(insn, "at"));
		strbuf_putc(b, '\n');
	}
	json_array_foreach(json_object_get(rec, "stack"), i, f)
	{
		show_visible(b, "      ", json_string_value(f));
		strbuf_putc(b, '\n');
	}
}

static void show_record(const json_t *rec, struct strbuf *b)
{
	int64_t t = audit_number(rec, "t"), n = audit_number(rec, "n");
	time_t seconds = (time_t)(t / 1000000000);
	const char *error = audit_text(rec, "errno");
	const char *rule = audit_text(rec, "rule");
	struct tm tm;
	char stamp[32] = "";

	if (localtime_r(&seconds, &tm))
		strftime(stamp, sizeof(stamp), "%H:%M:%S", &tm);
	strbuf_printf(b, "%lld %s.%03lld", (long long)audit_number(rec, "seq"),
		      stamp, (long long)(t / 1000000 % 1000));
	if (json_object_get(rec, "pid"))
		strbuf_printf(b, " [%lld]",
			      (long long)audit_number(rec, "pid"));
	if (*audit_text(rec, "exe"))
		show_visible(b, " ", audit_text(rec, "exe"));
	show_visible(b, " ", audit_text(rec, "call"));
	if (*audit_text(rec, "path"))
		show_visible(b, " ", audit_text(rec, "path"));
	show_args(b, rec);
	if (*error)
		show_visible(b, " = ", error);
	else
		strbuf_printf(b, " = %lld",
			      (long long)audit_number(rec, "ret"));
	show_visible(b, " ", audit_text(rec, "verdict"));
	if (*rule)
		show_visible(b, ", rule ", rule);
	if (n > 1)
		strbuf_printf(b, ", %lld times", (long long)n);
	strbuf_putc(b, '\n');
	show_stack(b, rec);
}

static int audit_show(struct audit_reader *r, const struct audit_options *o)
{
	struct strbuf b;
	uint64_t bad = 0;
	int got;

	strbuf_init(&b, 0);
	while ((got = audit_reader_next(r)) > 0) {
		if (!r->object) {
			bad_line(r, &bad);
			continue;
		}
		if (strcmp(audit_text(r->object, "call"), "chain") == 0 ||
		    !audit_selected(o, r->object))
			continue;
		strbuf_reset(&b);
		if (o->json)
			strbuf_printf(&b, "%s\n", r->line);
		else
			show_record(r->object, &b);
		if (fwrite(b.data, 1, b.len, stdout) != b.len)
			break; /* the reader of our output has gone */
	}
	strbuf_fini(&b);
	return got < 0 ? got : bad_lines(bad);
}

/* ---- summary --------------------------------------------------------- */

struct tally {
	struct hnode node;
	char *key;
	uint64_t n;
};

struct tallies {
	const char *title, *json;
	struct htable table;
};

static void tally_add(struct tallies *t, const char *key, uint64_t n)
{
	uint64_t hash = hash_bytes(key, strlen(key), 0);
	struct hnode *h = htable_first(&t->table, hash);
	struct tally *x;

	for (; h; h = htable_next(h)) {
		x = container_of(h, struct tally, node);
		if (strcmp(x->key, key) == 0) {
			x->n += n;
			return;
		}
	}
	x = xcalloc(1, sizeof(*x));
	x->key = xstrdup(key);
	x->n = n;
	htable_add(&t->table, &x->node, hash);
}

static int tally_order(const void *a, const void *b)
{
	const struct tally *x = *(struct tally *const *)a;
	const struct tally *y = *(struct tally *const *)b;

	if (x->n != y->n)
		return x->n < y->n ? 1 : -1;
	return strcmp(x->key, y->key);
}

/* The tallies by falling count. Owned array of borrowed entries. */
static struct tally **tally_sorted(const struct tallies *t)
{
	struct tally **all = xcalloc(t->table.count, sizeof(*all));
	size_t n = 0;

	for (size_t i = 0; i <= t->table.mask; i++)
		for (struct hnode *h = t->table.buckets[i]; h; h = h->next)
			all[n++] = container_of(h, struct tally, node);
	qsort(all, n, sizeof(*all), tally_order);
	return all;
}

static void tally_print(const struct tallies *t, struct strbuf *b)
{
	enum { SHOWN_MAX = 15 };
	AUTO_FREE struct tally **all = tally_sorted(t);

	if (t->table.count)
		strbuf_printf(b, "%s:\n", t->title);
	for (size_t i = 0; i < t->table.count && i < SHOWN_MAX; i++) {
		strbuf_printf(b, "%9llu  ", (unsigned long long)all[i]->n);
		show_visible(b, "", all[i]->key);
		strbuf_putc(b, '\n');
	}
	if (t->table.count > SHOWN_MAX)
		strbuf_printf(b, "           and %zu more\n",
			      t->table.count - SHOWN_MAX);
}

static json_t *tally_json(const struct tallies *t)
{
	AUTO_FREE struct tally **all = tally_sorted(t);
	json_t *o = json_object();

	for (size_t i = 0; i < t->table.count; i++)
		json_object_set_new(o, all[i]->key,
				    json_integer((json_int_t)all[i]->n));
	return o;
}

static void tally_fini(struct tallies *t)
{
	AUTO_FREE struct tally **all = tally_sorted(t);

	for (size_t i = 0; i < t->table.count; i++) {
		free(all[i]->key);
		free(all[i]);
	}
	htable_fini(&t->table);
}

enum { BY_VERDICT, BY_CALL, BY_PROGRAM, BY_REFUSED, BY_MISSING, BY_COUNT };

static void summary_record(struct tallies *t, const json_t *rec)
{
	const char *verdict = audit_text(rec, "verdict");
	const char *call = audit_text(rec, "call");
	const char *path = audit_text(rec, "path");
	uint64_t n = (uint64_t)audit_number(rec, "n");

	n = n ? n : 1;
	/* most programs try such calls and have another way */
	if (strcmp(audit_text(rec, "errno"), "ENOSYS") == 0) {
		tally_add(&t[BY_MISSING], call, n);
		verdict = "not supported";
	}
	tally_add(&t[BY_VERDICT], verdict, n);
	tally_add(&t[BY_CALL], call, n);
	if (strcmp(call, "exec") == 0)
		tally_add(&t[BY_PROGRAM], *path ? path : audit_text(rec, "exe"),
			  n);
	if (strcmp(verdict, "deny") == 0 || strcmp(verdict, "limit") == 0) {
		AUTO_FREE char *key = xasprintf("%s %s (%s)", call, path,
						audit_text(rec, "rule"));

		tally_add(&t[BY_REFUSED], key, n);
	}
}

static void summary_print(struct tallies *t, uint64_t records, int64_t ns,
			  bool json)
{
	struct strbuf b;
	json_t *o;

	if (json) {
		o = json_pack("{s:I,s:I}", "records", (json_int_t)records,
			      "duration_ns", (json_int_t)ns);
		for (size_t i = 0; i < BY_COUNT; i++)
			json_object_set_new(o, t[i].json, tally_json(&t[i]));
		json_dumpf(o, stdout, JSON_INDENT(2));
		putchar('\n');
		json_decref(o);
		return;
	}
	strbuf_init(&b, 0);
	strbuf_printf(&b, "%llu records over %.3f s\n",
		      (unsigned long long)records, (double)ns / 1e9);
	for (size_t i = 0; i < BY_COUNT; i++)
		tally_print(&t[i], &b);
	fwrite(b.data, 1, b.len, stdout);
	strbuf_fini(&b);
}

static int audit_rank(struct audit_reader *r, const struct audit_options *o)
{
	struct audit_ranks *ranks = audit_ranks_new(o->by);
	uint64_t bad = 0;
	int got;

	while ((got = audit_reader_next(r)) > 0) {
		if (!r->object)
			bad_line(r, &bad);
		else if (audit_selected(o, r->object))
			audit_ranks_add(ranks, r->object);
	}
	audit_ranks_print(ranks, o->json);
	audit_ranks_free(ranks);
	return got < 0 ? got : bad_lines(bad);
}

static int audit_summary(struct audit_reader *r, const struct audit_options *o)
{
	struct tallies t[BY_COUNT] = {
		[BY_VERDICT] = {.title = "verdicts", .json = "verdicts"},
		[BY_CALL] = {.title = "calls", .json = "calls"},
		[BY_PROGRAM] = {.title = "programs started",
				.json = "programs"},
		[BY_REFUSED] = {.title = "refused", .json = "refused"},
		[BY_MISSING] = {.title = "not supported, programs fall back",
				.json = "not_supported"},
	};
	uint64_t records = 0;
	int64_t first = 0, last = 0;
	uint64_t bad = 0;
	int got;

	if (o->by != BY_NOTHING)
		return audit_rank(r, o);
	for (size_t i = 0; i < BY_COUNT; i++)
		htable_init(&t[i].table);
	while ((got = audit_reader_next(r)) > 0) {
		if (!r->object) {
			bad_line(r, &bad);
			continue;
		}
		if (strcmp(audit_text(r->object, "call"), "chain") == 0 ||
		    !audit_selected(o, r->object))
			continue;
		last = audit_number(r->object, "t");
		first = records++ ? first : last;
		summary_record(t, r->object);
	}
	summary_print(t, records, last - first, o->json);
	for (size_t i = 0; i < BY_COUNT; i++)
		tally_fini(&t[i]);
	return got < 0 ? got : bad_lines(bad);
}

/* ---- verify ---------------------------------------------------------- */

static void verify_json(const struct audit_verified *v,
			const struct strbuf *report)
{
	json_t *lines = json_array();
	json_t *o;

	for (char *p = report->data; p && *p;) {
		size_t len = strcspn(p, "\n");

		json_array_append_new(lines, json_stringn(p, len));
		p += len + (p[len] != '\0');
	}
	o = json_pack("{s:b,s:I,s:I,s:I,s:I,s:s,s:o}", "ok", v->damages == 0,
		      "streams", (json_int_t)v->streams, "records",
		      (json_int_t)v->records, "blocks", (json_int_t)v->blocks,
		      "unfinished", (json_int_t)v->unfinished, "hash",
		      v->last_hash, "damage", lines);
	json_dumpf(o, stdout, JSON_INDENT(2));
	putchar('\n');
	json_decref(o);
}

static const char *verify_word(const struct audit_verified *v, int got)
{
	if (!got)
		return "ok";
	return v->only_unfinished ? "unfinished, what is there is whole"
				  : "damaged";
}

static int audit_check(struct audit_reader *r, const struct audit_options *o)
{
	struct audit_verified v;
	struct strbuf report;
	int got;

	strbuf_init(&report, 0);
	got = audit_verify(r, o->head, &v, &report);
	if (o->json)
		verify_json(&v, &report);
	else if (report.len)
		fwrite(report.data, 1, report.len, stdout);
	if (!o->json)
		printf("%s: %llu records in %llu blocks of %llu streams%s%s\n",
		       verify_word(&v, got), (unsigned long long)v.records,
		       (unsigned long long)v.blocks,
		       (unsigned long long)v.streams,
		       *v.last_hash ? ", final hash " : "", v.last_hash);
	strbuf_fini(&report);
	return got == -EBADMSG ? 1 : got;
}

/* ---- the command ----------------------------------------------------- */

struct audit_verb {
	const char *name;
	int (*run)(struct audit_reader *r, const struct audit_options *o);
};

static const struct audit_verb verbs[] = {
	{"show", audit_show},
	{"summary", audit_summary},
	{"verify", audit_check},
	{NULL, NULL},
};

static const char *verb_at(const void *list, size_t i)
{
	return ((const struct audit_verb *)list)[i].name;
}

static int audit_no_verb(const char *word)
{
	const char *near = opt_nearest(word, verb_at, verbs);

	if (near)
		log_info("audit: no \"%s\"; did you mean \"audit %s\"?", word,
			 near);
	else
		log_info("audit: show, summary or verify was expected");
	return CLI_FAILED;
}

static int audit_run(const struct audit_verb *verb, const char *path,
		     const struct audit_options *o)
{
	struct audit_reader r;
	int got = audit_reader_open(&r, path);

	if (!got)
		got = verb->run(&r, o);
	audit_reader_close(&r);
	if (got < 0) {
		log_info("audit %s: %s: %s", verb->name, path, strerror(-got));
		return CLI_FAILED;
	}
	return got;
}

int cli_audit(int argc, char **argv)
{
	const struct audit_verb *verb = verbs;
	struct audit_options o = {0};
	int first, status = CLI_FAILED;

	if (argc < 2)
		return audit_no_verb("");
	if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0)
		return cli_print_help("audit");
	while (verb->name && strcmp(verb->name, argv[1]) != 0)
		verb++;
	if (!verb->name)
		return audit_no_verb(argv[1]);
	first = cli_options("audit", cli_audit_options, &o, argc - 1, argv + 1);
	if (first == OPT_HELP)
		status = 0;
	else if (first >= 0 && first + 1 >= argc)
		log_info("audit %s: no FILE given", verb->name);
	else if (first >= 0 && first + 2 < argc)
		log_info(
			"audit %s: one FILE was expected; options go before it",
			verb->name);
	else if (first >= 0 && o.by && verb->run != audit_summary)
		log_info("audit %s: --by goes with summary", verb->name);
	else if (first >= 0 && is_filtered(&o) && verb->run == audit_check)
		log_info("audit verify: a part of a stream cannot be verified");
	else if (first >= 0)
		status = audit_run(verb, argv[first + 1], &o);
	free(o.path);
	free(o.head);
	return status;
}
