/*
 * vector_cluster.cuh - the instructions that CUDA has no name for, all of them here: a test puts
 * others in their place and runs the rest on the host. What the blocks of a cluster say to each
 * other has a form for a single block that costs nothing more than a barrier of the block.
 */
#ifndef INDEXER_TOPK_VECTOR_CLUSTER_CUH
#define INDEXER_TOPK_VECTOR_CLUSTER_CUH

#include <stdint.h>

#include "stage.cuh"

namespace topk
{

/* Every thread of the row: what was written to shared memory before is seen behind it. */
template <bool CLUSTER> __device__ __forceinline__ void row_barrier()
{
    if constexpr (CLUSTER)
        asm volatile("barrier.cluster.arrive.release.aligned;\n\t"
                     "barrier.cluster.wait.acquire.aligned;"
                     :
                     :
                     : "memory");
    else
        __syncthreads();
}

template <bool CLUSTER> __device__ __forceinline__ uint32_t row_rank()
{
    uint32_t rank = 0;

    if constexpr (CLUSTER)
        asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    return rank;
}

/* The place in the shared memory of block `rank` that `mine` has in this one's. */
__device__ __forceinline__ uint32_t peer_address(const void *mine, uint32_t rank)
{
    uint32_t address;

    asm("mapa.shared::cluster.u32 %0, %1, %2;"
        : "=r"(address)
        : "r"(sab::shared_address(mine)), "r"(rank));
    return address;
}

__device__ __forceinline__ uint32_t peer_word(const uint32_t *mine, uint32_t rank)
{
    uint32_t x;

    asm volatile("ld.shared::cluster.u32 %0, [%1];"
                 : "=r"(x)
                 : "r"(peer_address(mine, rank))
                 : "memory");
    return x;
}

__device__ __forceinline__ uint4 peer_words(const uint32_t *mine, uint32_t rank)
{
    uint4 x;

    asm volatile("ld.shared::cluster.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(x.x), "=r"(x.y), "=r"(x.z), "=r"(x.w)
                 : "r"(peer_address(mine, rank))
                 : "memory");
    return x;
}

/* To the place in block `rank` that `mine` has in this one; seen there behind a barrier. */
__device__ __forceinline__ void peer_store(uint2 *mine, uint32_t rank, uint2 x)
{
    asm volatile("st.shared::cluster.v2.u32 [%0], {%1, %2};"
                 :
                 : "r"(peer_address(mine, rank)), "r"(x.x), "r"(x.y)
                 : "memory");
}

/* A line of 128 bytes, on its way to the L2. */
__device__ __forceinline__ void prefetch_line(const void *from)
{
    asm volatile("prefetch.global.L2 [%0];" : : "l"(from));
}

/* Read once: nothing is left in the L1. */
__device__ __forceinline__ uint4 load_vector(const uint4 *from)
{
    uint4 x;

    asm volatile("ld.global.nc.L1::no_allocate.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(x.x), "=r"(x.y), "=r"(x.z), "=r"(x.w)
                 : "l"(from));
    return x;
}

/* The same number: what follows from it is not worth registers before. */
__device__ __forceinline__ uint32_t anew(uint32_t x)
{
    asm volatile("" : "+r"(x));
    return x;
}

/* Read anew each time: what follows from it is not worth registers meanwhile. */
__device__ __forceinline__ uint32_t block_number()
{
    uint32_t number;

    asm volatile("mov.u32 %0, %%ctaid.x;" : "=r"(number));
    return number;
}

} // namespace topk

#endif
