/*
 * mma_kernel.cuh - scores of the indexer by warp-wide products, all precisions and architectures.
 *
 * A block is persistent. Its items are 256 (query, head) pairs, whose queries stay in shared memory
 * while keys pass by, 64 at a time in two stages. Both are 16-bit numbers there: e4m3 becomes fp16,
 * e4m3 with E8M0 scales becomes bf16, exactly. Of 64 keys x 256 pairs each of eight warps has 32 x
 * 64: keys are the rows of a product, so that the heads of a query lie side by side in a lane, and
 * at the end each lane has one key.
 *
 * Limits on an H200, in clocks of a multiprocessor for 64 keys x 256 pairs (4.2 MFLOP):
 *   tensor          1530  2743 operations a clock (mma.sync, bf16)
 *   shared memory   1540  a product reads 64 bytes of keys and 128 of queries: 1024 x 192 bytes
 *   issue           730   of 4 a clock
 * Predicted: 400 to 480 TFLOPS in bf16 and in fp8.
 */
#ifndef INDEXER_FWD_MMA_KERNEL_CUH
#define INDEXER_FWD_MMA_KERNEL_CUH

#include "mma_args.h"
#include "mma_half.cuh"
#include "mma_items.cuh"
#include "mma_load.cuh"

namespace indexer
{

/* Part of a lane in sums over heads: queries of 64 (query, head) pairs. */
template <int HEADS> constexpr int PAIR_QUERIES = 64 / HEADS;

/* s[m][j] = products of keys 16m.. with pairs 8j.. of this warp; fragments as in mma_half.cuh. */
template <class P>
__device__ __forceinline__ void multiply(float (&s)[2][8][4], uint32_t k, uint32_t q)
{
    const uint32_t lane = threadIdx.x % 32;

#pragma unroll
    for (int m = 0; m < 2; m++)
#pragma unroll
        for (int i = 0; i < 32; i++)
            s[m][i / 4][i % 4] = 0.0f;
#pragma unroll 1
    for (uint32_t chunk = 0; chunk < MMA_CHUNKS; chunk += 2) { /* 16 channels */
        uint32_t a[2][4];

#pragma unroll
        for (int m = 0; m < 2; m++)
            sab::ldmatrix_x4(a[m], k + chunk_at(16 * m + lane % 16, chunk + lane / 16));
#pragma unroll
        for (int j = 0; j < 8; j += 2) {
            uint32_t b[4]; /* of 16 pairs */

            sab::ldmatrix_x4(b, q + chunk_at(8 * (j + lane / 16) + lane % 8, chunk + lane / 8 % 2));
#pragma unroll
            for (int m = 0; m < 2; m++) {
                sab::mma_half<typename P::number>(s[m][j], a[m], b[0], b[1]);
                sab::mma_half<typename P::number>(s[m][j + 1], a[m], b[2], b[3]);
            }
        }
    }
}

/* Sums over heads: lane 4g + t gets key g + 8 * (t % 2) + 16 * (t / 2), all queries of its warp. */
template <int HEADS>
__device__ __forceinline__ void sum_heads(float (&sums)[PAIR_QUERIES<HEADS>],
                                          const float (&s)[2][8][4], const float (&weight)[16])
{
    constexpr int blocks = HEADS / 8; /* of columns, of a query */
    const bool odd = threadIdx.x & 1, upper = threadIdx.x & 2;

#pragma unroll
    for (int query = 0; query < PAIR_QUERIES<HEADS>; query++) {
        float row[2], part[2][2];

#pragma unroll
        for (int i = 0; i < 4; i++) {
            const int m = i / 2, r = i % 2;
            float sum[2] = {0.0f, 0.0f};
#pragma unroll
            for (int j = query * blocks; j < (query + 1) * blocks; j++)
#pragma unroll
                for (int e = 0; e < 2; e++)
                    sum[e] = fmaf(fmaxf(s[m][j][2 * r + e], 0.0f), weight[2 * j + e], sum[e]);
            part[m][r] = sum[0] + sum[1];
        }
        /* what is given away is what the other lane keeps */
#pragma unroll
        for (int m = 0; m < 2; m++) {
            const float give = odd ? part[m][0] : part[m][1];
            const float keep = odd ? part[m][1] : part[m][0];
            row[m] = keep + __shfl_xor_sync(0xffffffffu, give, 1);
        }
        const float give = upper ? row[0] : row[1];
        const float keep = upper ? row[1] : row[0];
        sums[query] = keep + __shfl_xor_sync(0xffffffffu, give, 2);
    }
}

/* One warp: 64 pairs, and 32 of the keys in a stage. */
template <class P, int HEADS> struct mma_scorer {
    static constexpr int NR = PAIR_QUERIES<HEADS>;

    const indexer_items &items;
    const mma_shared &s;
    uint32_t pairs, keys; /* first ones */
    uint32_t key;         /* the lane's, in a stage */

    /* A factor of the lane's key, of the keys from `first` on. */
    __device__ __forceinline__ float factor_at(uint32_t first) const
    {
        if (!P::SCALED)
            return items.c.factor;
        const uint32_t at = first + key;
        return at < items.c.keys
                   ? items.c.factor * __ldg(static_cast<const float *>(items.c.k_scale) + at)
                   : 0.0f;
    }

    __device__ __forceinline__ void take_weights(float (&weight)[16]) const
    {
#pragma unroll
        for (int j = 0; j < 8; j++) {
            const float2 pair =
                *reinterpret_cast<const float2 *>(&s.weight[pairs + 8 * j + 2 * (threadIdx.x % 4)]);
            weight[2 * j] = pair.x;
            weight[2 * j + 1] = pair.y;
        }
    }

    /* Keys from column `from`, key `first`, on, which lie in `stage`, of an item that begins with
     * `first_row`. */
    __device__ __forceinline__ void score(uint32_t stage, uint32_t first_row, uint32_t from,
                                          uint32_t first) const
    {
        const float factor = factor_at(first);
        float products[2][8][4], sums[NR], weight[16];

        multiply<P>(products, sab::shared_address(s.k[stage]) + keys * MMA_ROW_BYTES,
                    sab::shared_address(s.q) + pairs * MMA_ROW_BYTES);
        const uint32_t query = pairs / HEADS, column = from + key;
        float *to = items.c.scores + (first_row + query) * items.c.stride + column;
        take_weights(weight);
        sum_heads<HEADS>(sums, products, weight);
#pragma unroll
        for (int i = 0; i < NR; i++) {
            const int32_t limit = s.limit[query + i];
            if (limit >= 0 && column < items.c.columns)
                to[i * items.c.stride] =
                    static_cast<int32_t>(column) < limit ? sums[i] * factor : -INFINITY;
        }
    }
};

/* All keys of a run that a split has, 64 at a time; the next ones are on their way meanwhile. */
template <class P, int HEADS>
__device__ __forceinline__ void serve_run(const indexer_items &items, mma_shared &s,
                                          const mma_scorer<P, HEADS> &scorer, const row_run &run,
                                          const tile_range &tiles)
{
    const uint32_t from = tiles.from * INDEXER_KEYS, to = tiles.to * INDEXER_KEYS;
    const uint32_t first_row = run.begin / items.tokens * items.tokens;
    typename P::template pieces<MMA_KEYS> next;

    load_queries<P, HEADS>(items.c, s, run, first_row);
    next.ask(items.c.k, items.c.k_scale, run.first_key + from, items.c.keys);
    next.put(s.k[0]);
    __syncthreads();
    for (uint32_t at = from, stage = 0; at < to; at += MMA_KEYS, stage ^= 1) {
        const bool more = at + MMA_KEYS < to;

        if (more)
            next.ask(items.c.k, items.c.k_scale, run.first_key + at + MMA_KEYS, items.c.keys);
        scorer.score(stage, first_row, at, run.first_key + at);
        if (more)
            next.put(s.k[stage ^ 1]);
        __syncthreads();
    }
}

/* All that a block does, in its shared memory. */
template <class P, int HEADS>
__device__ __forceinline__ void serve_items(const indexer_items &items, uint8_t *shared)
{
    mma_shared &s = *reinterpret_cast<mma_shared *>(shared);
    const uint32_t warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const uint32_t keys = 32 * (warp / 4);
    const mma_scorer<P, HEADS> scorer = {items, s, 64 * (warp % 4), keys,
                                         keys + lane / 4 + 8 * (lane % 2) + 16 * (lane / 2 % 2)};

    for_runs(items, [&](const row_run &run, const key_share &share) {
        const tile_range tiles(items, run, share);

        fill_run(items, run, share, threadIdx.x, INDEXER_MMA_THREADS);
        if (tiles.from < tiles.to)
            serve_run<P, HEADS>(items, s, scorer, run, tiles);
    });
}

template <class P, int HEADS>
__global__ void __launch_bounds__(INDEXER_MMA_THREADS, 2)
    indexer_fwd_mma(const __grid_constant__ indexer_items items)
{
    extern __shared__ __align__(16) uint8_t shared[];

    serve_items<P, HEADS>(items, shared);
}

} // namespace indexer

/* Defines the kernels of one source file. */
#define INDEXER_MMA_DEFINE(precision)                                                              \
    const struct indexer_mma_kernels indexer_mma_##precision = {                                   \
        indexer::indexer_fwd_mma<indexer::mma_##precision, 16>,                                    \
        indexer::indexer_fwd_mma<indexer::mma_##precision, 32>,                                    \
        indexer::indexer_fwd_mma<indexer::mma_##precision, 64>,                                    \
    };

#endif
