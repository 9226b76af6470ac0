/*
 * summary_run.c - what stands over all rows of a run: corrections, A', geometric mean, gate.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "stats_multiple.h"
#include "stats_verdict.h"
#include "summary.h"
#include "summary_internal.h"

static bool is_role(const struct case_row *row, const char *role)
{
    return row->role && !strcmp(row->role, role);
}

static bool is_judged(const struct case_row *row)
{
    return row_is_ok(row) && row->verdict && isfinite(row->ratio);
}

/* What a reason of this file says may have changed since it was given. */
static int forget_reason(struct case_row *row, const char *reason, struct err *err)
{
    struct strbuf kept = STRBUF_INIT;
    int ret = 0;

    if (!row_has_reason(row, reason))
        return 0;
    for (const char *p = row->reasons; *p; p += strspn(p, ";")) {
        size_t len = strcspn(p, ";");
        if (len != strlen(reason) || memcmp(p, reason, len))
            strbuf_addf(&kept, "%s%.*s", kept.len ? ";" : "", (int)len, p);
        p += len;
    }
    ret = kept.oom ? err_memory(err) : row_set(&row->reasons, kept.len ? kept.buf : NULL, err);
    strbuf_release(&kept);
    return ret;
}

static int forget_reasons(struct case_table *t, struct err *err)
{
    for (size_t i = 0; i < t->nr; i++)
        if (forget_reason(&t->row[i], "multiple", err) || forget_reason(&t->row[i], "a_prime", err))
            return -1;
    return 0;
}

/* Benjamini-Hochberg over the verified candidate rows. */
static int correct_rows(struct case_table *t, struct err *err)
{
    double *p = malloc((t->nr + 1) * sizeof(*p)), *q = malloc((t->nr + 1) * sizeof(*q));
    size_t nr = 0;
    int ret = -1;

    if (!p || !q) {
        err_memory(err);
        goto out;
    }
    for (size_t i = 0; i < t->nr; i++)
        if (is_role(&t->row[i], "candidate") && is_judged(&t->row[i]))
            p[nr++] = t->row[i].p;
    if (multiple_bh(p, nr, q, err))
        goto out;
    nr = 0;
    for (size_t i = 0; i < t->nr; i++) {
        struct case_row *row = &t->row[i];
        if (!is_role(row, "candidate") || !is_judged(row))
            continue;
        row->q_bh = q[nr++];
        bool claims = !strcmp(row->verdict, "FASTER") || !strcmp(row->verdict, "SLOWER");
        if (claims && row->q_bh > MULTIPLE_LEVEL && row_add_reason(row, "multiple", err))
            goto out;
    }
    ret = 0;
out:
    free(p);
    free(q);
    return ret;
}

/* The duplicate's rows: the reason `a_prime` on every row of a case whose A' interval lies beyond
 * delta, and Holm over all of them. */
static int judge_duplicate(struct case_table *t, struct summary_run *out, struct err *err)
{
    double *p = malloc((t->nr + 1) * sizeof(*p));
    size_t nr = 0;
    int ret = -1;

    if (!p)
        return err_memory(err);
    for (size_t i = 0; i < t->nr; i++) {
        struct case_row *dup = &t->row[i];
        if (!is_role(dup, "duplicate") || !is_judged(dup))
            continue;
        p[nr++] = dup->p;
        if (strcmp(dup->verdict, "FASTER") && strcmp(dup->verdict, "SLOWER"))
            continue;
        for (size_t k = 0; k < t->nr; k++)
            if (!strcmp(t->row[k].case_id, dup->case_id) && is_judged(&t->row[k]) &&
                row_add_reason(&t->row[k], "a_prime", err))
                goto out;
    }
    out->a_prime_p = nr ? multiple_holm_min(p, nr) : NAN;
    out->believed = !(out->a_prime_p <= MULTIPLE_LEVEL);
    ret = 0;
out:
    free(p);
    return ret;
}

static void judge_gate(const struct case_table *t, const struct summary_settings *set,
                       struct summary_run *out)
{
    double *p = malloc((t->nr + 1) * sizeof(*p));
    size_t nr = 0;

    for (size_t i = 0; p && i < t->nr; i++)
        if (is_role(&t->row[i], "candidate") && is_judged(&t->row[i]) && isfinite(t->row[i].p_gate))
            p[nr++] = t->row[i].p_gate;
    if (p && set->gate_slower >= 0 && nr)
        out->gate_failed = multiple_holm_min(p, nr) <= MULTIPLE_LEVEL;
    free(p);
}

/* Estimate of each process of one row; NAN where it has none. */
static int row_thetas(const struct case_table *t, const struct sample_table *samples,
                      const struct sample_index *index, const char *base,
                      const struct case_row *row, size_t processes, double *theta, struct err *err)
{
    struct paired_processes pp = {0};
    struct case_samples cs = {0};
    int ret = -1;

    if (case_samples_init(&cs, t, samples, index, row->case_id, err) ||
        paired_processes_init(&pp, &cs, base, row->arm, false, err))
        goto out;
    for (size_t p = 0; p < processes; p++) {
        theta[p] = NAN;
        if (p < pp.nr && pp.item[p].nr)
            hodges_lehmann(pp.item[p].d, pp.item[p].nr, &theta[p], NULL);
    }
    ret = 0;
out:
    paired_processes_release(&pp);
    case_samples_release(&cs);
    return ret;
}

/* Geometric mean over the rows of one role: theta of each process per row, then over processes. */
static int geomean(const struct case_table *t, const struct sample_table *samples,
                   const struct sample_index *index, const char *role, struct cluster *out,
                   struct err *err)
{
    double *theta = NULL;
    size_t rows = 0, processes = 0;
    int ret = -1;

    for (size_t i = 0; i < t->nr; i++)
        if (is_role(&t->row[i], role) && is_judged(&t->row[i]) &&
            t->row[i].processes > (int64_t)processes)
            processes = (size_t)t->row[i].processes;
    theta = malloc((t->nr + 1) * (processes + 1) * sizeof(*theta));
    if (!theta)
        return err_memory(err);
    for (size_t i = 0; i < t->nr; i++) {
        const struct case_row *row = &t->row[i];
        if (!is_role(row, role) || !is_judged(row))
            continue;
        const struct case_row *base = summary_baseline(t, row);
        if (!base)
            continue; /* a verdict without a baseline: not written by us */
        if (row_thetas(t, samples, index, base->arm, row, processes, &theta[rows * processes], err))
            goto out;
        rows++;
    }
    ret = processes ? cluster_geomean(theta, rows, processes, out, NULL, err) : 0;
out:
    free(theta);
    return ret;
}

static void count_row(const struct case_row *row, struct summary_run *out)
{
    if (!strcmp(row->status, "wrong"))
        out->wrong = true;
    if (!strcmp(row->status, "crash") || !strcmp(row->status, "timeout"))
        out->crashed = true;
    if (!is_role(row, "candidate") || (row_is_ok(row) && !row->verdict))
        return; /* without a verdict: across problems, or no baseline */
    out->rows++;
    if (!strcmp(row->status, "skip") || !strcmp(row->status, "oom"))
        out->skipped++;
    else if (!row_is_ok(row))
        out->failed++;
    else if (!strcmp(row->verdict, "FASTER"))
        out->faster++;
    else if (!strcmp(row->verdict, "SLOWER"))
        out->slower++;
    else if (!strcmp(row->verdict, "SAME"))
        out->same++;
    else
        out->unsure++;
    if (isfinite(row->ratio) && !(log(row->ratio) <= out->worst)) {
        out->worst = log(row->ratio);
        out->worst_case = row->case_id;
    }
}

static void count_rounds(const struct sample_table *samples, struct summary_run *out)
{
    for (size_t i = 0; i < samples->nr; i++) {
        const struct sample_row *s = &samples->row[i];
        if (s->slot != 0)
            continue;
        if (s->drop_reason)
            out->rounds_dropped++;
        else
            out->rounds_kept++;
    }
}

int summary_run(struct case_table *cases, const struct sample_table *samples,
                const struct summary_settings *set, struct summary_run *out, struct err *err)
{
    struct cluster g = {.theta = NAN, .lo = NAN, .hi = NAN}, a = g;
    struct sample_index index;
    int ret = -1;

    memset(out, 0, sizeof(*out));
    out->worst = NAN;
    for (size_t i = 0; i < cases->nr; i++)
        count_row(&cases->row[i], out);
    for (size_t i = 0; i < cases->nr; i++)
        out->above_limit |=
            row_is_ok(&cases->row[i]) && row_has_reason(&cases->row[i], "above_limit");
    count_rounds(samples, out);
    if (sample_index_init(&index, samples, err))
        return -1;
    if (forget_reasons(cases, err) || correct_rows(cases, err) ||
        judge_duplicate(cases, out, err) || geomean(cases, samples, &index, "candidate", &g, err) ||
        geomean(cases, samples, &index, "duplicate", &a, err))
        goto out;
    judge_gate(cases, set, out);
    out->geomean = g.theta;
    out->geomean_lo = g.lo;
    out->geomean_hi = g.hi;
    out->a_prime = a.theta;
    out->a_prime_lo = a.lo;
    out->a_prime_hi = a.hi;
    ret = 0;
out:
    sample_index_release(&index);
    return ret;
}

bool summary_precise(const struct case_table *cases, const char *case_id)
{
    for (size_t i = 0; i < cases->nr; i++) {
        const struct case_row *row = &cases->row[i];
        if (strcmp(row->case_id, case_id) || !is_role(row, "candidate") || !is_judged(row))
            continue;
        double half = log(row->ratio_hi / row->ratio_lo) / 2;
        if (!(half <= verdict_target(row->tick_ns, row->span_median_ns / row->ratio_of_medians)) ||
            row->rounds < VERDICT_MIN_ROUNDS)
            return false;
    }
    return true;
}
