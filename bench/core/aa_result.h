/*
 * aa_result.h - what A/A trials came to: false alarms, noise floors, power (harness.md 3.9).
 *
 * A value is one case of one trial: the duplicate (A') against the baseline, both the same kernel.
 * The injected-delay twin is the same samples again with A' made slower by arithmetic.
 */
#ifndef BENCH_CORE_AA_RESULT_H
#define BENCH_CORE_AA_RESULT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "err.h"
#include "profile.h"
#include "rows.h"
#include "stats_verdict.h"
#include "summary.h"

#define AA_TWINS       3
#define AA_POOLED      SIZE_MAX
#define AA_FALSE_ALARM 0.05 /* an A/A check fails where its rate lies wholly above */
/* With fewer values the largest of them says little about the 95th of a hundred. */
#define AA_PROFILE_MIN 5

/* Injected sizes, relative: 0.5, 1 and 2 %. */
extern const double aa_effect[AA_TWINS];

struct aa_twin {
    enum verdict verdict;
    double lo, hi; /* natural logarithms; NAN without an interval */
};

struct aa_value {
    int trial; /* from 0 */
    uint64_t seed;
    size_t at;            /* case, into aa_result.item */
    double theta, lo, hi; /* natural logarithms */
    double delta;         /* natural logarithm, what the verdict was held against */
    double median_ns;     /* of the baseline */
    double tick_ns;
    enum verdict verdict;
    struct aa_twin twin[AA_TWINS];
};

struct aa_case {
    char *id;
    char *failed; /* "skip: ..." of the first trial that gave no value; NULL */
};

struct aa_result {
    struct aa_case *item;
    size_t nr;
    struct aa_value *value;
    size_t values_nr, values_alloc;
    int trials; /* taken */
};

void aa_result_init(struct aa_result *r);
void aa_result_release(struct aa_result *r);
int aa_result_add_case(struct aa_result *r, const char *id, struct err *err);

/*
 * Takes the values of one whole trial, with the twin: rows of role `duplicate`, summarised by
 * `set`. Spans are as before when it returns, but derived columns are those of the largest twin.
 */
int aa_result_take(struct aa_result *r, uint64_t seed, struct case_table *cases,
                   struct sample_table *samples, const struct summary_settings *set,
                   struct err *err);

/* `hits` of `nr` with the Clopper-Pearson interval at 95 %; share is NAN for nr = 0. */
struct aa_rate {
    size_t nr, hits;
    double share, lo, hi;
};

struct aa_rates {
    struct aa_rate false_alarm;   /* FASTER or SLOWER */
    struct aa_rate excluded_zero; /* of the values that have an interval */
    struct aa_rate same, unsure;
    struct aa_rate power[AA_TWINS];  /* the twin is SLOWER */
    struct aa_rate covers[AA_TWINS]; /* its interval holds ln(1 + e), of those that have one */
    double median_ns;                /* median over trials; NAN pooled */
    double floor;                    /* relative: aa_floor() of |theta|; NAN without a value */
};

/* Of one case, or of all values with `at` = AA_POOLED. */
int aa_result_rates(const struct aa_result *r, size_t at, struct aa_rates *out, struct err *err);
/* Floors by the octave of each case's median; octaves of fewer than AA_PROFILE_MIN values are left
 * out. */
int aa_result_floors(const struct aa_result *r, struct noise_floors *out, struct err *err);

#endif
