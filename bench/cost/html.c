/*
 * html.c - the results as one page that needs nothing else: style and plots
 * are in it, there is no script, and it loads nothing.
 */
#include <fcntl.h>
#include <stdio.h>

#include "suite.h"
#include "svg.h"

enum { MECHS_MAX = 32, PAGE_MAX = 8 << 20 };

static const char head[] =
	"<!doctype html>\n<html lang=en>\n<meta charset=utf-8>\n"
	"<meta name=viewport content='width=device-width'>\n"
	"<title>What interception costs</title>\n<style>\n"
	":root{--bg:#fff;--fg:#1c2024;--dim:#60666c;--grid:#e3e6e9;"
	"--bar:#3b7dd8;--c0:#3b7dd8;--c1:#d9622b;--c2:#2f9e5b;--c3:#8a4fc4;"
	"--c4:#c2364f;--c5:#0f97a8;--c6:#9c7a0c;--c7:#55606b}\n"
	"@media(prefers-color-scheme:dark){:root{--bg:#15181b;--fg:#e6e9ec;"
	"--dim:#9aa2aa;--grid:#2d3338;--bar:#5b9bf0;--c0:#5b9bf0;--c1:#f0854f;"
	"--c2:#55c583;--c3:#b485e8;--c4:#ee6b80;--c5:#3fc1d1;--c6:#d3b03f;"
	"--c7:#a7b1bb}}\n"
	"body{background:var(--bg);color:var(--fg);font:15px/1.5 system-ui,"
	"sans-serif;max-width:820px;margin:2em auto;padding:0 1em}\n"
	"h1{font-size:1.5em}h2{font-size:1.15em;margin-top:2em}\n"
	"p.dim,td.dim{color:var(--dim)}table{border-collapse:collapse;"
	"width:100%;font-variant-numeric:tabular-nums}\n"
	"th,td{text-align:right;padding:.15em .5em;border-bottom:1px solid "
	"var(--grid)}th:first-child,td:first-child{text-align:left}\n"
	"td.text{text-align:left}\n"
	"svg{width:100%;height:auto;font-size:12px}svg text{fill:var(--fg)}\n"
	"svg .axis{fill:var(--dim);font-size:11px}.grid{stroke:var(--grid)}\n"
	".bar{fill:var(--bar);opacity:.75}.whisker{stroke:var(--fg)}\n"
	".value{font-size:11px}.line{fill:none;stroke-width:2}"
	".dash{stroke-dasharray:5 3}\n"
	".c0{stroke:var(--c0)}.c1{stroke:var(--c1)}.c2{stroke:var(--c2)}"
	".c3{stroke:var(--c3)}.c4{stroke:var(--c4)}.c5{stroke:var(--c5)}"
	".c6{stroke:var(--c6)}.c7{stroke:var(--c7)}.dot{fill:var(--bg)}\n"
	".warn{border-left:4px solid var(--c1);padding:.3em .8em}\n"
	"</style>\n";

static double number(const json_t *o, const char *key)
{
	return json_number_value(json_object_get(o, key));
}

static const char *text(const json_t *o, const char *key)
{
	const char *s = json_string_value(json_object_get(o, key));

	return s ? s : "";
}

static void cell(struct strbuf *b, double v, const char *format)
{
	strbuf_puts(b, "<td>");
	if (v > 0)
		strbuf_printf(b, "%.*f", *format == '0' ? 0 : 2, v);
	else
		strbuf_puts(b, "-");
}

static void page_machine(struct strbuf *b, const json_t *root)
{
	const json_t *m = json_object_get(root, "machine"), *w;
	size_t i;

	strbuf_puts(b, "<h1>What interception costs</h1>\n<p class=dim>");
	svg_text(b, text(m, "cpu"));
	strbuf_printf(b, ", %d processors, Linux ", (int)number(m, "cpus"));
	svg_text(b, text(m, "kernel"));
	strbuf_printf(b, ", load %.2f; ", number(m, "load"));
	svg_text(b, text(m, "time"));
	strbuf_puts(b, "</p>\n");
	json_array_foreach(json_object_get(root, "warnings"), i, w)
	{
		strbuf_puts(b, "<p class=warn>");
		svg_text(b, json_string_value(w));
		strbuf_puts(b, "</p>\n");
	}
}

static void page_op(struct strbuf *b, const json_t *mechs, const char *op,
		    const char *title)
{
	struct svg_bar bars[MECHS_MAX];
	const json_t *m;
	size_t i, n = 0;

	json_array_foreach(mechs, i, m)
	{
		const json_t *c =
			json_object_get(json_object_get(m, "calls"), op);

		if (!c || n == MECHS_MAX)
			continue;
		bars[n++] =
			(struct svg_bar){text(m, "name"), number(c, "min"),
					 number(c, "median"), number(c, "p99")};
	}
	strbuf_printf(b, "<h2>%s</h2>\n", title);
	svg_bars(b, bars, n, "ns: median; whisker: minimum to 99 %");
}

static void page_mech_table(struct strbuf *b, const json_t *mechs)
{
	static const char *const ops[] = {"call", "stat", "open"};
	const json_t *m;
	size_t i;

	strbuf_puts(b, "<h2>Mechanisms</h2>\n<table><tr><th>"
		       "<th>call, least ns<th>stat, least ns<th>open, least ns"
		       "<th>guest cpu<th>other cpu"
		       "<th class=text>what it is</tr>\n");
	json_array_foreach(mechs, i, m)
	{
		const json_t *calls = json_object_get(m, "calls");
		const json_t *stat = json_object_get(calls, "stat");

		strbuf_puts(b, "<tr><td>");
		svg_text(b, text(m, "name"));
		for (size_t k = 0; k < ARRAY_SIZE(ops); k++)
			cell(b, number(json_object_get(calls, ops[k]), "min"),
			     "0");
		cell(b, number(stat, "guest_cpu"), "0");
		cell(b, number(stat, "supervisor_cpu"), "0");
		strbuf_puts(b, "<td class='text dim'>");
		svg_text(b, text(m, "what"));
		if (*text(m, "missing")) {
			strbuf_puts(b, ": ");
			svg_text(b, text(m, "missing"));
		}
		strbuf_puts(b, "</tr>\n");
	}
	strbuf_puts(b, "</table>\n<p class=dim>Medians; processor time is of "
		       "one stat, in the guest's processes and in the others. "
		       "All but native and cloche answer by heart: they are "
		       "lower bounds.</p>\n");
}

static void line_of(struct svg_line *l, const char *label, const json_t *list)
{
	const json_t *p;
	size_t i;

	memset(l, 0, sizeof(*l));
	l->label = label;
	json_array_foreach(list, i, p)
	{
		if (l->count == SVG_POINTS_MAX)
			break;
		l->x[l->count] = json_number_value(json_array_get(p, 0));
		l->y[l->count++] = json_number_value(json_array_get(p, 1));
	}
}

static void page_scaling(struct strbuf *b, const json_t *mechs, const char *key)
{
	struct svg_line lines[MECHS_MAX];
	const json_t *m;
	size_t i, n = 0;

	json_array_foreach(mechs, i, m)
	{
		const json_t *list = json_object_get(m, key);

		if (json_array_size(list) && n < MECHS_MAX)
			line_of(&lines[n++], text(m, "name"), list);
	}
	strbuf_printf(b, "<h2>stat calls a second, by %s</h2>\n", key);
	svg_lines(b, lines, n, key, "calls a second");
}

static void page_growth(struct strbuf *b, const json_t *growth)
{
	const json_t *o;
	size_t i;

	strbuf_puts(b, "<h2>As work grows</h2>\n");
	json_array_foreach(growth, i, o)
	{
		struct svg_line lines[2];

		line_of(&lines[0], "native", json_object_get(o, "native"));
		line_of(&lines[1], "cloche", json_object_get(o, "inside"));
		strbuf_puts(b, "<p>");
		svg_text(b, text(o, "name"));
		strbuf_puts(b, "</p>\n");
		svg_lines(b, lines, 2, text(o, "unit"), "ns for one");
	}
}

static void page_side(struct strbuf *b, const json_t *s)
{
	const json_t *r = json_object_get(s, "ratio");

	strbuf_puts(b, "<tr><td>");
	svg_text(b, text(s, "name"));
	if (*text(s, "left_out")) {
		strbuf_puts(b, "<td colspan=6 class='text dim'>left out: ");
		svg_text(b, text(s, "left_out"));
		strbuf_puts(b, "</tr>\n");
		return;
	}
	cell(b, number(s, "median"), "2");
	cell(b, number(s, "min"), "2");
	cell(b, number(s, "cpu"), "2");
	cell(b, number(r, "median"), "2");
	if (r)
		strbuf_printf(b, "<td>%.2f to %.2f", number(r, "low"),
			      number(r, "high"));
	else
		strbuf_puts(b, "<td>-");
	cell(b, number(s, "peak_kib"), "0");
	strbuf_puts(b, "</tr>\n");
}

static void page_parts(struct strbuf *b, const json_t *c)
{
	const json_t *o, *where = json_object_get(c, "where");
	const json_t *calls = json_object_get(c, "calls");
	struct svg_bar bars[MECHS_MAX];
	const char *key;
	size_t i, n = 0;

	json_object_foreach((json_t *)where, key,
			    o) if (n < MECHS_MAX && json_number_value(o) > 0)
		bars[n++] = (struct svg_bar){key, 0, json_number_value(o), 0};
	if (n) {
		strbuf_puts(
			b, "<h2>Where the sentry's processor time went</h2>\n");
		svg_bars(b, bars, n, "ms of one run");
	}
	if (json_array_size(calls) == 0)
		return;
	strbuf_puts(b, "<h2>Calls that the sentry answered</h2>\n<table><tr>"
		       "<th><th>calls<th>ms<th>ns a call</tr>\n");
	json_array_foreach(calls, i, o)
	{
		double count = number(o, "count"), ns = number(o, "ns");

		strbuf_puts(b, "<tr><td>");
		svg_text(b, text(o, "call"));
		cell(b, count, "0");
		cell(b, ns / 1e6, "2");
		cell(b, count > 0 ? ns / count : 0, "0");
		strbuf_puts(b, "</tr>\n");
	}
	strbuf_puts(b, "</table>\n");
}

static void page_command(struct strbuf *b, const json_t *c)
{
	const json_t *s;
	size_t i;

	strbuf_puts(b, "<h2>");
	svg_text(b, text(c, "line"));
	strbuf_printf(b,
		      "</h2>\n<p class=dim>%d interleaved pairs after %d "
		      "warm-up; ms. The ratio is the median of the pairs', "
		      "with its 95 %% interval; the peak is of all its "
		      "processes together.</p>\n<table><tr><th><th>median"
		      "<th>minimum<th>cpu<th>ratio<th>interval<th>peak KiB"
		      "</tr>\n",
		      (int)number(c, "runs"), (int)number(c, "warmup"));
	json_array_foreach(json_object_get(c, "sides"), i, s) page_side(b, s);
	strbuf_puts(b, "</table>\n");
	page_parts(b, c);
}

static void page_mechanisms(struct strbuf *b, const json_t *mechs)
{
	page_mech_table(b, mechs);
	page_op(b, mechs, "call",
		"A call without arguments in memory (getppid)");
	page_op(b, mechs, "stat",
		"A call that reads a path and writes a struct (stat)");
	page_op(b, mechs, "open",
		"A call that gives a descriptor (open and close)");
	page_op(b, mechs, "signal", "A handled signal under it");
	page_op(b, mechs, "fork", "fork, exit and wait under it");
	page_op(b, mechs, "thread", "A thread made and joined under it");
	page_scaling(b, mechs, "threads");
	page_scaling(b, mechs, "processes");
}

static int write_page(const char *path, const struct strbuf *b)
{
	AUTO_CLOSE int fd =
		open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	size_t done = 0;

	if (fd < 0)
		return -errno;
	while (done < b->len) {
		ssize_t n = write(fd, b->data + done, b->len - done);

		if (n < 0 && errno != EINTR)
			return -errno;
		done += n > 0 ? (size_t)n : 0;
	}
	return 0;
}

int show_html(const json_t *root, const char *path)
{
	struct strbuf b;
	int ret;

	strbuf_init(&b, PAGE_MAX);
	strbuf_puts(&b, head);
	page_machine(&b, root);
	if (json_object_get(root, "command"))
		page_command(&b, json_object_get(root, "command"));
	if (json_object_get(root, "mechanisms"))
		page_mechanisms(&b, json_object_get(root, "mechanisms"));
	if (json_object_get(root, "growth"))
		page_growth(&b, json_object_get(root, "growth"));
	ret = b.truncated ? -EFBIG : write_page(path, &b);
	if (ret)
		log_host(-ret, "bench: writing %s", path);
	strbuf_fini(&b);
	return ret;
}
