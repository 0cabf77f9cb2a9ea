/*
 * opt_test.c - options: values, mistakes and what is said about them.
 */
#include <criterion/criterion.h>

#include "../../sentry/cli/opt.h"

struct target {
	bool flag;
	char *text, *called;
	uint64_t size, time, count;
	double decimal;
	int fd;
};

static int call(void *t, const char *value, struct strbuf *err)
{
	if (strcmp(value, "bad") == 0) {
		strbuf_puts(err, "--call: good was expected");
		return -EINVAL;
	}
	((struct target *)t)->called = (char *)value;
	return 0;
}

#define AT(f) offsetof(struct target, f)
static const struct opt table[] = {
	{"flag", 'f', NULL, OPT_FLAG, AT(flag), NULL, "a flag"},
	{"text", 't', "TEXT", OPT_STRING, AT(text), NULL, "a text"},
	{"size", 0, "SIZE", OPT_SIZE, AT(size), NULL, "a size"},
	{"time", 0, "TIME", OPT_DURATION, AT(time), NULL, "a time"},
	{"count", 0, "N", OPT_COUNT, AT(count), NULL, "a count"},
	{"decimal", 0, "N", OPT_DECIMAL, AT(decimal), NULL, "a number"},
	{"fd", 0, "fd:N", OPT_FD, AT(fd), NULL, "a descriptor"},
	{"call", 'c', "X", OPT_CALL, 0, call, "a call"},
	{"later", 0, "X", OPT_MISSING, 0, NULL, "time machines"},
	{NULL, 0, NULL, OPT_FLAG, 0, NULL, NULL},
};

static int parse(struct target *t, struct strbuf *err, const char *a,
		 const char *b, const char *c)
{
	char *argv[] = {(char *)"x", (char *)a, (char *)b, (char *)c, NULL};
	int argc = 1;

	while (argc < 4 && argv[argc])
		argc++;
	memset(t, 0, sizeof(*t));
	strbuf_init(err, 0);
	return opt_parse(table, t, argc, argv, err);
}

Test(opt, all_spellings)
{
	struct target t;
	struct strbuf e;

	cr_assert_eq(parse(&t, &e, "--flag", "--text=a=b", "cmd"), 3);
	cr_assert(t.flag);
	cr_assert_str_eq(t.text, "a=b");
	cr_assert_eq(parse(&t, &e, "-f", "-tx", "--flag"), 4);
	cr_assert_str_eq(t.text, "x");
	cr_assert_eq(parse(&t, &e, "--text=-f", "-t-f", NULL), 3);
	cr_assert_str_eq(t.text, "-f");
	cr_assert_not(t.flag);
	cr_assert_eq(parse(&t, &e, "-t", "-", NULL), 3);
	cr_assert_str_eq(t.text, "-");
	cr_assert_eq(parse(&t, &e, "--", "--flag", NULL), 2);
	cr_assert_eq(parse(&t, &e, "cmd", "--flag", NULL), 1);
	cr_assert_eq(parse(&t, &e, "-", NULL, NULL), 1);
	cr_assert_eq(parse(&t, &e, "--text=", NULL, NULL), 2);
	cr_assert_str_eq(t.text, "");
	cr_assert_eq(parse(&t, &e, "--help", NULL, NULL), OPT_HELP);
}

Test(opt, sizes_and_times)
{
	static const struct {
		const char *text;
		uint64_t want; /* 0: refused */
	} sizes[] =
		{
			{"1", 1},
			{"512M", 512 << 20},
			{"2G", 2ULL << 30},
			{"1.5k", 1536},
			{"20kb", 20480},
			{"3GiB", 3ULL << 30},
			{"", 0},
			{"0", 0},
			{"-1", 0},
			{"2X", 0},
			{"G", 0},
			{"1 G", 0},
			{"nan", 0},
			{"inf", 0},
			{"0x10", 0},
			{"99999999999T", 0},
			{"1e400", 0},
			{" 1", 0},
			{"+1", 0},
		},
	  times[] = {
		  {"90", 90000},  {"1.5s", 1500},  {"10m", 600000},
		  {"250ms", 250}, {"2h", 7200000}, {"1d", 86400000},
		  {"0", 0},	  {"m", 0},	   {"5y", 0},
		  {"-5s", 0},
	  };
	uint64_t v;

	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		int got = opt_read_size(sizes[i].text, &v);

		cr_expect_eq(got, sizes[i].want ? 0 : -EINVAL, "%s",
			     sizes[i].text);
		cr_expect(got || v == sizes[i].want, "%s", sizes[i].text);
	}
	for (size_t i = 0; i < ARRAY_SIZE(times); i++) {
		int got = opt_read_duration(times[i].text, &v);

		cr_expect_eq(got, times[i].want ? 0 : -EINVAL, "%s",
			     times[i].text);
		cr_expect(got || v == times[i].want, "%s", times[i].text);
	}
}

Test(opt, mistakes_say_what_was_expected)
{
	static const struct {
		const char *a, *b, *want;
	} rows[] = {
		{"--flga", NULL, "unknown option --flga; did you mean --flag?"},
		{"--siz=3", NULL, "unknown option --siz; did you mean --size?"},
		{"-z", NULL, "unknown option -z; --help lists them"},
		{"--qqqqqqqqqq", NULL,
		 "unknown option --qqqqqqqqqq; --help lists them"},
		{"--a\033[2J", NULL,
		 "unknown option --a\\x1b[2J; --help lists "
		 "them"},
		{"--text", NULL, "--text needs a value: TEXT"},
		{"--text", "--", "--text needs a value: TEXT"},
		{"--text", "--flag", "--text needs a value: TEXT"},
		{"--flag=1", NULL, "--flag takes no value"},
		{"--size", "2X",
		 "--size: \"2X\" is not a size like 512M or 2G"},
		{"--time", "soon",
		 "--time: \"soon\" is not a time like 90s, 10m or 1h"},
		{"--count", "0",
		 "--count: \"0\" is not a whole number, 1 or more"},
		{"--count", "99999999999999999999999",
		 "--count: \"99999999999999999999999\" is not a whole number, "
		 "1 or more"},
		{"--decimal=-1", NULL,
		 "--decimal: \"-1\" is not a number above 0, like 1.5"},
		{"--fd", "fd:999999",
		 "--fd: \"fd:999999\" is not an open descriptor like fd:3"},
		{"--call", "bad", "--call: good was expected"},
		{"--later", "x",
		 "--later is not in this version yet: time machines"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct target t;
		struct strbuf e;

		cr_expect_eq(parse(&t, &e, rows[i].a, rows[i].b, NULL), -EINVAL,
			     "%s", rows[i].a);
		cr_expect_str_eq(e.data, rows[i].want);
		strbuf_fini(&e);
	}
}
