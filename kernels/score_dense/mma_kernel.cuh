/*
 * mma_kernel.cuh - scores of all visible columns by warp-wide products, on every architecture.
 *
 * A block is persistent. Its items are 64 (query, head) pairs, whose queries stay in shared memory;
 * the columns are dealt to eight warps, 16 at a time, and each warp loads and multiplies its own
 * (score_mma.cuh). Groups of heads follow each other and add to what the same lane wrote before.
 * Sums of rows are made from the finished matrix (vector_parts.cu).
 *
 * Limits on an H200, in clocks of a multiprocessor for 128 keys x 64 pairs of 128:
 *   shared memory   1280   16 columns of 16 keys read 512 bytes of k and 2048 of q
 *   tensor          765    2743 operations a clock (mma.sync, bf16)
 * Predicted: 220 to 300 TFLOPS of the 378 that shared memory allows.
 */
#ifndef SCORE_DENSE_MMA_KERNEL_CUH
#define SCORE_DENSE_MMA_KERNEL_CUH

#include "items.cuh"
#include "mma_args.h"
#include "score_math.cuh"
#include "score_mma.cuh"

namespace score_dense
{

template <int WIDTH> struct mma_shared {
    sab::score_mma_shared<WIDTH, SCORE_MMA_PAIRS> items;
    int32_t limit[4]; /* columns that a row sees; below 0: not a row of this run */
};

template <int WIDTH, int HEADS, bool ATTENTION> struct mma_scorer {
    static constexpr int TOKENS = SCORE_MMA_PAIRS / HEADS;
    static constexpr int NR = sab::SCORE_SUMS<TOKENS>; /* queries of a lane */

    const score_dense_items &args;
    mma_shared<WIDTH> &s;
    uint32_t warp, lane;

    /* Q, the weights of a group of heads and what the rows of a run see. */
    __device__ __forceinline__ void load(const row_run &run, const group_place &group,
                                         uint32_t first_row)
    {
        const indexer_dense &d = args.d;
        const auto at = [&](uint32_t pair) {
            const int64_t row = first_row + pair / HEADS;
            return row < d.rows && pair % HEADS < group.nr
                       ? row * d.heads + group.first + pair % HEADS
                       : -1;
        };

        __syncthreads(); /* what was there is not read any more */
        for (uint32_t i = threadIdx.x; i < SCORE_MMA_PAIRS; i += SCORE_MMA_THREADS)
            s.items.weight[i] = at(i) >= 0  ? sab::score_weight<ATTENTION>(args.heads, at(i))
                                : ATTENTION ? -INFINITY
                                            : 0.0f;
        if (threadIdx.x < TOKENS)
            s.limit[threadIdx.x] = limit_at(d, run, first_row + threadIdx.x);
        sab::score_mma_load_q(s.items, d.q.data, [&](uint32_t pair) {
            return at(pair) >= 0 ? static_cast<const uint16_t *>(d.q.data) + at(pair) * WIDTH
                                 : nullptr;
        });
        __syncthreads();
    }

    /* The lane's key is that of column `column`. */
    __device__ __forceinline__ void put(const float (&sums)[NR], uint32_t first_row,
                                        uint32_t column, bool adds) const
    {
        const uint32_t upper = lane / 2 % 2, first = TOKENS > 1 ? NR * upper : 0;

        if (column >= args.d.columns || (TOKENS == 1 && upper))
            return; /* a single query is on both halves */
#pragma unroll
        for (int i = 0; i < NR; i++) {
            const int32_t limit = s.limit[first + i];
            float *to = args.d.out + (first_row + first + i) * args.d.stride + column;

            if (limit < 0)
                continue;
            float score = ATTENTION ? sums[i] : sums[i] * args.d.scale;
            if (static_cast<int32_t>(column) >= limit)
                score = -INFINITY;
            else if (adds)
                score += *to;
            *to = score;
        }
    }

    /* Chunks from..to - 1 of a run's columns. */
    __device__ __forceinline__ void serve_group(const row_run &run, uint32_t index, uint32_t from,
                                                uint32_t to)
    {
        const group_place group(args, index);
        const uint32_t first_row = run.begin / TOKENS * TOKENS;
        const int64_t stride = args.d.kv_heads * WIDTH;
        const uint16_t *keys = static_cast<const uint16_t *>(args.d.k.data) +
                               run.first_key * stride + group.kv_head * WIDTH;
        const uint32_t left = to - from;
        const uint32_t mine =
            left > warp ? (left - warp + sab::SCORE_MMA_WARPS - 1) / sab::SCORE_MMA_WARPS : 0;
        uint32_t row = SCORE_MMA_KEYS * (from + warp) + lane / 4;

        load(run, group, first_row);
        sab::score_mma_stream(
            s.items, args.d.k.data, mine,
            [&] {
                sab::score_mma_rows rows;
#pragma unroll
                for (int r = 0; r < 2; r++)
                    rows.key[r] = row + 8 * r < run.limit ? keys + (row + 8 * r) * stride : nullptr;
                row += SCORE_MMA_KEYS * sab::SCORE_MMA_WARPS;
                return rows;
            },
            [&](uint32_t i, const float(&x)[SCORE_MMA_PAIRS / 8][4]) {
                const uint32_t chunk = from + warp + sab::SCORE_MMA_WARPS * i;
                float sums[NR], weight[SCORE_MMA_PAIRS / 4];

                sab::score_mma_weights(weight, s.items);
                sab::score_sums<TOKENS, ATTENTION>(sums, x[0], weight, args.factor);
                put(sums, first_row, SCORE_MMA_KEYS * chunk + lane / 4 + 8 * (lane % 2), index > 0);
            });
    }
};

template <int WIDTH, int HEADS, bool ATTENTION>
__global__ void __launch_bounds__(SCORE_MMA_THREADS, 2)
    mma_kernel(const __grid_constant__ score_dense_items args)
{
    extern __shared__ __align__(1024) uint8_t memory[];
    mma_shared<WIDTH> &s = *reinterpret_cast<mma_shared<WIDTH> *>(memory);
    mma_scorer<WIDTH, HEADS, ATTENTION> scorer = {args, s, threadIdx.x / 32, threadIdx.x % 32};

    for_runs(args, [&](const row_run &run, uint32_t split) {
        const tile_range<SCORE_MMA_KEYS> chunks(args, run, split);

        fill_run<SCORE_MMA_KEYS>(args, run, split, threadIdx.x, SCORE_MMA_THREADS);
        if (chunks.from == chunks.to)
            return;
        for (uint32_t group = 0; group < groups_of(args); group++)
            scorer.serve_group(run, group, chunks.from, chunks.to);
    });
}

template <int WIDTH, int HEADS, bool ATTENTION> constexpr score_dense_mma_form mma_form()
{
    static_assert(sizeof(mma_shared<WIDTH>) <= SCORE_MMA_SHARED);
    return {mma_kernel<WIDTH, HEADS, ATTENTION>, HEADS, WIDTH,
            static_cast<int32_t>(sizeof(mma_shared<WIDTH>))};
}

} // namespace score_dense

/* Defines the forms of one source file. */
#define SCORE_DENSE_MMA_WIDTH(width, attention)                                                    \
    score_dense::mma_form<width, 16, attention>(), score_dense::mma_form<width, 32, attention>(),  \
        score_dense::mma_form<width, 64, attention>()
#define SCORE_DENSE_MMA_DEFINE(name, attention)                                                    \
    const struct score_dense_mma_form name[SCORE_DENSE_MMA_FORMS] = {                              \
        SCORE_DENSE_MMA_WIDTH(128, attention), SCORE_DENSE_MMA_WIDTH(512, attention),              \
        SCORE_DENSE_MMA_WIDTH(576, attention)};

#endif
