#include "stats_diagnose.h"

#include <math.h>
#include <stdlib.h>

#include "stats_order.h"
#include "stats_paired.h"
#include "stats_quantile.h"
#include "stats_special.h"

#define DRIFT_Z        2.58
#define SLOT_SPREAD    0.02
#define AUTOCORR_MAX   0.2
#define AUTOCORR_MIN_M 12
#define DISCARD_P      0.01
#define BIMODAL_MIN_NR 20
#define BIMODAL_PART   10 /* a group is at least one in so many */
#define BIMODAL_TICKS  5.0
#define BIMODAL_RANGES 2.0
#define BIMODAL_SHARE  0.01 /* of the median */

static int sign(double x)
{
    return (x > 0.0) - (x < 0.0);
}

/* Slopes of all pairs of one process to `slope`; adds their signs to S, and its variance. */
static size_t pair_slopes(const struct verdict_process *process, double *slope,
                          struct diagnose_drift *out)
{
    double m = (double)process->nr;
    size_t at = 0;

    for (size_t i = 0; i < process->nr; i++) {
        for (size_t j = i + 1; j < process->nr; j++) {
            slope[at++] = (process->d[j] - process->d[i]) / (double)(j - i);
            out->s += sign(process->d[j] - process->d[i]);
        }
    }
    out->var += m * (m - 1.0) * (2.0 * m + 5.0) / 18.0;
    return at;
}

int diagnose_drift(const struct verdict_process *processes, size_t nr, double delta,
                   struct diagnose_drift *out, struct err *err)
{
    size_t pairs = 0, total = 0, at = 0, with_pairs = 0;
    double *slope;

    *out = (struct diagnose_drift){.slope = NAN, .effect = NAN, .z = NAN, .p = NAN};
    for (size_t i = 0; i < nr; i++) {
        if (processes[i].nr < 2)
            continue;
        pairs += processes[i].nr * (processes[i].nr - 1) / 2;
        total += processes[i].nr;
        with_pairs++;
    }
    if (!pairs)
        return 0;
    slope = calloc(pairs, sizeof(*slope));
    if (!slope)
        return err_memory(err);
    for (size_t i = 0; i < nr; i++) {
        if (processes[i].nr >= 2)
            at += pair_slopes(&processes[i], slope + at, out);
    }
    out->slope = stats_median(slope, at);
    free(slope);
    out->effect = out->slope * (double)total / (double)with_pairs;
    out->z = (out->s - sign(out->s)) / sqrt(out->var);
    out->p = with_pairs == 1 ? stats_mann_kendall_p(total, out->s)
                             : fmin(1.0, 2.0 * stats_normal_cdf(-fabs(out->z)));
    out->flag = fabs(out->effect) > delta && fabs(out->z) > DRIFT_Z;
    return 0;
}

void diagnose_autocorr(const struct verdict_process *processes, size_t nr,
                       struct diagnose_autocorr *out)
{
    double products = 0.0, squares = 0.0;
    bool enough = nr > 0;

    for (size_t i = 0; i < nr; i++) {
        const struct verdict_process *process = &processes[i];
        double mean = stats_mean(process->d, process->nr);

        enough = enough && process->nr >= AUTOCORR_MIN_M;
        for (size_t s = 0; s < process->nr; s++) {
            squares += (process->d[s] - mean) * (process->d[s] - mean);
            if (s)
                products += (process->d[s - 1] - mean) * (process->d[s] - mean);
        }
    }
    out->rho1 = squares > 0.0 ? products / squares : NAN;
    out->flag = enough && out->rho1 > AUTOCORR_MAX;
}

size_t diagnose_average_pairs(double *d, size_t nr)
{
    for (size_t i = 0; i < nr / 2; i++)
        d[i] = 0.5 * (d[2 * i] + d[2 * i + 1]);
    return nr / 2;
}

int diagnose_halves(const struct verdict_process *processes, size_t nr, double delta,
                    struct diagnose_halves *out, struct err *err)
{
    double sum = 0.0;
    size_t used = 0;

    *out = (struct diagnose_halves){.difference = NAN};
    for (size_t i = 0; i < nr; i++) {
        size_t half = processes[i].nr / 2;
        double first, second;

        if (!half)
            continue;
        if (hodges_lehmann(processes[i].d, half, &first, err) ||
            hodges_lehmann(processes[i].d + processes[i].nr - half, half, &second, err))
            return -1;
        sum += second - first;
        used++;
    }
    if (used)
        out->difference = sum / (double)used;
    out->flag = fabs(out->difference) > 2.0 * delta;
    return 0;
}

/* Without balance the arms would not cancel and the formulas of 3.10 would not hold. */
static int need_balance(const struct diagnose_cells *cells, struct err *err)
{
    if (order_balanced(cells->arm, cells->nr_rounds, cells->nr_arms))
        return 0;
    return err_set(err, ERR_BUG, "%zu rounds of %zu arms are not balanced", cells->nr_rounds,
                   cells->nr_arms);
}

static void slot_effects(const struct diagnose_cells *cells, double *effect)
{
    size_t nr = cells->nr_arms;

    for (size_t slot = 0; slot < nr; slot++)
        effect[slot] = 0.0;
    for (size_t round = 0; round < cells->nr_rounds; round++) {
        const double *y = cells->y + round * nr;
        double mean = stats_mean(y, nr);

        for (size_t slot = 0; slot < nr; slot++)
            effect[slot] += (y[slot] - mean) / (double)cells->nr_rounds;
    }
}

int diagnose_slot(const struct diagnose_cells *cells, double *effect, struct diagnose_slot *out,
                  struct err *err)
{
    double least = INFINITY, most = -INFINITY;

    *out = (struct diagnose_slot){.spread = NAN};
    if (need_balance(cells, err))
        return -1;
    slot_effects(cells, effect);
    for (size_t slot = 0; slot < cells->nr_arms; slot++) {
        least = fmin(least, effect[slot]);
        most = fmax(most, effect[slot]);
    }
    out->spread = most - least;
    out->flag = expm1(out->spread) > SLOT_SPREAD;
    return 0;
}

/* T_a and C_q of the residuals: y less its round's mean and its slot's effect. */
static void carry_sums(const struct diagnose_cells *cells, const double *effect, double *of_arm,
                       double *after_arm)
{
    size_t nr = cells->nr_arms;

    for (size_t round = 0; round < cells->nr_rounds; round++) {
        const int *arm = cells->arm + round * nr;
        const double *y = cells->y + round * nr;
        double mean = stats_mean(y, nr);

        for (size_t slot = 0; slot < nr; slot++) {
            double residual = y[slot] - mean - effect[slot];

            of_arm[arm[slot]] += residual;
            if (slot)
                after_arm[arm[slot - 1]] += residual;
        }
    }
}

int diagnose_carry_over(const struct diagnose_cells *cells, double *lambda, struct err *err)
{
    size_t nr = cells->nr_arms;
    double k = (double)nr;
    double *sums, *of_arm, *after_arm, centre;

    for (size_t q = 0; q < nr; q++)
        lambda[q] = NAN;
    if (nr < 3)
        return 0;
    if (need_balance(cells, err))
        return -1;
    sums = calloc(3 * nr, sizeof(*sums));
    if (!sums)
        return err_memory(err);
    of_arm = sums + nr;
    after_arm = sums + 2 * nr;
    slot_effects(cells, sums);
    carry_sums(cells, sums, of_arm, after_arm);
    centre = stats_mean(after_arm, nr);
    for (size_t q = 0; q < nr; q++)
        lambda[q] = (k * (after_arm[q] - centre) + of_arm[q]) /
                    ((double)cells->nr_rounds / k * (k + 1.0) * (k - 2.0));
    free(sums);
    return 0;
}

void diagnose_carry_bias(const double *lambda, size_t nr_arms, size_t base, size_t arm,
                         double theta, double delta, struct diagnose_carry *out)
{
    out->bias = (lambda[base] - lambda[arm]) / (double)nr_arms;
    out->corrected = theta - out->bias;
    out->flag = fabs(out->bias) > 0.5 * delta;
}

void diagnose_discard(const size_t *drops, size_t nr_arms, struct diagnose_discard *out)
{
    size_t total = 0;

    *out = (struct diagnose_discard){.p = 1.0};
    for (size_t arm = 0; arm < nr_arms; arm++)
        total += drops[arm];
    for (size_t arm = 0; arm < nr_arms; arm++) {
        double p = stats_binomial_two_sided(total, drops[arm], 1.0 / (double)nr_arms);

        if (p < out->p) {
            out->p = p;
            out->arm = arm;
        }
    }
    out->flag = out->p < DISCARD_P;
}

static double quartile_range(const double *sorted, size_t nr)
{
    return stats_quantile_sorted(sorted, nr, 0.75) - stats_quantile_sorted(sorted, nr, 0.25);
}

void diagnose_bimodal(double *values, size_t nr, double tick, struct diagnose_bimodal *out)
{
    size_t least = (nr + BIMODAL_PART - 1) / BIMODAL_PART;

    *out = (struct diagnose_bimodal){.gap = NAN};
    if (nr < BIMODAL_MIN_NR)
        return;
    stats_sort(values, nr);
    for (size_t i = least; i <= nr - least; i++) {
        double gap = values[i] - values[i - 1];

        if (!(gap <= out->gap)) {
            out->gap = gap;
            out->below = i;
        }
    }
    double range = fmax(quartile_range(values, out->below),
                        quartile_range(values + out->below, nr - out->below));
    /* Processes that lie a few per mille apart are what clusters are for, and no second mode. */
    out->flag = out->gap > BIMODAL_TICKS * tick && out->gap > BIMODAL_RANGES * range &&
                out->gap > BIMODAL_SHARE * values[nr / 2];
}

bool diagnose_clock(enum verdict time, enum verdict cycles)
{
    return (time == VERDICT_FASTER || time == VERDICT_SLOWER) && cycles == VERDICT_SAME;
}
