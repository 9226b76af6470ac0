/*
 * stats_paired.h - paired log-ratios and the signed-rank method, harness.md 3.2 and 3.3.
 *
 * D_s is the mean over one super-round of ln(t_arm / t_base): natural logarithms everywhere, below
 * zero where the arm is faster. m is the number of super-rounds of one process.
 */
#ifndef BENCH_BASE_STATS_PAIRED_H
#define BENCH_BASE_STATS_PAIRED_H

#include <stddef.h>

#include "err.h"

/* The fewest super-rounds for which a 95 % signed-rank interval exists. */
#define PAIRED_MIN_SUPER_ROUNDS 6

/* One kept round of one process: the same positive unit in both (ns, or cycles for 3.10 clock). */
struct paired_round {
    size_t super_round;
    double base;
    double arm;
};

/*
 * Writes D of each super-round that has all its `per_super_round` rounds to `d` (room for
 * nr / per_super_round) in order of the super-rounds, and their number to `nr_d`. Rounds are sorted
 * by super_round. An incomplete super-round is left out, never used in part. A value that is not
 * positive and finite, or a super-round with too many rounds, is an error.
 */
int paired_means(const struct paired_round *rounds, size_t nr, size_t per_super_round, double *d,
                 size_t *nr_d, struct err *err);

/*
 * The largest k with P(W+ <= k - 1) <= (1 - level) / 2 for m values, 0 where there is none, and in
 * `actual` (may be NULL) the level 1 - 2 P(W+ <= k - 1) that [w(k), w(M+1-k)] really has. Negative
 * on error.
 */
long signed_rank_k(size_t m, double level, double *actual, struct err *err);

/* Hodges-Lehmann estimate and interval; `k` = 0: lo, hi and level are NaN. */
struct signed_rank {
    double estimate;
    double lo;
    double hi;
    double level;
    long k;
};

/* 3.3 at `level` (0.95). `d` is left alone. nr = 0 is an error. */
int signed_rank_interval(const double *d, size_t nr, double level, struct signed_rank *out,
                         struct err *err);
/* The median of the Walsh averages alone. */
int hodges_lehmann(const double *d, size_t nr, double *estimate, struct err *err);

/*
 * Exact given the ties: mid-ranks of |D|, zeros ranked and then dropped, the recursion over doubled
 * mid-ranks. Two-sided: share of sign patterns with |W+ - S/2| at least as large; upper: share with
 * W+ at least as large (small when D lies above zero). 1 where every value is zero.
 */
struct signed_rank_test {
    double w_plus;
    double rank_sum; /* S, of the kept ranks */
    double p_two_sided;
    double p_upper;
};

int signed_rank_p(const double *d, size_t nr, struct signed_rank_test *out, struct err *err);

#endif
