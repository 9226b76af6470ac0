/*
 * dsa_bwd_model.h - the two files of dsa_bwd's model.
 */
#ifndef BENCH_MODEL_OPS_DSA_BWD_MODEL_H
#define BENCH_MODEL_OPS_DSA_BWD_MODEL_H

#include "dsa_model.h"

/* Slices are whole: of dq a query row (all heads), of dkv a row, of d_sink a head; the tile is the
 * number of the row, the head that of the head. out and lse are taken as they are. */
int dsa_bwd_oracle(const struct op_problem *p, const struct op_source *src,
                   const struct sab_attribute *attributes, uint32_t attributes_nr, int threads,
                   struct op_slices *slices, struct err *err);

#endif
