/*
 * check.h - what `bench check` does with a case beyond the gate: every byte written, repeats equal.
 */
#ifndef BENCH_CORE_CHECK_H
#define BENCH_CORE_CHECK_H

#include "case_run.h"

/* Runs the checks on every arm that passed the gate. A failed one marks the arm `wrong`, with the
 * sentence in status_text: no error. */
int check_case(struct case_run *run, struct err *err);

#endif
