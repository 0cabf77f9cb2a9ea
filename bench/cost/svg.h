/*
 * svg.h - the two kinds of plot that the page has, drawn by ourselves: bars on
 * a logarithmic scale, and lines on two.
 */
#ifndef CLOCHE_BENCH_SVG_H
#define CLOCHE_BENCH_SVG_H

#include <stddef.h>

#include "../../sentry/base/strbuf.h"

struct svg_bar {
	const char *label;
	double low, mid, high; /* minimum, median, 99th percentile; 0: none */
};

/* Bars from the left to mid, a whisker from low to high. */
void svg_bars(struct strbuf *b, const struct svg_bar *bars, size_t count,
	      const char *unit);

enum { SVG_POINTS_MAX = 16 };

struct svg_line {
	const char *label;
	double x[SVG_POINTS_MAX], y[SVG_POINTS_MAX];
	size_t count;
};

void svg_lines(struct strbuf *b, const struct svg_line *lines, size_t count,
	       const char *x_unit, const char *y_unit);

/* Text as it stands in a page. */
void svg_text(struct strbuf *b, const char *s);
/* 1234567 as "1.2 M", 1500 as "1.5 k". */
void svg_number(struct strbuf *b, double v);

#endif
