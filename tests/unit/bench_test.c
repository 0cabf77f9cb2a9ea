/* The parts of `cloche bench` that can be right or wrong by themselves. */
#include <criterion/criterion.h>

#include "bench/cost/mech.h"
#include "bench/cost/stats.h"
#include "bench/cost/suite.h"
#include "bench/cost/svg.h"
#include "sentry/base/costs.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>

Test(bench, median_of_nothing_is_zero)
{
	struct stats s = stats_of(NULL, 0);

	cr_assert_eq(s.count, 0);
	cr_assert_float_eq(s.median, 0, 0);
}

Test(bench, median_of_an_even_count_is_between)
{
	double v[] = {4, 1, 3, 2};
	struct stats s = stats_of(v, 4);

	cr_assert_float_eq(s.median, 2.5, 1e-9);
	cr_assert_float_eq(s.min, 1, 0);
	cr_assert_float_eq(s.max, 4, 0);
}

/* The table of the sign test: n, and which values from each end. */
Test(bench, interval_is_that_of_the_sign_test)
{
	static const struct {
		size_t n, k;
	} rows[] = {{1, 1},  {5, 1},  {6, 1},  {8, 1},	 {9, 2},
		    {10, 2}, {12, 3}, {20, 6}, {30, 10}, {100, 40}};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		double v[100];
		struct stats s;

		for (size_t j = 0; j < rows[i].n; j++)
			v[j] = (double)(j + 1);
		s = stats_of(v, rows[i].n);
		cr_assert_float_eq(s.low, rows[i].k, 1e-9, "n %zu: %g",
				   rows[i].n, s.low);
		cr_assert_float_eq(s.high, rows[i].n + 1 - rows[i].k, 1e-9);
	}
}

Test(bench, page_text_cannot_be_markup)
{
	struct strbuf b;

	strbuf_init(&b, 0);
	svg_text(&b, "<script a=\"b\">&");
	cr_assert_str_eq(b.data, "&lt;script a=&quot;b&quot;&gt;&amp;");
	strbuf_fini(&b);
}

Test(bench, numbers_are_short)
{
	static const struct {
		double v;
		const char *text;
	} rows[] = {{0.5, "0.5"},    {9, "9"},	       {123.4, "123"},
		    {999.4, "999"},  {999.6, "1.0 k"}, {1500, "1.5 k"},
		    {23456, "23 k"}, {1.2e6, "1.2 M"}};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct strbuf b;

		strbuf_init(&b, 0);
		svg_number(&b, rows[i].v);
		cr_assert_str_eq(b.data, rows[i].text);
		strbuf_fini(&b);
	}
}

/* A mechanism that fails, or whose guest dies, is an error, never a figure. */
static int dies(struct cost_cell *c UNUSED)
{
	raise(SIGKILL);
	return 0;
}

static int cannot(struct cost_cell *c UNUSED)
{
	return -EOPNOTSUPP;
}

Test(bench, a_guest_that_dies_gives_no_figure)
{
	const struct cost_mech m = {.name = "dies", .intercept = dies};
	struct cost_cell c = {
		.mech = &m, .op = COST_CALL, .threads = 1, .procs = 1, .ms = 1};
	struct cost_result r;

	cr_assert_lt(cost_cell_run(&c, &r), 0);
}

Test(bench, what_the_machine_lacks_says_so)
{
	const struct cost_mech m = {.name = "cannot", .intercept = cannot};
	struct cost_cell c = {
		.mech = &m, .op = COST_CALL, .threads = 1, .procs = 1, .ms = 1};
	struct cost_result r;

	cr_assert_eq(cost_cell_run(&c, &r), -EOPNOTSUPP);
}

/* Each mechanism does intercept: what it answers is not what the call gives. */
static struct cost_result cell(const struct cost_mech *m, enum cost_op op,
			       unsigned threads, unsigned procs)
{
	struct cost_cell c = {.mech = m,
			      .op = op,
			      .threads = threads,
			      .procs = procs,
			      .ms = 2};
	struct cost_result r = {0};
	int ret = cost_cell_run(&c, &r);

	if (ret == -EOPNOTSUPP)
		return r;
	cr_assert_eq(ret, 0, "%s %s: %s", m->name, cost_op_names[op],
		     strerror(-ret));
	cr_assert_gt(r.count, 0, "%s", m->name);
	cr_assert_gt(r.min, 0, "%s", m->name);
	cr_assert_leq(r.min, r.median, "%s", m->name);
	return r;
}

Test(bench, every_mechanism_runs_what_it_says, .timeout = 60)
{
	for (size_t i = 0; cost_mechs[i]; i++) {
		const struct cost_mech *m = cost_mechs[i];

		if (m->spawn)
			continue; /* this program is not cloche */
		for (int op = 0; op < COST_OPS; op++)
			if (m->ops & COST_BIT(op))
				cell(m, (enum cost_op)op, 1, 1);
		if (m->many) {
			cell(m, COST_CALL, 3, 1);
			cell(m, COST_CALL, 1, 3);
		}
	}
}

Test(bench, costs_are_of_the_part_that_worked)
{
	int fd = memfd_create("costs", MFD_CLOEXEC);
	char text[512] = "";
	double policy = -1;
	enum costs_part back;

	costs_enable();
	back = costs_enter(COSTS_POLICY);
	for (volatile int i = 0; i < 3000000; i++)
		;
	costs_leave(back);
	costs_count(COSTS_STOPS);
	cr_assert_eq(costs_write(fd), 0);
	cr_assert_gt(pread(fd, text, sizeof(text) - 1, 0), 0);
	cr_assert_not_null(strstr(text, "\"policy\":"));
	sscanf(strstr(text, "\"policy\":"), "\"policy\":%lf", &policy);
	cr_assert_gt(policy, 0.1);
	cr_assert_not_null(strstr(text, "\"exec\":0.000"));
	cr_assert_not_null(strstr(text, "\"counts\":{\"calls\":0,"
					"\"descriptors\":0,\"stops\":1}}"));
}
