/*
 * gather.cuh - rows of global memory into a shared-memory tile, 16 bytes a thread, by cp.async.
 *
 * A tile for wgmma has rows of 128 bytes with the 128-byte swizzle: the 16-byte piece c of row r
 * lies at 128 * r + 16 * (c ^ r % 8). Eight lanes that copy the eight pieces of a row write all
 * banks once.
 *
 * The copies write through the generic proxy and wgmma reads through the async proxy: a reader
 * waits for the `full` barrier, then calls fence_async_reads(), then multiplies.
 */
#ifndef SAB_GATHER_CUH
#define SAB_GATHER_CUH

#include <stdint.h>

namespace sab
{

/* Byte of piece c (0..7) of row r in a swizzled tile of 128-byte rows. */
__device__ __forceinline__ uint32_t swizzled_piece(uint32_t r, uint32_t c)
{
    return 128 * r + 16 * (c ^ (r & 7));
}

/* L2 policies for copies that carry a hint: what is read again by others stays, what passes once
 * goes first. */
__device__ __forceinline__ uint64_t policy_keep()
{
    uint64_t policy;

    asm volatile("createpolicy.fractional.L2::evict_last.b64 %0, 1.0;" : "=l"(policy));
    return policy;
}
__device__ __forceinline__ uint64_t policy_stream()
{
    uint64_t policy;

    asm volatile("createpolicy.fractional.L2::evict_first.b64 %0, 1.0;" : "=l"(policy));
    return policy;
}

/* 16 bytes at `global` to shared address `to`, or zeros: then nothing is read, whatever `global`
 * says. Bypasses L1. */
__device__ __forceinline__ void copy_piece(uint32_t to, const void *global, bool active)
{
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;"
                 :
                 : "r"(to), "l"(global), "r"(active ? 16 : 0)
                 : "memory");
}

/* The same with an L2 policy; the miss of a sector fetches its whole 256 bytes. */
__device__ __forceinline__ void copy_piece(uint32_t to, const void *global, bool active,
                                           uint64_t policy)
{
    asm volatile("cp.async.cg.shared.global.L2::cache_hint.L2::256B [%0], [%1], 16, %2, %3;"
                 :
                 : "r"(to), "l"(global), "r"(active ? 16 : 0), "l"(policy)
                 : "memory");
}

/* One arrival at `barrier`, by each thread that calls it, when all its copies so far have landed.
 * The barrier was initialised to expect these arrivals. Does not block. */
__device__ __forceinline__ void arrive_when_copied(uint64_t *barrier)
{
    asm volatile("cp.async.mbarrier.arrive.noinc.shared::cta.b64 [%0];"
                 :
                 : "r"(static_cast<uint32_t>(__cvta_generic_to_shared(barrier)))
                 : "memory");
}

/* Copies that this thread knows to have landed are seen by its later products. */
__device__ __forceinline__ void fence_async_reads()
{
    asm volatile("fence.proxy.async.shared::cta;" : : : "memory");
}

/* For kernels without barriers in shared memory: closes a group of copies, and waits until at most
 * PENDING of the latest groups have not landed. */
__device__ __forceinline__ void copies_commit()
{
    asm volatile("cp.async.commit_group;" : : : "memory");
}
template <int PENDING> __device__ __forceinline__ void copies_wait()
{
    asm volatile("cp.async.wait_group %0;" : : "n"(PENDING) : "memory");
}

} // namespace sab

#endif
