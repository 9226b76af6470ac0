/*
 * stats_unpaired.h - two runs that were not interleaved: Welch's interval over processes.
 *
 * Each value is the natural logarithm of one process's median. Welch, "The generalization of
 * 'Student's' problem when several different population variances are involved", Biometrika 34
 * (1947); degrees of freedom by Satterthwaite (Biometrics Bulletin 2, 1946):
 *
 *   theta = mean(after) - mean(before)            below zero where `after` is faster
 *   SE^2  = s_b^2 / n_b + s_a^2 / n_a
 *   df    = SE^4 / ((s_b^2 / n_b)^2 / (n_b - 1) + (s_a^2 / n_a)^2 / (n_a - 1))
 *   half  = t(.975, df) SE
 */
#ifndef BENCH_BASE_STATS_UNPAIRED_H
#define BENCH_BASE_STATS_UNPAIRED_H

#include <stddef.h>

/* The fewest processes a side for which there is an interval. */
#define UNPAIRED_MIN_PROCESSES 2

struct unpaired {
    size_t nr_before;
    size_t nr_after;
    double theta; /* NaN where a side has no value */
    double se;    /* this and what follows: NaN where a side has one value only */
    double df;
    double half;
    double lo;
    double hi;
    double mde; /* as verdict_mde() */
};

/* Values must be finite. Two sides without any spread give an interval of no width. */
void unpaired_welch(const double *before, size_t nr_before, const double *after, size_t nr_after,
                    struct unpaired *out);

/*
 * The row's p-value consistent with the verdict, as harness.md 3.7 has it for paired rows:
 * 2 (1 - T((|theta| - delta) / SE)), at most 1; 1 without an interval.
 */
double unpaired_p(const struct unpaired *u, double delta);

#endif
