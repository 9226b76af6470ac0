#include "stats_verdict.h"

#include <math.h>
#include <stdlib.h>

#include "stats_quantile.h"
#include "stats_special.h"

void cluster_t(const double *theta, size_t nr, struct cluster *out)
{
    double squares = 0.0;

    *out = (struct cluster){
        .nr = nr, .theta = NAN, .s = NAN, .se = NAN, .half = NAN, .lo = NAN, .hi = NAN};
    out->theta = stats_mean(theta, nr);
    if (nr < 2)
        return;
    for (size_t i = 0; i < nr; i++)
        squares += (theta[i] - out->theta) * (theta[i] - out->theta);
    out->s = sqrt(squares / (double)(nr - 1));
    out->se = out->s / sqrt((double)nr);
    out->half = stats_t_quantile(0.5 + 0.5 * VERDICT_LEVEL, (double)(nr - 1)) * out->se;
    out->lo = out->theta - out->half;
    out->hi = out->theta + out->half;
}

/* Adds a row to the sums; one that a process lacks would shift that process against the others. */
static size_t add_row(const double *row, size_t nr_processes, double *sum)
{
    for (size_t process = 0; process < nr_processes; process++) {
        if (isnan(row[process]))
            return 0;
    }
    for (size_t process = 0; process < nr_processes; process++)
        sum[process] += row[process];
    return 1;
}

int cluster_geomean(const double *theta, size_t nr_rows, size_t nr_processes, struct cluster *out,
                    size_t *nr_used, struct err *err)
{
    size_t used = 0;
    double *mean;

    cluster_t(NULL, 0, out);
    if (nr_used)
        *nr_used = 0;
    mean = calloc(nr_processes + 1, sizeof(*mean));
    if (!mean)
        return err_memory(err);
    for (size_t row = 0; row < nr_rows; row++)
        used += add_row(theta + row * nr_processes, nr_processes, mean);
    for (size_t process = 0; used && process < nr_processes; process++)
        mean[process] /= (double)used;
    if (used)
        cluster_t(mean, nr_processes, out);
    free(mean);
    if (nr_used)
        *nr_used = used;
    return 0;
}

double verdict_mde(double half, double df)
{
    double t975 = stats_t_quantile(0.975, df);

    return half * (t975 + stats_t_quantile(0.80, df)) / t975;
}
