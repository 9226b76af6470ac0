/*
 * store_resume.c - which replicates are sealed, and dropping the others.
 *
 * `journal` of run.json: {"bytes": length of samples.csv, "rows": lines of cases.csv,
 * "cases": {CASE: [samples of each replicate]}}.
 */
#include <stdlib.h>
#include <string.h>

#include "file.h"
#include "store.h"

/* ---- what run.json says ---- */

int store_journal_add(struct store *s, const char *case_id, int64_t process, size_t nr,
                      struct err *err)
{
    json_t *counts;

    if (!s->sealed && !(s->sealed = json_object()))
        return err_memory(err);
    counts = json_object_get(s->sealed, case_id);
    if (!counts) {
        counts = json_array();
        if (json_object_set_new(s->sealed, case_id, counts))
            return err_memory(err);
    }
    /* Replicates of a case are sealed in order; one that is missing in between holds nothing. */
    while ((int64_t)json_array_size(counts) <= process)
        if (json_array_append_new(counts, json_integer(0)))
            return err_memory(err);
    json_int_t have = json_integer_value(json_array_get(counts, (size_t)process));
    return json_array_set_new(counts, (size_t)process, json_integer(have + (json_int_t)nr))
               ? err_memory(err)
               : 0;
}

int store_journal_count(struct store *s, struct err *err)
{
    json_decref(s->sealed);
    s->sealed = json_object();
    for (size_t i = 0; i < s->samples.nr; i++) {
        const struct sample_row *row = &s->samples.row[i];
        if (row->process >= 0 && store_journal_add(s, row->case_id, row->process, 1, err))
            return -1;
    }
    return s->sealed ? 0 : err_memory(err);
}

int store_journal_write(struct store *s, struct err *err)
{
    json_t *journal = json_pack("{s:I, s:I, s:O?}", "bytes", (json_int_t)s->journal_bytes, "rows",
                                (json_int_t)s->cases.nr, "cases", s->sealed);

    return !journal || json_object_set_new(s->run, "journal", journal) ? err_memory(err) : 0;
}

void store_journal_read(struct store *s)
{
    const json_t *journal = json_object_get(s->run, "journal");
    json_t *cases = json_object_get(journal, "cases");
    json_int_t rows = json_integer_value(json_object_get(journal, "rows"));
    json_int_t bytes = json_integer_value(json_object_get(journal, "bytes"));

    s->journal_bytes = bytes > 0 ? (size_t)bytes : SIZE_MAX;
    s->sealed = json_is_object(cases) ? json_deep_copy(cases) : NULL;
    s->rows_lost = rows > (json_int_t)s->cases.nr ? (size_t)rows - s->cases.nr : 0;
}

/* ---- what is whole ---- */

/* How many samples of each counted replicate samples.csv holds, in the form of s->sealed. */
static json_t *count_present(const struct store *s)
{
    json_t *present = json_deep_copy(s->sealed), *counts, *v;
    const char *id;
    size_t p;

    json_object_foreach(present, id, counts)
    {
        for (p = 0; p < json_array_size(counts); p++)
            json_array_set_new(counts, p, json_integer(0));
    }
    for (size_t i = 0; present && i < s->samples.nr; i++) {
        const struct sample_row *row = &s->samples.row[i];
        counts = json_object_get(present, row->case_id);
        if (row->process < 0 || row->process >= (int64_t)json_array_size(counts))
            continue;
        v = json_array_get(counts, (size_t)row->process);
        json_integer_set(v, json_integer_value(v) + 1);
    }
    return present;
}

/* Replicates from the first that are there with all their samples. */
static size_t leading_whole(const json_t *want, const json_t *present)
{
    size_t nr = 0;

    while (nr < json_array_size(want) && json_integer_value(json_array_get(want, nr)) > 0 &&
           json_integer_value(json_array_get(want, nr)) ==
               json_integer_value(json_array_get(present, nr)))
        nr++;
    return nr;
}

static bool is_listed(const struct text_list *list, const char *id)
{
    for (size_t i = 0; list && i < list->nr; i++)
        if (!strcmp(list->items[i], id))
            return true;
    return false;
}

static bool has_row(const struct store *s, const char *case_id)
{
    for (size_t i = 0; i < s->cases.nr; i++)
        if (!strcmp(s->cases.row[i].case_id, case_id))
            return true;
    return false;
}

/* The case goes on from replicate `kept` of the `sealed` that it had. */
static void forget_progress(struct store *s, const char *id, size_t kept, size_t sealed)
{
    json_t *walls = json_object_get(s->run, "wall_s"), *wall = json_object_get(walls, id);
    json_t *finished = json_object_get(s->run, "finished");

    if (wall && sealed)
        json_object_set_new(walls, id,
                            json_real(json_number_value(wall) * (double)kept / (double)sealed));
    if (json_object_get(finished, id))
        json_object_set_new(finished, id, json_false());
    json_object_del(json_object_get(s->run, "budget"), id);
}

/* An older run.json counts nothing: cases.csv says how many replicates are sealed. */
static int count_older(struct store *s, struct err *err)
{
    json_t *counts;
    const char *id;

    if (store_journal_count(s, err))
        return -1;
    json_object_foreach(s->sealed, id, counts)
    {
        int sealed = store_sealed(s, id), partial = store_partial_process(s, id);
        size_t limit = (size_t)(partial >= 0 && partial < sealed ? partial : sealed);
        while (json_array_size(counts) > limit)
            json_array_remove(counts, json_array_size(counts) - 1);
    }
    return 0;
}

/* case id -> how many of its replicates are kept. NULL without memory. */
static json_t *choose_kept(struct store *s, const struct text_list *redo, size_t *lost)
{
    json_t *kept = json_object(), *present = count_present(s), *want;
    const char *id;

    json_object_foreach(s->sealed, id, want)
    {
        size_t sealed = json_array_size(want), nr = 0;
        if (has_row(s, id) && !is_listed(redo, id))
            nr = leading_whole(want, json_object_get(present, id));
        json_object_set_new(kept, id, json_integer((json_int_t)nr));
        if (nr == sealed)
            continue;
        *lost += sealed - nr;
        forget_progress(s, id, nr, sealed);
    }
    for (size_t i = 0; redo && i < redo->nr; i++)
        if (!json_object_get(s->sealed, redo->items[i]))
            forget_progress(s, redo->items[i], 0, 0);
    json_decref(present);
    return kept;
}

static int64_t kept_of(const json_t *kept, const char *case_id)
{
    return json_integer_value(json_object_get(kept, case_id));
}

static void drop_samples(struct store *s, const json_t *kept)
{
    size_t nr = 0;

    for (size_t i = 0; i < s->samples.nr; i++) {
        struct sample_row *row = &s->samples.row[i];
        if (row->process >= 0 && row->process < kept_of(kept, row->case_id))
            s->samples.row[nr++] = *row;
        else
            sample_row_release(row);
    }
    s->samples.nr = nr;
}

/* ---- on disk ---- */

/* What lies behind the sealed lines is cut off, which needs no room on a full disk. Only where
 * lines in between go is the file written anew. */
static int rewrite_journal(struct store *s, struct err *err)
{
    struct strbuf want = STRBUF_INIT, have = STRBUF_INIT;
    char *path = store_path(s, "samples.csv", err);
    int ret = -1;

    if (!path || sample_table_write(&s->samples, 0, 1, &want, err) ||
        (file_exists(path) && file_read(path, &have, CSV_MAX_BYTES, err)))
        goto out;
    if (want.oom || have.oom)
        err_memory(err);
    else if (have.len < want.len || memcmp(have.buf, want.buf, want.len) != 0)
        ret = file_write(path, want.buf, want.len, err);
    else
        ret = have.len > want.len ? file_truncate(path, want.len, err) : 0;
    s->journal_bytes = want.len;
out:
    strbuf_release(&want);
    strbuf_release(&have);
    free(path);
    return ret;
}

static int say_lost(struct store *s, size_t lost, size_t redo, struct err *err)
{
    char text[512];

    if (s->rows_lost) {
        snprintf(text, sizeof(text),
                 "'%s/cases.csv' lacks %zu of its lines: %zu case%s run%s again", s->dir,
                 s->rows_lost, redo, redo == 1 ? "" : "s", redo == 1 ? "s" : "");
        return text_list_add(&s->notes, text, err);
    }
    snprintf(text, sizeof(text),
             "'%s/samples.csv' lacks samples of %zu sealed replicate%s, which "
             "run%s again",
             s->dir, lost, lost == 1 ? "" : "s", lost == 1 ? "s" : "");
    return text_list_add(&s->notes, text, err);
}

int store_resume(struct store *s, const struct text_list *redo, struct err *err)
{
    size_t lost = 0, again = redo ? redo->nr : 0;
    json_t *kept;
    int ret = -1;

    if (!s->sealed && count_older(s, err))
        return -1;
    kept = choose_kept(s, redo, &lost);
    if (!kept)
        return err_memory(err);
    json_object_del(s->run, "partial");
    drop_samples(s, kept);
    if (((lost || again) && say_lost(s, lost, again, err)) || store_journal_count(s, err) ||
        rewrite_journal(s, err))
        goto out;
    for (size_t i = 0; i < s->cases.nr; i++) {
        const char *id = s->cases.row[i].case_id;
        if (s->cases.row[i].processes <= kept_of(kept, id))
            continue;
        if (store_derive(s, id, err))
            goto out;
    }
    ret = 0;
out:
    json_decref(kept);
    return ret;
}
