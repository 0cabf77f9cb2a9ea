/*
 * svg.c - see svg.h. Colours are classes (c0..c7) of the page's style, so that
 * dark and light pages have their own.
 */
#include "svg.h"

#include <math.h>

enum {
	WIDTH = 760,
	LABEL = 130,
	ROW = 24,
	TOP = 8,
	AXIS = 34,
	PLOT_H = 250,
	LEGEND = 150,
	COLOURS = 8
};

void svg_text(struct strbuf *b, const char *s)
{
	for (; *s; s++) {
		switch (*s) {
		case '<':
			strbuf_puts(b, "&lt;");
			break;
		case '>':
			strbuf_puts(b, "&gt;");
			break;
		case '&':
			strbuf_puts(b, "&amp;");
			break;
		case '"':
			strbuf_puts(b, "&quot;");
			break;
		default:
			strbuf_putc(b, *s);
		}
	}
}

/* Without libm, whose loading every start would pay for. */
static double whole(double v)
{
	return (double)(long long)v;
}

static double whole_below(double v)
{
	double w = whole(v);

	return w > v ? w - 1 : w;
}

void svg_number(struct strbuf *b, double v)
{
	static const char *const units[] = {"", " k", " M", " G"};
	size_t u = 0;

	while (v >= 999.5 && u + 1 < ARRAY_SIZE(units)) {
		v /= 1000;
		u++;
	}
	strbuf_printf(b, v < 9.95 && v != whole(v) ? "%.1f%s" : "%.0f%s", v,
		      units[u]);
}

/* Not libm's: cloche would load that at every start. */
static double lesser(double a, double b)
{
	return a < b ? a : b;
}

static double greater(double a, double b)
{
	return a > b ? a : b;
}

/* e is whole. */
static double ten_to(double e)
{
	double v = 1;

	for (; e >= 1; e--)
		v *= 10;
	for (; e <= -1; e++)
		v /= 10;
	return v;
}

/* Exact where v is a power of ten; else to six digits, enough for pixels. */
static double log_ten(double v)
{
	double e = 0;

	for (; v >= 10; v /= 10)
		e++;
	for (; v < 1; v *= 10)
		e--;
	for (double bit = 0.5; bit > 1e-7; bit /= 2) {
		v *= v;
		if (v < 10)
			continue;
		v /= 10;
		e += bit;
	}
	return e;
}

/* Whole powers of ten around what is shown. */
struct scale {
	double low, high; /* exponents */
	double at, size;  /* pixels; size may be negative */
};

static double place(const struct scale *s, double v)
{
	double e = v > 0 ? log_ten(v) : s->low;

	return s->at + s->size * (e - s->low) / (s->high - s->low);
}

static void scale_take(struct scale *s, double v)
{
	if (v <= 0)
		return;
	s->low = lesser(s->low, whole_below(log_ten(v)));
	s->high = greater(s->high, -whole_below(-log_ten(v)));
}

static struct scale scale_new(double at, double size)
{
	return (struct scale){INFINITY, -INFINITY, at, size};
}

static void scale_end(struct scale *s)
{
	if (s->low > s->high) {
		s->low = 0;
		s->high = 1;
	}
	if (s->low == s->high)
		s->high++;
}

static void tick_x(struct strbuf *b, const struct scale *s, double e,
		   double top, double bottom)
{
	double x = place(s, ten_to(e));

	strbuf_printf(b,
		      "<line class=grid x1=%.1f y1=%.1f x2=%.1f y2=%.1f />"
		      "<text class=axis x=%.1f y=%.1f text-anchor=middle>",
		      x, top, x, bottom, x, bottom + 14);
	svg_number(b, ten_to(e));
	strbuf_puts(b, "</text>\n");
}

static void tick_y(struct strbuf *b, const struct scale *s, double e,
		   double left, double right)
{
	double y = place(s, ten_to(e));

	strbuf_printf(b,
		      "<line class=grid x1=%.1f y1=%.1f x2=%.1f y2=%.1f />"
		      "<text class=axis x=%.1f y=%.1f text-anchor=end>",
		      left, y, right, y, left - 6, y + 4);
	svg_number(b, ten_to(e));
	strbuf_puts(b, "</text>\n");
}

static void open_svg(struct strbuf *b, double height)
{
	strbuf_printf(b, "<svg viewBox='0 0 %d %.0f' role=img>\n", WIDTH,
		      height);
}

static void bar(struct strbuf *b, const struct scale *s,
		const struct svg_bar *v, double y)
{
	double x = place(s, v->mid);

	strbuf_printf(b, "<text x=%d y=%.1f text-anchor=end>", LABEL - 8,
		      y + 15);
	svg_text(b, v->label);
	strbuf_printf(b,
		      "</text><rect class=bar x=%d y=%.1f width=%.1f height=%d "
		      "rx=2><title>",
		      LABEL, y + 4, greater(x - LABEL, 1), ROW - 8);
	strbuf_printf(b, "minimum %.1f, median %.1f, 99 %% %.1f", v->low,
		      v->mid, v->high);
	strbuf_puts(b, "</title></rect>");
	if (v->low > 0 && v->high > 0)
		strbuf_printf(b,
			      "<line class=whisker x1=%.1f y1=%.1f x2=%.1f "
			      "y2=%.1f />",
			      place(s, v->low), y + ROW / 2.0,
			      place(s, v->high), y + ROW / 2.0);
	strbuf_printf(b, "<text class=value x=%.1f y=%.1f>",
		      greater(place(s, greater(v->high, v->mid)), x) + 6,
		      y + 15);
	svg_number(b, v->mid);
	strbuf_puts(b, "</text>\n");
}

void svg_bars(struct strbuf *b, const struct svg_bar *bars, size_t count,
	      const char *unit)
{
	struct scale s = scale_new(LABEL, WIDTH - LABEL - 60);
	double bottom = TOP + (double)count * ROW;

	for (size_t i = 0; i < count; i++) {
		scale_take(&s, bars[i].low > 0 ? bars[i].low : bars[i].mid);
		scale_take(&s, greater(bars[i].mid, bars[i].high));
	}
	scale_end(&s);
	open_svg(b, bottom + AXIS);
	for (double e = s.low; e <= s.high; e++)
		tick_x(b, &s, e, TOP, bottom);
	for (size_t i = 0; i < count; i++)
		bar(b, &s, &bars[i], TOP + (double)i * ROW);
	strbuf_printf(b,
		      "<text class=axis x=%d y=%.1f text-anchor=end>%s"
		      "</text>\n</svg>\n",
		      WIDTH - 4, bottom + 30, unit);
}

static void line(struct strbuf *b, const struct scale *x, const struct scale *y,
		 const struct svg_line *l, size_t index)
{
	size_t colour = index % COLOURS;

	strbuf_printf(b, "<polyline class='line c%zu%s' points='", colour,
		      index >= COLOURS ? " dash" : "");
	for (size_t i = 0; i < l->count; i++)
		if (l->y[i] > 0)
			strbuf_printf(b, "%.1f,%.1f ", place(x, l->x[i]),
				      place(y, l->y[i]));
	strbuf_puts(b, "' />");
	for (size_t i = 0; i < l->count; i++) {
		if (l->y[i] <= 0)
			continue;
		strbuf_printf(b,
			      "<circle class='dot c%zu' cx=%.1f cy=%.1f r=3>"
			      "<title>",
			      colour, place(x, l->x[i]), place(y, l->y[i]));
		svg_text(b, l->label);
		strbuf_printf(b, ", %.0f: ", l->x[i]);
		svg_number(b, l->y[i]);
		strbuf_puts(b, "</title></circle>");
	}
	strbuf_printf(b,
		      "<line class='line c%zu%s' x1=%d y1=%.1f x2=%d y2=%.1f />"
		      "<text x=%d y=%.1f>",
		      colour, index >= COLOURS ? " dash" : "",
		      WIDTH - LEGEND + 8, TOP + 10.0 + (double)index * 16,
		      WIDTH - LEGEND + 28, TOP + 10.0 + (double)index * 16,
		      WIDTH - LEGEND + 34, TOP + 14.0 + (double)index * 16);
	svg_text(b, l->label);
	strbuf_puts(b, "</text>\n");
}

void svg_lines(struct strbuf *b, const struct svg_line *lines, size_t count,
	       const char *x_unit, const char *y_unit)
{
	struct scale x = scale_new(60, WIDTH - LEGEND - 70);
	double height = greater(PLOT_H, (double)count * 16);
	struct scale y = scale_new(TOP + height, -height);

	for (size_t i = 0; i < count; i++) {
		for (size_t k = 0; k < lines[i].count; k++) {
			scale_take(&x, lines[i].x[k]);
			scale_take(&y, lines[i].y[k]);
		}
	}
	scale_end(&x);
	scale_end(&y);
	open_svg(b, TOP + height + AXIS);
	for (double e = x.low; e <= x.high; e++)
		tick_x(b, &x, e, TOP, TOP + height);
	for (double e = y.low; e <= y.high; e++)
		tick_y(b, &y, e, 60, WIDTH - LEGEND - 10);
	for (size_t i = 0; i < count; i++)
		line(b, &x, &y, &lines[i], i);
	strbuf_printf(b,
		      "<text class=axis x=%d y=%.1f text-anchor=end>%s</text>"
		      "<text class=axis x=%d y=%d>%s</text>\n</svg>\n",
		      WIDTH - LEGEND - 10, TOP + height + 30, x_unit, 64,
		      TOP + 10, y_unit);
}
