/*
 * store_merge.c - what workers say, into the journal and the rows.
 */
#include <stdlib.h>
#include <string.h>

#include "file.h"
#include "store.h"

static struct case_row *row_find(struct case_table *t, const char *case_id, const char *arm)
{
    for (size_t i = 0; i < t->nr; i++)
        if (!strcmp(t->row[i].case_id, case_id) && !strcmp(t->row[i].arm, arm))
            return &t->row[i];
    return NULL;
}

/* Statuses from best to worst: what one replicate found, the case keeps. */
static int badness(const char *status)
{
    static const char *const order[] = {"ok", "skip", "oom", "env", "timeout", "crash", "wrong"};
    for (int i = 0; i < (int)(sizeof(order) / sizeof(order[0])); i++)
        if (status && !strcmp(status, order[i]))
            return i;
    return 0;
}

static double larger(double a, double b)
{
    return !(a >= b) ? b : a;
}

static int row_merge(struct case_row *have, const struct case_row *got, struct err *err)
{
    have->max_abs_err = larger(have->max_abs_err, got->max_abs_err);
    have->rel_l2 = larger(have->rel_l2, got->rel_l2);
    have->emulated_rel_l2 = larger(have->emulated_rel_l2, got->emulated_rel_l2);
    if (got->cosine < have->cosine)
        have->cosine = got->cosine;
    if (got->bits_equal && !strcmp(got->bits_equal, "no") && row_set(&have->bits_equal, "no", err))
        return -1;
    if (badness(got->status) <= badness(have->status))
        return 0;
    if (row_set(&have->status, got->status, err) ||
        row_set(&have->status_text, got->status_text, err))
        return -1;
    if (got->check_before && row_set(&have->check_before, got->check_before, err))
        return -1;
    return got->check_after ? row_set(&have->check_after, got->check_after, err) : 0;
}

static int row_take(struct case_table *t, struct case_row *from, struct err *err)
{
    struct case_row *row = case_table_add(t, err);
    if (!row)
        return -1;
    free(row->axis);
    *row = *from;
    case_row_init(from);
    return 0;
}

int store_rows(struct store *s, const char *rows, struct err *err)
{
    struct case_table got;
    int ret = -1;

    case_table_init(&got);
    if (case_table_read_text(&got, "a worker's rows", rows, err))
        goto out;
    if (!s->cases.axes.nr)
        for (size_t i = 0; i < got.axes.nr; i++)
            if (text_list_add(&s->cases.axes, got.axes.items[i], err))
                goto out;
    for (size_t i = 0; i < got.nr; i++) {
        struct case_row *have = row_find(&s->cases, got.row[i].case_id, got.row[i].arm);
        if (have ? row_merge(have, &got.row[i], err) : row_take(&s->cases, &got.row[i], err))
            goto out;
    }
    ret = 0;
out:
    case_table_release(&got);
    return ret;
}

int store_status(struct store *s, const char *case_id, const char *arm, const char *status,
                 const char *text, struct err *err)
{
    struct case_row *row = row_find(&s->cases, case_id, arm);
    if (!row)
        return err_set(err, ERR_BUG, "no row for arm '%s' of case '%s'", arm, case_id);
    if (badness(status) < badness(row->status))
        return 0;
    return row_set(&row->status, status, err) || row_set(&row->status_text, text, err) ? -1 : 0;
}

static int append_samples(struct store *s, const char *text, struct err *err)
{
    struct sample_table got;
    int ret = -1;

    sample_table_init(&got);
    char *path = s->dir ? store_path(s, "samples.csv", err) : NULL;
    /* Parse before anything is written: what cannot be read back must not get into the journal. */
    if ((s->dir && !path) || sample_table_read_text(&got, "a worker's samples", text, err) ||
        (path && file_append(path, text, strlen(text), err)))
        goto out;
    for (size_t i = 0; i < got.nr; i++) {
        struct sample_row *row = sample_table_add(&s->samples, err);
        if (!row)
            goto out;
        *row = got.row[i];
        sample_row_init(&got.row[i]);
    }
    s->journal_bytes += strlen(text);
    const struct sample_row *last = got.nr ? &s->samples.row[s->samples.nr - 1] : NULL;
    ret = last ? store_journal_add(s, last->case_id, last->process, got.nr, err) : 0;
out:
    free(path);
    sample_table_release(&got);
    return ret;
}

int store_seal(struct store *s, const char *rows, const char *samples, struct err *err)
{
    return append_samples(s, samples, err) || store_rows(s, rows, err) ? -1 : 0;
}

int store_summarise(struct store *s, const char *case_id, struct err *err)
{
    if (summary_case(&s->cases, &s->samples, case_id, &s->set, err))
        return -1;
    return store_budget_reasons(s, case_id, err);
}

int store_derive(struct store *s, const char *case_id, struct err *err)
{
    struct err why = ERR_INIT;

    if (!store_summarise(s, case_id, &why))
        return 0;
    return err_set(err, why.kind == ERR_BUG ? ERR_CONFIG : why.kind,
                   "the samples of case '%.200s' do not fit together: %s", case_id, why.text);
}
