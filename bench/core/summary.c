/*
 * summary.c - one case: times, paired estimates, verdicts.
 */
#include "summary.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "ceilings.h"
#include "stats_paired.h"
#include "stats_quantile.h"
#include "stats_verdict.h"
#include "summary_internal.h"

/* ---- times of one arm ---- */

/* Fills values with one quantity of the arm's kept samples; returns their number. */
static size_t gather(const struct case_samples *cs, const char *arm, size_t offset, double *values)
{
    size_t nr = 0;
    for (size_t i = 0; i < cs->nr; i++) {
        const struct sample_row *s = cs->sample[i];
        if (s->drop_reason || strcmp(s->arm, arm))
            continue;
        double v = *(const double *)((const char *)s + offset);
        if (isfinite(v))
            values[nr++] = v;
    }
    return nr;
}

#define GATHER_MEDIAN(cs, arm, field, values)                                                      \
    median_of(values, gather(cs, arm, offsetof(struct sample_row, field), values))

static double median_of(double *values, size_t nr)
{
    return nr ? stats_median(values, nr) : NAN;
}

static void count_rounds(const struct case_samples *cs, struct case_row *row)
{
    bool seen[ROWS_PROCESSES_MAX] = {false};
    row->rounds = row->rounds_dropped = row->processes = row->samples = 0;
    for (size_t i = 0; i < cs->nr; i++) {
        const struct sample_row *s = cs->sample[i];
        if (strcmp(s->arm, row->arm))
            continue;
        row->samples++;
        if (s->drop_reason)
            row->rounds_dropped++;
        else
            row->rounds++;
        if (s->process >= 0 && s->process < ROWS_PROCESSES_MAX && !seen[s->process]) {
            seen[s->process] = true;
            row->processes++;
        }
    }
}

static int activities_of(const struct case_samples *cs, struct case_row *row, struct err *err)
{
    const struct sample_row *first = NULL;
    for (size_t i = 0; i < cs->nr; i++) {
        const struct sample_row *s = cs->sample[i];
        if (strcmp(s->arm, row->arm))
            continue;
        if (!first)
            first = s;
        else if (s->activities != first->activities || strcmp(s->activity_set, first->activity_set))
            return row_add_reason(row, "activity_change", err);
    }
    if (first)
        row->activities = first->activities;
    return 0;
}

static int times_of(const struct case_samples *cs, struct case_row *row, struct err *err)
{
    double *values = malloc((cs->nr + 1) * sizeof(*values));
    struct stats_summary sum;

    if (!values)
        return err_memory(err);
    size_t nr = gather(cs, row->arm, offsetof(struct sample_row, span_ns), values);
    stats_summarise(values, nr, row->tick_ns, &sum);
    row->span_min_ns = sum.min;
    row->span_p10_ns = sum.p10;
    row->span_median_ns = sum.median;
    row->span_p90_ns = sum.p90;
    row->busy_median_ns = GATHER_MEDIAN(cs, row->arm, busy_ns, values);
    row->enqueue_ns = GATHER_MEDIAN(cs, row->arm, enqueue_ns, values);
    row->run_mhz = GATHER_MEDIAN(cs, row->arm, run_mhz, values);
    if (row->span_median_ns > 0) {
        row->tflops = row->flops / row->span_median_ns * 1e-3;
        row->gbps = row->bytes / row->span_median_ns;
    }
    row->limit_pct = row->span_median_ns > 0 ? 100 * row->limit_ns / row->span_median_ns : NAN;
    free(values);
    count_rounds(cs, row);
    if (parts_of(cs, row, err))
        return -1;
    return activities_of(cs, row, err);
}

/* ---- one arm against the baseline ---- */

static double pct(double log_value)
{
    return 100 * expm1(log_value);
}

static int fill_verdict(struct case_row *row, const struct verdict_result *v, double floor,
                        struct err *err)
{
    row->ratio = exp(v->theta);
    row->ratio_lo = exp(v->lo);
    row->ratio_hi = exp(v->hi);
    row->ci_level = v->ci_kind == CI_NONE ? NAN : v->ci_level;
    row->p = v->p;
    row->mde_pct = isfinite(v->mde) ? pct(v->mde) : NAN;
    row->delta_pct = pct(v->delta);
    row->floor_pct = 100 * floor;
    row->rounds_to_settle = -1;
    if (row_set(&row->ci_kind, ci_kind_name(v->ci_kind), err) ||
        row_set(&row->verdict, verdict_name(v->verdict), err))
        return -1;
    if (v->verdict == VERDICT_UNSURE) {
        if (v->settle_rounds)
            row->rounds_to_settle = (int64_t)v->settle_rounds;
        if (v->on_delta && row_add_reason(row, "on_delta", err))
            return -1;
        if (v->settle_processes)
            row->rounds_to_settle =
                (int64_t)(v->settle_processes *
                          (v->rounds / (v->nr_processes ? v->nr_processes : 1)));
    }
    if (v->few && row_add_reason(row, "few", err))
        return -1;
    if (v->few_processes && v->nr_processes > 1 && row_add_reason(row, "few_processes", err))
        return -1;
    return v->autocorr ? row_add_reason(row, "autocorr", err) : 0;
}

static int compare_arm(const struct case_samples *cs, struct case_row *row,
                       const struct case_row *base, const struct summary_settings *set,
                       struct err *err)
{
    struct paired_processes pp = {0}, cycles = {0};
    struct verdict_result v, vc;
    double floor = set->noise_floor;
    int ret = -1;

    row->ratio_of_medians = row->span_median_ns / base->span_median_ns;
    noise_floors_at(set->floors, base->span_median_ns, &floor);
    double delta = verdict_delta(row->tick_ns, base->span_median_ns, fmax(floor, set->delta));
    if (paired_processes_init(&pp, cs, base->arm, row->arm, false, err) ||
        verdict_compare(pp.item, pp.nr, delta, &v, err) || fill_verdict(row, &v, floor, err))
        goto out;
    if (set->gate_slower >= 0 &&
        verdict_gate_p(pp.item, pp.nr, set->gate_slower, delta, &row->p_gate, err))
        goto out;
    if (paired_processes_init(&cycles, cs, base->arm, row->arm, true, err))
        goto out;
    bool have_cycles = cycles.nr && verdict_compare(cycles.item, cycles.nr, delta, &vc, err) == 0 &&
                       isfinite(vc.theta);
    row->ratio_cycles = have_cycles ? exp(vc.theta) : NAN;
    if (diagnose_arm(cs, row, base, &pp, &v, have_cycles ? &vc : NULL, err))
        goto out;
    ret = 0;
out:
    paired_processes_release(&pp);
    paired_processes_release(&cycles);
    return ret;
}

static void clear_derived(struct case_row *row)
{
    row->ratio = row->ratio_lo = row->ratio_hi = row->ci_level = row->ratio_of_medians = NAN;
    row->ratio_cycles = row->p = row->q_bh = row->p_gate = row->mde_pct = row->delta_pct = NAN;
    row->floor_pct = row->slot_pct = row->carry_pct = row->drift_pct = row->rho1 = NAN;
    row->rounds_to_settle = -1;
    row_set(&row->verdict, NULL, NULL);
    row_set(&row->ci_kind, NULL, NULL);
    row_set(&row->reasons, NULL, NULL);
}

static int row_reasons(struct case_row *row, struct err *err)
{
    if (row->hazards && row_add_reason(row, "unsafe", err))
        return -1;
    if (row->workspace && !strcmp(row->workspace, "kept") &&
        row_add_reason(row, "keeps_workspace", err))
        return -1;
    if (row->check_before && !strcmp(row->check_before, "sampled") &&
        row_add_reason(row, "sampled_check", err))
        return -1;
    if (row->bound_ns > (1 + CEILING_TOLERANCE) * row->span_median_ns &&
        row_add_reason(row, "above_limit", err))
        return -1;
    if (row->rounds_dropped > 0 && row_add_reason(row, "dropped", err))
        return -1;
    return 0;
}

bool row_is_ok(const struct case_row *row)
{
    return row->status && !strcmp(row->status, "ok");
}

/* Other work, or an arm that stands beside the comparison: a ratio with its interval, no more. */
static int forget_verdict(struct case_row *row, const char *reason, struct err *err)
{
    row->p = row->p_gate = row->mde_pct = NAN;
    row->rounds_to_settle = -1;
    if (row_set(&row->verdict, NULL, err))
        return -1;
    return reason ? row_add_reason(row, reason, err) : 0;
}

static bool same_text(const char *a, const char *b)
{
    return a && b && !strcmp(a, b);
}

/* One file with the same options cannot differ from itself: a verdict is a false alarm. Equal
 * machine code alone is only worth knowing, since launch code may differ. */
static int judge_identity(struct case_row *row, const struct case_row *base, struct err *err)
{
    bool claims =
        row->verdict && (!strcmp(row->verdict, "FASTER") || !strcmp(row->verdict, "SLOWER"));
    const char *a = row->options ? row->options : "", *b = base->options ? base->options : "";

    if (!same_text(row->kernel, base->kernel) || strcmp(a, b))
        return 0;
    if (same_text(row->library_sha256, base->library_sha256))
        return claims && strcmp(row->role, "duplicate") ? row_add_reason(row, "aa_alarm", err) : 0;
    return same_text(row->sass_sha256, base->sass_sha256) ? row_add_reason(row, "same_sass", err)
                                                          : 0;
}

const struct case_row *summary_baseline(const struct case_table *cases, const struct case_row *row)
{
    for (size_t i = 0; row->baseline && i < cases->nr; i++)
        if (!strcmp(cases->row[i].arm, row->baseline) &&
            !strcmp(cases->row[i].case_id, row->case_id))
            return &cases->row[i];
    return NULL;
}

int summary_case(struct case_table *cases, const struct sample_table *samples, const char *case_id,
                 const struct summary_settings *set, struct err *err)
{
    struct sample_index index;
    struct case_samples cs = {0};
    int ret = -1;

    if (sample_index_init(&index, samples, err) ||
        case_samples_init(&cs, cases, samples, &index, case_id, err))
        goto out;
    for (size_t i = 0; i < cases->nr; i++) {
        struct case_row *row = &cases->row[i];
        if (strcmp(row->case_id, case_id))
            continue;
        clear_derived(row);
        if (times_of(&cs, row, err) || row_reasons(row, err))
            goto out;
    }
    for (size_t i = 0; i < cases->nr; i++) {
        struct case_row *row = &cases->row[i];
        if (strcmp(row->case_id, case_id) || !row->baseline || !row_is_ok(row) || row->rounds <= 0)
            continue;
        const struct case_row *base = summary_baseline(cases, row);
        if (!base || !row_is_ok(base) || !(base->span_median_ns > 0)) {
            if (row_add_reason(row, "no_baseline", err))
                goto out;
            continue;
        }
        if (compare_arm(&cs, row, base, set, err))
            goto out;
        if (!strcmp(row->problem, "across") && forget_verdict(row, "across", err))
            goto out;
        if (!strcmp(row->role, "context") && forget_verdict(row, NULL, err))
            goto out;
        if (judge_identity(row, base, err))
            goto out;
    }
    ret = 0;
out:
    case_samples_release(&cs);
    sample_index_release(&index);
    return ret;
}
