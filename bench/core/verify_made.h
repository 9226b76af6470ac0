/*
 * verify_made.h - inputs that are outputs of other operators (op_model.producer): made once a case
 * by a kernel of bench's own library that the gate has passed, or by the oracle. Never by an arm.
 */
#ifndef BENCH_CORE_VERIFY_MADE_H
#define BENCH_CORE_VERIFY_MADE_H

#include "case_run.h"

/* Fills the inputs of a work: by their recipes, and those without one from what makes them. */
int verify_make_inputs(struct case_run *run, struct work *w, struct err *err);

/* Runs a kernel once on a work, waiting for it. Seconds of wall time in *seconds. ERR_CONFIG: it
 * does not serve the case. */
int verify_run_once(struct work *w, const struct sab_kernel *k, double *seconds, struct err *err);

#endif
