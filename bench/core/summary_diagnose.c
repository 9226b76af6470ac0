/*
 * summary_diagnose.c - the diagnostics of harness.md 3.10, into columns and reasons.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "stats_diagnose.h"
#include "stats_order.h"
#include "summary_internal.h"

/* Whole super-rounds of the case as launches in slots. */
struct cells {
    int *arm;
    double *y;
    size_t rounds;
};

static int arm_index(const struct case_samples *cs, const char *name)
{
    for (size_t a = 0; a < cs->arms_nr; a++)
        if (!strcmp(cs->arm[a], name))
            return (int)a;
    return -1;
}

/* Copies the kept rounds of the super-round whose first sample is `from` if all are there; returns
 * how many were copied. */
static size_t take_super_round(const struct case_samples *cs, size_t from, int *arm, double *y)
{
    size_t rounds = 0, k = cs->arms_nr, per_super = order_super_round(k);
    const struct sample_row *own = cs->sample[from];
    for (size_t i = from; i + k <= cs->nr && cs->sample[i]->process == own->process; i += k) {
        const struct sample_row *first = cs->sample[i];
        if (first->super_round != own->super_round || first->drop_reason)
            continue;
        if (rounds == per_super)
            return 0;
        for (size_t s = 0; s < k; s++) {
            const struct sample_row *row = cs->sample[i + s];
            int a = arm_index(cs, row->arm);
            if (a < 0 || row->slot != (int64_t)s || !(row->span_ns > 0))
                return 0;
            arm[rounds * k + s] = a;
            y[rounds * k + s] = log(row->span_ns);
        }
        rounds++;
    }
    return rounds == per_super ? rounds : 0;
}

static int cells_init(struct cells *c, const struct case_samples *cs, struct err *err)
{
    int64_t last_process = -1, last_super = -1;

    c->rounds = 0;
    c->arm = calloc(cs->nr + 1, sizeof(*c->arm));
    c->y = calloc(cs->nr + 1, sizeof(*c->y));
    if (!c->arm || !c->y)
        return err_memory(err);
    for (size_t i = 0; i < cs->nr; i++) {
        const struct sample_row *s = cs->sample[i];
        if (s->process == last_process && s->super_round <= last_super)
            continue; /* a repeat of an earlier super-round's round */
        last_process = s->process;
        last_super = s->super_round;
        size_t at = c->rounds * cs->arms_nr;
        if (s->process < 0 || cs->racers[s->process] != cs->arms_nr)
            continue; /* fewer arms: other slots */
        if (at + order_super_round(cs->arms_nr) * cs->arms_nr > cs->nr)
            break;
        c->rounds += take_super_round(cs, i, c->arm + at, c->y + at);
    }
    return 0;
}

static int diagnose_cells_of(const struct case_samples *cs, struct case_row *row,
                             const struct case_row *base, const struct verdict_result *v,
                             struct err *err)
{
    struct cells c = {0};
    double values[CASE_SAMPLES_MAX_ARMS];
    struct diagnose_slot slot;
    struct diagnose_carry carry = {NAN, NAN, false};
    int ret = -1;

    if (cells_init(&c, cs, err))
        goto out;
    if (!c.rounds) {
        ret = 0;
        goto out;
    }
    struct diagnose_cells cells = {cs->arms_nr, c.rounds, c.arm, c.y};
    if (diagnose_slot(&cells, values, &slot, err))
        goto out;
    row->slot_pct = 100 * slot.spread;
    if (slot.flag && row_add_reason(row, "slot", err))
        goto out;
    if (cs->arms_nr >= 3) {
        int a = arm_index(cs, row->arm), b = arm_index(cs, base->arm);
        if (diagnose_carry_over(&cells, values, err))
            goto out;
        diagnose_carry_bias(values, cs->arms_nr, (size_t)b, (size_t)a, v->theta, v->delta, &carry);
        row->carry_pct = 100 * carry.bias;
        if (carry.flag && row_add_reason(row, "carry", err))
            goto out;
    }
    ret = 0;
out:
    free(c.arm);
    free(c.y);
    return ret;
}

static int diagnose_discards(const struct case_samples *cs, struct case_row *row, struct err *err)
{
    size_t drops[CASE_SAMPLES_MAX_ARMS] = {0};
    struct diagnose_discard d;

    for (size_t i = 0; i < cs->nr; i++) {
        const char *why = cs->sample[i]->drop_reason;
        int a = arm_index(cs, cs->sample[i]->arm);
        /* "with ARM" marks the others of a round that ARM spoilt. */
        if (why && strncmp(why, "with ", 5) && a >= 0)
            drops[a]++;
    }
    diagnose_discard(drops, cs->arms_nr, &d);
    return d.flag ? row_add_reason(row, "discard", err) : 0;
}

/* Whether the kept spans of one arm of the case fall into two groups. */
static int spans_bimodal(const struct case_samples *cs, const char *arm, double tick_ns, bool *flag,
                         struct err *err)
{
    double *span_ns = malloc((cs->nr + 1) * sizeof(*span_ns));
    struct diagnose_bimodal b;
    size_t nr = 0;

    if (!span_ns)
        return err_memory(err);
    for (size_t i = 0; i < cs->nr; i++) {
        const struct sample_row *s = cs->sample[i];
        if (!s->drop_reason && !strcmp(s->arm, arm) && isfinite(s->span_ns))
            span_ns[nr++] = s->span_ns;
    }
    diagnose_bimodal(span_ns, nr, tick_ns, &b);
    *flag = b.flag;
    free(span_ns);
    return 0;
}

static int diagnose_groups(const struct case_samples *cs, struct case_row *row,
                           const struct case_row *base, struct err *err)
{
    bool of_arm = false, of_base = false;

    if (spans_bimodal(cs, row->arm, row->tick_ns, &of_arm, err) ||
        spans_bimodal(cs, base->arm, base->tick_ns, &of_base, err))
        return -1;
    return of_arm || of_base ? row_add_reason(row, "bimodal", err) : 0;
}

int diagnose_arm(const struct case_samples *cs, struct case_row *row, const struct case_row *base,
                 const struct paired_processes *pp, const struct verdict_result *v,
                 const struct verdict_result *cycles, struct err *err)
{
    struct diagnose_drift drift;
    struct diagnose_autocorr autocorr;
    struct diagnose_halves halves;

    if (!isfinite(v->theta))
        return 0;
    if (diagnose_drift(pp->item, pp->nr, v->delta, &drift, err) ||
        diagnose_halves(pp->item, pp->nr, v->delta, &halves, err))
        return -1;
    diagnose_autocorr(pp->item, pp->nr, &autocorr);
    row->drift_pct = 100 * drift.effect;
    row->rho1 = autocorr.rho1;
    if ((drift.flag && row_add_reason(row, "drift", err)) ||
        (autocorr.flag && row_add_reason(row, "autocorr", err)) ||
        (halves.flag && row_add_reason(row, "halves", err)))
        return -1;
    if (cycles && diagnose_clock(v->verdict, cycles->verdict) && row_add_reason(row, "clock", err))
        return -1;
    if (diagnose_cells_of(cs, row, base, v, err) || diagnose_groups(cs, row, base, err))
        return -1;
    return diagnose_discards(cs, row, err);
}
