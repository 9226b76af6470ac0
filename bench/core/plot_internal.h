/*
 * plot_internal.h - what the files behind plot.h share: the rows of a folder, and what they allow.
 */
#ifndef BENCH_CORE_PLOT_INTERNAL_H
#define BENCH_CORE_PLOT_INTERNAL_H

#include <stdbool.h>

#include "rows.h"
#include "strbuf.h"

/* What of a results folder decides the charts of one device. */
struct plotter {
    const char *dir;
    char *scripts; /* absolute: gnuplot runs inside the folder */
    struct case_table cases;
    long long protocol; /* -1 unknown */
    const char *device; /* NULL: the only one */
    struct strbuf by;   /* columns that tell lines of `latency` apart */
};

/* Whether charts show the row: timed, and of the device that is being drawn. */
bool plotter_draws(const struct plotter *p, const struct case_row *row);

bool plotter_has_bars(const struct plotter *p);
bool plotter_has_forest(const struct plotter *p);
bool plotter_has_latency(const struct plotter *p);
bool plotter_has_run_order(const struct plotter *p);

/* The case whose candidate moved most; without candidates the first one that was timed. */
const char *plotter_run_order_case(const struct plotter *p);
/* Fills `by`. */
void plotter_find_by(struct plotter *p);

#endif
