/*
 * plot.h - draws the charts of a results folder with gnuplot: the scripts of plots/ read the CSV
 * files, this decides which of them make sense for the data.
 */
#ifndef BENCH_CORE_PLOT_H
#define BENCH_CORE_PLOT_H

#include <stddef.h>

#include "err.h"
#include "text.h"

enum plot_outcome {
    PLOT_DRAWN = 0,  /* `drawn` names the files */
    PLOT_NO_GNUPLOT, /* nothing is wrong with the run: `note` says what to install */
    PLOT_NO_DATA,    /* no timed row: `note` says so */
};

struct plot_result {
    enum plot_outcome outcome;
    struct text_list drawn; /* file names inside the folder */
    char note[256];
};

void plot_result_init(struct plot_result *result);
void plot_result_release(struct plot_result *result);

/* What is drawn. A zeroed struct: every case, every chart that makes sense. */
struct plot_choice {
    const char *const *only; /* globs over case ids */
    size_t only_nr;
    const char *const *charts; /* names */
    size_t charts_nr;
};

/*
 * Writes CHART.png and CHART.svg beside DIR/cases.csv for each chart that makes sense for the rows
 * (plot_chart_at() says when), and crossover.csv where a dense arm stands beside sparse ones.
 * Rows of several devices get one set per device, CHART-<device>.png. `choice` may be NULL. Of some
 * cases only (`only`), charts replace those of all of them, and crossover.csv stays as it is.
 * An unknown chart, or one asked for by name that the rows do not allow, is ERR_CONFIG; one that
 * gnuplot could not draw is ERR_ENVIRONMENT with what gnuplot said, once the others are drawn.
 */
int plot_draw(const char *dir, const struct plot_choice *choice, struct plot_result *result,
              struct err *err);

/* The charts and the rule by which each appears; NULL behind the last one. */
const char *plot_chart_at(size_t i, const char **rule);

/* The folder of the scripts: $SAB_PLOTS, else the one that the build was told, else "plots". */
const char *plot_scripts(void);

#endif
