/*
 * stats_multiple.h - many rows at once, harness.md 3.7. The p-values are those of verified
 * candidate rows only: no A', no context arm, no failed case. Results stand in the order of `p`.
 */
#ifndef BENCH_BASE_STATS_MULTIPLE_H
#define BENCH_BASE_STATS_MULTIPLE_H

#include <stddef.h>

#include "err.h"

#define MULTIPLE_LEVEL 0.05

/* Benjamini-Hochberg: q(i) = min over j >= i of n p(j) / j, p ascending, at most 1. */
int multiple_bh(const double *p, size_t nr, double *q, struct err *err);
/* Holm: h(i) = max over j <= i of min(1, (n - j + 1) p(j)). */
int multiple_holm(const double *p, size_t nr, double *h, struct err *err);
/* The smallest of Holm's values: 1 for no rows. The gate fails, A' voids, at <= MULTIPLE_LEVEL. */
double multiple_holm_min(const double *p, size_t nr);

#endif
