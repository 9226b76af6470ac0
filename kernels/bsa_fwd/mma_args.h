/*
 * mma_args.h - what one launch of bsa_fwd/mma is given, by value, and the shared memory of its
 * block.
 */
#ifndef BSA_MMA_ARGS_H
#define BSA_MMA_ARGS_H

#include "mma_maps.h"
#include "rows_call.h"

enum {
    BSA_MMA_THREADS = 128,
    BSA_MMA_HALF_BYTES = 8192, /* 64 rows of 64 channels */
    BSA_MMA_TILE_BYTES = 2 * BSA_MMA_HALF_BYTES,
    BSA_MMA_STAGES = 3,
};

struct bsa_mma_args {
    struct bsa_maps maps;
    struct bsa_rows rows;
    uint16_t *out;
    float *lse; /* or NULL */
    int32_t seqlen_q;
    float scale_log2;
};

typedef void (*bsa_mma_fn)(const struct bsa_mma_args);

/* mma_<type>.cu */
extern const bsa_mma_fn bsa_mma_bf16, bsa_mma_fp16;

#ifdef __cplusplus

namespace bsa
{

/* One ring for everything, in the order Q, K(0), V(0), K(1), V(1), ... Two blocks of threads fit
 * the 100 KiB of an sm_120a multiprocessor, three the registers of the others. */
struct mma_shared {
    uint8_t ring[BSA_MMA_STAGES][BSA_MMA_TILE_BYTES];
    uint64_t full[BSA_MMA_STAGES], empty[BSA_MMA_STAGES];
};
static_assert(2 * (sizeof(mma_shared) + 1024) <= 102400);

} // namespace bsa

#endif
#endif
