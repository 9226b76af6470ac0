/*
 * crossover.c - see crossover.h.
 */
#include "crossover.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "csv.h"
#include "plot_axes.h"

/* Axes that follow the density. */
static const char *const of_density[] = {"density", "density_asked", "topk", "cap"};

#define NR(a) (sizeof(a) / sizeof((a)[0]))

static bool same_text(const char *a, const char *b)
{
    return a && b ? !strcmp(a, b) : a == b;
}

static bool follows_density(const char *axis)
{
    for (size_t i = 0; i < NR(of_density); i++)
        if (!strcmp(axis, of_density[i]))
            return true;
    return false;
}

/* ---- the crossing ---- */

/* Where a line through the points of a bound rises through 1: the first time, or the last. */
static double rise(const struct crossover *c, size_t member, bool last)
{
    double at = NAN;

    for (size_t i = 1; i < c->nr && (last || isnan(at)); i++) {
        const double a = *(const double *)((const char *)&c->point[i - 1] + member),
                     b = *(const double *)((const char *)&c->point[i] + member);
        if (a < 1 && b >= 1)
            at = c->point[i - 1].density +
                 (1 - a) / (b - a) * (c->point[i].density - c->point[i - 1].density);
    }
    return at;
}

static bool is_unsure(const struct crossover_point *p)
{
    return p->lo < 1 && p->hi >= 1;
}

static size_t unsure_points(const struct crossover *c)
{
    size_t nr = 0;

    for (size_t i = 0; i < c->nr; i++)
        nr += is_unsure(&c->point[i]);
    return nr;
}

static enum crossover_state state_of(const struct crossover *c)
{
    const size_t unsure = unsure_points(c);
    bool falls = false;

    for (size_t i = 1; i < c->nr; i++)
        falls |= c->point[i - 1].ratio >= 1 && c->point[i].ratio < 1;
    if (falls)
        return unsure ? CROSSOVER_UNSURE : CROSSOVER_MIXED;
    if (!isnan(rise(c, offsetof(struct crossover_point, ratio), false)))
        return unsure && isnan(c->lo) && isnan(c->hi) ? CROSSOVER_UNSURE : CROSSOVER_AT;
    if (unsure)
        return CROSSOVER_UNSURE;
    return c->point[0].ratio < 1 ? CROSSOVER_BELOW : CROSSOVER_ABOVE;
}

void crossover_solve(struct crossover *c)
{
    c->interval = true;
    for (size_t i = 0; i < c->nr; i++)
        c->interval &= !isnan(c->point[i].lo) && !isnan(c->point[i].hi);
    /* The slower it may be, the earlier it crosses. */
    c->lo = c->interval && c->point[0].hi < 1 ? rise(c, offsetof(struct crossover_point, hi), false)
                                              : NAN;
    c->hi = c->interval && c->point[c->nr - 1].lo >= 1
                ? rise(c, offsetof(struct crossover_point, lo), true)
                : NAN;
    c->state = state_of(c);
    c->at =
        c->state == CROSSOVER_AT ? rise(c, offsetof(struct crossover_point, ratio), false) : NAN;
    if (c->state == CROSSOVER_MIXED)
        c->lo = c->hi = NAN;
}

/* ---- series ---- */

static bool is_timed(const struct case_row *row, const char *device)
{
    return row->status && !strcmp(row->status, "ok") && row->span_median_ns > 0 &&
           (!device || same_text(row->device, device));
}

static bool is_dense(const struct case_row *row)
{
    return !strcmp(row->role, "context") && row->density_realised >= 1 - 1e-9;
}

static bool is_sparse(const struct case_row *row)
{
    return (!strcmp(row->role, "baseline") || !strcmp(row->role, "candidate")) &&
           row->density_realised > 0;
}

static bool accepts_sparse(const void *ctx, const struct case_row *row)
{
    return is_timed(row, ctx) && is_sparse(row);
}

static void pair(struct crossover_point *p)
{
    const struct case_row *s = p->sparse, *d = p->dense;

    p->density = s->density_realised;
    p->ratio = s->span_median_ns / d->span_median_ns;
    p->lo = p->hi = NAN;
    if (same_text(d->baseline, s->arm) && d->ratio > 0) {
        p->ratio = 1 / d->ratio;
        p->lo = 1 / d->ratio_hi;
        p->hi = 1 / d->ratio_lo;
    } else if (s->baseline && same_text(d->baseline, s->baseline) && d->ratio > 0 && s->ratio > 0) {
        p->ratio = s->ratio / d->ratio;
        p->lo = s->ratio_lo / d->ratio_hi;
        p->hi = s->ratio_hi / d->ratio_lo;
    }
}

static bool same_series(const struct case_table *t, const struct case_row *a,
                        const struct case_row *b)
{
    if (!same_text(a->arm, b->arm) || !same_text(a->sweep, b->sweep) ||
        !same_text(a->device, b->device))
        return false;
    for (size_t i = 0; i < t->axes.nr; i++)
        if (!follows_density(t->axes.items[i]) && !same_text(a->axis[i], b->axis[i]))
            return false;
    return true;
}

static int by_density(const void *a, const void *b)
{
    const struct crossover_point *x = a, *y = b;
    return (x->density > y->density) - (x->density < y->density);
}

static struct crossover *series_of(struct crossovers *c, const struct case_table *t,
                                   const struct case_row *sparse, const struct case_row *dense,
                                   struct err *err)
{
    for (size_t i = 0; i < c->nr; i++)
        if (same_text(c->item[i].dense, dense->arm) &&
            same_series(t, c->item[i].point[0].sparse, sparse))
            return &c->item[i];
    struct crossover *item = realloc(c->item, (c->nr + 1) * sizeof(*item));
    if (!item) {
        err_memory(err);
        return NULL;
    }
    c->item = item;
    item += c->nr++;
    *item = (struct crossover){.sweep = sparse->sweep, .arm = sparse->arm, .dense = dense->arm};
    return item;
}

static int add_point(struct crossovers *c, const struct case_table *t,
                     const struct case_row *sparse, const struct case_row *dense, struct err *err)
{
    struct crossover *s = series_of(c, t, sparse, dense, err);

    if (!s)
        return -1;
    struct crossover_point *point = realloc(s->point, (s->nr + 1) * sizeof(*point));
    if (!point)
        return err_memory(err);
    s->point = point;
    point[s->nr] = (struct crossover_point){.sparse = sparse, .dense = dense};
    pair(&point[s->nr++]);
    return 0;
}

/* The rows of a case stand together. */
static int add_points(struct crossovers *c, const struct case_table *t, const char *device,
                      struct err *err)
{
    for (size_t i = 0, end; i < t->nr; i = end) {
        for (end = i + 1; end < t->nr && same_text(t->row[end].case_id, t->row[i].case_id);)
            end++;
        for (size_t a = i; a < end; a++)
            for (size_t b = i; b < end; b++)
                if (is_timed(&t->row[a], device) && is_timed(&t->row[b], device) &&
                    is_sparse(&t->row[a]) && is_dense(&t->row[b]) &&
                    same_text(t->row[a].device, t->row[b].device) &&
                    add_point(c, t, &t->row[a], &t->row[b], err))
                    return -1;
    }
    return 0;
}

/* One density alone is no series. */
static void drop_single(struct crossovers *c)
{
    for (size_t i = c->nr; i > 0; i--) {
        struct crossover *s = &c->item[i - 1];

        qsort(s->point, s->nr, sizeof(*s->point), by_density);
        if (s->nr && s->point[0].density < s->point[s->nr - 1].density)
            continue;
        free(s->point);
        memmove(s, s + 1, (c->nr - i) * sizeof(*s));
        c->nr--;
    }
}

/* Only what tells series apart. */
static int name_setting(struct crossover *s, const struct case_table *t,
                        const struct plot_axes *axes, struct err *err)
{
    struct strbuf sb = STRBUF_INIT;

    for (size_t i = 0; i < axes->nr; i++) {
        const char *name = axes->axis[i].name;
        const bool sweep = !strcmp(name, "sweep");
        const char *value = sweep ? s->sweep : case_table_axis(t, s->point[0].sparse, name);

        if (value && !follows_density(name))
            strbuf_addf(&sb, "%s%s=%s", sb.len ? ";" : "", name, value);
    }
    s->setting = sb.oom ? NULL : strdup(sb.len ? sb.buf : "");
    strbuf_release(&sb);
    return s->setting ? 0 : err_memory(err);
}

int crossovers_find(struct crossovers *c, const struct case_table *t, const char *device,
                    struct err *err)
{
    struct plot_axes axes = {.nr = 0};
    int ret = -1;

    memset(c, 0, sizeof(*c));
    if (add_points(c, t, device, err))
        goto out;
    drop_single(c);
    if (c->nr && plot_axes_init(&axes, t, accepts_sparse, device, true, err))
        goto out;
    for (size_t i = 0; i < c->nr; i++) {
        if (name_setting(&c->item[i], t, &axes, err))
            goto out;
        crossover_solve(&c->item[i]);
    }
    ret = 0;
out:
    plot_axes_release(&axes);
    if (ret)
        crossovers_release(c);
    return ret;
}

void crossovers_release(struct crossovers *c)
{
    for (size_t i = 0; i < c->nr; i++) {
        free(c->item[i].setting);
        free(c->item[i].point);
    }
    free(c->item);
    memset(c, 0, sizeof(*c));
}

/* ---- what is told ---- */

static const char *const state_words[] = {"crosses", "below", "above", "unsure", "mixed"};

static int csv_point(struct csv_writer *w, const struct crossover *s,
                     const struct crossover_point *p, struct err *err)
{
    csv_text(w, p->sparse->device);
    csv_text(w, s->setting);
    csv_text(w, s->arm);
    csv_text(w, s->dense);
    csv_real(w, p->density);
    csv_real(w, p->sparse->span_median_ns);
    csv_real(w, p->dense->span_median_ns);
    csv_real(w, p->ratio);
    csv_real(w, p->lo);
    csv_real(w, p->hi);
    csv_text(w, state_words[s->state]);
    csv_real(w, s->at);
    csv_real(w, s->lo);
    csv_real(w, s->hi);
    csv_int(w, s->interval);
    return csv_end_row(w, err);
}

int crossovers_csv(const struct crossovers *c, struct strbuf *sb, struct err *err)
{
    static const char *const names[] = {
        "device",         "setting",         "arm",         "dense",       "density",
        "span_median_ns", "dense_median_ns", "ratio",       "ratio_lo",    "ratio_hi",
        "state",          "crossing",        "crossing_lo", "crossing_hi", "interval"};
    struct csv_writer w;

    csv_writer_init(&w, sb, NR(names));
    if (csv_header(&w, names, NR(names), err))
        return -1;
    for (size_t i = 0; i < c->nr; i++)
        for (size_t k = 0; k < c->item[i].nr; k++)
            if (csv_point(&w, &c->item[i], &c->item[i].point[k], err))
                return -1;
    return 0;
}

static void add_bound(double value, const char *open, double end, struct strbuf *sb)
{
    if (isnan(value))
        strbuf_addf(sb, "%s %.3f", open, end);
    else
        strbuf_addf(sb, "%.3f", value);
}

static void add_unsure(const struct crossover *c, struct strbuf *sb)
{
    if (!isnan(c->lo) && !isnan(c->hi))
        strbuf_addf(sb, "pays up to density %.3f, not beyond %.3f, unsure between", c->lo, c->hi);
    else if (!isnan(c->lo))
        strbuf_addf(sb, "pays up to density %.3f, unsure beyond", c->lo);
    else if (!isnan(c->hi))
        strbuf_addf(sb, "does not pay beyond density %.3f, unsure below", c->hi);
    else
        strbuf_addf(sb,
                    "unsure: the interval of the ratio holds 1 at %zu of %zu densities measured",
                    unsure_points(c), c->nr);
}

void crossover_words(const struct crossover *c, struct strbuf *sb)
{
    const double first = c->point[0].density, last = c->point[c->nr - 1].density;

    if (c->state == CROSSOVER_BELOW)
        strbuf_addf(sb, "pays at every density measured, up to %.3f", last);
    else if (c->state == CROSSOVER_ABOVE)
        strbuf_addf(sb, "pays at no density measured, from %.3f", first);
    else if (c->state == CROSSOVER_UNSURE)
        add_unsure(c, sb);
    else if (c->state == CROSSOVER_MIXED)
        strbuf_addstr(sb, "no single crossing: faster at a density above one where it is slower");
    else
        strbuf_addf(sb, "pays up to density %.3f", c->at);
    if (c->state != CROSSOVER_AT || !c->interval)
        return;
    strbuf_addstr(sb, " [");
    add_bound(c->lo, "below", first, sb);
    strbuf_addstr(sb, ", ");
    add_bound(c->hi, "beyond", last, sb);
    strbuf_addch(sb, ']');
}
