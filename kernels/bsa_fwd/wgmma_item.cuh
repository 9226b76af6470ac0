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

/* A place in the ring: the stage, which barrier it becomes full by, and the parity of that. */
struct ring_place {
    uint32_t stage, full, parity;
};

__device__ __forceinline__ ring_place place_of(uint32_t at)
{
    const uint32_t fulls = BSA_WGMMA_TURNS * BSA_WGMMA_STAGES;
    const uint32_t full = at < fulls ? at : at - fulls;

    return {full < BSA_WGMMA_STAGES ? full : full - BSA_WGMMA_STAGES, full, at >= fulls};
}
static_assert(BSA_WGMMA_TURNS == 2);

} // namespace bsa

#endif
