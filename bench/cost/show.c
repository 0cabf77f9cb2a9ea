/*
 * show.c - the results as a table for a terminal.
 */
#include <math.h>
#include <stdio.h>

#include "stats.h"
#include "suite.h"

static double number(const json_t *o, const char *key)
{
	return json_number_value(json_object_get(o, key));
}

static const char *text(const json_t *o, const char *key)
{
	const char *s = json_string_value(json_object_get(o, key));

	return s ? s : "";
}

/* "1,234" or "-", right-aligned. */
static void print_ns(double v, int width)
{
	char digits[32], out[48];
	size_t len, at = 0;

	if (v <= 0) {
		printf("%*s", width, "-");
		return;
	}
	snprintf(digits, sizeof(digits), v < 10 ? "%.1f" : "%.0f", v);
	len = strcspn(digits, ".");
	for (size_t i = 0; digits[i]; i++) {
		if (i && i < len && (len - i) % 3 == 0)
			out[at++] = ',';
		out[at++] = digits[i];
	}
	out[at] = '\0';
	printf("%*s", width, out);
}

static void show_machine(const json_t *m)
{
	printf("%s, %d processor%s, Linux %s, load %.2f\n", text(m, "cpu"),
	       (int)number(m, "cpus"), number(m, "cpus") == 1 ? "" : "s",
	       text(m, "kernel"), number(m, "load"));
}

static void show_op(const json_t *mechs, const char *op, const char *title)
{
	const json_t *m;
	double base = 0;
	size_t i;

	printf("\n%s, ns\n%-16s%10s%12s%14s%9s%12s%14s\n", title, "", "minimum",
	       "median", "99 %", "ratio", "guest cpu", "other cpu");
	json_array_foreach(mechs, i, m)
	{
		const json_t *c =
			json_object_get(json_object_get(m, "calls"), op);

		if (!c)
			continue;
		if (base <= 0)
			base = number(c, "min");
		printf("%-16s", text(m, "name"));
		print_ns(number(c, "min"), 10);
		print_ns(number(c, "median"), 12);
		print_ns(number(c, "p99"), 14);
		printf("%8.1fx", base > 0 ? number(c, "min") / base : 0);
		print_ns(number(c, "guest_cpu"), 12);
		print_ns(number(c, "supervisor_cpu"), 14);
		putchar('\n');
	}
}

static void show_life(const json_t *mechs)
{
	static const char *const ops[] = {"signal", "fork", "thread"};
	const json_t *m;
	size_t i;

	printf("\nWhat else becomes dearer, ns (median)\n%-16s%12s%16s%16s\n",
	       "", "signal", "fork and wait", "thread");
	json_array_foreach(mechs, i, m)
	{
		const json_t *calls = json_object_get(m, "calls");

		if (!json_object_get(calls, "signal"))
			continue;
		printf("%-16s", text(m, "name"));
		for (size_t k = 0; k < ARRAY_SIZE(ops); k++)
			print_ns(number(json_object_get(calls, ops[k]),
					"median"),
				 k ? 16 : 12);
		putchar('\n');
	}
}

static void show_scaling(const json_t *mechs, const char *key)
{
	const json_t *m, *p;
	size_t i, k;

	printf("\nstat calls a second, by %s at once\n", key);
	json_array_foreach(mechs, i, m)
	{
		const json_t *list = json_object_get(m, key);

		if (json_array_size(list) == 0)
			continue;
		printf("%-16s", text(m, "name"));
		json_array_foreach(list, k, p)
		{
			printf("%4d:",
			       (int)json_integer_value(json_array_get(p, 0)));
			print_ns(json_real_value(json_array_get(p, 1)), 11);
		}
		putchar('\n');
	}
}

static void show_mechanisms(const json_t *mechs)
{
	const json_t *m;
	size_t i;

	show_op(mechs, "call", "A call without arguments in memory (getppid)");
	show_op(mechs, "stat",
		"A call that reads a path and writes a struct (stat)");
	show_op(mechs, "open",
		"A call that gives a descriptor (open, with its close)");
	puts("\nMinimum and median are of batches of a millisecond, 99 % of "
	     "calls "
	     "timed one by one;\nthe ratio is of the minima.");
	show_life(mechs);
	show_scaling(mechs, "threads");
	show_scaling(mechs, "processes");
	putchar('\n');
	json_array_foreach(mechs, i, m)
	{
		const char *missing = text(m, "missing");

		printf("%-16s%s%s%s\n", text(m, "name"), text(m, "what"),
		       *missing ? ": " : "", missing);
	}
}

static void show_growth(const json_t *growth)
{
	const json_t *o, *p;
	size_t i, k;

	puts("\nAs work grows, ns for one call");
	json_array_foreach(growth, i, o)
	{
		static const char *const sides[] = {"native", "inside"};

		printf("%s\n", text(o, "name"));
		for (size_t s = 0; s < ARRAY_SIZE(sides); s++) {
			const json_t *list = json_object_get(o, sides[s]);

			printf("  %-8s", sides[s]);
			json_array_foreach(list, k, p)
			{
				printf("%7d:", (int)json_integer_value(
						       json_array_get(p, 0)));
				print_ns(json_real_value(json_array_get(p, 1)),
					 9);
			}
			putchar('\n');
		}
	}
}

static void show_side(const json_t *s)
{
	const json_t *r = json_object_get(s, "ratio");

	printf("%-10s", text(s, "name"));
	if (*text(s, "left_out")) {
		printf("  left out: %s\n", text(s, "left_out"));
		return;
	}
	printf("%10.1f%10.1f%10.1f", number(s, "median"), number(s, "min"),
	       number(s, "cpu"));
	if (r)
		printf("%9.2fx  %6.2f-%-6.2f", number(r, "median"),
		       number(r, "low"), number(r, "high"));
	else
		printf("%10s  %13s", "", "");
	print_ns(number(s, "peak_kib"), 12);
	putchar('\n');
}

static void show_where(const json_t *c)
{
	const json_t *o, *where = json_object_get(c, "where");
	const json_t *calls = json_object_get(c, "calls");
	const char *key;
	size_t i;

	if (json_object_size(where)) {
		puts("\nWhere the sentry's processor time went, ms of one run");
		json_object_foreach((json_t *)where, key, o)
			printf("  %-10s%10.2f\n", key, json_number_value(o));
	}
	if (json_array_size(calls) == 0)
		return;
	printf("\nCalls that the sentry answered\n  %-20s%10s%12s%12s\n", "",
	       "calls", "ms", "ns a call");
	json_array_foreach(calls, i, o)
	{
		double n = number(o, "count"), ns = number(o, "ns");

		printf("  %-20s", text(o, "call"));
		print_ns(n, 10);
		printf("%12.2f", ns / 1e6);
		print_ns(n > 0 ? ns / n : 0, 12);
		putchar('\n');
	}
}

static void show_command(const json_t *c)
{
	const json_t *s;
	size_t i;

	printf("\n%s\n%d pairs after %d warm-up%s: ms; the ratio is the "
	       "median of the pairs', with %s\n",
	       text(c, "line"), (int)number(c, "runs"),
	       (int)number(c, "warmup"), number(c, "warmup") == 1 ? "" : "s",
	       number(c, "runs") < STATS_INTERVAL_LEAST
		       ? "its range (an interval needs 6 pairs)"
		       : "its 95 % interval");
	printf("%-10s%10s%10s%10s%10s  %13s%12s\n", "", "median", "minimum",
	       "cpu", "ratio", "interval", "peak KiB");
	json_array_foreach(json_object_get(c, "sides"), i, s) show_side(s);
	show_where(c);
}

void show_table(const json_t *root)
{
	const json_t *part, *w;
	size_t i;

	show_machine(json_object_get(root, "machine"));
	part = json_object_get(root, "mechanisms");
	if (part)
		show_mechanisms(part);
	part = json_object_get(root, "growth");
	if (part)
		show_growth(part);
	part = json_object_get(root, "command");
	if (part)
		show_command(part);
	json_array_foreach(json_object_get(root, "warnings"), i, w)
		printf("\nwarning: %s\n", json_string_value(w));
}
