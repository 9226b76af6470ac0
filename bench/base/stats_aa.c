#include "stats_aa.h"

#include <math.h>
#include <stdlib.h>

#include "stats_quantile.h"

int aa_floor(const double *theta, size_t nr, double *floor, struct err *err)
{
    double *size;

    *floor = NAN;
    if (!nr)
        return err_set(err, ERR_BUG, "no trial to take a noise floor from");
    size = calloc(nr, sizeof(*size));
    if (!size)
        return err_memory(err);
    for (size_t i = 0; i < nr; i++)
        size[i] = fabs(theta[i]);
    stats_sort(size, nr);
    /* ceil(0.95 nr) in integers: 0.95 has no exact double. */
    *floor = size[(95 * nr + 99) / 100 - 1];
    free(size);
    return 0;
}

double aa_inject_ns(double t_ns, double e, double tick_ns, double u)
{
    double slower = t_ns * (1.0 + e);

    return tick_ns > 0.0 ? tick_ns * floor(slower / tick_ns + u) : slower;
}
