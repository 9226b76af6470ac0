/*
 * measure_drop.c - which rounds do not count (DESIGN 6.7).
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "measure_internal.h"
#include "stats_quantile.h"

#define CLOCK_DROP 0.97 /* of the arm's own median */

/* Slower than its own arm's median by the running clock: whole rounds go (DESIGN 6.7). */
static int drop_slow_clocks(struct measure *m, struct err *err)
{
    struct sample_table *s = &m->run->samples;

    if (m->pattern == PATTERN_NONE || m->pattern == PATTERN_SUSTAINED)
        return 0;
    double *mhz = malloc((s->nr + 1) * sizeof(*mhz));
    if (!mhz)
        return err_memory(err);
    for (size_t a = 0; a < m->nr; a++) {
        const char *label = m->racer[a]->job->label;
        size_t nr = 0;
        for (size_t i = 0; i < s->nr; i++)
            if (!strcmp(s->row[i].arm, label) && isfinite(s->row[i].run_mhz))
                mhz[nr++] = s->row[i].run_mhz;
        if (nr < 3)
            continue;
        double floor_mhz = CLOCK_DROP * stats_median(mhz, nr);
        for (size_t i = 0; i < s->nr; i++) {
            struct sample_row *row = &s->row[i];
            if (strcmp(row->arm, label) || !(row->run_mhz < floor_mhz) || row->drop_reason)
                continue;
            if (row_set(&row->drop_reason, "clock", err)) {
                free(mhz);
                return -1;
            }
        }
    }
    free(mhz);
    return 0;
}

/* A round with one dropped sample is dropped whole; the sample that caused it keeps its reason. */
static int spread_drops(struct measure *m, struct err *err)
{
    struct sample_table *s = &m->run->samples;
    for (size_t i = 0; i < s->nr; i += m->nr) {
        const char *cause = NULL;
        for (size_t k = 0; k < m->nr && i + k < s->nr; k++)
            if (s->row[i + k].drop_reason && strncmp(s->row[i + k].drop_reason, "with ", 5))
                cause = s->row[i + k].arm;
        if (!cause)
            continue;
        for (size_t k = 0; k < m->nr && i + k < s->nr; k++)
            if (!s->row[i + k].drop_reason &&
                row_setf(&s->row[i + k].drop_reason, err, "with %s", cause))
                return -1;
    }
    return 0;
}

int measure_drop(struct measure *m, struct err *err)
{
    if (m->pattern == PATTERN_NONE || m->pattern == PATTERN_SUSTAINED)
        return 0;
    return drop_slow_clocks(m, err) || spread_drops(m, err) ? -1 : 0;
}
