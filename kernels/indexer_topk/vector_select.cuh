/*
 * vector_select.cuh - the key of a given rank among elements that are on the chip: a radix search
 * whose digits lie between the smallest and the largest key there are, so that a narrow range costs
 * no more passes than a wide one.
 *
 * A key is the value as a float whose bits order like unsigned integers. -0 and +0 have the same
 * one, NaN has the largest; no element has key 0.
 */
#ifndef INDEXER_TOPK_VECTOR_SELECT_CUH
#define INDEXER_TOPK_VECTOR_SELECT_CUH

#include "vector_args.h"
#include "vector_cluster.cuh"

namespace topk
{

constexpr uint32_t NOT_FULL = 0xffffffffu;

struct find_result {
    uint32_t bin, above, count;
};

/* Shared memory of a block before its elements. */
struct alignas(16) topk_shared {
    uint32_t bins[TOPK_BINS];       /* zero outside a pass */
    uint32_t merged[TOPK_BINS / 2]; /* this block's share of the row's histogram, in a cluster */
    uint32_t post[4];               /* for the other blocks to read */
    uint32_t warps[32];
    find_result found;
    uint32_t lowest, highest;
    uint32_t used, kept; /* of the buffer; `kept` where a warp found it full, or NOT_FULL */
    uint32_t wins, ties; /* places given out */
};
static_assert(sizeof(topk_shared) <= TOPK_ROOM);

/* + 0 turns -0 into +0 and every NaN into one with a positive sign. */
__device__ __forceinline__ uint32_t key_of(float x)
{
    const uint32_t bits = __float_as_uint(x + 0.0f);

    return bits ^ (static_cast<uint32_t>(static_cast<int32_t>(bits) >> 31) | 0x80000000u);
}

__device__ __forceinline__ float value_of(uint32_t key)
{
    return __uint_as_float(key & 0x80000000u ? key ^ 0x80000000u : ~key);
}

/* Keys from `low` on: `above` of the row are beyond the last digit that was looked at, `take` of
 * the `count` that share it belong to the rank asked for. Where these differ, all have key `low`,
 * unless the search was allowed to stop early. */
struct cut_point {
    uint32_t low, above, take, count;
};

/* Adds up the histograms of a cluster: each block a share of the bins. */
__device__ __forceinline__ void merge_bins(topk_shared &s, uint32_t cluster)
{
    const uint32_t share = TOPK_BINS / cluster, first = row_rank<true>() * share;

    row_barrier<true>();
    for (uint32_t i = 4 * threadIdx.x; i < share; i += 4 * blockDim.x) {
        uint4 sum = make_uint4(0, 0, 0, 0);

        for (uint32_t rank = 0; rank < cluster; rank++) {
            const uint4 x = peer_words(&s.bins[first + i], rank);
            sum.x += x.x;
            sum.y += x.y;
            sum.z += x.z;
            sum.w += x.w;
        }
        *reinterpret_cast<uint4 *>(&s.merged[i]) = sum;
    }
    row_barrier<true>();
}

/* The bins of a thread, of the whole row; this block's are zero behind it. */
template <int THREADS, bool CLUSTER, int NR>
__device__ __forceinline__ void take_bins(topk_shared &s, uint32_t cluster, uint32_t first,
                                          uint32_t (&bins)[NR])
{
    const uint32_t share = TOPK_BINS / cluster;

#pragma unroll
    for (int i = 0; i < NR; i++) {
        if constexpr (!CLUSTER)
            bins[i] = s.bins[first + i];
        else if constexpr (NR < 4)
            bins[i] = peer_word(&s.merged[(first + i) % share], first / share);
    }
    if constexpr (CLUSTER && NR >= 4) {
#pragma unroll
        for (int i = 0; i < NR; i += 4) {
            const uint4 x = peer_words(&s.merged[(first + i) % share], first / share);
            bins[i] = x.x;
            bins[i + 1] = x.y;
            bins[i + 2] = x.z;
            bins[i + 3] = x.w;
        }
    }
#pragma unroll
    for (int i = 0; i < NR; i++)
        s.bins[first + i] = 0;
}

/* The bin that holds the element of a rank, from 1 at the largest key; at least `rank` have been
 * counted. */
template <int THREADS, bool CLUSTER>
__device__ __forceinline__ find_result find_bin(topk_shared &s, uint32_t cluster, uint32_t rank)
{
    constexpr int nr = TOPK_BINS / THREADS;
    const uint32_t lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const uint32_t first = TOPK_BINS - nr * (threadIdx.x + 1);
    uint32_t bins[nr], sum = 0;

    if constexpr (CLUSTER)
        merge_bins(s, cluster);
    else
        __syncthreads();
    take_bins<THREADS, CLUSTER>(s, cluster, first, bins);
#pragma unroll
    for (int i = 0; i < nr; i++)
        sum += bins[i];
    uint32_t until = sum;
#pragma unroll
    for (int step = 1; step < 32; step *= 2) {
        const uint32_t before = __shfl_up_sync(0xffffffffu, until, step);
        until += lane >= static_cast<uint32_t>(step) ? before : 0;
    }
    if (lane == 31)
        s.warps[warp] = until;
    __syncthreads();
    const uint32_t of_lane = lane < THREADS / 32 ? s.warps[lane] : 0;
    uint32_t above = __reduce_add_sync(0xffffffffu, lane < warp ? of_lane : 0) + until - sum;
    if (above < rank && rank <= above + sum) {
#pragma unroll
        for (int i = nr - 1; i >= 0; i--) {
            if (above < rank && rank <= above + bins[i])
                s.found = {first + i, above, bins[i]};
            above += bins[i];
        }
    }
    __syncthreads();
    return s.found;
}

/*
 * Looks for the element of `rank`, from 1 at the largest, among keys between `low` and `high`, of
 * which there are at least as many. each(f) calls f(key) for all elements of this thread; keys out
 * of range are passed over. Stops where at most `slack` more than asked for would be taken. In a
 * cluster, all blocks get the same answer, which is that of the row.
 */
template <int THREADS, bool CLUSTER, class Each>
__device__ __forceinline__ cut_point find_rank(topk_shared &s, uint32_t cluster, uint32_t low,
                                               uint32_t high, uint32_t rank, uint32_t slack,
                                               const Each &each)
{
    constexpr int digit = 11;
    uint32_t above = 0;

    for (;;) {
        const uint32_t span = high - low;
        const int bits = 32 - __clz(static_cast<int>(span));
        const int shift = bits > digit ? bits - digit : 0;

        each([&](uint32_t key) {
            const uint32_t d = key - low;
            if (d <= span)
                atomicAdd(&s.bins[d >> shift], 1u);
        });
        const find_result found = find_bin<THREADS, CLUSTER>(s, cluster, rank - above);
        above += found.above;
        low += found.bin << shift;
        high = low + min(high - low, (1u << shift) - 1); /* low + a whole digit may not exist */
        if (shift == 0 || found.count - (rank - above) <= slack)
            return {low, above, rank - above, found.count};
    }
}

/* Smallest and largest of all threads' keys, over the row. */
template <int THREADS, bool CLUSTER>
__device__ __forceinline__ void find_range(topk_shared &s, uint32_t cluster, uint32_t &low,
                                           uint32_t &high)
{
    const uint32_t lane = threadIdx.x % 32;

    low = __reduce_min_sync(0xffffffffu, low);
    high = __reduce_max_sync(0xffffffffu, high);
    if (threadIdx.x == 0) {
        s.post[0] = 0xffffffffu;
        s.post[1] = 0;
    }
    __syncthreads();
    if (lane == 0) {
        atomicMin(&s.post[0], low);
        atomicMax(&s.post[1], high);
    }
    row_barrier<CLUSTER>();
    low = s.post[0];
    high = s.post[1];
    if constexpr (CLUSTER) {
        low = __reduce_min_sync(0xffffffffu,
                                lane < cluster ? peer_word(&s.post[0], lane) : 0xffffffffu);
        high = __reduce_max_sync(0xffffffffu, lane < cluster ? peer_word(&s.post[1], lane) : 0);
    }
}

} // namespace topk

#endif
