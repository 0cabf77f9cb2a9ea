/*
 * bench.h - what the measuring programs share: a clock and a batch loop.
 *
 * An operation is run in batches of about a millisecond, until its time is
 * used up. Of all batches the minimum and the median time of one operation
 * are printed: "name minimum median batches", in ns. On a machine that others
 * use too, the minimum says what the operation costs and the median what it
 * costs there and then.
 */
#ifndef CLOCHE_BENCH_H
#define CLOCHE_BENCH_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { BENCH_BATCHES = 4096, BENCH_BATCH_NS = 1000000 };

typedef void (*bench_fn)(uint64_t n);

static inline uint64_t bench_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static inline double bench_batch(bench_fn run, uint64_t n)
{
	uint64_t begin = bench_now();

	run(n);
	return (double)(bench_now() - begin) / (double)n;
}

static inline int bench_compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static inline void bench_measure(const char *name, bench_fn run, uint64_t ms)
{
	static double batch[BENCH_BATCHES];
	uint64_t n = 1, end;
	size_t count = 0;

	/* also warms up: caches, descriptors, the sentry's tables */
	while (bench_batch(run, n) * (double)n < BENCH_BATCH_NS && n < 1u << 20)
		n *= 2;
	end = bench_now() + ms * 1000000;
	while (count < BENCH_BATCHES && (count < 5 || bench_now() < end))
		batch[count++] = bench_batch(run, n);
	qsort(batch, count, sizeof(batch[0]), bench_compare);
	printf("%s %.1f %.1f %zu\n", name, batch[0], batch[count / 2], count);
	fflush(stdout);
}

#endif
