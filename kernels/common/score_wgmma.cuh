/*
 * score_wgmma.cuh - the products of the score operators by warpgroups (sm_90a): 64 keys from a ring
 * of column segments in shared memory against the (query, head) pairs of an item.
 *
 * A tile of keys is cut in segments of 64 columns (8 KiB, 128-byte swizzle), which are loaded, read
 * and released one by one; Q has the same cut and stays for the whole item.
 */
#ifndef SAB_SCORE_WGMMA_CUH
#define SAB_SCORE_WGMMA_CUH

#include "gather.cuh"
#include "score_args.h"
#include "stage.cuh"
#include "wgmma_half.cuh"

namespace sab
{

template <int WIDTH, int PAIRS_> struct score_shape {
    static constexpr int PAIRS = PAIRS_;
    static constexpr int SEGMENTS = WIDTH / SCORE_SEGMENT;
    static constexpr int Q_SEGMENT = PAIRS * 2 * SCORE_SEGMENT;
    static constexpr int Q_BYTES = SEGMENTS * Q_SEGMENT;
    static constexpr int Q_SLOTS = Q_BYTES <= 32768 ? 2 : 1;
    static constexpr int FIT =
        (SCORE_WGMMA_SHARED - 2048 - Q_SLOTS * Q_BYTES) / SCORE_SEGMENT_BYTES;
    static constexpr int RING = FIT < 24 ? FIT : 24; /* segments of K */
    static_assert(RING > SEGMENTS);
};

template <class S> struct score_tiles {
    uint8_t q[S::Q_SLOTS][S::SEGMENTS][S::Q_SEGMENT];
    uint8_t ring[S::RING][SCORE_SEGMENT_BYTES];
    uint64_t full[S::RING], empty[S::RING];
    uint64_t q_full[S::Q_SLOTS];
};

/* A way round the places of a ring, and the parity of their `full` barriers. */
template <int NR> struct score_walk {
    uint32_t at = 0, parity = 0;

    __device__ __forceinline__ void advance(uint32_t by = 1)
    {
        at += by;
        if (at >= NR) {
            at -= NR;
            parity ^= 1;
        }
    }
};

/* One thread. A segment is full when `loaders` threads have arrived, and empty when the four warps
 * of the group that reads it have. */
template <class S> __device__ __forceinline__ void score_open(score_tiles<S> &t, uint32_t loaders)
{
    for (int i = 0; i < S::RING; i++) {
        barrier_init(&t.full[i], loaders);
        barrier_init(&t.empty[i], 4);
    }
    for (int i = 0; i < S::Q_SLOTS; i++)
        barrier_init(&t.q_full[i], 1);
}

/* x = K Q^T of the tile that begins at `at`, which moves on to the next one; releases each segment
 * when its products are done. */
template <class S>
__device__ __forceinline__ void score_multiply(float (&x)[S::PAIRS / 2], score_tiles<S> &t,
                                               uint32_t q_slot, score_walk<S::RING> &at)
{
    const wgmma_matrix keys = wgmma_along_k(shared_address(t.ring));
    const wgmma_matrix pairs = wgmma_along_k(shared_address(t.q[q_slot]));
    const bool releases = threadIdx.x % 32 == 0;
    uint32_t before = 0;

#pragma unroll
    for (int i = 0; i < S::SEGMENTS; i++) {
        barrier_wait(&t.full[at.at], at.parity);
        fence_async_reads();
        wgmma_fence();
#pragma unroll
        for (int k = 0; k < 4; k++)
            wgmma_ss<bf16, K_MAJOR, K_MAJOR>(x, keys + (at.at * SCORE_SEGMENT_BYTES + 32 * k),
                                             pairs + (i * S::Q_SEGMENT + 32 * k), i + k > 0);
        wgmma_commit();
        if (i > 0) {
            wgmma_wait<1>();
            if (releases)
                (void)cuda::ptx::mbarrier_arrive(&t.empty[before]);
        }
        before = at.at;
        at.advance();
    }
    wgmma_wait<0>();
    wgmma_hold(x);
    if (releases)
        (void)cuda::ptx::mbarrier_arrive(&t.empty[before]);
}

} // namespace sab

#endif
