/*
 * mma_place.cuh - which query tile a block of threads serves.
 */
#ifndef SAGE_MMA_PLACE_CUH
#define SAGE_MMA_PLACE_CUH

#include "mma_args.h"

namespace sage
{

/* The place of a block in the problem: uniform over the block. */
struct place {
    uint32_t bh, batch, head, tile;

    /* Reads the block number anew each time, so that what the end of the kernel needs is computed
     * there and occupies no register before. */
    __device__ __forceinline__ explicit place(const sage_mma_args &args)
    {
        uint32_t block;

        asm volatile("mov.u32 %0, %%ctaid.x;" : "=r"(block));
        bh = block / args.query_tiles;
        tile = block % args.query_tiles;
        batch = bh / args.heads;
        head = bh % args.heads;
    }

    __device__ __forceinline__ int rows(const sage_mma_args &args) const
    {
        return args.seqlen_q - SAGE_BLOCK * static_cast<int>(tile);
    }

    __device__ __forceinline__ uint16_t *out(const sage_mma_args &args) const
    {
        const int64_t first =
            static_cast<int64_t>(bh) * args.seqlen_q + SAGE_BLOCK * static_cast<int64_t>(tile);
        return args.out + first * SAGE_HEAD_DIM;
    }
};

} // namespace sage

#endif
