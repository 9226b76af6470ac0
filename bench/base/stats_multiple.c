#include "stats_multiple.h"

#include <math.h>
#include <stdlib.h>

struct row {
    double p;
    size_t at;
};

static int by_p(const void *left, const void *right)
{
    const struct row *a = left, *b = right;

    if (a->p > b->p || a->p < b->p)
        return a->p > b->p ? 1 : -1;
    return (a->at > b->at) - (a->at < b->at);
}

static struct row *sorted_rows(const double *p, size_t nr, struct err *err)
{
    struct row *rows;

    for (size_t i = 0; i < nr; i++) {
        if (!(p[i] >= 0.0 && p[i] <= 1.0)) {
            err_set(err, ERR_BUG, "row %zu has a p-value of %g, 0 to 1 is right", i, p[i]);
            return NULL;
        }
    }
    rows = calloc(nr + 1, sizeof(*rows));
    if (!rows) {
        err_memory(err);
        return NULL;
    }
    for (size_t i = 0; i < nr; i++)
        rows[i] = (struct row){.p = p[i], .at = i};
    qsort(rows, nr, sizeof(*rows), by_p);
    return rows;
}

int multiple_bh(const double *p, size_t nr, double *q, struct err *err)
{
    struct row *rows = sorted_rows(p, nr, err);
    double least = 1.0;

    if (!rows)
        return -1;
    for (size_t i = nr; i > 0; i--) {
        least = fmin(least, (double)nr * rows[i - 1].p / (double)i);
        q[rows[i - 1].at] = least;
    }
    free(rows);
    return 0;
}

int multiple_holm(const double *p, size_t nr, double *h, struct err *err)
{
    struct row *rows = sorted_rows(p, nr, err);
    double most = 0.0;

    if (!rows)
        return -1;
    for (size_t i = 0; i < nr; i++) {
        most = fmax(most, fmin(1.0, (double)(nr - i) * rows[i].p));
        h[rows[i].at] = most;
    }
    free(rows);
    return 0;
}

double multiple_holm_min(const double *p, size_t nr)
{
    double least = 1.0;

    /* Holm's values grow with p, so the smallest is that of the smallest p. */
    for (size_t i = 0; i < nr; i++)
        least = fmin(least, p[i]);
    return fmin(1.0, (double)(nr > 0 ? nr : 1) * least);
}
