/*
 * stats_diagnose.h - the diagnostics that set reasons, harness.md 3.10. Natural logarithms. Each
 * value is NaN, and its flag false, where there is too little to compute it from.
 */
#ifndef BENCH_BASE_STATS_DIAGNOSE_H
#define BENCH_BASE_STATS_DIAGNOSE_H

#include <stdbool.h>
#include <stddef.h>

#include "err.h"
#include "stats_verdict.h"

/*
 * Theil-Sen slope per super-round and Mann-Kendall. Several processes: pairs within a process only,
 * S and its variance added up.
 */
struct diagnose_drift {
    double slope;
    double effect; /* slope times m (the mean m over processes) */
    double s;
    double var;
    double z;
    double p;  /* two-sided; exact for one process */
    bool flag; /* |effect| > delta and |z| > 2.58 */
};

int diagnose_drift(const struct verdict_process *processes, size_t nr, double delta,
                   struct diagnose_drift *out, struct err *err);

/*
 * Whole super-rounds of launches of one case, any number of processes one behind the other.
 * `arm[round * nr_arms + slot]` says who ran, `y` its ln t.
 */
struct diagnose_cells {
    size_t nr_arms;
    size_t nr_rounds;
    const int *arm;
    const double *y;
};

/* Mean of y minus its round's mean, per slot, to `effect[nr_arms]`; arms cancel. */
struct diagnose_slot {
    double spread; /* largest minus smallest */
    bool flag;     /* spread > 2 % */
};

int diagnose_slot(const struct diagnose_cells *cells, double *effect, struct diagnose_slot *out,
                  struct err *err);

/*
 * What each arm does to its successor in the round, to `lambda[nr_arms]`. Needs nr_arms >= 3 (with
 * fewer, lambda is NaN) and balanced orders (else an error).
 */
int diagnose_carry_over(const struct diagnose_cells *cells, double *lambda, struct err *err);

struct diagnose_carry {
    double bias;      /* of ln(arm / base): (lambda_base - lambda_arm) / K */
    double corrected; /* theta - bias */
    bool flag;        /* |bias| > delta / 2 */
};

void diagnose_carry_bias(const double *lambda, size_t nr_arms, size_t base, size_t arm,
                         double theta, double delta, struct diagnose_carry *out);

/* Lag-1 autocorrelation of D about each process's own mean, pooled over processes. */
struct diagnose_autocorr {
    double rho1;
    bool flag; /* rho1 > 0.2, and every process has m >= 12 */
};

void diagnose_autocorr(const struct verdict_process *processes, size_t nr,
                       struct diagnose_autocorr *out);
/* Averages neighbours pairwise in place, dropping an odd last one. Returns the new number. */
size_t diagnose_average_pairs(double *d, size_t nr);

/* Estimate of the second half of every process minus that of the first; an odd middle is unused. */
struct diagnose_halves {
    double difference;
    bool flag; /* |difference| > 2 delta */
};

int diagnose_halves(const struct verdict_process *processes, size_t nr, double delta,
                    struct diagnose_halves *out, struct err *err);

/* Dropped rounds by the arm that caused them, against 1/K: the smallest exact two-sided p. */
struct diagnose_discard {
    double p;
    size_t arm; /* that it belongs to */
    bool flag;  /* p < 0.01 */
};

void diagnose_discard(const size_t *drops, size_t nr_arms, struct diagnose_discard *out);

/*
 * Whether times fall into two groups. harness.md gives no formula, so this one is the project's own
 * choice: the values are split at the largest gap that leaves at least 10 % of them on either side,
 * and the gap is held against the timer's step and against the interquartile range of each group.
 * A few outliers are no group, and a gap of few ticks is quantisation.
 */
struct diagnose_bimodal {
    double gap;   /* width of that gap, in the unit of the values */
    size_t below; /* values below it */
    bool flag; /* nr >= 20, gap > 5 ticks, > 2x the larger interquartile range, > 1 % of the median
                */
};

/* Sorts `values`, which hold no NaN. `tick` is the timer's step in their unit; NaN never flags. */
void diagnose_bimodal(double *values, size_t nr, double tick, struct diagnose_bimodal *out);

/* Time says FASTER or SLOWER, cycles (the same comparison on t times the SM clock) say SAME. */
bool diagnose_clock(enum verdict time, enum verdict cycles);

#endif
