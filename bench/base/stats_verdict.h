/*
 * stats_verdict.h - estimate, interval and verdict of one arm against the baseline, harness.md 3.4
 * to 3.8. Natural logarithms everywhere: print 100 * expm1(x).
 */
#ifndef BENCH_BASE_STATS_VERDICT_H
#define BENCH_BASE_STATS_VERDICT_H

#include <stdbool.h>
#include <stddef.h>

#include "err.h"

#define VERDICT_LEVEL      0.95
#define VERDICT_MIN_ROUNDS 40  /* before a run may stop on precision, 3.8 */
#define VERDICT_MAX_ROUNDS 240 /* default cap, 3.8 */

enum verdict {
    VERDICT_UNSURE = 0,
    VERDICT_FASTER,
    VERDICT_SLOWER,
    VERDICT_SAME,
};

enum ci_kind {
    CI_NONE = 0,    /* no interval: lo, hi, se, mde are NaN */
    CI_SIGNED_RANK, /* one process */
    CI_CLUSTER_T,   /* two processes and more */
};

/* "FASTER", ...; "signed_rank", ..., "" for none: the words of cases.csv. */
const char *verdict_name(enum verdict verdict);
const char *ci_kind_name(enum ci_kind kind);

/* What one process measured: D per super-round (stats_paired.h), and the kept rounds behind it. */
struct verdict_process {
    const double *d;
    size_t nr;
    size_t rounds;
};

/*
 * delta = ln(1 + max(0.005, 1.5 tick / median_base, floor)), 3.6. `floor` is the noise floor of
 * `aa` as a fraction (0.03 for 3 %), 0 where there is none.
 */
double verdict_delta(double tick_ns, double median_base_ns, double floor);
enum verdict verdict_of(double lo, double hi, double delta);

/* Mean and Student's t interval over processes, 3.4. nr = 1: theta only, the rest NaN. */
struct cluster {
    size_t nr;
    double theta;
    double s;
    double se;
    double half;
    double lo;
    double hi;
};

void cluster_t(const double *theta, size_t nr, struct cluster *out);
/*
 * Geometric mean of a sweep, 3.4: per process the mean over rows, then cluster_t over processes.
 * `theta[row * nr_processes + process]`; a row with a NaN is left out, `nr_used` (may be NULL)
 * counts the others. For nr_processes = 1 there is no interval. No row: theta is NaN.
 */
int cluster_geomean(const double *theta, size_t nr_rows, size_t nr_processes, struct cluster *out,
                    size_t *nr_used, struct err *err);

/* Smallest effect found with 80 % power from a 95 % half-width, 3.5; INFINITY for one process. */
double verdict_mde(double half, double df);

struct verdict_result {
    enum verdict verdict;
    double delta;
    double theta; /* NaN without one whole super-round */
    double lo;
    double hi;
    double half;
    double se; /* NaN unless cluster_t */
    enum ci_kind ci_kind;
    double ci_level; /* 0.95, or the exact level of the signed-rank interval */
    double mde;
    double p; /* row p-value, 3.7; 1 where nothing was measured */

    size_t nr_processes;   /* with at least one whole super-round */
    size_t rounds;         /* kept rounds of these */
    bool few;              /* reason `few`: no interval, m < 6 in one process */
    bool few_processes;    /* warn: an interval over 2 to 4 processes */
    bool autocorr;         /* one process whose D had to be averaged, 3.10 */
    unsigned int averaged; /* how often neighbours were averaged pairwise */

    /* For UNSURE: what would settle it. 0 where it is not known or the row sits on delta. */
    size_t settle_processes; /* several processes, of the same rounds each */
    size_t settle_rounds;    /* in all, not rounded up to whole super-rounds */
    bool on_delta;           /* more than ten times this run: print "sits on delta" */
};

/*
 * Processes without a super-round are left out. With one process whose D is autocorrelated (lag 1
 * above 0.2, m >= 12), neighbours are averaged until it passes, then treated as 3.3.
 */
int verdict_compare(const struct verdict_process *processes, size_t nr, double delta,
                    struct verdict_result *out, struct err *err);

/*
 * For the gate, 3.7: one-sided p of theta > max(ln(1 + gate), delta), `gate` a fraction. 1 where
 * nothing was measured. The caller runs multiple_holm() over the rows.
 */
int verdict_gate_p(const struct verdict_process *processes, size_t nr, double gate, double delta,
                   double *p, struct err *err);

/* ln(1 + max(0.0025, tick / median_base)), 3.8. */
double verdict_target(double tick_ns, double median_base_ns);
/* Precise enough to stop: an interval, VERDICT_MIN_ROUNDS, half <= target. Never looks at p. */
bool verdict_may_stop(const struct verdict_result *result, double target);

#endif
