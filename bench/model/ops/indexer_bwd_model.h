/*
 * indexer_bwd_model.h - the files of the models of indexer_bwd_sparse and indexer_bwd_dense.
 */
#ifndef BENCH_MODEL_OPS_INDEXER_BWD_MODEL_H
#define BENCH_MODEL_OPS_INDEXER_BWD_MODEL_H

#include "indexer_model.h"

#define IX_BWD_WIDTH 128

/* Where an operator has what the oracle reads and writes. */
struct ix_bwd_places {
    uint32_t q, w, k, grad_loss, dq, dw, dk;
    uint32_t teacher, indexer;     /* target and predict, or attn_raw and index_raw */
    uint32_t l1norm, index_lse;    /* dense */
    uint32_t sm_scale, grad_scale; /* parameters */
    bool sparse;
};

/* Slices are whole rows: of d_index_q and d_weights a query row (all heads), of d_index_k a key;
 * the tile is the number of the row. Scores are taken as they are, a is not rounded. */
int indexer_bwd_oracle(const struct op_problem *p, const struct op_source *src,
                       const struct ix_bwd_places *at, int threads, struct op_slices *slices,
                       struct err *err);

#endif
