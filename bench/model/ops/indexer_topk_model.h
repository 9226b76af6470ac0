/*
 * indexer_topk_model.h - the files of indexer_topk's model.
 */
#ifndef BENCH_MODEL_OPS_INDEXER_TOPK_MODEL_H
#define BENCH_MODEL_OPS_INDEXER_TOPK_MODEL_H

#include "indexer_model.h"

/* Slices are whole rows; the tile is the number of the row. One right answer each: ids ascending.
 */
int indexer_topk_oracle(const struct op_problem *p, const struct op_source *src,
                        const struct sab_attribute *attributes, uint32_t attributes_nr, int threads,
                        struct op_slices *slices, struct err *err);
/* The comparison of section 3.3 for every row that has a slice. */
int indexer_topk_examine(const struct op_problem *p, const struct op_source *src,
                         const struct op_slices *slices, judge_read_fn read, void *ctx,
                         struct judgement *out, struct err *err);

/* Columns of a row that may be selected (section 3.1); negative where it cannot be read. */
int64_t indexer_topk_row_limit(const struct op_problem *p, const struct op_source *src,
                               int64_t row);
/* Order of values as unsigned numbers: the larger value has the larger one, zeros are equal. */
uint32_t indexer_topk_order(int32_t dtype, uint32_t bits);

#endif
