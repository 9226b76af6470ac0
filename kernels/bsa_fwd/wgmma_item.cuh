/*
 * wgmma_item.cuh - which query tiles a block of threads serves in a round.
 */
#ifndef BSA_WGMMA_ITEM_CUH
#define BSA_WGMMA_ITEM_CUH

#include "wgmma_args.h"

namespace bsa
{

struct item {
    int32_t first, nr; /* query tiles; nr is 0 behind the last item */

    __device__ __forceinline__ item(const bsa_wgmma_args &args, int32_t round)
    {
        const int32_t blocks = static_cast<int32_t>(gridDim.x);
        const int32_t block = static_cast<int32_t>(blockIdx.x);

        if (round < args.full_rounds) {
            first = (round * blocks + block) * BSA_WGMMA_GROUPS;
            nr = BSA_WGMMA_GROUPS;
        } else {
            const int32_t from = block * args.rest / blocks;
            first = args.full_rounds * blocks * BSA_WGMMA_GROUPS + from;
            nr = round == args.full_rounds ? (block + 1) * args.rest / blocks - from : 0;
        }
    }
};

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
