/*
 * wgmma_args.h - what one launch of the dense scores' wgmma kernels is given, by value.
 */
#ifndef SCORE_DENSE_WGMMA_ARGS_H
#define SCORE_DENSE_WGMMA_ARGS_H

#include <cuda.h>

#include "score_dense_items_call.h"

enum { SCORE_DENSE_PAIRS = 128 /* (query, head) pairs of a block of rows */ };

struct score_dense_wgmma_args {
    CUtensorMap q; /* u16 [rows,heads,width], box of a block's rows x heads of a group x 64 */
    CUtensorMap k; /* u16 [keys,kv_heads,width], box 64 x 1 x 64; both with the 128-byte swizzle */
    struct score_dense_items items;
};

struct score_dense_wgmma_form {
    void (*kernel)(const struct score_dense_wgmma_args);
    int32_t heads, width, shared_bytes;
};

/* Of each width the forms of 16, 32, 64 and 128 heads of a group, in this order. */
enum { SCORE_DENSE_WGMMA_FORMS = 12 };
extern const struct score_dense_wgmma_form score_dense_wgmma_indexer[SCORE_DENSE_WGMMA_FORMS],
    score_dense_wgmma_attention[SCORE_DENSE_WGMMA_FORMS];

#endif
