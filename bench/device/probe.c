/*
 * probe.c - see probe.h.
 */
#include "probe.h"

#include <math.h>
#include <stdbool.h>

/* The reading of one SM, NULL where it has none: the latest or the earliest. */
static const struct probe_reading *reading_of(const struct probe_reading *r, size_t nr, uint32_t sm,
                                              bool latest)
{
    const struct probe_reading *best = NULL;

    for (size_t i = 0; i < nr; i++) {
        if (r[i].sm != sm)
            continue;
        if (!best || (latest ? r[i].time_ns > best->time_ns : r[i].time_ns < best->time_ns))
            best = &r[i];
    }
    return best;
}

/* Whether reading i is the one that stands for its SM. */
static bool stands_for(const struct probe_reading *r, size_t nr, size_t i)
{
    return reading_of(r, nr, r[i].sm, true) == &r[i];
}

/* Cycles and time between the probes on one SM; false where there is no sound pair. */
static bool pair_of(const struct probe_reading *before, const struct probe_reading *after,
                    size_t nr, size_t i, double *cycles, double *ns)
{
    const struct probe_reading *then;

    if (!stands_for(before, nr, i))
        return false;
    then = reading_of(after, nr, before[i].sm, false);
    if (!then || then->time_ns <= before[i].time_ns || then->clock <= before[i].clock)
        return false;
    *cycles = (double)(then->clock - before[i].clock);
    *ns = (double)(then->time_ns - before[i].time_ns);
    return true;
}

double probe_mhz(const struct probe_reading *before, const struct probe_reading *after, size_t nr,
                 double step_ns)
{
    double cycles_sum = 0, ns_sum = 0, rest2 = 0;
    double cycles, ns, ratio;
    size_t pairs = 0;

    for (size_t i = 0; i < nr; i++) {
        if (!pair_of(before, after, nr, i, &cycles, &ns))
            continue;
        cycles_sum += cycles;
        ns_sum += ns;
        pairs++;
    }
    if (pairs < PROBE_PAIRS_MIN || step_ns * (double)pairs > PROBE_STEP_MAX * ns_sum)
        return NAN;
    ratio = cycles_sum / ns_sum;
    for (size_t i = 0; i < nr; i++) {
        if (!pair_of(before, after, nr, i, &cycles, &ns))
            continue;
        rest2 += (cycles - ratio * ns) * (cycles - ratio * ns);
    }
    /* Standard error of a ratio of sums (Cochran, Sampling Techniques, 3rd edition, 2.47). */
    if (sqrt(rest2 * (double)pairs / (double)(pairs - 1)) > PROBE_ERROR_MAX * cycles_sum)
        return NAN;
    return 1e3 * ratio;
}
