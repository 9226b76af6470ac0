/*
 * dsa_fwd_model.h - the two files of dsa_fwd's model.
 */
#ifndef BENCH_MODEL_OPS_DSA_FWD_MODEL_H
#define BENCH_MODEL_OPS_DSA_FWD_MODEL_H

#include "dsa_model.h"

/* Slices are whole query rows (all heads) of one output; those of one row stand together and have
 * its number for their tile. */
int dsa_fwd_oracle(const struct op_problem *p, const struct op_source *src,
                   const struct sab_attribute *attributes, uint32_t attributes_nr, int threads,
                   struct op_slices *slices, struct err *err);

#endif
