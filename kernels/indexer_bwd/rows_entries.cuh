/*
 * rows_entries.cuh - the entries of one row of scores: which key an entry names, and G, the
 * gradient of its score (contracts/indexer.md, 6.2).
 */
#ifndef INDEXER_BWD_ROWS_ENTRIES_CUH
#define INDEXER_BWD_ROWS_ENTRIES_CUH

#include <math.h>

#include "rows_args.h"

namespace indexer_bwd
{

/* As loaded: of the dense form, `t` is attn_raw and `p` index_raw. */
struct entry {
    int32_t key; /* of all batches, -1: not active */
    float t, p;
};

/* indexer_bwd_place() by 32-bit division. */
__device__ __forceinline__ indexer_place place_of(const indexer_bwd_call &c, uint32_t row)
{
    if (c.cu_q)
        return indexer_packed_place(c.cu_q, c.cu_k, c.batch, row);
    indexer_place place;
    const uint32_t rows = static_cast<uint32_t>(c.seqlen_q);
    place.batch = row / rows;
    place.q = row % rows;
    place.first_k = place.batch * c.seqlen_k;
    place.keys = c.seqlen_k;
    return place;
}

template <bool SPARSE> struct row_entries {
    const int32_t *ids; /* of the row, as `t` and `p` */
    const float *t, *p;
    int32_t length;                /* entries that may be active */
    int32_t first_k, keys, origin; /* ids count from `origin` */
    float factor;                  /* c of the contract */
    float lse, t_factor;           /* dense */

    __device__ __forceinline__ row_entries(const indexer_bwd_call &c, uint32_t at)
    {
        const indexer_place place = place_of(c, at);
        const int64_t row = at;

        first_k = static_cast<int32_t>(place.first_k);
        keys = static_cast<int32_t>(place.keys);
        length = static_cast<int32_t>(indexer_bwd_length(&c, &place, row));
        factor = c.grad_scale * __ldg(c.grad_loss);
        if constexpr (SPARSE) {
            ids = c.slots.ids + row * c.columns;
            t = c.target + row * c.columns;
            p = c.predict + row * c.columns;
            origin = c.slots.global ? first_k : 0;
            lse = t_factor = 0.0f;
        } else {
            ids = nullptr;
            t = c.attn_raw + row * c.columns;
            p = c.index_raw + row * c.columns;
            origin = 0;
            lse = __ldg(c.index_lse + row);
            t_factor = 1.0f / (__ldg(c.attn_l1norm + row) + INDEXER_BWD_L1_EPS);
            length = isfinite(lse) ? length : 0;
        }
    }

    __device__ __forceinline__ entry load(int32_t j) const
    {
        entry e = {-1, 0.0f, 0.0f};

        if (j < length) {
            e.t = __ldg(t + j);
            e.p = __ldg(p + j);
            if constexpr (SPARSE) {
                const int64_t local = static_cast<int64_t>(__ldg(ids + j)) - origin;
                e.key = local >= 0 && local < keys ? first_k + static_cast<int32_t>(local) : -1;
            } else {
                e.key = first_k + j;
            }
        }
        return e;
    }

    /* g of an active entry; `p` becomes the probability. */
    __device__ __forceinline__ float own(const entry &e, float &probability) const
    {
        float teacher = e.t;
        bool counts;

        if constexpr (SPARSE) {
            probability = e.p;
            counts = e.p >= INDEXER_BWD_TINY;
        } else {
            teacher = e.t * t_factor;
            probability = expf(e.p - lse);
            /* in double, since the difference of floats may be rounded across the border */
            counts = static_cast<double>(e.p) - static_cast<double>(lse) >=
                     static_cast<double>(INDEXER_BWD_LOG_TINY);
        }
        return counts ? -fmaxf(teacher, INDEXER_BWD_TINY) * factor : 0.0f;
    }
    /* G, with the sum of g over the row. */
    __device__ __forceinline__ float gradient(const entry &e, float sum) const
    {
        float probability;
        const float g = own(e, probability);

        return e.key < 0 ? 0.0f : fmaf(-probability, sum, g);
    }
};

/* Of a warp's entries or, behind a barrier, of a row's. */
struct row_facts {
    float sum;    /* of g */
    int32_t last; /* active entry, -1: none */
};

/* A warpgroup: the facts of each warp, to shared memory. Sums are taken in a fixed order. */
template <bool SPARSE>
__device__ __forceinline__ void survey_row(const row_entries<SPARSE> &row, row_facts *of_warp,
                                           uint32_t thread)
{
    float sum = 0.0f;
    int32_t last = -1;

#pragma unroll 4
    for (int32_t j = static_cast<int32_t>(thread); j < row.length; j += INDEXER_BWD_ROWS_THREADS) {
        const entry e = row.load(j);
        float probability;
        const float g = row.own(e, probability);
        sum += e.key < 0 ? 0.0f : g;
        last = e.key < 0 ? last : j;
    }
#pragma unroll
    for (int step = 16; step > 0; step /= 2)
        sum += __shfl_xor_sync(0xffffffffu, sum, step);
    last = __reduce_max_sync(0xffffffffu, last);
    if (thread % 32 == 0)
        of_warp[thread / 32] = {sum, last};
}

__device__ __forceinline__ row_facts join_facts(const row_facts *of_warp)
{
    row_facts all = of_warp[0];

    for (int w = 1; w < INDEXER_BWD_ROWS_THREADS / 32; w++) {
        all.sum += of_warp[w].sum;
        all.last = max(all.last, of_warp[w].last);
    }
    return all;
}

} // namespace indexer_bwd

#endif
