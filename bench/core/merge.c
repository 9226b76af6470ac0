/*
 * merge.c - joins runs: samples, rows, and what run.json says of each case.
 */
#include "merge.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "folder.h"
#include "report_internal.h"

/* ---- samples and rows ---- */

/* A replicate that Ctrl-C cut short is not sealed: its samples stay behind. */
static bool is_sealed(const struct store *in, const struct sample_row *row)
{
    return store_partial_process(in, row->case_id) != (int)row->process;
}

/* Moves the samples over; returns the number of processes, or -1. */
static int64_t take_samples(struct store *out, struct store *in, int64_t first, struct err *err)
{
    int64_t processes = 0;

    for (size_t i = 0; i < in->samples.nr; i++) {
        struct sample_row *from = &in->samples.row[i];

        if (from->process >= processes)
            processes = from->process + 1;
        if (first + processes > ROWS_PROCESSES_MAX)
            return err_set(err, ERR_CONFIG,
                           "the runs have more than %d processes together: merge fewer",
                           ROWS_PROCESSES_MAX);
        if (!is_sealed(in, from))
            continue;
        struct sample_row *row = sample_table_add(&out->samples, err);
        if (!row)
            return -1;
        *row = *from;
        sample_row_init(from);
        row->process += first;
    }
    return processes;
}

static bool is_listed(const struct text_list *list, const char *name)
{
    for (size_t i = 0; i < list->nr; i++)
        if (!strcmp(list->items[i], name))
            return true;
    return false;
}

static int list_once(struct text_list *list, const char *name, struct err *err)
{
    return is_listed(list, name) ? 0 : text_list_add(list, name, err);
}

/* Runs on several GPUs may have dealt their cases out otherwise. */
static int check_gpus(const struct store *out, const struct store *in, const char *dir,
                      struct err *err)
{
    for (size_t i = 0; i < in->cases.nr; i++) {
        const struct case_row *b = &in->cases.row[i];
        for (size_t k = 0; b->device_uuid && k < out->cases.nr; k++) {
            const struct case_row *a = &out->cases.row[k];
            if (!strcmp(a->case_id, b->case_id) && a->device_uuid &&
                strcmp(a->device_uuid, b->device_uuid))
                return err_set(err, ERR_CONFIG,
                               "case '%s' ran on GPU %s in '%s', on %s in a run before it; "
                               "--across-gpus joins them all the same",
                               b->case_id, b->device_uuid, dir, a->device_uuid);
        }
    }
    return 0;
}

/* Rows go through CSV as those of a worker do: what one run found wrong, the whole keeps. */
static int take_rows(struct store *out, const struct store *in, struct err *err)
{
    struct strbuf sb = STRBUF_INIT;
    int ret = case_table_write(&in->cases, &sb, err);

    if (!ret)
        ret = sb.oom ? err_memory(err) : store_rows(out, sb.buf, err);
    for (size_t i = 0; !ret && i < in->cases.nr; i++)
        ret = list_once(&out->case_order, in->cases.row[i].case_id, err) ||
              list_once(&out->arm_order, in->cases.row[i].arm, err);
    strbuf_release(&sb);
    return ret ? -1 : 0;
}

/* ---- run.json ---- */

static void take_settings(struct store *out, struct noise_floors *floors)
{
    const json_t *run = out->run;
    double gate = run_real(run, "settings", "gate_slower");

    out->set.delta = fmax(0.005, run_real(run, "settings", "delta"));
    out->set.noise_floor = fmax(0, run_real(run, "settings", "noise_floor"));
    out->set.gate_slower = isnan(gate) ? -1 : gate;
    folder_noise_floors(run, floors);
    out->set.floors = floors;
    out->set.rounds_named = json_is_true(run_at(run, "settings", "rounds_named"));
}

/* Members by case: a case is finished where one run finished it, out of budget likewise. */
static void join_cases(json_t *run, const json_t *from, const char *group, bool sum)
{
    json_t *into = json_object_get(run, group), *v;
    const char *id;

    if (!into) {
        into = json_object();
        json_object_set_new(run, group, into);
    }
    json_object_foreach(json_object_get(from, group), id, v)
    {
        const json_t *have = json_object_get(into, id);
        if (sum)
            json_object_set_new(into, id,
                                json_real(json_number_value(have) + json_number_value(v)));
        else if (!json_is_true(have))
            json_object_set(into, id, v);
    }
}

static void join_warnings(json_t *run, const json_t *from)
{
    json_t *into = json_object_get(run, "warnings"), *v, *w;
    size_t i, k;

    if (!json_is_array(into)) {
        into = json_array();
        json_object_set_new(run, "warnings", into);
    }
    json_array_foreach(json_object_get(from, "warnings"), i, v)
    {
        bool have = false;
        json_array_foreach(into, k, w) have |= json_equal(v, w);
        if (!have)
            json_array_append(into, v);
    }
}

static void join_times(json_t *run, const json_t *from)
{
    const char *start = run_text(from, NULL, "started_utc"),
               *end = run_text(from, NULL, "ended_utc");

    /* ISO 8601 in UTC sorts as text. */
    if (strcmp(start, run_text(run, NULL, "started_utc")) < 0)
        json_object_set_new(run, "started_utc", json_string(start));
    if (strcmp(end, run_text(run, NULL, "ended_utc")) > 0)
        json_object_set_new(run, "ended_utc", json_string(end));
}

static int join_run(struct store *out, const char *dir, const json_t *from, int64_t first,
                    int64_t processes, struct err *err)
{
    json_t *run = out->run, *list = json_object_get(run, "merged_from");
    json_t *settings = json_object_get(run, "settings");
    json_t *origin = json_pack(
        "{s:s, s:s, s:s, s:s, s:s, s:I, s:I}", "dir", dir, "run_id", run_text(from, NULL, "run_id"),
        "started_utc", run_text(from, NULL, "started_utc"), "device",
        run_text(from, "device", "name"), "uuid", run_text(from, "device", "uuid"), "first_process",
        (json_int_t)first, "processes", (json_int_t)processes);

    if (!origin || json_array_append_new(list, origin))
        return err_memory(err);
    join_times(run, from);
    join_cases(run, from, "finished", false);
    join_cases(run, from, "budget", false);
    join_cases(run, from, "wall_s", true);
    join_warnings(run, from);
    if (settings)
        json_object_set_new(settings, "processes",
                            json_integer((json_int_t)first + (json_int_t)processes));
    if (strcmp(run_text(from, NULL, "status"), "complete"))
        json_object_set_new(run, "status", json_string(run_text(from, NULL, "status")));
    if (strcmp(run_text(from, "device", "uuid"), run_text(run, "device", "uuid")))
        json_object_set_new(json_object_get(run, "device"), "uuid", json_string("several"));
    return 0;
}

/* From the first run's, without what is added up or derived. */
static int begin_run(struct store *out, const struct merge_request *r, const json_t *first,
                     struct noise_floors *floors, struct err *err)
{
    static const char *const gone[] = {"partial", "files",  "finished", "budget", "journal",
                                       "wall_s",  "rounds", "clocks",   "summary"};
    json_t *command = json_array();
    char id[64];

    out->run = json_deep_copy(first);
    if (!out->run || !command)
        return err_memory(err);
    for (size_t i = 0; i < sizeof(gone) / sizeof(gone[0]); i++)
        json_object_del(out->run, gone[i]);
    json_array_append_new(command, json_string("merge"));
    for (int i = 0; i < r->argc; i++)
        json_array_append_new(command, json_string(r->argv[i]));
    snprintf(id, sizeof(id), "%.8s-%lx-%d", run_text(first, NULL, "plan_hash"),
             (unsigned long)time(NULL), (int)getpid());
    json_object_set_new(out->run, "run_id", json_string(id));
    json_object_set_new(out->run, "status", json_string("complete"));
    json_object_set_new(out->run, "command", command);
    json_object_set_new(out->run, "merged_from", json_array());
    take_settings(out, floors);
    return 0;
}

/* ---- the whole ---- */

static int join(const struct merge_request *r, struct store *out, struct noise_floors *floors,
                struct err *err)
{
    int64_t first = 0;
    int ret = 0;

    for (size_t i = 0; !ret && i < r->nr; i++) {
        struct store in;
        int64_t processes;

        store_init(&in);
        ret = store_open(&in, r->in[i], false, err);
        if (!ret && !i)
            ret = begin_run(out, r, in.run, floors, err);
        processes = ret ? -1 : take_samples(out, &in, first, err);
        if (processes < 0 || (!r->across_gpus && check_gpus(out, &in, r->in[i], err)) ||
            take_rows(out, &in, err) || join_run(out, r->in[i], in.run, first, processes, err))
            ret = -1;
        first += processes;
        store_release(&in);
    }
    return ret;
}

static int derive(struct store *out, struct err *err)
{
    const char *run_id = run_text(out->run, NULL, "run_id");

    for (size_t i = 0; i < out->cases.nr; i++)
        if (row_set(&out->cases.row[i].run_id, run_id, err))
            return -1;
    for (size_t i = 0; i < out->case_order.nr; i++)
        if (store_derive(out, out->case_order.items[i], err))
            return -1;
    return 0;
}

int merge_runs(const struct merge_request *r, struct store *out, struct text_list *notes,
               struct err *err)
{
    json_t **run = calloc(r->nr + 1, sizeof(*run));
    struct noise_floors floors;
    int ret = run ? 0 : err_memory(err);

    for (size_t i = 0; !ret && i < r->nr; i++)
        ret = folder_read_run(r->in[i], &run[i], err);
    /* The journal is written by store_create(), from the samples that are there by then. */
    if (!ret)
        ret = merge_check(r, run, notes, err) || join(r, out, &floors, err) || derive(out, err) ||
              store_create(out, r->out, r->force, err) || store_write(out, true, err);
    out->set.floors = NULL; /* ours, and nothing is left to be derived */
    for (size_t i = 0; run && i < r->nr; i++)
        json_decref(run[i]);
    free(run);
    return ret ? -1 : 0;
}
