/*
 * score_dense_items_call.h - how the work of the dense scores is cut for mma and wgmma. An item is
 * a block of query rows and a part of the columns that they see. Heads come in groups that share a
 * kv head; an item serves one group after the other and adds to what lies in the output.
 */
#ifndef SCORE_DENSE_ITEMS_CALL_H
#define SCORE_DENSE_ITEMS_CALL_H

#include "dense_scores.h"
#include "schema.h"
#include "score_args.h"

enum { SCORE_DENSE_UNIT = 128 /* columns: parts begin at multiples of them */ };

struct score_dense_items {
    struct indexer_dense d; /* bf16 */
    struct score_heads heads;
    float factor;                   /* scale * log2 e, of attention */
    uint32_t tokens, blocks;        /* query rows of a block */
    uint32_t splits;                /* parts of the columns of a block */
    uint32_t group_heads, kv_heads; /* most heads of a group; of a kv head: d.heads / d.kv_heads */
    uint32_t parts;                 /* groups of a kv head */
};

#ifdef __cplusplus
extern "C" {
#endif

/* SAB_UNSUPPORTED where rows or columns do not fit the 32-bit numbers of the fast kernels. `keys`
 * are those of all batches. */
int score_dense_items_check(const struct indexer_dense *dense, int64_t keys,
                            struct sab_message *msg);

enum { SCORE_DENSE_WORKSPACE_ALIGNMENT = 256 };

/* Bytes of the workspace: q and k of mxfp8 as bf16, one behind the other, else none. */
uint64_t score_dense_items_bytes_of_q(const struct indexer_dense *dense);
uint64_t score_dense_items_bytes(const struct indexer_dense *dense, int64_t keys);

/* The smallest of 16, 32, 64 and 128 heads, up to `most`, that holds those of a kv head. */
int score_dense_items_heads(const struct indexer_dense *dense, int most);

/* The items of a call for groups of `heads` heads, `pairs` (query, head) pairs at a time and
 * `workers` persistent blocks of threads. Returns how many of these have an item. */
unsigned score_dense_items_init(struct score_dense_items *items, const struct indexer_dense *dense,
                                int heads, int pairs, unsigned workers);

#ifdef __cplusplus
}
#endif
#endif
