/*
 * mma_args.h - the kernels of indexer_fwd/mma, by precision and heads.
 */
#ifndef INDEXER_FWD_MMA_ARGS_H
#define INDEXER_FWD_MMA_ARGS_H

#include "mma_items.h"

enum { INDEXER_MMA_THREADS = 256 };

typedef void (*indexer_mma_fn)(const struct indexer_items);

struct indexer_mma_kernels {
    indexer_mma_fn heads_16, heads_32, heads_64;
};
extern const struct indexer_mma_kernels indexer_mma_bf16, indexer_mma_fp8, indexer_mma_mxfp8;

/* Of a block: 256 rows of q, two stages of 64 rows of k, weights and limits. sm_120 has 101376. */
enum { INDEXER_MMA_SHARED_BYTES = (256 + 2 * 64) * 256 + 256 * 4 + 64 };

#endif
