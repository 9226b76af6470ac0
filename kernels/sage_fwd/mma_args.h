/*
 * mma_args.h - what one launch of sage_fwd/mma is given, in two forms: with the tensor maps among
 * the kernel parameters, or with the address where they lie.
 */
#ifndef SAGE_MMA_ARGS_H
#define SAGE_MMA_ARGS_H

#include <cuda.h>

#include "sage_call.h"

struct sage_mma_maps {
    CUtensorMap q, k; /* u8, [B,H,S,128], box 64 x 128, 128-byte swizzle */
    CUtensorMap v;    /* u8, [B,H,128,64*Kb], box 128 x 64, 64-byte swizzle */
};

struct sage_mma_args {
    const float *q_scale, *k_scale, *v_scale;
    const int32_t *block_index, *block_nums, *block_sizes;
    uint16_t *out;
    int64_t cap;
    int32_t seqlen_q, seqlen_k, heads, query_tiles, key_blocks, block_sparse_num;
    float scale_log2;
};

/* The maps travel inside the kernel parameters: nothing that outlives the call has to be trusted,
 * and a captured graph node owns its values. */
struct sage_mma_by_value : sage_mma_maps, sage_mma_args {
};

/* The maps lie in the caller's workspace: every launch trusts what stands there. */
struct sage_mma_in_memory : sage_mma_args {
    const struct sage_mma_maps *maps;
};

/* Shared memory of a block, in bytes: two stages of K, two of V (the second V stage holds Q until
 * it is in registers; the two K stages hold the result at the end), and the barriers. At 32,896
 * bytes three blocks fit the 100 KiB of an sm_120a multiprocessor. */
enum {
    SAGE_MMA_TILE_BYTES = 8192,
    SAGE_MMA_K_AT = 0,
    SAGE_MMA_V_AT = 2 * SAGE_MMA_TILE_BYTES,
    SAGE_MMA_BARRIERS_AT = 4 * SAGE_MMA_TILE_BYTES,
    SAGE_MMA_SHARED_BYTES = SAGE_MMA_BARRIERS_AT + 128,
    SAGE_MMA_THREADS = 128,
};

#endif
