#include "stats_quantile.h"

#include <math.h>
#include <stdlib.h>

#define OUTLIER_MADS 5.0

static int ascending(const void *left, const void *right)
{
    double a = *(const double *)left, b = *(const double *)right;

    return (a > b) - (a < b);
}

void stats_sort(double *values, size_t nr)
{
    if (nr > 1)
        qsort(values, nr, sizeof(*values), ascending);
}

double stats_quantile_sorted(const double *sorted, size_t nr, double q)
{
    double h, below;
    size_t i;

    if (!nr || !(q >= 0.0 && q <= 1.0))
        return NAN;
    h = (double)(nr - 1) * q;
    below = floor(h);
    i = (size_t)below;
    if (i + 1 >= nr)
        return sorted[nr - 1];
    return sorted[i] + (h - below) * (sorted[i + 1] - sorted[i]);
}

double stats_median_sorted(const double *sorted, size_t nr)
{
    return stats_quantile_sorted(sorted, nr, 0.5);
}

double stats_median(double *values, size_t nr)
{
    stats_sort(values, nr);
    return stats_median_sorted(values, nr);
}

double stats_mean(const double *values, size_t nr)
{
    double sum = 0.0;

    if (!nr)
        return NAN;
    for (size_t i = 0; i < nr; i++)
        sum += values[i];
    return sum / (double)nr;
}

/*
 * The median distance from `median` without a second array: distances below and above it already
 * stand in order, outwards from the middle, so the two runs are merged up to the middle one.
 */
static double median_deviation(const double *sorted, size_t nr, double median)
{
    size_t up = 0, taken = 0;
    size_t down;
    double last = 0.0, before = 0.0;

    while (up < nr && sorted[up] < median)
        up++;
    down = up;
    while (taken < nr / 2 + 1) {
        double above = up < nr ? sorted[up] - median : INFINITY;
        double under = down > 0 ? median - sorted[down - 1] : INFINITY;

        before = last;
        last = above <= under ? above : under;
        if (above <= under)
            up++;
        else
            down--;
        taken++;
    }
    return nr % 2 ? last : (before + last) / 2.0;
}

void stats_summarise(double *values, size_t nr, double resolution, struct stats_summary *summary)
{
    double limit;

    stats_sort(values, nr);
    *summary = (struct stats_summary){
        .nr = nr,
        .min = stats_quantile_sorted(values, nr, 0.0),
        .p10 = stats_quantile_sorted(values, nr, 0.1),
        .median = stats_median_sorted(values, nr),
        .p90 = stats_quantile_sorted(values, nr, 0.9),
        .max = stats_quantile_sorted(values, nr, 1.0),
    };
    if (!nr)
        return;
    limit = OUTLIER_MADS * fmax(median_deviation(values, nr, summary->median), resolution);
    for (size_t i = 0; i < nr; i++)
        summary->outliers += fabs(values[i] - summary->median) > limit;
}

double stats_ratio_of_medians(const double *arm_sorted, size_t nr_arm, const double *base_sorted,
                              size_t nr_base)
{
    return stats_median_sorted(arm_sorted, nr_arm) / stats_median_sorted(base_sorted, nr_base);
}
