/*
 * mma_items.h - how the work of indexer_fwd is cut for mma and wgmma: an item is 256 (query, head)
 * pairs and a part of the keys that they see.
 */
#ifndef INDEXER_FWD_MMA_ITEMS_H
#define INDEXER_FWD_MMA_ITEMS_H

#include "indexer_fwd_call.h"

enum {
    INDEXER_COLUMNS = 256, /* (query, head) pairs of an item */
    INDEXER_KEYS = 128,    /* of a tile */
    INDEXER_TOKENS = 16,   /* most queries of an item: 256 / 16 heads */
};

struct indexer_items {
    struct indexer_fwd_call c;
    uint32_t tokens; /* of an item: 256 / heads */
    uint32_t blocks; /* of `tokens` rows */
    uint32_t splits; /* parts of the keys of a block */
    uint32_t strip;  /* blocks of a batch, where batches are whole blocks, else `blocks` */
};

#ifdef __cplusplus
extern "C" {
#endif

/* As indexer_fwd_call_init(), and SAB_UNSUPPORTED for what a kernel does not serve: both other
 * devices, and rows, keys or columns that do not fit 32-bit numbers; wgmma mxfp8. */
int indexer_mma_call_init(struct indexer_fwd_call *call, const struct sab_problem *problem,
                          unsigned flags, struct sab_message *msg);
int indexer_wgmma_call_init(struct indexer_fwd_call *call, const struct sab_problem *problem,
                            unsigned flags, struct sab_message *msg);

/* The items of a call for `workers` persistent blocks of threads. Returns how many of these have
 * one. */
unsigned indexer_items_init(struct indexer_items *items, const struct indexer_fwd_call *call,
                            unsigned workers);

#ifdef __cplusplus
}
#endif
#endif
