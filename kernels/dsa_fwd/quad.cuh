/*
 * quad.cuh - what the kernels of dsa_fwd share: when a reference moves, the number of a thread, and
 * the four lanes that hold a row of an accumulator (mma_half.cuh).
 */
#ifndef DSA_FWD_QUAD_CUH
#define DSA_FWD_QUAD_CUH

#include <stdint.h>

namespace dsa
{

/* A maximum that grows by less, in log2 units, does not move the reference: weights up to 2^6 are
 * as exact as those up to 1, and sums are floats. */
constexpr float RESCALE_ABOVE = 6.0f;

/* The lane, and the thread of the block, read anew: addresses that follow from them are then not
 * kept in registers from tile to tile. */
__device__ __forceinline__ uint32_t fresh_lane()
{
    uint32_t lane;

    asm volatile("mov.u32 %0, %%laneid;" : "=r"(lane));
    return lane;
}
__device__ __forceinline__ uint32_t fresh_thread()
{
    uint32_t thread;

    asm volatile("mov.u32 %0, %%tid.x;" : "=r"(thread));
    return thread;
}

__device__ __forceinline__ float quad_sum(float x)
{
    x += __shfl_xor_sync(0xffffffffu, x, 1);
    return x + __shfl_xor_sync(0xffffffffu, x, 2);
}

/* Four registers of each of four lanes, transposed: register i of lane t is what lane i had in
 * register t. */
__device__ __forceinline__ void quad_transpose(uint32_t (&x)[4])
{
    const bool odd = (threadIdx.x & 1) != 0, high = (threadIdx.x & 2) != 0;

#pragma unroll
    for (int i = 0; i < 4; i += 2) {
        const uint32_t got = __shfl_xor_sync(0xffffffffu, odd ? x[i] : x[i + 1], 1);
        x[i] = odd ? got : x[i];
        x[i + 1] = odd ? x[i + 1] : got;
    }
#pragma unroll
    for (int i = 0; i < 2; i++) {
        const uint32_t got = __shfl_xor_sync(0xffffffffu, high ? x[i] : x[i + 2], 2);
        x[i] = high ? got : x[i];
        x[i + 2] = high ? x[i + 2] : got;
    }
}

} // namespace dsa

#endif
