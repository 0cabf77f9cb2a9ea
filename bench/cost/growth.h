/*
 * growth.h - the guest's part of growth.c: "cloche bench --guest-files N".
 */
#ifndef CLOCHE_BENCH_GROWTH_H
#define CLOCHE_BENCH_GROWTH_H

/* Makes, looks at, renames and removes that many files in ./files; prints ns of
 * one for each on a line. An exit status. */
int cost_growth_guest(unsigned files);

#endif
