/*
 * rows_args.h - what the kernels with a block a query row are called with, and the table of them
 * that an engine (wgmma, mma) brings along.
 */
#ifndef INDEXER_BWD_ROWS_ARGS_H
#define INDEXER_BWD_ROWS_ARGS_H

#include "indexer_bwd_rows_call.h"

#ifdef __cplusplus
extern "C" {
#endif

struct indexer_bwd_rows_args {
    struct indexer_bwd_call c;
    float *sums; /* [keys,128] of dK, cleared before: the workspace, or d_index_k where it is f32 */
};

struct indexer_bwd_rows_form {
    void (*kernel)(const struct indexer_bwd_rows_args);
    uint32_t shared_bytes;
    uint32_t threads, rows; /* of a block */
};

/* by heads: 16, 32, 64 */
extern const struct indexer_bwd_rows_form indexer_bwd_wgmma_sparse[3], indexer_bwd_wgmma_dense[3];
extern const struct indexer_bwd_rows_form indexer_bwd_mma_sparse[3], indexer_bwd_mma_dense[3];

struct indexer_bwd_rows_engine {
    const char *name, *targets;
    const struct indexer_bwd_rows_form *sparse, *dense;
};

#ifdef __cplusplus
}
#endif
#endif
