/*
 * plot_axes.h - the cases of a folder as points of a grid: which axes vary, which two of them span
 * a picture, and which others then tell its layers apart.
 */
#ifndef BENCH_CORE_PLOT_AXES_H
#define BENCH_CORE_PLOT_AXES_H

#include <stdbool.h>
#include <stddef.h>

#include "err.h"
#include "rows.h"

#define PLOT_AXES_MAX 64

struct plot_axis {
    const char *name; /* column of cases.csv */
    int *id;          /* of each point: which of the values; -1: the operator has no such axis */
    int nr;           /* values */
};

/* One point a case. In the order in which axes are worth being shown: seqlen_k, density_asked,
 * topk, heads, batch, the others, sweep. An axis with one value, or one that follows another one
 * through all points, is left out where `distinct`. */
struct plot_axes {
    struct plot_axis axis[PLOT_AXES_MAX];
    size_t nr, points;
    int *ids; /* of all axes */
};

/* Whether the first row of a case that this accepts stands for it. */
typedef bool plot_accepts(const void *ctx, const struct case_row *row);

int plot_axes_init(struct plot_axes *axes, const struct case_table *t, plot_accepts *accepts,
                   const void *ctx, bool distinct, struct err *err);
void plot_axes_release(struct plot_axes *axes);
/* Index of an axis, or -1. */
int plot_axes_find(const struct plot_axes *axes, const char *name);

/* Two axes as x and y. Points that share a cell lie in different layers. */
struct plot_grid {
    int x, y;
    bool rest[PLOT_AXES_MAX]; /* axes that differ within a cell: they name the layers */
    int layers;
    int cells;  /* taken, over all layers */
    int places; /* cells that there could be: columns times rows of each layer */
    int least;  /* columns or rows of the smallest layer, the lesser */
};

/* False where there is nothing to see: too many layers, or no point has both axes. */
int plot_grid_of(const struct plot_axes *axes, int x, int y, struct plot_grid *grid, bool *any,
                 struct err *err);
/* The pair that shows most cells a layer, of those with more than half of the places taken, layers
 * of at least 2 by 2 and six cells. `x` -1: any. False: there is none. */
int plot_grid_choose(const struct plot_axes *axes, int x, struct plot_grid *best, bool *found,
                     struct err *err);

#endif
