#include "stats_special.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

#define FRACTION_STEPS 10000
#define BISECTIONS     200
#define KENDALL_EXACT  256

/* lgamma() writes a global sign; this one does not. */
static double log_gamma(double x)
{
    int sign;

    return lgamma_r(x, &sign);
}

/* The denominator of Lentz's method must not vanish. */
static double nonzero(double x)
{
    return fabs(x) < DBL_MIN ? DBL_MIN : x;
}

/* Abramowitz and Stegun 26.5.8; converges fast for x < (a + 1) / (a + b + 2). */
static double beta_fraction(double x, double a, double b)
{
    double c = 1.0;
    double d = 1.0 / nonzero(1.0 - (a + b) * x / (a + 1.0));
    double f = d;

    for (int step = 1; step <= FRACTION_STEPS; step++) {
        double m = step;
        double even = m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m));
        double odd = -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0));
        double change;

        d = 1.0 / nonzero(1.0 + even * d);
        c = nonzero(1.0 + even / c);
        f *= c * d;
        d = 1.0 / nonzero(1.0 + odd * d);
        c = nonzero(1.0 + odd / c);
        change = c * d;
        f *= change;
        if (fabs(change - 1.0) < DBL_EPSILON)
            break;
    }
    return f;
}

/* I(x; a, b) with y = 1 - x given apart, so that neither end loses digits. */
static double beta_both(double x, double y, double a, double b)
{
    double front;

    if (x <= 0.0)
        return 0.0;
    if (y <= 0.0)
        return 1.0;
    front = exp(log_gamma(a + b) - log_gamma(a) - log_gamma(b) + a * log(x) + b * log(y));
    if (x < (a + 1.0) / (a + b + 2.0))
        return front * beta_fraction(x, a, b) / a;
    return 1.0 - front * beta_fraction(y, b, a) / b;
}

double stats_beta_inc(double x, double a, double b)
{
    if (!(a > 0.0 && b > 0.0 && x >= 0.0 && x <= 1.0))
        return NAN;
    return beta_both(x, 1.0 - x, a, b);
}

double stats_normal_cdf(double z)
{
    return 0.5 * erfc(-z / sqrt(2.0));
}

double stats_t_upper(double t, double df)
{
    double tail;

    if (isnan(t) || !(df > 0.0))
        return NAN;
    if (isinf(df))
        return stats_normal_cdf(-t);
    if (isinf(t))
        return t > 0.0 ? 0.0 : 1.0;
    tail = 0.5 * beta_both(df / (df + t * t), t * t / (df + t * t), 0.5 * df, 0.5);
    return t >= 0.0 ? tail : 1.0 - tail;
}

double stats_t_cdf(double t, double df)
{
    return stats_t_upper(-t, df);
}

/* The t > 0 with this upper tail < 1/2. */
static double t_from_tail(double tail, double df)
{
    double lo = 0.0, hi = 1.0;

    while (stats_t_upper(hi, df) > tail && hi < 1e150) {
        lo = hi;
        hi *= 2.0;
    }
    for (int i = 0; i < BISECTIONS; i++) {
        double middle = 0.5 * (lo + hi);

        if (middle <= lo || middle >= hi)
            break;
        if (stats_t_upper(middle, df) > tail)
            lo = middle;
        else
            hi = middle;
    }
    return 0.5 * (lo + hi);
}

double stats_t_quantile(double p, double df)
{
    if (!(p >= 0.0 && p <= 1.0) || !(df > 0.0))
        return NAN;
    if (p <= 0.0)
        return -INFINITY;
    if (p >= 1.0)
        return INFINITY;
    return p < 0.5 ? -t_from_tail(p, df) : t_from_tail(1.0 - p, df);
}

double stats_normal_quantile(double p)
{
    return stats_t_quantile(p, INFINITY);
}

double stats_binomial_upper(size_t n, size_t x, double p)
{
    if (!(p >= 0.0 && p <= 1.0))
        return NAN;
    if (x == 0)
        return 1.0;
    if (x > n)
        return 0.0;
    return stats_beta_inc(p, (double)x, (double)(n - x) + 1.0);
}

double stats_binomial_lower(size_t n, size_t x, double p)
{
    if (!(p >= 0.0 && p <= 1.0))
        return NAN;
    if (x >= n)
        return 1.0;
    return stats_beta_inc(1.0 - p, (double)(n - x), (double)x + 1.0);
}

static double binomial_point(size_t n, size_t x, double p)
{
    double n_ = (double)n, x_ = (double)x;

    if (p <= 0.0)
        return x == 0 ? 1.0 : 0.0;
    if (p >= 1.0)
        return x == n ? 1.0 : 0.0;
    return exp(log_gamma(n_ + 1.0) - log_gamma(x_ + 1.0) - log_gamma(n_ - x_ + 1.0) + x_ * log(p) +
               (n_ - x_) * log1p(-p));
}

double stats_binomial_two_sided(size_t n, size_t x, double p)
{
    double limit, sum = 0.0;

    if (x > n || !(p >= 0.0 && p <= 1.0))
        return NAN;
    /* Outcomes as likely as x by symmetry must count, whatever the last digit says. */
    limit = binomial_point(n, x, p) * (1.0 + 1e-7);
    for (size_t i = 0; i <= n; i++) {
        double point = binomial_point(n, i, p);

        if (point <= limit)
            sum += point;
    }
    return fmin(sum, 1.0);
}

/* The p at which the tail `x` or more (upper) or `x` or fewer of n has this probability. */
static double binomial_p(size_t n, size_t x, double tail, int upper)
{
    double lo = 0.0, hi = 1.0;

    for (int i = 0; i < BISECTIONS; i++) {
        double p = 0.5 * (lo + hi);
        int low =
            upper ? stats_binomial_upper(n, x, p) < tail : stats_binomial_lower(n, x, p) > tail;

        if (p <= lo || p >= hi)
            break;
        if (low)
            lo = p;
        else
            hi = p;
    }
    return 0.5 * (lo + hi);
}

void stats_clopper_pearson(size_t n, size_t x, double level, double *lo, double *hi)
{
    double tail = 0.5 * (1.0 - level);

    if (x > n || !(level > 0.0 && level < 1.0)) {
        *lo = NAN;
        *hi = NAN;
        return;
    }
    *lo = x == 0 ? 0.0 : binomial_p(n, x, tail, 1);
    *hi = x == n ? 1.0 : binomial_p(n, x, tail, 0);
}

/*
 * P(q inversions) of a random permutation of m: inserting the r-th value adds 0..r-1 inversions,
 * all equally likely. `now` and `then` hold m (m - 1) / 2 + 1 values each.
 */
static const double *inversions(size_t m, double *now, double *then)
{
    size_t top = 0;

    now[0] = 1.0;
    for (size_t r = 2; r <= m; r++) {
        double window = 0.0;
        double *spent = now;

        for (size_t q = 0; q <= top + r - 1; q++) {
            window += q <= top ? now[q] : 0.0;
            window -= q >= r ? now[q - r] : 0.0;
            then[q] = window / (double)r;
        }
        top += r - 1;
        now = then;
        then = spent;
    }
    return now;
}

double stats_mann_kendall_p(size_t m, double s)
{
    double n = (double)m, sum = 0.0;
    size_t pairs = m * (m - (m > 0)) / 2;
    const double *chance;
    double *memory;

    s = fabs(s);
    if (m < 2 || s <= 0.0)
        return 1.0;
    memory = m <= KENDALL_EXACT ? calloc(2 * (pairs + 1), sizeof(*memory)) : NULL;
    if (!memory)
        return 2.0 * stats_normal_cdf(-(s - 1.0) / sqrt(n * (n - 1.0) * (2.0 * n + 5.0) / 18.0));
    chance = inversions(m, memory, memory + pairs + 1);
    for (size_t q = 0; q <= pairs; q++) {
        if (fabs((double)pairs - 2.0 * (double)q) >= s)
            sum += chance[q];
    }
    free(memory);
    return fmin(sum, 1.0);
}
