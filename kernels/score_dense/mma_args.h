/*
 * mma_args.h - the kernels of the dense scores' mma, by operator, width and heads of a group.
 */
#ifndef SCORE_DENSE_MMA_ARGS_H
#define SCORE_DENSE_MMA_ARGS_H

#include "score_dense_items_call.h"

struct score_dense_mma_form {
    void (*kernel)(const struct score_dense_items);
    int32_t heads, width, shared_bytes;
};

/* Of each width the forms of 16, 32 and 64 heads of a group, in this order. */
enum { SCORE_DENSE_MMA_FORMS = 9 };
extern const struct score_dense_mma_form score_dense_mma_indexer[SCORE_DENSE_MMA_FORMS],
    score_dense_mma_attention[SCORE_DENSE_MMA_FORMS];

#endif
