/*
 * score_sparse_model.h - the files of the models of score_sparse_indexer and
 * score_sparse_attention.
 */
#ifndef BENCH_MODEL_OPS_SCORE_SPARSE_MODEL_H
#define BENCH_MODEL_OPS_SCORE_SPARSE_MODEL_H

#include "indexer_model.h"

/* Where an operator has what the oracle reads and writes. */
struct ix_sparse_places {
    uint32_t q, k, ids, length, out;
    uint32_t heads;           /* [rows,H]: weights of the indexer, lse of attention */
    uint32_t scale, id_space; /* parameters */
    bool attention;
};

/* Slices are whole rows of `out`, the tile is the number of the row. What must be exactly 0 is
 * marked. */
int score_sparse_oracle(const struct op_problem *p, const struct op_source *src,
                        const struct ix_sparse_places *at, int threads, struct op_slices *slices,
                        struct err *err);
/* Rows that are not empty sum to what the oracle's do, 1 but for rows of vanishing weights, within
 * 1e-5 (section 4, sums). */
int score_sparse_examine(const struct op_problem *p, const struct op_source *src,
                         const struct op_slices *slices, judge_read_fn read, void *ctx,
                         struct judgement *out, struct err *err);

#endif
