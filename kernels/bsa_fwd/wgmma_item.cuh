/*
 * wgmma_item.cuh - where the parts of a block of threads are: in the items, in the ring of stages.
 */
#ifndef BSA_WGMMA_ITEM_CUH
#define BSA_WGMMA_ITEM_CUH

#include "wgmma_args.h"

namespace bsa
{

/* Of this block of threads. */
__device__ __forceinline__ bsa_item item_of(const bsa_wgmma_args &args, int32_t round)
{
    return bsa_item_of(args.full_rounds, args.rest, static_cast<int32_t>(gridDim.x),
                       static_cast<int32_t>(blockIdx.x), round);
}

/* A place in the ring of stages, and the parity with which its barriers are awaited there. */
struct ring_place {
    uint32_t stage, parity;

    __device__ __forceinline__ void advance()
    {
        if (++stage == BSA_WGMMA_STAGES) {
            stage = 0;
            parity ^= 1;
        }
    }
};

} // namespace bsa

#endif
