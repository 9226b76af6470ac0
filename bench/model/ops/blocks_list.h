/*
 * blocks_list.h - how the oracles of the block-sparse operators read the sparsity metadata (sage
 * contract, section 4), and how they run over the query tiles that are wanted.
 */
#ifndef BENCH_MODEL_OPS_BLOCKS_LIST_H
#define BENCH_MODEL_OPS_BLOCKS_LIST_H

#include <stdint.h>

#include "blocks_model.h"

/* What the metadata of a problem is read by. */
struct blocks_list {
    const struct op_problem *p;
    const struct op_source *src;
    struct blocks_places at;
    int64_t heads, seqlen_k, q_blocks, k_blocks, cap;
    int sizes_mode;
};

enum blocks_fault_kind { FAULT_NONE = 0, FAULT_READ, FAULT_COUNT, FAULT_INDEX, FAULT_MEMORY };

/* One used slot, and the tokens of its block that exist. */
struct blocks_slot {
    int64_t block, valid;
};

void blocks_list_init(struct blocks_list *l, const struct op_problem *p,
                      const struct op_source *src, const struct blocks_places *at,
                      int64_t seqlen_k);
/* Fills the `nr` slices of one query tile, which lie side by side; slots in their order. */
typedef enum blocks_fault_kind (*blocks_fill_fn)(const void *run, struct op_slice *s, size_t nr,
                                                 const struct blocks_slot *slots, int64_t slots_nr);
/* Calls `fill` for every tile of the slices, on several threads. */
int blocks_list_run(const struct blocks_list *l, const void *run, blocks_fill_fn fill, int threads,
                    struct op_slices *slices, struct err *err);

#endif
