/*
 * stage.cuh - the traffic of a shared-memory stage: TMA fills it, warps read it, warps release it.
 *
 * A stage has a `full` barrier (one arrival, by the thread that asks for the load, plus the bytes)
 * and an `empty` barrier (one arrival per reading warp). The k-th use of a barrier, from 0, is
 * awaited with parity k % 2.
 */
#ifndef SAB_STAGE_CUH
#define SAB_STAGE_CUH

#include <cuda/ptx>
#include <stdint.h>

namespace sab
{

__device__ __forceinline__ uint32_t shared_address(const void *pointer)
{
    return static_cast<uint32_t>(__cvta_generic_to_shared(pointer));
}

__device__ __forceinline__ void barrier_init(uint64_t *barrier, uint32_t arrivals)
{
    cuda::ptx::mbarrier_init(barrier, arrivals);
}

/* True in one lane of a converged warp. Unlike after a test of the thread number, the assembler
 * knows that it is a single one. */
__device__ __forceinline__ bool elect_one()
{
    uint32_t elected;

    asm volatile("{\n\t"
                 ".reg .pred p;\n\t"
                 "elect.sync _|p, 0xffffffff;\n\t"
                 "selp.u32 %0, 1, 0, p;\n\t"
                 "}"
                 : "=r"(elected)
                 :
                 : "memory");
    return elected != 0;
}

/* Makes initialised barriers visible to the async proxy; a __syncthreads() must follow. */
__device__ __forceinline__ void barriers_publish()
{
    cuda::ptx::fence_mbarrier_init(cuda::ptx::sem_release, cuda::ptx::scope_cluster);
    cuda::ptx::fence_proxy_async(cuda::ptx::space_shared);
}

__device__ __forceinline__ void barrier_wait(uint64_t *barrier, uint32_t parity)
{
    while (!cuda::ptx::mbarrier_try_wait_parity(barrier, parity)) {
    }
}

/* One thread: the arrival of a `full` barrier, which then also waits for `bytes` of boxes. */
__device__ __forceinline__ void expect_boxes(uint64_t *full, uint32_t bytes)
{
    cuda::ptx::mbarrier_arrive_expect_tx(cuda::ptx::sem_release, cuda::ptx::scope_cta,
                                         cuda::ptx::space_shared, full, bytes);
}

/* One thread: asks for a box of a rank 4 tensor, whose bytes count at `full`. */
__device__ __forceinline__ void ask_box(uint8_t *stage, uint64_t *full, const void *map, int x0,
                                        int x1, int x2, int x3)
{
    const int32_t at[4] = {x0, x1, x2, x3};

#if __CUDA_ARCH__ >= 1000
    cuda::ptx::cp_async_bulk_tensor(cuda::ptx::space_shared, cuda::ptx::space_global, stage, map,
                                    at, full);
#else /* sm_90 knows the cluster form only; without a cluster it means this block */
    cuda::ptx::cp_async_bulk_tensor(cuda::ptx::space_cluster, cuda::ptx::space_global, stage, map,
                                    at, full);
#endif
}

/* One thread: fills a stage with a box of a rank 4 tensor. `bytes` is the whole box: elements out
 * of range arrive as zeros and count. */
__device__ __forceinline__ void load_box(uint8_t *stage, uint64_t *full, uint32_t bytes,
                                         const void *map, int x0, int x1, int x2, int x3)
{
    expect_boxes(full, bytes);
    ask_box(stage, full, map, x0, x1, x2, x3);
}

/* A policy for copy_bulk: what is read now is the first that the L2 may drop. */
__device__ __forceinline__ uint64_t evict_first()
{
    uint64_t policy;

    asm("createpolicy.fractional.L2::evict_first.b64 %0, 1.0;" : "=l"(policy));
    return policy;
}

__device__ __forceinline__ uint64_t evict_normal()
{
    uint64_t policy;

    asm("createpolicy.fractional.L2::evict_normal.b64 %0, 1.0;" : "=l"(policy));
    return policy;
}

/* One thread: copies bytes that count at `full`; addresses and `bytes` are multiples of 16. */
__device__ __forceinline__ void copy_bulk(void *stage, const void *from, uint32_t bytes,
                                          uint64_t *full, uint64_t policy)
{
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes"
                 ".L2::cache_hint [%0], [%1], %2, [%3], %4;"
                 :
                 : "r"(shared_address(stage)), "l"(from), "r"(bytes), "r"(shared_address(full)),
                   "l"(policy)
                 : "memory");
}

/* Of a barrier that counts the 32 lanes of a warp: each arrives for what it wrote or read itself.
 * An arrival of one lane behind __syncwarp() orders the same, but racecheck does not see that it
 * does. */
constexpr uint32_t WARP_LANES = 32;
__device__ __forceinline__ void warp_arrive(uint64_t *barrier)
{
    (void)cuda::ptx::mbarrier_arrive(barrier);
}

/*
 * A warp has read a stage. The fence stands before the arrival: the barrier alone does not order
 * these generic-proxy reads before the next TMA write, which goes through the async proxy, and
 * without it a stage can be overwritten under a slow reader when the memory system is busy.
 */
__device__ __forceinline__ void stage_release(uint64_t *empty, uint32_t lane)
{
    cuda::ptx::fence_proxy_async(cuda::ptx::space_shared);
    __syncwarp();
    if (lane == 0)
        (void)cuda::ptx::mbarrier_arrive(empty);
}

__device__ __forceinline__ void map_prefetch(const void *map)
{
    asm volatile("prefetch.tensormap [%0];" : : "l"(map) : "memory");
}

/* Map bytes in global memory that others wrote, the host too, count for this thread's boxes from
 * here on. */
__device__ __forceinline__ void map_acquire(const void *map)
{
    cuda::ptx::fence_proxy_tensormap_generic(cuda::ptx::sem_acquire, cuda::ptx::scope_sys, map,
                                             cuda::ptx::n32_t<128>());
}

/* Map bytes that this thread wrote to global memory are there for a later map_acquire(). */
__device__ __forceinline__ void maps_release()
{
    cuda::ptx::fence_proxy_tensormap_generic(cuda::ptx::sem_release, cuda::ptx::scope_sys);
}

/* The line at `global` moves into the L2 cache. */
__device__ __forceinline__ void prefetch_l2(const void *global)
{
    asm volatile("prefetch.global.L2 [%0];" : : "l"(global) : "memory");
}

} // namespace sab

#endif
