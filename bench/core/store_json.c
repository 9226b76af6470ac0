/*
 * store_json.c - the parts of run.json that the store itself keeps.
 */
#include <math.h>
#include <string.h>

#include "store.h"

static void set_real(json_t *o, const char *key, double value)
{
    if (isfinite(value))
        json_object_set_new(o, key, json_real(value));
}

static void set_int(json_t *o, const char *key, int value)
{
    json_object_set_new(o, key, json_integer(value));
}

static json_t *dropped_by_arm(const struct sample_table *t)
{
    json_t *o = json_object();
    for (size_t i = 0; i < t->nr; i++) {
        const char *why = t->row[i].drop_reason;
        if (!why || !strncmp(why, "with ", 5))
            continue;
        json_int_t n = json_integer_value(json_object_get(o, t->row[i].arm));
        json_object_set_new(o, t->row[i].arm, json_integer(n + 1));
    }
    return o;
}

static json_t *clocks_json(const struct sample_table *t)
{
    double lo = INFINITY, hi = -INFINITY, power = -INFINITY;
    json_t *o = json_object();
    for (size_t i = 0; i < t->nr; i++) {
        const struct sample_row *s = &t->row[i];
        if (isfinite(s->run_mhz)) {
            lo = fmin(lo, s->run_mhz);
            hi = fmax(hi, s->run_mhz);
        }
        if (isfinite(s->power_w))
            power = fmax(power, s->power_w);
    }
    set_real(o, "run_mhz_lo", lo);
    set_real(o, "run_mhz_hi", hi);
    set_real(o, "power_w", power);
    return o;
}

/* Wall time a sample beyond its own preparation, scrub, pause and kernel: what the harness costs.
 */
static void harness_json(const struct store *s, json_t *run)
{
    double wall_ns = 0, own_ns = 0;
    const char *id;
    json_t *wall;
    json_object_foreach(json_object_get(run, "wall_s"), id, wall) wall_ns +=
        json_number_value(wall) * 1e9;
    for (size_t i = 0; i < s->samples.nr; i++) {
        const struct sample_row *row = &s->samples.row[i];
        own_ns += row->span_ns + row->scrub_ns + row->idle_before_ns;
    }
    json_t *o = json_object();
    set_real(o, "wall_s", wall_ns * 1e-9);
    if (s->samples.nr)
        set_real(o, "extra_us_per_sample", (wall_ns - own_ns) / (double)s->samples.nr * 1e-3);
    json_object_set_new(run, "harness", o);
}

void store_summary_json(struct store *s)
{
    const struct summary_run *r = &s->summary;
    json_t *o, *rounds;

    if (!s->run)
        return;
    o = json_object();
    set_int(o, "rows", r->rows);
    set_int(o, "faster", r->faster);
    set_int(o, "same", r->same);
    set_int(o, "slower", r->slower);
    set_int(o, "unsure", r->unsure);
    set_int(o, "failed", r->failed);
    set_int(o, "skipped", r->skipped);
    set_real(o, "geomean", r->geomean);
    set_real(o, "geomean_lo", r->geomean_lo);
    set_real(o, "geomean_hi", r->geomean_hi);
    set_real(o, "worst", r->worst);
    if (r->worst_case)
        json_object_set_new(o, "worst_case", json_string(r->worst_case));
    set_real(o, "a_prime_theta", r->a_prime);
    set_real(o, "a_prime_lo", r->a_prime_lo);
    set_real(o, "a_prime_hi", r->a_prime_hi);
    set_real(o, "a_prime_p", r->a_prime_p);
    json_object_set_new(o, "believed", json_boolean(r->believed));
    json_object_set_new(o, "above_limit", json_boolean(r->above_limit));
    json_object_set_new(s->run, "summary", o);
    rounds = json_object();
    set_int(rounds, "kept", r->rounds_kept);
    set_int(rounds, "dropped", r->rounds_dropped);
    json_object_set_new(rounds, "dropped_by_arm", dropped_by_arm(&s->samples));
    json_object_set_new(s->run, "rounds", rounds);
    json_object_set_new(s->run, "clocks", clocks_json(&s->samples));
    harness_json(s, s->run);
}

int store_budget(struct store *s, const char *case_id, struct err *err)
{
    json_t *o = json_object_get(s->run, "budget");
    if (!o) {
        o = json_object();
        json_object_set_new(s->run, "budget", o);
    }
    if (!o || json_object_set_new(o, case_id, json_true()))
        return err_memory(err);
    return store_budget_reasons(s, case_id, err);
}

int store_budget_reasons(struct store *s, const char *case_id, struct err *err)
{
    if (!json_object_get(json_object_get(s->run, "budget"), case_id))
        return 0;
    for (size_t i = 0; i < s->cases.nr; i++) {
        struct case_row *row = &s->cases.row[i];
        if (!strcmp(row->case_id, case_id) && row->verdict && row_add_reason(row, "budget", err))
            return -1;
    }
    return 0;
}

void store_partial(struct store *s, const char *case_id, int process)
{
    json_t *list = json_object_get(s->run, "partial");
    json_t *counts = json_object_get(s->sealed, case_id);

    if (!json_is_array(list)) {
        list = json_array();
        json_object_set_new(s->run, "partial", list);
    }
    json_array_append_new(list, json_pack("{s:s, s:i}", "case", case_id, "process", process));
    while (process >= 0 && json_array_size(counts) > (size_t)process)
        json_array_remove(counts, (size_t)process);
}

static bool is_partial(const json_t *one, const char *case_id)
{
    const char *id = json_string_value(json_object_get(one, "case"));
    return id && !strcmp(id, case_id);
}

int store_partial_process(const struct store *s, const char *case_id)
{
    const json_t *list = json_object_get(s->run, "partial");
    const json_t *one;
    size_t i;

    if (json_is_object(list)) /* of an older bench, which had one lane */
        return is_partial(list, case_id) ? (int)json_integer_value(json_object_get(list, "process"))
                                         : -1;
    json_array_foreach(list, i, one)
    {
        if (is_partial(one, case_id))
            return (int)json_integer_value(json_object_get(one, "process"));
    }
    return -1;
}
