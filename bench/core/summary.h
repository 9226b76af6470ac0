/*
 * summary.h - from samples to the statistics of cases.csv (DESIGN 7, harness.md 3).
 *
 * Everything here is derived: the same samples and rows give the same summary, in a run, after a
 * resume, and when a finished folder is read again.
 */
#ifndef BENCH_CORE_SUMMARY_H
#define BENCH_CORE_SUMMARY_H

#include <stdbool.h>

#include "err.h"
#include "profile.h"
#include "rows.h"

struct summary_settings {
    double delta;       /* relative, at least 0.005 */
    double noise_floor; /* relative; of the device, or measured by `aa` */
    /* By duration, of the machine profile; borrowed. Where it has none (or is NULL), noise_floor.
     */
    const struct noise_floors *floors;
    double gate_slower; /* relative; negative: no gate */
    bool rounds_named;
    bool gate_unsure_fails;
};

/* Fills times, estimates, intervals, verdicts and reasons of the rows of one case. */
int summary_case(struct case_table *cases, const struct sample_table *samples, const char *case_id,
                 const struct summary_settings *set, struct err *err);

/* What stands over the whole table. Natural logarithms; NAN where there is nothing. */
struct summary_run {
    int rows, faster, same, slower, unsure, failed, skipped;
    double geomean, geomean_lo, geomean_hi;
    double worst;           /* largest theta of a candidate */
    const char *worst_case; /* into the table */
    double a_prime, a_prime_lo, a_prime_hi;
    double a_prime_p; /* smallest Holm value over the A' rows */
    bool believed;    /* false: Holm over A' is at most 0.05 */
    bool above_limit; /* a row is faster than the machine can be */
    bool gate_failed; /* slower beyond the gate, by Holm */
    bool wrong, crashed;
    int rounds_kept, rounds_dropped;
};

/* Corrections over rows (q_bh, reasons `multiple` and `a_prime`) and the run's own summary. */
int summary_run(struct case_table *cases, const struct sample_table *samples,
                const struct summary_settings *set, struct summary_run *out, struct err *err);

/* Whether a case has the precision of harness.md 3.8: every candidate's interval is narrow enough.
 */
bool summary_precise(const struct case_table *cases, const char *case_id);

#endif
