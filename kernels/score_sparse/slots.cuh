/*
 * slots.cuh - the selected columns of a query row, and how its raw scores, in memory, become shares
 * of the row; a block has 256 threads that compute.
 */
#ifndef SCORE_SPARSE_SLOTS_CUH
#define SCORE_SPARSE_SLOTS_CUH

#include "score_math.cuh"
#include "sparse_scores.h"

namespace score_sparse
{

constexpr uint32_t ALL_LANES = 0xffffffffu;

/* A query row's ids and the columns of its batch. */
struct row_slots {
    const int32_t *ids;
    int64_t first_id, first_key; /* of the batch; ids count from first_id */
    int32_t length;              /* slots that may be active */

    __device__ __forceinline__ row_slots(const indexer_sparse &d, int64_t row)
    {
        first_key = row / d.seqlen_q * d.seqlen_k;
        first_id = d.slots.global ? first_key : 0;
        ids = d.slots.ids + row * d.slots.slots;
        length = static_cast<int32_t>(indexer_slots_length(&d.slots, row));
    }
    /* The column that a slot's id names, or -1. */
    __device__ __forceinline__ int32_t column(const indexer_sparse &d, int32_t id,
                                              int32_t slot) const
    {
        const int64_t local = id - first_id;
        return slot < length && local >= 0 && local < d.seqlen_k ? static_cast<int32_t>(local) : -1;
    }
};

/* What raw scores sum to: t of the attention, 2^s of the indexer, whose s are in log2 units. */
template <bool ATTENTION> struct row_sum {
    sab::score_log_sum all = {-INFINITY, 0.0f};

    __device__ __forceinline__ void merge(float top, float sum)
    {
        if (ATTENTION)
            all.sum += sum;
        else
            all.add(top, sum);
    }
    __device__ __forceinline__ void add(float score)
    {
        merge(score, ATTENTION ? score : 1.0f);
    }
    __device__ __forceinline__ void add_lanes()
    {
#pragma unroll
        for (int step = 16; step > 0; step /= 2)
            merge(__shfl_xor_sync(ALL_LANES, all.top, step),
                  __shfl_xor_sync(ALL_LANES, all.sum, step));
    }
    __device__ __forceinline__ float2 get() const
    {
        return make_float2(all.top, all.sum);
    }
    /* The sum of eight warps'. */
    __device__ __forceinline__ void take(const float2 *warps)
    {
        all = {warps[0].x, warps[0].y};
#pragma unroll
        for (int i = 1; i < 8; i++)
            merge(warps[i].x, warps[i].y);
    }
};

/* Raw scores of a row, written before by any of the 256 threads, become shares; what lies in slots
 * that are not active is not used. */
template <bool ATTENTION>
__device__ __forceinline__ void divide(const indexer_sparse &d, int64_t item,
                                       const row_sum<ATTENTION> &sum)
{
    constexpr int PART = 4; /* slots of a thread at once */
    const row_slots row(d, item);
    const int32_t slots = static_cast<int32_t>(d.slots.slots);
    const float share = 1.0f / (ATTENTION ? fmaxf(sum.all.sum, 1e-12f) : sum.all.sum);
    float *out = d.out + item * slots;

    for (int32_t at = static_cast<int32_t>(threadIdx.x); at < slots; at += 256 * PART) {
        int32_t id[PART];
        float x[PART];

#pragma unroll
        for (int i = 0; i < PART; i++) {
            const int32_t slot = at + 256 * i;
            id[i] = slot < row.length ? __ldg(row.ids + slot) : -1;
            x[i] = slot < row.length ? out[slot] : 0.0f;
        }
#pragma unroll
        for (int i = 0; i < PART; i++) {
            const int32_t slot = at + 256 * i;
            const float whole = ATTENTION ? x[i] : sab::exp2_approximate(x[i] - sum.all.top);
            if (slot < slots)
                out[slot] = row.column(d, id[i], slot) >= 0 ? whole * share : 0.0f;
        }
    }
}

} // namespace score_sparse

#endif
