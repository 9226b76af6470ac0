/*
 * verify_internal.h - what the files of the gate share.
 */
#ifndef BENCH_CORE_VERIFY_INTERNAL_H
#define BENCH_CORE_VERIFY_INTERNAL_H

#include <stdbool.h>

#include "case_run.h"

double verify_now_s(void);
bool verify_has_outputs(const struct work *w);
/* Holds the outputs of a kernel against the oracle's slices for what its inputs hold now; *complete
 * says that they cover everything. */
int verify_judge(struct case_run *run, struct work *w, const struct sab_kernel *kernel,
                 struct judgement *out, bool *complete, struct err *err);
/* The outputs against the operator on unquantised inputs: rel_l2 and cosine, NAN where there is no
 * such thing. */
int verify_accuracy(struct case_run *run, struct work *w, struct judgement *out, struct err *err);

/* Fills work.reference where a full check is affordable. A refusal or a full memory only means that
 * the slices decide alone; so do inputs that are not known before an earlier step has run. */
int verify_reference_fill(struct case_run *run, struct work *w, struct err *err);
/* Holds the outputs against work.reference. */
int verify_against_reference(struct work *w, const struct sab_kernel *kernel, struct judgement *out,
                             struct err *err);

/* Copies of a work's outputs on the device. */
int verify_keep_outputs(struct work *w, void **kept, struct err *err);
void verify_drop_outputs(struct work *w, void **kept);

#endif
