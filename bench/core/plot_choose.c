/*
 * plot_choose.c - which charts a folder's rows allow, and what they show.
 */
#include "plot_internal.h"

#include <math.h>
#include <string.h>

#include "file.h"

/* Columns that say nothing beside the sequence length, or that follow from another column. */
static const char *const not_by[] = {"seqlen",  "seqlen_q", "seqlen_k",
                                     "density", "topk",     "kv_heads"};

#define NR(a) (sizeof(a) / sizeof((a)[0]))

bool plotter_draws(const struct plotter *p, const struct case_row *row)
{
    return row->status && !strcmp(row->status, "ok") && row->span_median_ns > 0 &&
           (!p->device || (row->device && !strcmp(row->device, p->device)));
}

bool plotter_has_bars(const struct plotter *p)
{
    for (size_t i = 0; i < p->cases.nr; i++)
        if (plotter_draws(p, &p->cases.row[i]))
            return true;
    return false;
}

static bool is_compared(const struct plotter *p, const struct case_row *row)
{
    return plotter_draws(p, row) && !isnan(row->ratio) &&
           (!row->problem || strcmp(row->problem, "across") != 0);
}

bool plotter_has_forest(const struct plotter *p)
{
    size_t nr = 0;
    for (size_t i = 0; i < p->cases.nr; i++)
        nr += is_compared(p, &p->cases.row[i]);
    return nr > 1;
}

bool plotter_has_latency(const struct plotter *p)
{
    const char *first = NULL;

    for (size_t i = 0; i < p->cases.nr; i++) {
        const struct case_row *row = &p->cases.row[i];
        const char *s = case_table_axis(&p->cases, row, "seqlen_k");

        if (!s || !plotter_draws(p, row))
            continue;
        if (first && strcmp(first, s) != 0)
            return true;
        first = s;
    }
    return false;
}

bool plotter_has_run_order(const struct plotter *p)
{
    struct strbuf path = STRBUF_INIT;
    file_add_path(&path, p->dir, "samples.csv");
    bool found = !path.oom && file_exists(path.buf) && plotter_has_bars(p);
    strbuf_release(&path);
    return found;
}

const char *plotter_run_order_case(const struct plotter *p)
{
    const char *first = NULL, *best = NULL;
    double most = -1;

    for (size_t i = 0; i < p->cases.nr; i++) {
        const struct case_row *row = &p->cases.row[i];

        if (!plotter_draws(p, row))
            continue;
        first = first ? first : row->case_id;
        bool candidate = row->role && !strcmp(row->role, "candidate");
        if (candidate && is_compared(p, row) && fabs(log(row->ratio)) > most) {
            most = fabs(log(row->ratio));
            best = row->case_id;
        }
    }
    return best ? best : first;
}

static bool same_text(const char *a, const char *b)
{
    return a && b && !strcmp(a, b);
}

/* Whether two cases of one sweep and one length differ in that axis: then it tells lines apart. */
static bool tells_apart(const struct plotter *p, size_t axis)
{
    const struct case_table *t = &p->cases;

    for (size_t i = 0; i < t->nr; i++) {
        for (size_t k = i + 1; k < t->nr; k++) {
            const struct case_row *a = &t->row[i], *b = &t->row[k];
            const char *x = case_table_axis(t, a, "seqlen_k"),
                       *y = case_table_axis(t, b, "seqlen_k");

            if (same_text(x, y) && same_text(a->sweep, b->sweep) && a->axis[axis] &&
                b->axis[axis] && strcmp(a->axis[axis], b->axis[axis]) != 0)
                return true;
        }
    }
    return false;
}

void plotter_find_by(struct plotter *p)
{
    strbuf_addstr(&p->by, "sweep density_asked");
    for (size_t i = 0; i < p->cases.axes.nr; i++) {
        const char *name = p->cases.axes.items[i];
        bool passed_over = false;

        for (size_t k = 0; k < NR(not_by); k++)
            passed_over |= !strcmp(name, not_by[k]);
        if (!passed_over && tells_apart(p, i))
            strbuf_addf(&p->by, " %s", name);
    }
}
