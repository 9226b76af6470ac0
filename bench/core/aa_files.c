/*
 * aa_files.c - the folder of `bench aa` and its part of the machine profile.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "aa.h"
#include "csv.h"
#include "file.h"

static const char *const own_files[] = {"aa.csv", "aa_twin.csv", "aa.json"};
#define OWN_FILES_NR (sizeof(own_files) / sizeof(own_files[0]))

static void add_stamp(struct strbuf *sb, const char *format)
{
    char stamp[32];
    time_t now = time(NULL);
    struct tm tm;

    gmtime_r(&now, &tm);
    strftime(stamp, sizeof(stamp), format, &tm);
    strbuf_addstr(sb, stamp);
}

/* Files of other kinds may lie there; what this would overwrite may not. */
int aa_make_folder(struct aa *aa, struct err *err)
{
    const struct plan *plan = &aa->probe.plan;
    struct strbuf sb = STRBUF_INIT;
    const char *named = aa->request->out ? aa->request->out : plan->set.out;

    if (named) {
        strbuf_addstr(&sb, named);
    } else {
        strbuf_addf(&sb, "results/aa-%s-%s-", plan->config_name, device_kind_name(aa->probe.kind));
        add_stamp(&sb, "%Y%m%dT%H%M%SZ");
    }
    aa->dir = strbuf_detach(&sb);
    if (!aa->dir)
        return err_memory(err);
    for (size_t i = 0; i < OWN_FILES_NR && !aa->request->force; i++) {
        strbuf_init(&sb);
        file_add_path(&sb, aa->dir, own_files[i]);
        bool there = file_exists(sb.buf);
        strbuf_release(&sb);
        if (there)
            return err_set(err, ERR_ENVIRONMENT,
                           "'%s' holds '%s' of earlier trials; write them anew with --force, or "
                           "name another folder with --out",
                           aa->dir, own_files[i]);
    }
    return file_mkdirs(aa->dir, err) ? err_prefix(err, "results folder") : 0;
}

static int write_file(const struct aa *aa, const char *name, const struct strbuf *text,
                      struct err *err)
{
    struct strbuf path = STRBUF_INIT;
    int ret;

    file_add_path(&path, aa->dir, name);
    ret = path.oom || text->oom ? err_memory(err) : file_write(path.buf, text->buf, text->len, err);
    strbuf_release(&path);
    return ret;
}

/* ---- CSV ---- */

static int write_values(const struct aa *aa, struct err *err)
{
    static const char *const names[] = {"schema", "trial", "seed",    "case_id",   "theta",  "lo",
                                        "hi",     "delta", "verdict", "median_ns", "tick_ns"};
    struct strbuf sb = STRBUF_INIT;
    struct csv_writer w;
    int ret = -1;

    csv_writer_init(&w, &sb, 0);
    if (csv_header(&w, names, sizeof(names) / sizeof(names[0]), err))
        goto out;
    for (size_t i = 0; i < aa->result.values_nr; i++) {
        const struct aa_value *v = &aa->result.value[i];
        csv_int(&w, ROWS_SCHEMA);
        csv_int(&w, v->trial);
        csv_uint(&w, v->seed);
        csv_text(&w, aa->result.item[v->at].id);
        csv_real(&w, v->theta);
        csv_real(&w, v->lo);
        csv_real(&w, v->hi);
        csv_real(&w, v->delta);
        csv_text(&w, verdict_name(v->verdict));
        csv_real(&w, v->median_ns);
        csv_real(&w, v->tick_ns);
        if (csv_end_row(&w, err))
            goto out;
    }
    ret = write_file(aa, "aa.csv", &sb, err);
out:
    strbuf_release(&sb);
    return ret;
}

static int write_twins(const struct aa *aa, struct err *err)
{
    static const char *const names[] = {"schema", "trial", "case_id", "injected",
                                        "lo",     "hi",    "verdict"};
    struct strbuf sb = STRBUF_INIT;
    struct csv_writer w;
    int ret = -1;

    csv_writer_init(&w, &sb, 0);
    if (csv_header(&w, names, sizeof(names) / sizeof(names[0]), err))
        goto out;
    for (size_t i = 0; i < aa->result.values_nr * AA_TWINS; i++) {
        const struct aa_value *v = &aa->result.value[i / AA_TWINS];
        const struct aa_twin *t = &v->twin[i % AA_TWINS];
        csv_int(&w, ROWS_SCHEMA);
        csv_int(&w, v->trial);
        csv_text(&w, aa->result.item[v->at].id);
        csv_real(&w, aa_effect[i % AA_TWINS]);
        csv_real(&w, t->lo);
        csv_real(&w, t->hi);
        csv_text(&w, verdict_name(t->verdict));
        if (csv_end_row(&w, err))
            goto out;
    }
    ret = write_file(aa, "aa_twin.csv", &sb, err);
out:
    strbuf_release(&sb);
    return ret;
}

/* ---- JSON ---- */

static void set_text(json_t *o, const char *key, const char *value)
{
    json_t *v = json_string(value ? value : "");
    json_object_set_new(o, key, v ? v : json_string("(not UTF-8)"));
}

static void set_real(json_t *o, const char *key, double value)
{
    if (isfinite(value))
        json_object_set_new(o, key, json_real(value));
}

static void set_rate(json_t *o, const char *key, const struct aa_rate *rate)
{
    json_t *r = json_object();

    json_object_set_new(r, "hits", json_integer((json_int_t)rate->hits));
    json_object_set_new(r, "of", json_integer((json_int_t)rate->nr));
    set_real(r, "share", rate->share);
    set_real(r, "lo", rate->lo);
    set_real(r, "hi", rate->hi);
    json_object_set_new(o, key, r);
}

static json_t *rates_json(const struct aa_rates *rates)
{
    json_t *o = json_object(), *twins = json_array();

    set_real(o, "median_ns", rates->median_ns);
    set_real(o, "floor", rates->floor);
    set_rate(o, "false_alarm", &rates->false_alarm);
    set_rate(o, "excluded_zero", &rates->excluded_zero);
    set_rate(o, "same", &rates->same);
    set_rate(o, "unsure", &rates->unsure);
    for (size_t t = 0; t < AA_TWINS; t++) {
        json_t *twin = json_object();
        set_real(twin, "injected", aa_effect[t]);
        set_rate(twin, "slower", &rates->power[t]);
        set_rate(twin, "covers", &rates->covers[t]);
        json_array_append_new(twins, twin);
    }
    json_object_set_new(o, "twin", twins);
    return o;
}

static int add_rates(const struct aa *aa, json_t *all, struct err *err)
{
    json_t *list = json_array();
    struct aa_rates rates;

    json_object_set_new(all, "cases", list);
    for (size_t i = 0; i < aa->result.nr; i++) {
        if (aa_result_rates(&aa->result, i, &rates, err))
            return -1;
        json_t *o = rates_json(&rates);
        set_text(o, "case_id", aa->result.item[i].id);
        if (aa->result.item[i].failed)
            set_text(o, "failed", aa->result.item[i].failed);
        json_array_append_new(list, o);
    }
    if (aa_result_rates(&aa->result, AA_POOLED, &rates, err))
        return -1;
    json_object_set_new(all, "pooled", rates_json(&rates));
    return 0;
}

static void add_arms(const struct aa *aa, json_t *o)
{
    json_t *list = json_array();

    for (size_t i = 0; i < aa->arms.nr; i++)
        json_array_append_new(list, json_string(aa->arms.items[i]));
    json_object_set_new(o, "arms", list);
}

static json_t *head_json(const struct aa *aa, const char *status)
{
    json_t *all = json_object();
    struct strbuf stamp = STRBUF_INIT;

    add_stamp(&stamp, "%Y-%m-%dT%H:%M:%SZ");
    json_object_set_new(all, "schema", json_integer(ROWS_SCHEMA));
    set_text(all, "status", status);
    set_text(all, "ended_utc", stamp.buf);
    add_arms(aa, all);
    json_object_set_new(all, "trials_asked", json_integer(aa->trials));
    json_object_set_new(all, "trials", json_integer(aa->result.trials));
    json_object_set_new(all, "first_seed", json_integer((json_int_t)aa->probe.plan.set.seed));
    set_real(all, "noise_floor_assumed", aa->delta_floor);
    set_text(all, "profile", aa->profile ? file_base(aa->profile) : "");
    strbuf_release(&stamp);
    return all;
}

int aa_write(const struct aa *aa, const char *status, struct err *err)
{
    struct strbuf text = STRBUF_INIT;
    json_t *all = head_json(aa, status);
    int ret = -1;

    if (write_values(aa, err) || write_twins(aa, err) || add_rates(aa, all, err))
        goto out;
    json_object_set_new(all, "octaves", noise_floors_json(&aa->floors));
    if (aa->run)
        json_object_set(all, "run", aa->run);
    if (aa->warnings)
        json_object_set(all, "warnings", aa->warnings);
    char *dump = json_dumps(all, JSON_INDENT(2) | JSON_REAL_PRECISION(12));
    if (!dump) {
        err_memory(err);
        goto out;
    }
    strbuf_addf(&text, "%s\n", dump);
    free(dump);
    ret = write_file(aa, "aa.json", &text, err);
out:
    strbuf_release(&text);
    json_decref(all);
    return ret;
}

/* What of the first trial's run.json holds for all of them. */
void aa_take_provenance(struct aa *aa, const json_t *run)
{
    static const char *const keys[] = {"protocol",  "started_utc", "config_name", "config_text",
                                       "plan_hash", "device",      "host",        "bench",
                                       "libraries", "settings",    "command"};

    aa->run = json_object();
    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
        json_t *value = json_object_get(run, keys[i]);
        if (value)
            json_object_set(aa->run, keys[i], value);
    }
}

/* ---- machine profile ---- */

int aa_write_profile(struct aa *aa, struct err *err)
{
    const struct plan_settings *set = &aa->probe.plan.set;
    struct profile_key key = session_profile_key(&aa->probe);
    struct strbuf text = STRBUF_INIT;
    json_t *about = json_object();

    add_stamp(&text, "%Y-%m-%dT%H:%M:%SZ");
    set_text(about, "measured_utc", text.buf);
    strbuf_reset(&text);
    strbuf_addf(&text, "%dx%d", set->processes, set->rounds);
    set_text(about, "rounds", text.buf);
    set_text(about, "config", aa->probe.plan.config_name);
    add_arms(aa, about);
    json_object_set_new(about, "trials", json_integer(aa->result.trials));
    strbuf_release(&text);
    int ret = profile_write(&key, &aa->floors, about, err);
    json_decref(about);
    if (ret)
        return -1;
    aa->profile = profile_path(&aa->probe.info, err);
    return aa->profile ? 0 : -1;
}
