/*
 * estimate.h - what a case will cost before anything runs: memory, time of a call, wall time.
 *
 * Rough on purpose: it decides what is out of reach and how long a worker may be silent, and it is
 * what `list` prints. Rates are order-of-magnitude figures a kind of kernel, not measurements.
 */
#ifndef BENCH_CORE_ESTIMATE_H
#define BENCH_CORE_ESTIMATE_H

#include <stddef.h>

#include "arms.h"
#include "chain.h"
#include "device.h"
#include "err.h"
#include "plan.h"

enum estimate_status { ESTIMATE_OK = 0, ESTIMATE_SKIP, ESTIMATE_OOM };

struct estimate {
    enum estimate_status status;
    double bytes;    /* on the device: tensors, workspace, guards */
    double call_s;   /* one launch of each step */
    double sample_s; /* scrub, launch, pause */
};

/* An arm whose steps have the problems of `chain`. SKIP: a kernel does not serve its problem, or
 * one sample takes longer than max_time; OOM: the tensors do not fit. The sentence goes to text. */
int estimate_arm(const struct plan *plan, const struct chain *chain, const struct arm_steps *steps,
                 const struct device_info *info, struct estimate *out, char *text, size_t size,
                 struct err *err);

/* Rounds of a case's budget, rounded up to whole super-rounds of `arms_nr` arms. */
int estimate_rounds(const struct plan *plan, size_t arms_nr);

#endif
