/*
 * opt.c - see opt.h.
 */
#include "opt.h"

#include <fcntl.h>
#include <stdio.h>

enum { WORD_MAX = 64 };

/* ---- values ---------------------------------------------------------- */

/* A decimal number and what follows it. False if there is none. */
static bool read_number(const char *text, double *number, const char **rest)
{
	char *end;

	if (text[0] < '0' || text[0] > '9')
		return false;
	if (text[0] == '0' && (text[1] == 'x' || text[1] == 'X'))
		return false;
	errno = 0;
	*number = strtod(text, &end);
	*rest = end;
	return !errno;
}

struct unit {
	const char *name;
	double factor;
};

static int read_with_unit(const char *text, const struct unit *units,
			  uint64_t *out)
{
	double number;
	const char *rest;

	if (!read_number(text, &number, &rest))
		return -EINVAL;
	for (; units->name; units++)
		if (strcasecmp(rest, units->name) == 0)
			break;
	if (!units->name || number * units->factor >= 9e18 ||
	    number * units->factor < 1)
		return -EINVAL;
	*out = (uint64_t)(number * units->factor);
	return 0;
}

int opt_read_size(const char *text, uint64_t *bytes)
{
	static const struct unit units[] = {
		{"", 1},
		{"b", 1},
		{"k", 1 << 10},
		{"kb", 1 << 10},
		{"kib", 1 << 10},
		{"m", 1 << 20},
		{"mb", 1 << 20},
		{"mib", 1 << 20},
		{"g", 1 << 30},
		{"gb", 1 << 30},
		{"gib", 1 << 30},
		{"t", 1099511627776.0},
		{"tb", 1099511627776.0},
		{"tib", 1099511627776.0},
		{NULL, 0},
	};

	return read_with_unit(text, units, bytes);
}

int opt_read_duration(const char *text, uint64_t *ms)
{
	static const struct unit units[] = {
		{"", 1000},	{"ms", 1},	{"s", 1000},	 {"m", 60000},
		{"min", 60000}, {"h", 3600000}, {"d", 86400000}, {NULL, 0},
	};

	return read_with_unit(text, units, ms);
}

static int read_fd(const char *text, int *fd)
{
	char *end;
	long n;

	if (strncmp(text, "fd:", 3) == 0)
		text += 3;
	if (*text < '0' || *text > '9')
		return -EINVAL;
	errno = 0;
	n = strtol(text, &end, 10);
	if (errno || *end || n > INT32_MAX || fcntl((int)n, F_GETFD) < 0)
		return -EINVAL;
	*fd = (int)n;
	return 0;
}

static int read_count(const char *text, uint64_t *out)
{
	char *end;

	if (*text < '0' || *text > '9')
		return -EINVAL;
	errno = 0;
	*out = strtoull(text, &end, 10);
	return errno || *end || !*out ? -EINVAL : 0;
}

static int read_decimal(const char *text, double *out)
{
	const char *rest;

	if (!read_number(text, out, &rest) || *rest || *out <= 0 || *out > 1e6)
		return -EINVAL;
	return 0;
}

static const char *const expected[] = {
	[OPT_SIZE] = "a size like 512M or 2G",
	[OPT_DURATION] = "a time like 90s, 10m or 1h",
	[OPT_COUNT] = "a whole number, 1 or more",
	[OPT_DECIMAL] = "a number above 0, like 1.5",
	[OPT_FD] = "an open descriptor like fd:3",
};

static int opt_store(const struct opt *o, void *target, const char *value,
		     struct strbuf *err)
{
	void *at = (char *)target + o->offset;
	int got = 0;

	switch (o->type) {
	case OPT_FLAG:
		*(bool *)at = true;
		break;
	case OPT_STRING:
		*(const char **)at = value;
		break;
	case OPT_SIZE:
		got = opt_read_size(value, at);
		break;
	case OPT_DURATION:
		got = opt_read_duration(value, at);
		break;
	case OPT_COUNT:
		got = read_count(value, at);
		break;
	case OPT_DECIMAL:
		got = read_decimal(value, at);
		break;
	case OPT_FD:
		got = read_fd(value, at);
		break;
	case OPT_CALL:
		break;
	case OPT_MISSING:
		strbuf_printf(err, "--%s is not in this version yet: %s",
			      o->name, o->help);
		return -EINVAL;
	}
	if (got) {
		strbuf_printf(err, "--%s: \"", o->name);
		strbuf_visible(err, value, strlen(value));
		strbuf_printf(err, "\" is not %s", expected[o->type]);
		return got;
	}
	return o->check ? o->check(target, value, err) : 0;
}

/* ---- names ----------------------------------------------------------- */

/* Edit distance with transpositions (optimal string alignment). */
static size_t distance(const char *a, const char *b)
{
	size_t la = strlen(a), lb = strlen(b);
	size_t d[3][WORD_MAX + 1];

	if (la > WORD_MAX || lb > WORD_MAX)
		return SIZE_MAX;
	for (size_t j = 0; j <= lb; j++)
		d[0][j] = j;
	for (size_t i = 1; i <= la; i++) {
		size_t *row = d[i % 3], *up = d[(i + 2) % 3];
		size_t *up2 = d[(i + 1) % 3];

		row[0] = i;
		for (size_t j = 1; j <= lb; j++) {
			size_t v = up[j - 1] + (a[i - 1] != b[j - 1]);

			v = up[j] + 1 < v ? up[j] + 1 : v;
			v = row[j - 1] + 1 < v ? row[j - 1] + 1 : v;
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] &&
			    a[i - 2] == b[j - 1] && up2[j - 2] + 1 < v)
				v = up2[j - 2] + 1;
			row[j] = v;
		}
	}
	return d[la % 3][lb];
}

const char *opt_nearest(const char *word,
			const char *(*next)(const void *list, size_t i),
			const void *list)
{
	size_t limit = strlen(word) / 3 + 1, best_distance = limit + 1;
	const char *best = NULL, *x;

	for (size_t i = 0; (x = next(list, i)); i++) {
		size_t d = distance(word, x);
		/* a word begun and not ended is near, too */
		bool prefix = strlen(word) >= 3 &&
			      strncmp(word, x, strlen(word)) == 0;

		if (prefix && d > limit)
			d = limit;
		if (d < best_distance) {
			best_distance = d;
			best = x;
		}
	}
	return best;
}

static const char *opt_name_at(const void *list, size_t i)
{
	return ((const struct opt *)list)[i].name;
}

static int opt_unknown(const struct opt *table, const char *word,
		       struct strbuf *err)
{
	const char *bare = word + strspn(word, "-");
	AUTO_FREE char *name = strndup(bare, strcspn(bare, "="));
	const char *near;

	BUG_ON(!name);
	near = opt_nearest(name, opt_name_at, table);
	strbuf_puts(err, "unknown option ");
	strbuf_visible(err, word, strcspn(word, "="));
	if (near)
		strbuf_printf(err, "; did you mean --%s?", near);
	else
		strbuf_puts(err, "; --help lists them");
	return -EINVAL;
}

static const struct opt *opt_find(const struct opt *table, const char *word)
{
	size_t len;

	if (word[1] != '-') {
		for (; table->name; table++)
			if (table->letter && table->letter == word[1])
				return table;
		return NULL;
	}
	len = strcspn(word + 2, "=");
	for (; table->name; table++)
		if (strlen(table->name) == len &&
		    strncmp(table->name, word + 2, len) == 0)
			return table;
	return NULL;
}

/* The value that is part of the word itself, or NULL. */
static const char *opt_inline(const char *word)
{
	const char *eq;

	if (word[1] != '-')
		return word[2] ? word + 2 : NULL;
	eq = strchr(word, '=');
	return eq ? eq + 1 : NULL;
}

int opt_parse(const struct opt *table, void *target, int argc, char **argv,
	      struct strbuf *err)
{
	int i = 1;

	for (; i < argc; i++) {
		const char *word = argv[i], *value;
		const struct opt *o;
		int got;

		if (word[0] != '-' || !word[1])
			return i;
		if (strcmp(word, "--") == 0)
			return i + 1;
		if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0)
			return OPT_HELP;
		o = opt_find(table, word);
		if (!o)
			return opt_unknown(table, word, err);
		value = opt_inline(word);
		if (value && !o->arg) {
			strbuf_printf(err, "--%s takes no value", o->name);
			return -EINVAL;
		}
		if (!value && o->arg && o->type != OPT_MISSING) {
			/* an option is more likely than such a value */
			if (++i >= argc || (argv[i][0] == '-' && argv[i][1])) {
				strbuf_printf(err, "--%s needs a value: %s",
					      o->name, o->arg);
				return -EINVAL;
			}
			value = argv[i];
		}
		got = opt_store(o, target, value, err);
		if (got)
			return got;
	}
	return i;
}

int opt_set(const struct opt *table, void *target, const char *name,
	    const char *value, struct strbuf *err)
{
	for (; table->name; table++)
		if (strcmp(table->name, name) == 0)
			return opt_store(table, target, value, err);
	strbuf_printf(err, "--%s is not in this version yet", name);
	return -EINVAL;
}

int opt_each(const struct opt *table, int argc, char **argv,
	     int (*fn)(void *arg, const char *name, const char *value),
	     void *arg)
{
	for (int i = 1; i < argc; i++) {
		const char *word = argv[i], *value;
		const struct opt *o;
		int ret;

		if (word[0] != '-' || !word[1] || strcmp(word, "--") == 0)
			break;
		o = opt_find(table, word);
		if (!o)
			break;
		value = opt_inline(word);
		if (!value && o->arg && o->type != OPT_MISSING)
			value = ++i < argc ? argv[i] : NULL;
		ret = value ? fn(arg, o->name, value) : 0;
		if (ret)
			return ret;
	}
	return 0;
}

int opt_permute(const struct opt *table, int argc, char **argv)
{
	char **words = xcalloc((size_t)argc + 1, sizeof(*words));
	int n = 0, out = 1;

	for (int i = 1; i < argc; i++) {
		char *word = argv[i];
		const struct opt *o;

		if (strcmp(word, "--") == 0) {
			while (++i < argc)
				words[n++] = argv[i];
			break;
		}
		if (word[0] != '-' || !word[1]) {
			words[n++] = word;
			continue;
		}
		argv[out++] = word;
		o = opt_find(table, word);
		if (o && o->arg && o->type != OPT_MISSING &&
		    !opt_inline(word) && i + 1 < argc)
			argv[out++] = argv[++i];
	}
	/* where a "--" was, there is one word less */
	memcpy(argv + argc - n, words, (size_t)n * sizeof(*words));
	if (out + n < argc)
		argv[out] = "--";
	free(words);
	return n;
}

void opt_help(const struct opt *table, struct strbuf *out)
{
	for (; table->name; table++) {
		char left[80];
		int n;

		if (table->type == OPT_MISSING || !table->help)
			continue;
		n = table->letter ? snprintf(left, sizeof(left), "  -%c, --%s",
					     table->letter, table->name)
				  : snprintf(left, sizeof(left), "  --%s",
					     table->name);
		if (table->arg && n > 0 && (size_t)n < sizeof(left))
			snprintf(left + n, sizeof(left) - (size_t)n, " %s",
				 table->arg);
		if (strlen(left) > 27)
			strbuf_printf(out, "%s\n%29s%s\n", left, "",
				      table->help);
		else
			strbuf_printf(out, "%-29s%s\n", left, table->help);
	}
}
