/*
 * plot_internal.h - what the files behind plot.h share: the rows of a folder, and what they allow.
 */
#ifndef BENCH_CORE_PLOT_INTERNAL_H
#define BENCH_CORE_PLOT_INTERNAL_H

#include <stdbool.h>

#include "crossover.h"
#include "plot.h"
#include "rows.h"
#include "strbuf.h"

/* Two axes of a picture, and the columns that tell its layers apart. */
struct plot_pair {
    bool found;
    char x[64], y[64];
    struct strbuf by;
};

/* What of a results folder decides the charts of one device. */
struct plotter {
    const char *dir;
    const struct plot_choice *choice;
    char *scripts;             /* absolute: gnuplot runs inside the folder */
    struct case_table cases;   /* those chosen */
    long long protocol;        /* -1 unknown */
    bool ceilings;             /* of memory and of a tensor unit, in run.json */
    const char *device;        /* NULL: the only one */
    struct strbuf by;          /* columns that tell lines of `latency` apart */
    struct plot_pair heat;     /* of compared cases */
    struct plot_pair multiple; /* x: seqlen_k, one panel each; y: along the axis of a panel */
    struct crossovers crossovers;
};

/* plot_folder.c: reads the folder, and writes what scripts read beside it: crossover.csv, and the
 * rows that were chosen, into a file that plotter_release() removes. */
int plotter_init(struct plotter *p, const char *dir, const struct plot_choice *choice,
                 struct err *err);
void plotter_release(struct plotter *p);
/* Name inside the folder of the rows or of the crossings that scripts read. */
const char *plotter_cases_csv(const struct plotter *p);
const char *plotter_crossover_csv(const struct plotter *p);

/* Whether charts show the row: timed, and of the device that is being drawn. */
bool plotter_draws(const struct plotter *p, const struct case_row *row);
/* Fills what depends on the device. */
int plotter_look(struct plotter *p, struct err *err);

/* A chart's script is plots/NAME.gp. `rule` says when it makes sense. */
struct plot_chart {
    const char *name;
    const char *rule;
    bool (*makes_sense)(const struct plotter *p);
    void (*settings)(const struct plotter *p, struct strbuf *sb); /* its own; NULL: none */
};

const struct plot_chart *plot_charts(size_t *nr);

/* Appends NAME='VALUE'; for gnuplot. */
void plot_add_setting(struct strbuf *sb, const char *name, const char *value);

bool plotter_has_bars(const struct plotter *p);

#endif
