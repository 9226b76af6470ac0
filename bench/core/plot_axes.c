/*
 * plot_axes.c - see plot_axes.h.
 */
#include "plot_axes.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST_LAYERS 64
#define LEAST_CELLS 6

/* Those worth being shown, before all others; `sweep` comes last. */
static const char *const shown_first[] = {"seqlen_k", "density_asked", "topk", "heads", "batch"};
/* What another column says, or nobody asked for. */
static const char *const never[] = {"density", "seqlen"};

#define NR(a) (sizeof(a) / sizeof((a)[0]))

static bool is_in(const char *name, const char *const *list, size_t nr)
{
    for (size_t i = 0; i < nr; i++)
        if (!strcmp(name, list[i]))
            return true;
    return false;
}

/* ---- values to numbers ---- */

/* The text of a column; densities as the 17 digits that tell any two apart. */
static const char *text_of(const struct case_table *t, const struct case_row *row, const char *name,
                           char room[32])
{
    if (!strcmp(name, "sweep"))
        return row->sweep;
    if (strcmp(name, "density_asked") != 0)
        return case_table_axis(t, row, name);
    if (isnan(row->density_asked))
        return NULL;
    snprintf(room, 32, "%.17g", row->density_asked);
    return room;
}

static int number(struct plot_axis *axis, const struct case_table *t, const size_t *row,
                  size_t points, struct err *err)
{
    struct text_list values = {0};
    char room[32];
    int ret = 0;

    for (size_t i = 0; i < points && !ret; i++) {
        const char *s = text_of(t, &t->row[row[i]], axis->name, room);
        size_t k = 0;

        axis->id[i] = -1;
        if (!s)
            continue;
        while (k < values.nr && strcmp(values.items[k], s) != 0)
            k++;
        axis->id[i] = (int)k;
        if (k == values.nr)
            ret = text_list_add(&values, s, err);
    }
    axis->nr = (int)values.nr;
    text_list_release(&values);
    return ret;
}

/* Whether the values of `b` follow from those of `a` and the other way round. */
static bool same_division(const struct plot_axis *a, const struct plot_axis *b, size_t points)
{
    if (a->nr != b->nr)
        return false;
    for (size_t i = 0; i < points; i++)
        for (size_t k = 0; k < i; k++)
            if ((a->id[i] == a->id[k]) != (b->id[i] == b->id[k]))
                return false;
    return true;
}

static bool worth_keeping(const struct plot_axes *axes, const struct plot_axis *axis)
{
    if (axis->nr < 2)
        return false;
    for (size_t i = 0; i < axes->nr; i++)
        if (same_division(&axes->axis[i], axis, axes->points))
            return false;
    return true;
}

/* ---- points ---- */

/* The rows of a case stand together, except where runs were merged. */
static size_t *points_of(const struct case_table *t, plot_accepts *accepts, const void *ctx,
                         size_t *nr, struct err *err)
{
    size_t *row = malloc((t->nr + 1) * sizeof(*row));

    *nr = 0;
    if (!row) {
        err_memory(err);
        return NULL;
    }
    for (size_t i = 0; i < t->nr; i++) {
        bool known = !accepts(ctx, &t->row[i]);

        for (size_t k = *nr; k > 0 && !known; k--)
            known = !strcmp(t->row[row[k - 1]].case_id, t->row[i].case_id);
        if (!known)
            row[(*nr)++] = i;
    }
    return row;
}

static int add_axis(struct plot_axes *axes, const char *name, const struct case_table *t,
                    const size_t *row, bool distinct, struct err *err)
{
    struct plot_axis *axis = &axes->axis[axes->nr];

    if (axes->nr == PLOT_AXES_MAX || is_in(name, never, NR(never)))
        return 0;
    axis->name = name;
    axis->id = axes->ids + axes->nr * axes->points;
    if (number(axis, t, row, axes->points, err))
        return -1;
    axes->nr += distinct ? worth_keeping(axes, axis) : 1;
    return 0;
}

int plot_axes_init(struct plot_axes *axes, const struct case_table *t, plot_accepts *accepts,
                   const void *ctx, bool distinct, struct err *err)
{
    int ret = -1;

    memset(axes, 0, sizeof(*axes));
    size_t *row = points_of(t, accepts, ctx, &axes->points, err);
    if (!row)
        return -1;
    axes->ids = calloc((axes->points + 1) * PLOT_AXES_MAX, sizeof(*axes->ids));
    if (!axes->ids) {
        err_memory(err);
        goto out;
    }
    for (size_t i = 0; i < NR(shown_first); i++)
        if (add_axis(axes, shown_first[i], t, row, distinct, err))
            goto out;
    for (size_t i = 0; i < t->axes.nr; i++)
        if (!is_in(t->axes.items[i], shown_first, NR(shown_first)) &&
            add_axis(axes, t->axes.items[i], t, row, distinct, err))
            goto out;
    ret = add_axis(axes, "sweep", t, row, distinct, err);
out:
    free(row);
    return ret;
}

void plot_axes_release(struct plot_axes *axes)
{
    free(axes->ids);
    memset(axes, 0, sizeof(*axes));
}

int plot_axes_find(const struct plot_axes *axes, const char *name)
{
    for (size_t i = 0; i < axes->nr; i++)
        if (!strcmp(axes->axis[i].name, name))
            return (int)i;
    return -1;
}

/* ---- grids ---- */

static bool has_both(const struct plot_axes *axes, const struct plot_grid *g, size_t point)
{
    return axes->axis[g->x].id[point] >= 0 && axes->axis[g->y].id[point] >= 0;
}

static size_t cell_of(const struct plot_axes *axes, const struct plot_grid *g, size_t point)
{
    return (size_t)axes->axis[g->x].id[point] * (size_t)axes->axis[g->y].nr +
           (size_t)axes->axis[g->y].id[point];
}

/* Which axes differ within a cell; `first` has room for each cell. */
static bool find_rest(const struct plot_axes *axes, struct plot_grid *g, size_t *first)
{
    bool any = false;

    for (size_t i = 0; i < axes->points; i++) {
        if (!has_both(axes, g, i))
            continue;
        size_t *at = &first[cell_of(axes, g, i)];
        any = true;
        if (!*at)
            *at = i + 1;
        for (size_t a = 0; a < axes->nr; a++)
            g->rest[a] |= axes->axis[a].id[i] != axes->axis[a].id[*at - 1];
    }
    return any;
}

static bool same_layer(const struct plot_axes *axes, const struct plot_grid *g, size_t a, size_t b)
{
    for (size_t k = 0; k < axes->nr; k++)
        if (g->rest[k] && axes->axis[k].id[a] != axes->axis[k].id[b])
            return false;
    return true;
}

/* Cells, columns and rows of the layer of `of`; `seen` has room for all three. */
static void count_layer(const struct plot_axes *axes, struct plot_grid *g, size_t of, char *seen)
{
    const size_t nx = (size_t)axes->axis[g->x].nr, ny = (size_t)axes->axis[g->y].nr;
    char *column = seen + nx * ny, *line = column + nx;
    int cells = 0, columns = 0, lines = 0;

    memset(seen, 0, nx * ny + nx + ny);
    for (size_t i = 0; i < axes->points; i++) {
        if (!has_both(axes, g, i) || !same_layer(axes, g, of, i))
            continue;
        char *places[] = {&seen[cell_of(axes, g, i)], &column[axes->axis[g->x].id[i]],
                          &line[axes->axis[g->y].id[i]]};
        cells += !*places[0];
        columns += !*places[1];
        lines += !*places[2];
        *places[0] = *places[1] = *places[2] = 1;
    }
    const int lesser = columns < lines ? columns : lines;
    g->least = !g->layers || lesser < g->least ? lesser : g->least;
    g->layers++;
    g->cells += cells;
    g->places += columns * lines;
}

static bool find_layers(const struct plot_axes *axes, struct plot_grid *g, char *seen)
{
    size_t of[MOST_LAYERS];
    size_t nr = 0;

    for (size_t i = 0; i < axes->points; i++) {
        bool known = !has_both(axes, g, i);

        for (size_t k = 0; k < nr && !known; k++)
            known = same_layer(axes, g, of[k], i);
        if (known)
            continue;
        if (nr == MOST_LAYERS)
            return false;
        of[nr++] = i;
    }
    for (size_t k = 0; k < nr; k++)
        count_layer(axes, g, of[k], seen);
    return true;
}

int plot_grid_of(const struct plot_axes *axes, int x, int y, struct plot_grid *grid, bool *any,
                 struct err *err)
{
    const size_t nx = (size_t)axes->axis[x].nr, ny = (size_t)axes->axis[y].nr;
    size_t *first = calloc(nx * ny + 1, sizeof(*first));
    char *seen = calloc(nx * ny + nx + ny + 1, 1);

    *grid = (struct plot_grid){.x = x, .y = y};
    *any = first && seen && find_rest(axes, grid, first) && find_layers(axes, grid, seen);
    int ret = first && seen ? 0 : err_memory(err);
    free(first);
    free(seen);
    return ret;
}

static bool shows_more(const struct plot_grid *a, const struct plot_grid *b)
{
    return (long long)a->cells * b->layers > (long long)b->cells * a->layers;
}

int plot_grid_choose(const struct plot_axes *axes, int x, struct plot_grid *best, bool *found,
                     struct err *err)
{
    struct plot_grid g;
    bool any;

    *found = false;
    for (int a = 0; a < (int)axes->nr; a++) {
        for (int b = x < 0 ? a + 1 : 0; b < (int)axes->nr; b++) {
            if ((x >= 0 && (a != x || b == x)) || !strcmp(axes->axis[a].name, "sweep") ||
                !strcmp(axes->axis[b].name, "sweep"))
                continue;
            if (plot_grid_of(axes, a, b, &g, &any, err))
                return -1;
            if (any && g.least >= 2 && g.cells >= LEAST_CELLS && 2 * g.cells > g.places &&
                (!*found || shows_more(&g, best))) {
                *best = g;
                *found = true;
            }
        }
    }
    return 0;
}
