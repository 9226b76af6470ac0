/*
 * report_table.c - the Markdown tables: change per case for each candidate arm, or times where
 * there is no candidate.
 */
#include "report_table.h"

#include <math.h>
#include <stdlib.h>

static void add_head(const struct table *t, struct strbuf *out)
{
    size_t nr;
    const struct column *c = table_columns(t, &nr);

    for (size_t i = 0; i < nr; i++) {
        if (!c[i].used(t))
            continue;
        strbuf_addstr(out, "| ");
        c[i].head(t, out);
        strbuf_addch(out, ' ');
    }
    strbuf_addstr(out, "|\n");
    for (size_t i = 0; i < nr; i++)
        if (c[i].used(t))
            strbuf_addf(out, "|%s", c[i].align);
    strbuf_addstr(out, "|\n");
}

static void add_line(const struct table *t, size_t row, struct strbuf *out)
{
    size_t nr;
    const struct column *c = table_columns(t, &nr);

    for (size_t i = 0; i < nr; i++) {
        if (!c[i].used(t))
            continue;
        strbuf_addstr(out, "| ");
        c[i].cell(t, row, out);
        strbuf_addch(out, ' ');
    }
    strbuf_addstr(out, "|\n");
}

static void add_rows(const struct table *t, size_t from, size_t to, size_t room, struct strbuf *out)
{
    size_t begin = out->len;

    add_head(t, out);
    for (size_t i = from; i < to; i++) {
        add_line(t, t->order[i], out);
        if (out->len - begin > room && i + 1 < to) {
            strbuf_addf(out, "\n%zu more rows stand in cases.csv.\n", to - i - 1);
            return;
        }
    }
}

struct keyed_row {
    double key; /* ratio, -INFINITY where there is none */
    size_t row;
};

static int compare_rows(const void *a, const void *b)
{
    const struct keyed_row *x = a, *y = b;

    if (x->key != y->key)
        return x->key > y->key ? -1 : 1;
    return x->row < y->row ? -1 : x->row > y->row;
}

static void note_columns(struct table *t, const struct case_row *row)
{
    t->limit |= !isnan(row->limit_pct);
    t->activities |= row->activities > 0 && !cell_is(row->timer_used, "monotonic");
    t->resources |= row->registers >= 0;
    t->errors |= !isnan(row->max_abs_err);
    t->rates |= !isnan(row->tflops) || !isnan(row->gbps);
}

/* Slowest change first, rows without one last; times keep the order of the file. */
static int choose_rows(struct table *t, struct err *err)
{
    const struct case_table *cases = t->view->cases;
    struct keyed_row *keyed = calloc(cases->nr + 1, sizeof(*keyed));

    t->order = calloc(cases->nr + 1, sizeof(*t->order));
    if (!keyed || !t->order) {
        free(keyed);
        return err_memory(err);
    }
    for (size_t i = 0; i < cases->nr; i++) {
        const struct case_row *row = &cases->row[i];

        if (t->arm && (!report_is_compared(row) || !cell_is(row->arm, t->arm)))
            continue;
        bool judged = t->arm && report_is_ok(row) && !isnan(row->ratio);
        keyed[t->nr].key = judged ? row->ratio : -INFINITY;
        keyed[t->nr++].row = i;
        note_columns(t, row);
    }
    qsort(keyed, t->nr, sizeof(*keyed), compare_rows);
    for (size_t i = 0; i < t->nr; i++)
        t->order[i] = keyed[i].row;
    free(keyed);
    return 0;
}

static int add_table(const struct report_view *view, const char *arm, size_t room,
                     struct strbuf *out, struct err *err)
{
    struct table t = {.view = view, .arm = arm, .unit_ns = time_unit(view->cases)};

    if (choose_rows(&t, err)) {
        free(t.order);
        return -1;
    }
    if (view->candidates.nr > 1) {
        strbuf_addstr(out, "**");
        add_escaped(out, arm);
        strbuf_addstr(out, " against ");
        add_escaped(out, table_base_name(&t));
        strbuf_addstr(out, "**\n\n");
    }
    size_t shown = t.nr <= REPORT_VISIBLE_ROWS ? t.nr : REPORT_VISIBLE_ROWS;
    add_rows(&t, 0, shown, room, out);
    if (shown < t.nr) {
        strbuf_addf(out, "\n<details><summary>%zu more rows</summary>\n\n", t.nr - shown);
        add_rows(&t, shown, t.nr, room > 9000 ? room - 9000 : 1000, out);
        strbuf_addstr(out, "\n</details>\n");
    }
    strbuf_addch(out, '\n');
    free(t.order);
    return 0;
}

int report_tables(const struct report_view *view, struct strbuf *out, struct err *err)
{
    size_t nr = view->candidates.nr;

    if (!view->cases->nr) {
        strbuf_addstr(out, "No row was sealed.\n\n");
        return 0;
    }
    if (!nr)
        return add_table(view, NULL, REPORT_TABLE_CHARS, out, err);
    for (size_t i = 0; i < nr; i++)
        if (add_table(view, view->candidates.items[i], REPORT_TABLE_CHARS / nr, out, err))
            return -1;
    return 0;
}
