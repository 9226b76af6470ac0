/*
 * plot_choose.c - which charts a folder's rows allow, and what they show.
 */
#include "plot_internal.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "file.h"
#include "plot_axes.h"

/* Columns that say nothing beside the sequence length, or that follow from another column. */
static const char *const not_by[] = {"seqlen_q", "seqlen_k",      "topk",
                                     "kv_heads", "density_asked", "sweep"};

#define NR(a) (sizeof(a) / sizeof((a)[0]))

bool plotter_draws(const struct plotter *p, const struct case_row *row)
{
    return row->status && !strcmp(row->status, "ok") && row->span_median_ns > 0 &&
           (!p->device || (row->device && !strcmp(row->device, p->device)));
}

static bool is_role(const struct case_row *row, const char *role)
{
    return row->role && !strcmp(row->role, role);
}

static bool is_across(const struct case_row *row)
{
    return row->problem && !strcmp(row->problem, "across");
}

static bool is_compared(const struct plotter *p, const struct case_row *row)
{
    return plotter_draws(p, row) && !isnan(row->ratio) && !is_across(row);
}

/* ---- when ---- */

bool plotter_has_bars(const struct plotter *p)
{
    for (size_t i = 0; i < p->cases.nr; i++)
        if (plotter_draws(p, &p->cases.row[i]))
            return true;
    return false;
}

static bool has_forest(const struct plotter *p)
{
    size_t nr = 0;
    for (size_t i = 0; i < p->cases.nr; i++)
        nr += is_compared(p, &p->cases.row[i]);
    return nr > 1;
}

static bool has_latency(const struct plotter *p)
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

static bool has_heatmap(const struct plotter *p)
{
    return p->heat.found;
}

static bool has_multiples(const struct plotter *p)
{
    return p->multiple.found;
}

static bool has_crossover(const struct plotter *p)
{
    return p->crossovers.nr > 0;
}

static bool has_roofline(const struct plotter *p)
{
    bool any = false;
    for (size_t i = 0; i < p->cases.nr; i++)
        any |= plotter_draws(p, &p->cases.row[i]) && p->cases.row[i].flops > 0 &&
               p->cases.row[i].bytes > 0;
    return any && p->ceilings;
}

static bool has_samples(const struct plotter *p)
{
    struct strbuf path = STRBUF_INIT;
    file_add_path(&path, p->dir, "samples.csv");
    bool found = !path.oom && file_exists(path.buf) && plotter_has_bars(p);
    strbuf_release(&path);
    return found;
}

/* ---- what ---- */

/* gnuplot reads '' inside a string in single quotes as one quote. */
void plot_add_setting(struct strbuf *sb, const char *name, const char *value)
{
    strbuf_addf(sb, "%s='", name);
    for (; *value; value++) {
        if (*value == '\'')
            strbuf_addch(sb, '\'');
        strbuf_addch(sb, *value);
    }
    strbuf_addstr(sb, "'; ");
}

/* The case whose candidate moved most; without candidates the first one that was timed. */
static const char *shown_case(const struct plotter *p)
{
    const char *first = NULL, *best = NULL;
    double most = -1;

    for (size_t i = 0; i < p->cases.nr; i++) {
        const struct case_row *row = &p->cases.row[i];

        if (!plotter_draws(p, row))
            continue;
        first = first ? first : row->case_id;
        if (is_role(row, "candidate") && is_compared(p, row) && fabs(log(row->ratio)) > most) {
            most = fabs(log(row->ratio));
            best = row->case_id;
        }
    }
    return best ? best : first;
}

static void set_latency(const struct plotter *p, struct strbuf *sb)
{
    plot_add_setting(sb, "by", p->by.buf);
}

static void set_case(const struct plotter *p, struct strbuf *sb)
{
    const char *only = shown_case(p);
    plot_add_setting(sb, "only", only ? only : "");
}

static void set_pair(const struct plot_pair *pair, struct strbuf *sb)
{
    plot_add_setting(sb, "x", pair->x);
    plot_add_setting(sb, "y", pair->y);
    plot_add_setting(sb, "by", pair->by.len ? pair->by.buf : "");
}

static void set_heatmap(const struct plotter *p, struct strbuf *sb)
{
    set_pair(&p->heat, sb);
}

static void set_multiples(const struct plotter *p, struct strbuf *sb)
{
    plot_add_setting(sb, "panel", p->multiple.x);
    plot_add_setting(sb, "along", p->multiple.y);
    plot_add_setting(sb, "by", p->multiple.by.len ? p->multiple.by.buf : "");
}

static void set_crossover(const struct plotter *p, struct strbuf *sb)
{
    plot_add_setting(sb, "data", plotter_crossover_csv(p));
}

/* To add a chart: a script of that name in plots/, a row here. */
static const struct plot_chart charts[] = {
    {"bars", "where a row was timed", plotter_has_bars, NULL},
    {"forest", "where more than one row was compared", has_forest, NULL},
    {"latency", "where there is more than one sequence length", has_latency, set_latency},
    {"multiples", "where another axis varies at each of two or more sequence lengths",
     has_multiples, set_multiples},
    {"heatmap",
     "where compared cases fill more than half of a grid over two axes, six cells or more",
     has_heatmap, set_heatmap},
    {"crossover", "where a context arm of density 1 stands beside two or more densities",
     has_crossover, set_crossover},
    {"roofline", "where run.json has ceilings of memory and of a tensor unit (`bench ceilings`)",
     has_roofline, NULL},
    {"distribution", "where there are samples: of the case that moved most", has_samples, set_case},
    {"run_order", "where there are samples: of the case that moved most", has_samples, set_case},
};

const struct plot_chart *plot_charts(size_t *nr)
{
    *nr = NR(charts);
    return charts;
}

/* ---- axes ---- */

/* A case of the heat map: compared, or to be compared and failed. */
static bool accepts_compared(const void *ctx, const struct case_row *row)
{
    const struct plotter *p = ctx;

    return is_role(row, "candidate") && !is_across(row) &&
           (!p->device || (row->device && !strcmp(row->device, p->device))) &&
           (!isnan(row->ratio) || (row->status && strcmp(row->status, "ok") != 0));
}

static bool accepts_timed(const void *ctx, const struct case_row *row)
{
    return plotter_draws(ctx, row) && !is_across(row);
}

static int look_pair(struct plotter *p, plot_accepts *accepts, const char *x,
                     struct plot_pair *pair, struct err *err)
{
    struct plot_axes axes;
    struct plot_grid grid = {.x = 0};
    int ret = -1;

    pair->found = false;
    strbuf_reset(&pair->by);
    if (plot_axes_init(&axes, &p->cases, accepts, p, true, err))
        return -1;
    const int at = x ? plot_axes_find(&axes, x) : -1;
    if ((!x || at >= 0) && plot_grid_choose(&axes, at, &grid, &pair->found, err))
        goto out;
    if (pair->found) {
        snprintf(pair->x, sizeof(pair->x), "%s", axes.axis[grid.x].name);
        snprintf(pair->y, sizeof(pair->y), "%s", axes.axis[grid.y].name);
        for (size_t i = 0; i < axes.nr; i++)
            if (grid.rest[i])
                strbuf_addf(&pair->by, "%s%s", pair->by.len ? " " : "", axes.axis[i].name);
    }
    ret = pair->by.oom ? err_memory(err) : 0;
out:
    plot_axes_release(&axes);
    return ret;
}

/* Axes in which two cases of one sweep and one length differ tell lines of `latency` apart. */
static int look_by(struct plotter *p, struct err *err)
{
    struct plot_axes axes;
    struct plot_grid grid = {.x = 0};
    bool any = false;

    strbuf_reset(&p->by);
    strbuf_addstr(&p->by, "sweep density_asked");
    if (plot_axes_init(&axes, &p->cases, accepts_timed, p, false, err))
        return -1;
    const int s = plot_axes_find(&axes, "seqlen_k"), sweep = plot_axes_find(&axes, "sweep");
    int ret = s >= 0 && sweep >= 0 ? plot_grid_of(&axes, s, sweep, &grid, &any, err) : 0;
    for (size_t i = 0; s >= 0 && i < axes.nr && !ret; i++) {
        bool passed_over = !grid.rest[i];

        for (size_t k = 0; k < NR(not_by); k++)
            passed_over |= !strcmp(axes.axis[i].name, not_by[k]);
        if (!passed_over)
            strbuf_addf(&p->by, " %s", axes.axis[i].name);
    }
    plot_axes_release(&axes);
    return ret || !p->by.oom ? ret : err_memory(err);
}

int plotter_look(struct plotter *p, struct err *err)
{
    crossovers_release(&p->crossovers);
    return look_by(p, err) || look_pair(p, accepts_compared, NULL, &p->heat, err) ||
                   look_pair(p, accepts_timed, "seqlen_k", &p->multiple, err) ||
                   crossovers_find(&p->crossovers, &p->cases, p->device, err)
               ? -1
               : 0;
}
