#include "stats.h"

#include <stdlib.h>
#include <string.h>

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* Linear between the two nearest; v is sorted. */
static double quantile(const double *v, size_t count, double q)
{
	double at = q * (double)(count - 1);
	size_t i = (size_t)at;

	if (i + 1 >= count)
		return v[count - 1];
	return v[i] + (v[i + 1] - v[i]) * (at - (double)i);
}

/* The largest k for which P(Binomial(n, 1/2) < k) <= 0.025. */
static size_t order_of_interval(size_t n)
{
	double p = 1, sum = 0;
	size_t k = 0;

	for (size_t i = 0; i < n; i++)
		p /= 2;
	while (k < n / 2 && sum + p <= 0.025) {
		sum += p;
		p = p * (double)(n - k) / (double)(k + 1);
		k++;
	}
	return k;
}

struct stats stats_of(double *v, size_t count)
{
	struct stats s = {.count = count};
	size_t k;

	if (count == 0)
		return s;
	qsort(v, count, sizeof(*v), compare);
	s.min = v[0];
	s.max = v[count - 1];
	s.median = quantile(v, count, 0.5);
	k = order_of_interval(count);
	s.low = v[k > 0 ? k - 1 : 0];
	s.high = v[count - (k > 0 ? k : 1)];
	if (s.median > 0)
		s.spread =
			(quantile(v, count, 0.75) - quantile(v, count, 0.25)) /
			s.median;
	return s;
}
