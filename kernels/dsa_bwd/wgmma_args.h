/*
 * wgmma_args.h - what the kernels of dsa_bwd/wgmma are called with.
 */
#ifndef DSA_BWD_WGMMA_ARGS_H
#define DSA_BWD_WGMMA_ARGS_H

#include <cuda.h>
#include <stdint.h>

#include "fixed_point.cuh"

enum {
    DSA_BWD_WGMMA_KEYS = 64, /* of a tile */
    DSA_BWD_WGMMA_THREADS = 256,
};

/* P is multiplied by `gain` before it is rounded, dS by gain * softmax_scale, so that both may be
 * added up in one accumulator; what leaves it is multiplied by 1 / gain. */
struct dsa_bwd_wgmma_args {
    CUtensorMap q, dout,
        dq;             /* [T,H,width] in boxes of a block of heads x 64 columns, zeros behind H */
    const uint8_t *kv;  /* [N,D] of 16-bit elements */
    const uint8_t *out; /* [T,H,512] */
    const float *lse;   /* [T,H] */
    const float *sink;  /* [H] */
    const int32_t *ids; /* [T,K] */
    const int32_t *lengths; /* [T] or NULL */
    void *accumulator;      /* [N,D], see wgmma_add.cuh */
    float *sink_terms;      /* [T,H]: share of the sink times delta */
    int32_t keys, heads, slots;
    int32_t head_blocks;
    float scale;      /* softmax_scale */
    float scale_log2; /* softmax_scale * log2(e) */
    float gain_log2;
    float gain_inverse;
    dsa_bwd::fixed_point fixed; /* where integers are added */
    uint8_t second_pass;
};

#endif
