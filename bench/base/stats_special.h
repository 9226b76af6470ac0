/*
 * stats_special.h - distribution functions, harness.md 3.4, 3.5, 3.9 and 3.10. Pure functions of
 * their arguments, thread-safe. NaN answers an argument outside the domain.
 */
#ifndef BENCH_BASE_STATS_SPECIAL_H
#define BENCH_BASE_STATS_SPECIAL_H

#include <stddef.h>

/*
 * Regularised incomplete beta I(x; a, b), a, b > 0, 0 <= x <= 1, by the continued fraction of
 * Abramowitz and Stegun 26.5.8, evaluated by Lentz's method.
 */
double stats_beta_inc(double x, double a, double b);

double stats_normal_cdf(double z);
double stats_normal_quantile(double p);

/* Student's t, df > 0; df = INFINITY is the normal distribution. 3.4. */
double stats_t_cdf(double t, double df);
double stats_t_upper(double t, double df); /* 1 - cdf, without the cancellation */
double stats_t_quantile(double p, double df);

/* P(X <= x) and P(X >= x) of a binomial of n trials. 3.9. */
double stats_binomial_lower(size_t n, size_t x, double p);
double stats_binomial_upper(size_t n, size_t x, double p);
/* Exact two-sided: the sum over all outcomes that are no likelier than x. 3.10, discard. */
double stats_binomial_two_sided(size_t n, size_t x, double p);

/* Clopper-Pearson interval of x hits in n trials at `level`, say 0.95. 3.9. n = 0 gives [0, 1]. */
void stats_clopper_pearson(size_t n, size_t x, double level, double *lo, double *hi);

/*
 * Two-sided p of Mann-Kendall's S over m values without ties: exact, by counting inversions, up to
 * m = 256, normal beyond (and where memory runs out). 3.10, drift.
 */
double stats_mann_kendall_p(size_t m, double s);

#endif
