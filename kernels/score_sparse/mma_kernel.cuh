/*
 * mma_kernel.cuh - scores of selected columns by warp-wide products, on every architecture.
 *
 * A block is persistent and takes query rows in turn. Q of up to 64 heads lies in shared memory;
 * the row's slots are dealt to eight warps, 16 at a time, and each warp gathers and multiplies its
 * own (score_mma.cuh). Further heads follow and add to the raw scores in the output. When the row
 * is through, its sum is known, and what lies in the output becomes shares of it.
 *
 * Limits on an H200, in clocks of a multiprocessor for 128 slots and 64 heads of 512:
 *   shared memory   5120   16 columns of 16 slots read 512 bytes of k and 2048 of q
 *   gather          3400
 *   tensor          3060   2743 operations a clock (mma.sync, bf16)
 * Predicted: 180 to 260 TFLOPS of the 345 that shared memory allows.
 */
#ifndef SCORE_SPARSE_MMA_KERNEL_CUH
#define SCORE_SPARSE_MMA_KERNEL_CUH

#include "mma_args.h"
#include "score_mma.cuh"
#include "slots.cuh"

namespace score_sparse
{

template <int WIDTH, int HEADS> struct mma_shared {
    sab::score_mma_shared<WIDTH, HEADS> items;
    float2 results[sab::SCORE_MMA_WARPS]; /* top and sum */
};

/* The rows of k that a warp's chunks name, one chunk after the other; ids are read ahead. */
template <int WIDTH> struct slot_rows {
    const indexer_sparse &d;
    const row_slots &row;
    int32_t slot; /* this lane's first one of the chunk whose ids are known */
    int32_t id[2];

    __device__ __forceinline__ void read()
    {
#pragma unroll
        for (int r = 0; r < 2; r++)
            id[r] = slot + 8 * r < row.length ? __ldg(row.ids + slot + 8 * r) : -1;
    }
    __device__ __forceinline__ sab::score_mma_rows operator()()
    {
        sab::score_mma_rows rows;

#pragma unroll
        for (int r = 0; r < 2; r++) {
            const int32_t column = row.column(d, id[r], slot + 8 * r);
            rows.key[r] = column < 0 ? nullptr
                                     : static_cast<const uint16_t *>(d.k.data) +
                                           (row.first_key + column) * WIDTH;
        }
        slot += SCORE_MMA_KEYS * sab::SCORE_MMA_WARPS;
        read();
        return rows;
    }
};

template <int WIDTH, int HEADS, bool ATTENTION> struct mma_scorer {
    const score_sparse_mma_args &args;
    mma_shared<WIDTH, HEADS> &s;
    uint32_t warp, lane;
    row_sum<ATTENTION> sum;

    /* Q and the weights of a part of the heads. */
    __device__ __forceinline__ void load(int64_t item, int32_t part)
    {
        const int32_t first = part * HEADS, heads = static_cast<int32_t>(args.d.heads) - first;
        const int64_t at = item * args.d.heads + first;
        const uint16_t *q = static_cast<const uint16_t *>(args.d.q.data) + at * WIDTH;

        __syncthreads(); /* what was there is not read any more */
        for (uint32_t i = threadIdx.x; i < HEADS; i += SCORE_MMA_THREADS) {
            const bool there = static_cast<int32_t>(i) < heads;
            s.items.weight[i] = there       ? sab::score_weight<ATTENTION>(args.heads, at + i)
                                : ATTENTION ? -INFINITY
                                            : 0.0f;
        }
        sab::score_mma_load_q(s.items, args.d.q.data, [&](uint32_t head) {
            return static_cast<int32_t>(head) < heads ? q + head * WIDTH : nullptr;
        });
        __syncthreads();
    }

    /* Lanes of t < 2 each have a slot, the others the same ones. */
    __device__ __forceinline__ void put(float score, const row_slots &row, int64_t item,
                                        int32_t chunk, int32_t part)
    {
        const int32_t slot =
            SCORE_MMA_KEYS * chunk + static_cast<int32_t>(lane / 4 + 8 * (lane & 1));
        float *out = args.d.out + item * args.d.slots.slots + slot;

        if (lane & 2 || slot >= row.length || row.column(args.d, __ldg(row.ids + slot), slot) < 0)
            return;
        if (!ATTENTION)
            score *= args.factor;
        if (part > 0)
            score += *out;
        if (part + 1 == args.parts)
            sum.add(score);
        *out = score;
    }

    __device__ __forceinline__ void score_part(const row_slots &row, int64_t item, int32_t part)
    {
        const int32_t chunks = (row.length + SCORE_MMA_KEYS - 1) / SCORE_MMA_KEYS;
        const int32_t mine =
            (chunks - static_cast<int32_t>(warp) + sab::SCORE_MMA_WARPS - 1) / sab::SCORE_MMA_WARPS;
        slot_rows<WIDTH> rows = {
            args.d, row, static_cast<int32_t>(SCORE_MMA_KEYS * warp + lane / 4), {}};

        load(item, part);
        rows.read();
        sab::score_mma_stream(s.items, args.d.k.data, static_cast<uint32_t>(max(0, mine)), rows,
                              [&](uint32_t i, const float(&x)[HEADS / 8][4]) {
                                  float sums[1], weight[HEADS / 4];

                                  sab::score_mma_weights(weight, s.items);
                                  sab::score_sums<1, ATTENTION>(sums, x[0], weight, args.factor);
                                  put(sums[0], row, item,
                                      static_cast<int32_t>(warp + sab::SCORE_MMA_WARPS * i), part);
                              });
    }

    __device__ __forceinline__ void serve_row(int64_t item)
    {
        const row_slots row(args.d, item);

        sum = {};
        for (int32_t part = 0; part < args.parts; part++)
            score_part(row, item, part);
        sum.add_lanes();
        if (lane == 0)
            s.results[warp] = sum.get();
        __syncthreads();
        sum.take(s.results);
        divide<ATTENTION>(args.d, item, sum);
    }
};

template <int WIDTH, int HEADS, bool ATTENTION>
__global__ void __launch_bounds__(SCORE_MMA_THREADS, 2)
    mma_kernel(const __grid_constant__ score_sparse_mma_args args)
{
    extern __shared__ __align__(1024) uint8_t memory[];
    mma_shared<WIDTH, HEADS> &s = *reinterpret_cast<mma_shared<WIDTH, HEADS> *>(memory);
    mma_scorer<WIDTH, HEADS, ATTENTION> scorer = {args, s, threadIdx.x / 32, threadIdx.x % 32};

    for (int64_t item = blockIdx.x; item < args.d.rows; item += gridDim.x)
        scorer.serve_row(item);
}

template <int WIDTH, int HEADS, bool ATTENTION> constexpr score_sparse_mma_form mma_form()
{
    static_assert(sizeof(mma_shared<WIDTH, HEADS>) <= SCORE_MMA_SHARED);
    return {mma_kernel<WIDTH, HEADS, ATTENTION>, HEADS, WIDTH,
            static_cast<int32_t>(sizeof(mma_shared<WIDTH, HEADS>))};
}

} // namespace score_sparse

/* Defines the forms of one source file. */
#define SCORE_SPARSE_MMA_WIDTH(width, attention)                                                   \
    score_sparse::mma_form<width, 16, attention>(),                                                \
        score_sparse::mma_form<width, 32, attention>(),                                            \
        score_sparse::mma_form<width, 64, attention>()
#define SCORE_SPARSE_MMA_DEFINE(name, attention)                                                   \
    const struct score_sparse_mma_form name[SCORE_SPARSE_MMA_FORMS] = {                            \
        SCORE_SPARSE_MMA_WIDTH(128, attention), SCORE_SPARSE_MMA_WIDTH(512, attention),            \
        SCORE_SPARSE_MMA_WIDTH(576, attention)};

#endif
