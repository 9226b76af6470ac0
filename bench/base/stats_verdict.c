#include "stats_verdict.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "stats_diagnose.h"
#include "stats_paired.h"
#include "stats_special.h"

#define SMALLEST_DELTA  0.005
#define DELTA_TICKS     1.5
#define SMALLEST_TARGET 0.0025
#define GOOD_PROCESSES  5
#define SETTLE_FACTOR   10 /* beyond this many times the run, a row sits on delta */

static const char *const verdict_names[] = {
    [VERDICT_UNSURE] = "UNSURE",
    [VERDICT_FASTER] = "FASTER",
    [VERDICT_SLOWER] = "SLOWER",
    [VERDICT_SAME] = "SAME",
};

static const char *const ci_kind_names[] = {
    [CI_NONE] = "",
    [CI_SIGNED_RANK] = "signed_rank",
    [CI_CLUSTER_T] = "cluster_t",
};

const char *verdict_name(enum verdict verdict)
{
    return verdict_names[verdict];
}

const char *ci_kind_name(enum ci_kind kind)
{
    return ci_kind_names[kind];
}

double verdict_delta(double tick_ns, double median_base_ns, double floor)
{
    return log1p(fmax(fmax(SMALLEST_DELTA, DELTA_TICKS * tick_ns / median_base_ns), floor));
}

double verdict_target(double tick_ns, double median_base_ns)
{
    return log1p(fmax(SMALLEST_TARGET, tick_ns / median_base_ns));
}

enum verdict verdict_of(double lo, double hi, double delta)
{
    if (isnan(lo) || isnan(hi))
        return VERDICT_UNSURE;
    if (hi < -delta)
        return VERDICT_FASTER;
    if (lo > delta)
        return VERDICT_SLOWER;
    return lo >= -delta && hi <= delta ? VERDICT_SAME : VERDICT_UNSURE;
}

bool verdict_may_stop(const struct verdict_result *result, double target)
{
    return result->ci_kind != CI_NONE && result->rounds >= VERDICT_MIN_ROUNDS &&
           result->half <= target;
}

/*
 * What both the verdict and the gate start from: the estimate of each process, or, where there is
 * one process only, its D after averaging neighbours. Owns `theta` and `d`.
 */
struct evidence {
    size_t nr; /* processes with a super-round */
    size_t rounds;
    double *theta;
    double *d;
    size_t nr_d;
    size_t nr_measured; /* nr_d before averaging */
    unsigned int averaged;
};

static void evidence_release(struct evidence *evidence)
{
    free(evidence->theta);
    free(evidence->d);
}

/* Signed-rank intervals want independent values (3.10, autocorr). */
static int average_until_independent(struct evidence *evidence, const struct verdict_process *only,
                                     struct err *err)
{
    struct diagnose_autocorr autocorr;

    evidence->d = calloc(only->nr, sizeof(*evidence->d));
    if (!evidence->d)
        return err_memory(err);
    memcpy(evidence->d, only->d, only->nr * sizeof(*evidence->d));
    evidence->nr_d = only->nr;
    evidence->nr_measured = only->nr;
    for (;;) {
        struct verdict_process now = {evidence->d, evidence->nr_d, only->rounds};

        diagnose_autocorr(&now, 1, &autocorr);
        if (!autocorr.flag)
            return 0;
        evidence->nr_d = diagnose_average_pairs(evidence->d, evidence->nr_d);
        evidence->averaged++;
    }
}

static int evidence_init(struct evidence *evidence, const struct verdict_process *processes,
                         size_t nr, struct err *err)
{
    const struct verdict_process *only = NULL;

    memset(evidence, 0, sizeof(*evidence));
    evidence->theta = calloc(nr + 1, sizeof(*evidence->theta));
    if (!evidence->theta)
        return err_memory(err);
    for (size_t i = 0; i < nr; i++) {
        if (!processes[i].nr)
            continue;
        if (hodges_lehmann(processes[i].d, processes[i].nr, &evidence->theta[evidence->nr], err))
            goto fail;
        evidence->rounds += processes[i].rounds;
        evidence->nr++;
        only = &processes[i];
    }
    if (evidence->nr == 1 && average_until_independent(evidence, only, err))
        goto fail;
    return 0;
fail:
    evidence_release(evidence);
    return -1;
}

/* P(T >= distance / se), where a spread of zero leaves no doubt. */
static double t_tail(double distance, const struct cluster *cluster)
{
    if (cluster->se <= 0.0)
        return distance > 0.0 ? 0.0 : 1.0;
    return stats_t_upper(distance / cluster->se, (double)(cluster->nr - 1));
}

/* The signed-rank test of D - shift. */
static int shifted_test(const struct evidence *evidence, double shift,
                        struct signed_rank_test *test, struct err *err)
{
    double *shifted = calloc(evidence->nr_d + 1, sizeof(*shifted));
    int ret;

    if (!shifted)
        return err_memory(err);
    for (size_t i = 0; i < evidence->nr_d; i++)
        shifted[i] = evidence->d[i] - shift;
    ret = signed_rank_p(shifted, evidence->nr_d, test, err);
    free(shifted);
    return ret;
}

/* The smallest P' with t(.975, P'-1) s / sqrt(P') < gap, 3.6. */
static void settle_cluster(const struct cluster *cluster, struct verdict_result *out)
{
    double gap = fabs(fabs(out->theta) - out->delta);
    size_t per_process = (out->rounds + cluster->nr - 1) / cluster->nr;

    for (size_t nr = 2; nr <= SETTLE_FACTOR * cluster->nr; nr++) {
        double t975 = stats_t_quantile(0.5 + 0.5 * VERDICT_LEVEL, (double)(nr - 1));

        if (t975 * cluster->s / sqrt((double)nr) < gap) {
            out->settle_processes = nr;
            out->settle_rounds = nr * per_process;
            return;
        }
    }
    out->on_delta = true;
}

static void judge_cluster(const struct evidence *evidence, struct verdict_result *out)
{
    struct cluster cluster;

    cluster_t(evidence->theta, evidence->nr, &cluster);
    out->theta = cluster.theta;
    out->lo = cluster.lo;
    out->hi = cluster.hi;
    out->half = cluster.half;
    out->se = cluster.se;
    out->ci_kind = CI_CLUSTER_T;
    out->ci_level = VERDICT_LEVEL;
    out->mde = verdict_mde(cluster.half, (double)(cluster.nr - 1));
    out->p = fmin(1.0, 2.0 * t_tail(fabs(out->theta) - out->delta, &cluster));
    out->few_processes = cluster.nr < GOOD_PROCESSES;
    out->verdict = verdict_of(out->lo, out->hi, out->delta);
    if (out->verdict == VERDICT_UNSURE)
        settle_cluster(&cluster, out);
}

/* ceil(n (half / gap)^2) rounds, 3.6; without an interval, the rounds that would give one. */
static void settle_single(const struct evidence *evidence, struct verdict_result *out)
{
    double gap = fabs(fabs(out->theta) - out->delta);
    double rounds = (double)out->rounds;
    double needed;

    if (out->ci_kind == CI_NONE)
        needed = ceil(PAIRED_MIN_SUPER_ROUNDS * rounds / (double)evidence->nr_measured);
    else
        needed = ceil(rounds * (out->half / gap) * (out->half / gap));
    out->on_delta = out->ci_kind != CI_NONE && !(needed <= SETTLE_FACTOR * rounds);
    if (!out->on_delta)
        out->settle_rounds = (size_t)needed;
}

static int judge_single(const struct evidence *evidence, struct verdict_result *out,
                        struct err *err)
{
    struct signed_rank_test test;
    struct signed_rank rank;

    if (signed_rank_interval(evidence->d, evidence->nr_d, VERDICT_LEVEL, &rank, err))
        return -1;
    out->theta = rank.estimate;
    out->averaged = evidence->averaged;
    out->autocorr = evidence->averaged > 0;
    if (fabs(out->theta) > out->delta) {
        if (shifted_test(evidence, copysign(out->delta, out->theta), &test, err))
            return -1;
        out->p = test.p_two_sided;
    }
    if (rank.k) {
        out->lo = rank.lo;
        out->hi = rank.hi;
        out->half = 0.5 * (rank.hi - rank.lo);
        out->ci_kind = CI_SIGNED_RANK;
        out->ci_level = rank.level;
        out->mde = verdict_mde(out->half, INFINITY);
    }
    out->few = !rank.k;
    out->verdict = verdict_of(out->lo, out->hi, out->delta);
    if (out->verdict == VERDICT_UNSURE)
        settle_single(evidence, out);
    return 0;
}

int verdict_compare(const struct verdict_process *processes, size_t nr, double delta,
                    struct verdict_result *out, struct err *err)
{
    struct evidence evidence;
    int ret = 0;

    *out = (struct verdict_result){.verdict = VERDICT_UNSURE,
                                   .delta = delta,
                                   .theta = NAN,
                                   .lo = NAN,
                                   .hi = NAN,
                                   .half = NAN,
                                   .se = NAN,
                                   .ci_kind = CI_NONE,
                                   .ci_level = NAN,
                                   .mde = NAN,
                                   .p = 1.0};
    if (evidence_init(&evidence, processes, nr, err))
        return -1;
    out->nr_processes = evidence.nr;
    out->rounds = evidence.rounds;
    if (evidence.nr >= 2)
        judge_cluster(&evidence, out);
    else if (evidence.nr == 1)
        ret = judge_single(&evidence, out, err);
    else
        out->few = true;
    evidence_release(&evidence);
    return ret;
}

int verdict_gate_p(const struct verdict_process *processes, size_t nr, double gate, double delta,
                   double *p, struct err *err)
{
    double limit = fmax(log1p(gate), delta);
    struct signed_rank_test test = {.p_upper = 1.0};
    struct evidence evidence;
    struct cluster cluster;
    int ret = 0;

    *p = 1.0;
    if (evidence_init(&evidence, processes, nr, err))
        return -1;
    if (evidence.nr >= 2) {
        cluster_t(evidence.theta, evidence.nr, &cluster);
        *p = t_tail(cluster.theta - limit, &cluster);
    } else if (evidence.nr == 1) {
        ret = shifted_test(&evidence, limit, &test, err);
        if (!ret)
            *p = test.p_upper;
    }
    evidence_release(&evidence);
    return ret;
}
