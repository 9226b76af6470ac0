/*
 * lanes.h - which GPUs a run uses, and which case runs on which of them. Nothing here touches a
 * device.
 *
 * A lane is one device with one worker at a time. A case belongs to one lane with all its arms and
 * replicates: times of two GPUs are never compared with each other.
 */
#ifndef BENCH_CORE_LANES_H
#define BENCH_CORE_LANES_H

#include <stddef.h>

#include "device.h"
#include "err.h"

#define LANES_MAX 16

/*
 * The places in `list` of the GPUs that `want` names: "cuda" (the first), "cuda:N[,M...]",
 * "cuda:all"; in ascending order. ERR_ENVIRONMENT where a GPU is not there, or where several are
 * not of one model; ERR_CONFIG where one is named twice.
 */
int lanes_choose(const char *want, const struct device_listing *list, size_t nr,
                 size_t at[LANES_MAX], size_t *lanes_nr, struct err *err);

/*
 * Writes the lane of every case. `fixed` says where a case has begun already, -1: nowhere. The
 * others go, the longest first, where the least is to be done; the first of equals. The same
 * arguments give the same answer.
 */
void lanes_assign(const double *cost_s, const int *fixed, size_t cases_nr, size_t lanes_nr,
                  int *lane);

#endif
