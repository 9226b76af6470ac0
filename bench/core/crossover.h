/*
 * crossover.h - up to which density leaving blocks out pays: where the time of a sparse arm meets
 * that of a dense arm beside it, with an interval.
 *
 * A dense arm is one of role `context` whose realised density is 1. A series is a sparse arm, a
 * dense arm and one setting of every axis but the density. Its ratio sparse/dense at each density
 * is the paired one of cases.csv, turned round where the sparse arm is the baseline; against
 * another baseline both arms' intervals are added in the logarithm, which is never too narrow (the
 * standard error of a difference is at most the sum of the two).
 *
 * Between two measured densities the ratio is taken as a straight line in the density, as time is
 * where each block costs the same. The interval of the crossing is where the 95 % interval of the
 * ratio, its bounds drawn as straight lines too, holds 1 (Fieller's inversion). Since the standard
 * error of a weighted mean is at most the weighted mean of the standard errors, that is not too
 * narrow either: simulated at 3 and 5 processes it holds the true crossing in 98 to 99 %.
 * Resampling the processes holds it in 72 % at 3 and 84 % at 5, and is not offered.
 */
#ifndef BENCH_CORE_CROSSOVER_H
#define BENCH_CORE_CROSSOVER_H

#include <stdbool.h>
#include <stddef.h>

#include "err.h"
#include "rows.h"
#include "strbuf.h"

/* AT needs a bound on one side at least, BELOW and ABOVE an interval without 1 at each density;
 * where nothing was paired the medians alone decide. */
enum crossover_state {
    CROSSOVER_AT = 0, /* sparse is faster below `at`, slower above */
    CROSSOVER_BELOW,  /* sparse is faster at every density measured */
    CROSSOVER_ABOVE,  /* at none */
    CROSSOVER_UNSURE, /* the intervals do not say */
    CROSSOVER_MIXED,  /* faster at a density above one where it is slower */
};

struct crossover_point {
    const struct case_row *sparse, *dense;
    double density;       /* realised */
    double ratio, lo, hi; /* sparse/dense; lo and hi NAN where the two were not paired */
};

struct crossover {
    const char *sweep, *arm, *dense;
    char *setting;                 /* "seqlen_k=16384;heads=8"; "" where nothing varies */
    struct crossover_point *point; /* by density; at least two */
    size_t nr;
    enum crossover_state state;
    double at;     /* NAN unless CROSSOVER_AT */
    double lo, hi; /* NAN: open to that side, or no interval */
    bool interval;
};

/* Refers to the rows of the table that it was made from. */
struct crossovers {
    struct crossover *item;
    size_t nr;
};

/* `device` NULL: rows of every device. Without a dense arm there is none. */
int crossovers_find(struct crossovers *c, const struct case_table *t, const char *device,
                    struct err *err);
void crossovers_release(struct crossovers *c);

/* Fills state, at, lo, hi, interval from the points. */
void crossover_solve(struct crossover *c);

/* crossover.csv, one row a point: what plots/crossover.gp draws. */
int crossovers_csv(const struct crossovers *c, struct strbuf *sb, struct err *err);
/* "pays up to density 0.610 [0.600, 0.620]", in words where there is no crossing or none is sure.
 */
void crossover_words(const struct crossover *c, struct strbuf *sb);

#endif
