/*
 * ncu.h - one arm of one case for a profiler: `bench ncu`.
 *
 * The program runs twice. The outer one turns into the profiler, which starts the inner one: a
 * session in mode JOB_PROFILE, whose worker opens the device without a timer (CUPTI has room for
 * one subscriber), passes the gate, warms up, and launches the arm NCU_LAUNCHES times, each as
 * a sample without stamps: preparation and scrub, then the launch alone in its NVTX range.
 */
#ifndef BENCH_CORE_NCU_H
#define BENCH_CORE_NCU_H

#include <stddef.h>

#include "case_run.h"
#include "err.h"
#include "text.h"

#define NCU_LAUNCHES  3
#define NCU_TIMEOUT_S 86400

/* First word of the inner program's arguments behind `ncu`. */
#define NCU_INSIDE "--inside"

/* In a worker. An arm that cannot run is told by its row. */
int ncu_case(struct case_run *run, struct err *err);

/*
 * Path of the profiler: `ncu` in PATH, else in the bin folder of $CUDA_HOME, $CUDA_PATH or the
 * usual place of the toolkit. ERR_ENVIRONMENT with what to install.
 */
int ncu_find(struct text_list *path, struct err *err);

/*
 * Words of the profiler's command line: `ncu` with our options and NVTX filters, the user's `extra`
 * (which win where they repeat one), then `exe ncu --inside` with `args`.
 */
int ncu_argv(struct text_list *argv, const char *ncu, const char *exe, const char *const *extra,
             size_t extra_nr, const char *const *args, size_t args_nr, struct err *err);

#endif
