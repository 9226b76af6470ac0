/*
 * stats_quantile.h - quantiles for display and medians, harness.md 3.2. Units are the caller's.
 */
#ifndef BENCH_BASE_STATS_QUANTILE_H
#define BENCH_BASE_STATS_QUANTILE_H

#include <stddef.h>

/* Sorts ascending, in place. NaN must not occur. */
void stats_sort(double *values, size_t nr);

/* Interpolates at h = (nr - 1) q; `sorted` ascending, 0 <= q <= 1. NaN for nr = 0. */
double stats_quantile_sorted(const double *sorted, size_t nr, double q);
double stats_median_sorted(const double *sorted, size_t nr);
/* Sorts `values`, then takes the median. */
double stats_median(double *values, size_t nr);
double stats_mean(const double *values, size_t nr);

struct stats_summary {
    size_t nr;
    double min;
    double p10;
    double median;
    double p90;
    double max;
    size_t outliers; /* further than 5 MAD from the median (3.10): counted, never removed */
};

/*
 * Sorts `values` and summarises it; everything but nr is NaN for nr = 0. The median absolute
 * deviation is taken as at least `resolution` (the timer's tick), or else a sample that mostly
 * repeats one tick would call each neighbouring tick an outlier.
 */
void stats_summarise(double *values, size_t nr, double resolution, struct stats_summary *summary);

/* Median of the arm over median of the base, both sorted; a plain ratio, not a logarithm. */
double stats_ratio_of_medians(const double *arm_sorted, size_t nr_arm, const double *base_sorted,
                              size_t nr_base);

#endif
