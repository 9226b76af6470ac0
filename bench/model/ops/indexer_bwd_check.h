/*
 * indexer_bwd_check.h - what is checked of both backward operators, and by which bars.
 */
#ifndef BENCH_MODEL_OPS_INDEXER_BWD_CHECK_H
#define BENCH_MODEL_OPS_INDEXER_BWD_CHECK_H

#include "indexer_bwd_model.h"

bool indexer_bwd_is_sparse(const struct op_case *c);
size_t indexer_bwd_bars(const struct op_case *c, bool sampled, struct bar out[OP_MAX_BARS]);
double indexer_bwd_oracle_flops(const struct op_case *c);
int indexer_bwd_slices(const struct op_case *c, double flops, struct op_slices *out,
                       struct err *err);
int indexer_bwd_sparse_oracle(const struct op_problem *p, const struct op_source *src,
                              const struct sab_attribute *attributes, uint32_t attributes_nr,
                              int threads, struct op_slices *slices, struct err *err);
int indexer_bwd_dense_oracle(const struct op_problem *p, const struct op_source *src,
                             const struct sab_attribute *attributes, uint32_t attributes_nr,
                             int threads, struct op_slices *slices, struct err *err);

#endif
