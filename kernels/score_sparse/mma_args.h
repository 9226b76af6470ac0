/*
 * mma_args.h - what one launch of the sparse scores' mma kernels is given, by value.
 */
#ifndef SCORE_SPARSE_MMA_ARGS_H
#define SCORE_SPARSE_MMA_ARGS_H

#include "score_args.h"
#include "sparse_scores.h"

/* An item is a query row, its heads `parts` times those of the form. */
struct score_sparse_mma_args {
    struct indexer_sparse d;
    struct score_heads heads;
    float factor; /* scale * log2 e */
    int32_t parts;
};

struct score_sparse_mma_form {
    void (*kernel)(const struct score_sparse_mma_args);
    int32_t heads, width, shared_bytes;
};

/* Of each width the forms of 16, 32 and 64 heads, in this order. */
enum { SCORE_SPARSE_MMA_FORMS = 9 };
extern const struct score_sparse_mma_form score_sparse_mma_indexer[SCORE_SPARSE_MMA_FORMS],
    score_sparse_mma_attention[SCORE_SPARSE_MMA_FORMS];

#endif
