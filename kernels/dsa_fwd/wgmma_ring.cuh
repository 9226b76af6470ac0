/*
 * wgmma_ring.cuh - places in the ring of column segments of dsa_fwd/wgmma; S is a shape.
 */
#ifndef DSA_FWD_WGMMA_RING_CUH
#define DSA_FWD_WGMMA_RING_CUH

#include <stdint.h>

namespace dsa
{

/* Where a tile begins in the ring, and the parity of its first segment's barriers. */
template <class S> struct ring_place {
    uint32_t slot, parity;

    __device__ __forceinline__ void advance(uint32_t segments)
    {
        slot += segments;
        if (slot >= S::RING) {
            slot -= S::RING;
            parity ^= 1;
        }
    }
    /* Where tiles fill the ring evenly, all of their segments lie behind the first one. */
    __device__ __forceinline__ bool wraps(int i) const
    {
        return S::RING % S::SEGMENTS != 0 && slot + i >= S::RING;
    }
    /* Slot and parity of the tile's i-th segment. */
    __device__ __forceinline__ uint32_t at(int i) const
    {
        return slot + i - (wraps(i) ? S::RING : 0);
    }
    __device__ __forceinline__ uint32_t parity_at(int i) const
    {
        return parity ^ (wraps(i) ? 1 : 0);
    }
};

} // namespace dsa

#endif
