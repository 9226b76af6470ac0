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

/*
 * Writes CHART.png and CHART.svg beside DIR/cases.csv: bars; forest with more than one compared
 * row; latency with more than one seqlen; run_order where samples.csv is there, for the case whose
 * change is largest. Rows of several devices get one set per device, CHART-<device>.png.
 * A chart that gnuplot could not draw is ERR_ENVIRONMENT with what gnuplot said.
 */
int plot_draw(const char *dir, struct plot_result *result, struct err *err);

/* The folder of the scripts: $SAB_PLOTS, else the one that the build was told, else "plots". */
const char *plot_scripts(void);

#endif
