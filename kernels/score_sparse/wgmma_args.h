/*
 * wgmma_args.h - what one launch of the sparse scores' wgmma kernels is given, by value, and the
 * shared memory of their blocks.
 */
#ifndef SCORE_SPARSE_WGMMA_ARGS_H
#define SCORE_SPARSE_WGMMA_ARGS_H

#include <cuda.h>

#include "score_args.h"
#include "sparse_scores.h"

/* An item is a query row. */
struct score_sparse_wgmma_args {
    CUtensorMap q; /* u16 [rows,heads,width], box 1 x heads of the form x 64, 128-byte swizzle */
    struct indexer_sparse d;
    struct score_heads heads;
    float factor; /* scale * log2 e */
};

struct score_sparse_wgmma_form {
    void (*kernel)(const struct score_sparse_wgmma_args);
    int32_t heads, width, shared_bytes;
};

/* Of each width the forms of 16, 32, 64 and 128 heads, in this order. */
enum { SCORE_SPARSE_WGMMA_FORMS = 12 };
extern const struct score_sparse_wgmma_form score_sparse_wgmma_indexer[SCORE_SPARSE_WGMMA_FORMS],
    score_sparse_wgmma_attention[SCORE_SPARSE_WGMMA_FORMS];

#endif
