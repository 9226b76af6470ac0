/*
 * mma_args.h - what the kernel of dsa_bwd/mma is called with.
 */
#ifndef DSA_BWD_MMA_ARGS_H
#define DSA_BWD_MMA_ARGS_H

#include <stdint.h>

enum {
    DSA_BWD_MMA_HEADS = 32, /* of a block of threads */
    DSA_BWD_MMA_KEYS = 16,  /* of a tile */
    DSA_BWD_MMA_THREADS = 128,
};

/* `gain` as in wgmma_args.h. */
struct dsa_bwd_mma_args {
    const uint8_t *q, *kv, *out, *dout; /* of 16-bit elements */
    uint8_t *dq;
    const float *lse;       /* [T,H] */
    const float *sink;      /* [H] */
    const int32_t *ids;     /* [T,K] */
    const int32_t *lengths; /* [T] or NULL */
    float *accumulator;     /* [N,D], the order of float_sums */
    float *sink_terms;      /* [T,H]: share of the sink times delta */
    int32_t keys, heads, slots;
    int32_t head_blocks;
    float scale;      /* softmax_scale */
    float scale_log2; /* softmax_scale * log2(e) */
    float gain_log2;
    float gain_inverse;
};

#endif
