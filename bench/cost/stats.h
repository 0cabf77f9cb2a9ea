/*
 * stats.h - medians, and how far they may be trusted.
 *
 * The interval of a median is the distribution-free one: the order statistics
 * between which it lies with at least 95 % probability, whatever the noise is
 * shaped like (binomial; Conover, Practical Nonparametric Statistics). With
 * fewer than six values there is none that narrow: all of the range is given.
 */
#ifndef CLOCHE_BENCH_STATS_H
#define CLOCHE_BENCH_STATS_H

#include <stddef.h>

enum { STATS_INTERVAL_LEAST = 6 };

struct stats {
	size_t count;
	double min, median, max;
	double low, high; /* the median's interval, 95 % */
	double spread;	  /* interquartile range / median */
};

/* Sorts v. count 0 gives zeros. */
struct stats stats_of(double *v, size_t count);

#endif
