/*
 * stats_aa.h - controls, harness.md 3.9: the noise floor of `bench aa` and the injected delay.
 * The interval of its false-alarm count is stats_clopper_pearson().
 */
#ifndef BENCH_BASE_STATS_AA_H
#define BENCH_BASE_STATS_AA_H

#include <stddef.h>

#include "err.h"

#define AA_TRIALS 40 /* default */

/*
 * The noise floor from A/A trials: value number ceil(0.95 nr) of the sorted |theta|, a natural
 * logarithm; expm1() of it is the fraction that verdict_delta() takes. nr = 0 is an error.
 */
int aa_floor(const double *theta, size_t nr, double *floor, struct err *err);

/*
 * The twin that is slower by the fraction `e`: t' = tick floor(t (1 + e) / tick + u), u uniform in
 * [0, 1) by the caller's seed. Keeps the timer's grid. tick_ns = 0: t (1 + e).
 */
double aa_inject_ns(double t_ns, double e, double tick_ns, double u);

#endif
