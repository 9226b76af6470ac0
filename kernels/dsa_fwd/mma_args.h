/*
 * mma_args.h - what the kernels of dsa_fwd/mma are called with, and which there are.
 */
#ifndef DSA_FWD_MMA_ARGS_H
#define DSA_FWD_MMA_ARGS_H

#include "dsa_fwd_call.h"

enum {
    DSA_MMA_KEYS = 32, /* of a tile */
    DSA_MMA_THREADS = 128,
};

struct dsa_fwd_mma_args {
    struct dsa_fwd_call c;
    int32_t head_blocks; /* block = row * head_blocks + tile of heads */
};

struct dsa_fwd_mma_form {
    void (*kernel)(const struct dsa_fwd_mma_args);
    int32_t heads, shared_bytes; /* heads of a tile */
};

/* by width: 512, 576; by heads: 16, 32 */
extern const struct dsa_fwd_mma_form dsa_fwd_mma_bf16[2][2], dsa_fwd_mma_fp16[2][2];

#endif
