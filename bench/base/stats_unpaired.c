#include "stats_unpaired.h"

#include <math.h>

#include "stats_quantile.h"
#include "stats_special.h"
#include "stats_verdict.h"

/* s^2 / n, the share of one side in SE^2. */
static double share(const double *values, size_t nr, double mean)
{
    double sum = 0;

    for (size_t i = 0; i < nr; i++)
        sum += (values[i] - mean) * (values[i] - mean);
    return sum / (double)(nr - 1) / (double)nr;
}

void unpaired_welch(const double *before, size_t nr_before, const double *after, size_t nr_after,
                    struct unpaired *out)
{
    *out = (struct unpaired){nr_before, nr_after, NAN, NAN, NAN, NAN, NAN, NAN, NAN};
    if (!nr_before || !nr_after)
        return;
    double mean_b = stats_mean(before, nr_before), mean_a = stats_mean(after, nr_after);
    out->theta = mean_a - mean_b;
    if (nr_before < UNPAIRED_MIN_PROCESSES || nr_after < UNPAIRED_MIN_PROCESSES)
        return;
    double b = share(before, nr_before, mean_b), a = share(after, nr_after, mean_a);
    double most = (double)(nr_before + nr_after - 2);
    double spread = b * b / (double)(nr_before - 1) + a * a / (double)(nr_after - 1);

    out->se = sqrt(a + b);
    /* The formula never leaves [min(n) - 1, n_b + n_a - 2]; without spread it is 0 / 0. */
    out->df = spread > 0 ? fmin((a + b) * (a + b) / spread, most) : most;
    out->half = stats_t_quantile(0.5 + 0.5 * VERDICT_LEVEL, out->df) * out->se;
    out->lo = out->theta - out->half;
    out->hi = out->theta + out->half;
    out->mde = verdict_mde(out->half, out->df);
}

double unpaired_p(const struct unpaired *u, double delta)
{
    double distance = fabs(u->theta) - delta;

    if (isnan(u->se))
        return 1;
    if (u->se <= 0)
        return distance > 0 ? 0 : 1;
    return fmin(1, 2 * stats_t_upper(distance / u->se, u->df));
}
