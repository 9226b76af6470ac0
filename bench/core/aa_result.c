#include "aa_result.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "rng.h"
#include "stats_aa.h"
#include "stats_quantile.h"
#include "stats_special.h"
#include "summary_internal.h"

const double aa_effect[AA_TWINS] = {0.005, 0.01, 0.02};

void aa_result_init(struct aa_result *r)
{
    memset(r, 0, sizeof(*r));
}

void aa_result_release(struct aa_result *r)
{
    for (size_t i = 0; i < r->nr; i++) {
        free(r->item[i].id);
        free(r->item[i].failed);
    }
    free(r->item);
    free(r->value);
    aa_result_init(r);
}

int aa_result_add_case(struct aa_result *r, const char *id, struct err *err)
{
    struct aa_case *grown = realloc(r->item, (r->nr + 1) * sizeof(*grown));

    if (!grown)
        return err_memory(err);
    r->item = grown;
    r->item[r->nr] = (struct aa_case){strdup(id), NULL};
    if (!r->item[r->nr].id)
        return err_memory(err);
    r->nr++;
    return 0;
}

/* ---- one trial ---- */

static struct aa_value *value_add(struct aa_result *r, struct err *err)
{
    if (r->values_nr == r->values_alloc) {
        size_t alloc = r->values_alloc ? 2 * r->values_alloc : 64;
        struct aa_value *grown = realloc(r->value, alloc * sizeof(*grown));
        if (!grown) {
            err_memory(err);
            return NULL;
        }
        r->value = grown;
        r->values_alloc = alloc;
    }
    return &r->value[r->values_nr++];
}

static struct case_row *row_of(struct case_table *cases, const char *id, const char *role)
{
    for (size_t i = 0; i < cases->nr; i++) {
        struct case_row *row = &cases->row[i];
        if (!strcmp(row->case_id, id) && row->role && !strcmp(row->role, role))
            return row;
    }
    return NULL;
}

/* Why a case gave no value, once. */
static int remember_failure(struct aa_case *item, const struct case_row *row, struct err *err)
{
    struct strbuf sb = STRBUF_INIT;

    if (item->failed)
        return 0;
    strbuf_addstr(&sb, row && row->status ? row->status : "no arm");
    if (row && row->status_text && *row->status_text)
        strbuf_addf(&sb, ": %s", row->status_text);
    else if (row && row->status && !strcmp(row->status, "ok"))
        strbuf_addstr(&sb, ", but not one whole super-round");
    item->failed = strbuf_detach(&sb);
    return item->failed ? 0 : err_memory(err);
}

static int take_case(struct aa_result *r, size_t at, uint64_t seed, struct case_table *cases,
                     struct err *err)
{
    const struct case_row *dup = row_of(cases, r->item[at].id, "duplicate");
    const struct case_row *base = dup ? summary_baseline(cases, dup) : NULL;

    if (!base || !isfinite(dup->ratio))
        return remember_failure(&r->item[at], base && row_is_ok(dup) ? base : dup, err);
    struct aa_value *v = value_add(r, err);
    if (!v)
        return -1;
    memset(v, 0, sizeof(*v));
    v->trial = r->trials;
    v->seed = seed;
    v->at = at;
    v->theta = log(dup->ratio);
    v->lo = log(dup->ratio_lo);
    v->hi = log(dup->ratio_hi);
    v->delta = log1p(dup->delta_pct / 100);
    v->median_ns = base->span_median_ns;
    v->tick_ns = dup->tick_ns;
    v->verdict = verdict_of(v->lo, v->hi, v->delta);
    return 0;
}

/* ---- the twin ---- */

static bool is_duplicate(struct case_table *cases, const struct sample_row *s,
                         const struct case_row **row)
{
    if (!*row || strcmp((*row)->case_id, s->case_id) != 0)
        *row = row_of(cases, s->case_id, "duplicate");
    return *row && !strcmp((*row)->arm, s->arm);
}

static void inject(struct case_table *cases, struct sample_table *samples, const double *span_ns,
                   size_t twin, uint64_t seed)
{
    const struct case_row *row = NULL;

    for (size_t i = 0; i < samples->nr; i++) {
        struct sample_row *s = &samples->row[i];
        if (!is_duplicate(cases, s, &row))
            continue;
        double u = rng_unit(rng_hash(rng_seed_of(seed, "twin"), twin, i));
        s->span_ns = aa_inject_ns(span_ns[i], aa_effect[twin], row->tick_ns, u);
    }
}

static int take_twin(struct aa_result *r, size_t first, size_t twin, struct case_table *cases,
                     const struct sample_table *samples, const struct summary_settings *set,
                     struct err *err)
{
    for (size_t i = first; i < r->values_nr; i++) {
        struct aa_value *v = &r->value[i];
        const char *id = r->item[v->at].id;
        if (summary_case(cases, samples, id, set, err))
            return -1;
        const struct case_row *dup = row_of(cases, id, "duplicate");
        struct aa_twin *t = &v->twin[twin];
        t->lo = log(dup->ratio_lo);
        t->hi = log(dup->ratio_hi);
        t->verdict = verdict_of(t->lo, t->hi, log1p(dup->delta_pct / 100));
    }
    return 0;
}

int aa_result_take(struct aa_result *r, uint64_t seed, struct case_table *cases,
                   struct sample_table *samples, const struct summary_settings *set,
                   struct err *err)
{
    size_t first = r->values_nr;
    double *span_ns = malloc((samples->nr + 1) * sizeof(*span_ns));
    int ret = 0;

    if (!span_ns)
        return err_memory(err);
    for (size_t i = 0; i < samples->nr; i++)
        span_ns[i] = samples->row[i].span_ns;
    for (size_t i = 0; !ret && i < r->nr; i++)
        ret = take_case(r, i, seed, cases, err);
    for (size_t t = 0; !ret && t < AA_TWINS; t++) {
        inject(cases, samples, span_ns, t, seed);
        ret = take_twin(r, first, t, cases, samples, set, err);
        for (size_t i = 0; i < samples->nr; i++)
            samples->row[i].span_ns = span_ns[i];
    }
    if (ret)
        r->values_nr = first;
    else
        r->trials++;
    free(span_ns);
    return ret;
}

/* ---- rates ---- */

static void count(struct aa_rate *rate, bool hit)
{
    rate->nr++;
    rate->hits += hit;
}

static void settle(struct aa_rate *rate)
{
    rate->share = rate->nr ? (double)rate->hits / (double)rate->nr : NAN;
    stats_clopper_pearson(rate->nr, rate->hits, VERDICT_LEVEL, &rate->lo, &rate->hi);
}

static void count_value(const struct aa_value *v, struct aa_rates *out)
{
    count(&out->false_alarm, v->verdict == VERDICT_FASTER || v->verdict == VERDICT_SLOWER);
    count(&out->same, v->verdict == VERDICT_SAME);
    count(&out->unsure, v->verdict == VERDICT_UNSURE);
    if (isfinite(v->lo) && isfinite(v->hi))
        count(&out->excluded_zero, v->lo > 0 || v->hi < 0);
    for (size_t t = 0; t < AA_TWINS; t++) {
        const struct aa_twin *twin = &v->twin[t];
        double truth = log1p(aa_effect[t]);
        count(&out->power[t], twin->verdict == VERDICT_SLOWER);
        if (isfinite(twin->lo) && isfinite(twin->hi))
            count(&out->covers[t], twin->lo <= truth && truth <= twin->hi);
    }
}

int aa_result_rates(const struct aa_result *r, size_t at, struct aa_rates *out, struct err *err)
{
    double *theta = malloc((r->values_nr + 1) * sizeof(*theta));
    double *median = malloc((r->values_nr + 1) * sizeof(*median));
    size_t nr = 0;
    int ret = -1;

    memset(out, 0, sizeof(*out));
    out->floor = out->median_ns = NAN;
    if (!theta || !median) {
        err_memory(err);
        goto out;
    }
    for (size_t i = 0; i < r->values_nr; i++) {
        const struct aa_value *v = &r->value[i];
        if (at != AA_POOLED && v->at != at)
            continue;
        count_value(v, out);
        theta[nr] = v->theta;
        median[nr++] = v->median_ns;
    }
    if (nr && aa_floor(theta, nr, &out->floor, err))
        goto out;
    out->floor = expm1(out->floor);
    if (at != AA_POOLED)
        out->median_ns = stats_median(median, nr);
    settle(&out->false_alarm);
    settle(&out->excluded_zero);
    settle(&out->same);
    settle(&out->unsure);
    for (size_t t = 0; t < AA_TWINS; t++) {
        settle(&out->power[t]);
        settle(&out->covers[t]);
    }
    ret = 0;
out:
    free(theta);
    free(median);
    return ret;
}

/* The octave of every case, by its median over the trials; -1 without a value. */
static int *case_octaves(const struct aa_result *r, struct err *err)
{
    int *octave = malloc((r->nr + 1) * sizeof(*octave));
    struct aa_rates rates;

    if (!octave) {
        err_memory(err);
        return NULL;
    }
    for (size_t i = 0; i < r->nr; i++) {
        if (aa_result_rates(r, i, &rates, err)) {
            free(octave);
            return NULL;
        }
        octave[i] = noise_floors_octave(rates.median_ns);
    }
    return octave;
}

int aa_result_floors(const struct aa_result *r, struct noise_floors *out, struct err *err)
{
    double *theta = malloc((r->values_nr + 1) * sizeof(*theta));
    int *octave = theta ? case_octaves(r, err) : NULL;
    int ret = octave ? 0 : -1;

    noise_floors_init(out);
    if (!theta)
        err_memory(err);
    for (int o = 0; !ret && o < PROFILE_OCTAVES; o++) {
        size_t nr = 0;
        for (size_t i = 0; i < r->values_nr; i++)
            if (octave[r->value[i].at] == o)
                theta[nr++] = r->value[i].theta;
        if (nr < AA_PROFILE_MIN)
            continue;
        ret = aa_floor(theta, nr, &out->octave[o], err);
        out->octave[o] = expm1(out->octave[o]);
        out->values[o] = nr;
        out->nr++;
    }
    free(octave);
    free(theta);
    return ret;
}
