/*
 * vector_row.cuh - a row as the blocks that serve it see it: whole vectors of 16 bytes, cut into
 * shares, and the few elements before and behind them; and the elements of a share that are on the
 * chip.
 */
#ifndef INDEXER_TOPK_VECTOR_ROW_CUH
#define INDEXER_TOPK_VECTOR_ROW_CUH

#include "half_types.cuh"
#include "vector_select.cuh"

namespace topk
{

/* The three types: elements of a vector, their values, and a value's bits. */
struct f32 {
    using element = uint32_t;
    static constexpr int VECTOR = 4;

    static __device__ __forceinline__ float value(element x)
    {
        return __uint_as_float(x);
    }
    static __device__ __forceinline__ element bits(float x)
    {
        return __float_as_uint(x);
    }
    static __device__ __forceinline__ void unpack(float *x, const uint4 &v)
    {
        x[0] = __uint_as_float(v.x);
        x[1] = __uint_as_float(v.y);
        x[2] = __uint_as_float(v.z);
        x[3] = __uint_as_float(v.w);
    }
};

template <class H> struct half_type {
    using element = uint16_t;
    static constexpr int VECTOR = 8;

    static __device__ __forceinline__ float value(element x)
    {
        return H::unpack(x).x;
    }
    static __device__ __forceinline__ element bits(float x)
    {
        return static_cast<element>(H::pack(x, 0.0f));
    }
    static __device__ __forceinline__ void unpack(float *x, const uint4 &v)
    {
        const uint32_t pairs[4] = {v.x, v.y, v.z, v.w};
#pragma unroll
        for (int i = 0; i < 4; i++) {
            const float2 two = H::unpack(pairs[i]);
            x[2 * i] = two.x;
            x[2 * i + 1] = two.y;
        }
    }
};
using fp16 = half_type<sab::fp16>;
using bf16 = half_type<sab::bf16>;

/* A row's share. */
template <class T> struct row_share {
    const typename T::element *row;
    const uint4 *vectors; /* of this block */
    uint32_t nr;          /* of those */
    uint32_t first_id;    /* of their first element */
    uint32_t length;
    uint32_t head, edges; /* elements before, and before and behind, the vectors of all blocks;
                             edges 0 in blocks that do not serve them */

    __device__ __forceinline__ row_share(const typename T::element *from, uint32_t nr_of_row,
                                         uint32_t rank, uint32_t cluster)
    {
        constexpr uint32_t bytes = sizeof(typename T::element);
        const uint32_t past = static_cast<uint32_t>(reinterpret_cast<uintptr_t>(from) % 16) / bytes;

        row = from;
        length = nr_of_row;
        head = min(length, (T::VECTOR - past) % T::VECTOR);
        const uint32_t all = (length - head) / T::VECTOR;
        const uint32_t begin = cut(all, rank, cluster), end = cut(all, rank + 1, cluster);
        vectors = reinterpret_cast<const uint4 *>(row + head) + begin;
        nr = end - begin;
        first_id = head + begin * T::VECTOR;
        edges = rank == 0 ? length - all * T::VECTOR : 0;
    }
    /* Shares begin at multiples of 64 bytes from the first vector. Clusters are powers of two. */
    static __device__ __forceinline__ uint32_t cut(uint32_t all, uint32_t rank, uint32_t cluster)
    {
        if (rank == cluster)
            return all;
        const int shift = 31 - __clz(static_cast<int>(cluster));
        return static_cast<uint32_t>(static_cast<uint64_t>(all) * rank >> shift) / 4 * 4;
    }
    /* Most elements that a block of the row may have. */
    __device__ __forceinline__ uint32_t most(uint32_t cluster) const
    {
        return (length / T::VECTOR / cluster + 8) * T::VECTOR + 2 * T::VECTOR;
    }
    __device__ __forceinline__ uint32_t edge_id(uint32_t i) const
    {
        return i < head ? i : length - edges + i;
    }
};

/* The elements of a share on the chip: all of them, keys alone, or those that passed, with ids. The
 * keys end with 0 to 3 of 0. */
struct share_items {
    const uint32_t *keys;
    const uint2 *pairs; /* key, id; NULL: all stayed */
    uint32_t nr;
    uint32_t vector_elements, first_id; /* where all stayed: those of the vectors come first */
    uint32_t head, last_id;             /* of edge i from `head` on: last_id + i */
    uint32_t length;                    /* of the row: ids are below */

    __device__ __forceinline__ uint32_t id_of(uint32_t i) const
    {
        if (i < vector_elements)
            return first_id + i;
        i -= vector_elements;
        return i < head ? i : last_id + i;
    }

    /* f(key, id) for this thread's part. */
    template <class F> __device__ __forceinline__ void each(const F &f) const
    {
        if (pairs) {
#pragma unroll 2
            for (uint32_t i = threadIdx.x; i < nr; i += blockDim.x) {
                const uint2 pair = pairs[i];
                f(pair.x, pair.y);
            }
        } else {
#pragma unroll 2
            for (uint32_t i = 4 * threadIdx.x; i < nr; i += 4 * blockDim.x) {
                const uint4 four = *reinterpret_cast<const uint4 *>(keys + i);
                f(four.x, i);
                f(four.y, i + 1);
                f(four.z, i + 2);
                f(four.w, i + 3);
            }
        }
    }
    /* What each() gave as id, as an id. */
    __device__ __forceinline__ uint32_t resolve(uint32_t id) const
    {
        return pairs ? id : id_of(id);
    }
    /* The element `i` below nr. */
    __device__ __forceinline__ uint2 at(uint32_t i) const
    {
        return pairs ? pairs[i] : make_uint2(keys[i], id_of(i));
    }
};

/* Which elements are selected: those with a key above `edge`, and of those with key `tie` (0: none)
 * the ones that rank before `take` in any order, or those whose rank by id is at least `id_from`.
 */
struct selection {
    uint32_t edge, tie, take;
    uint32_t id_from; /* 0: any order */
    uint32_t above;   /* of the row: places of ties begin behind those */
};

/* Larger for the id that is preferred among equals; never 0. */
__device__ __forceinline__ uint32_t id_rank(uint32_t id, int32_t tie_break)
{
    return tie_break == TIE_SMALLER_ID ? ~id : id + 1;
}

/* The best `rank` of the items (of the row's, in a cluster), whose keys lie from low to high; at
 * least as many exist. */
template <int THREADS, bool CLUSTER>
__device__ __forceinline__ selection select_items(topk_shared &s, uint32_t cluster,
                                                  const share_items &items, uint32_t low,
                                                  uint32_t high, uint32_t rank, int32_t tie_break)
{
    const cut_point cut =
        find_rank<THREADS, CLUSTER>(s, cluster, low, high, rank, 0, [&](const auto &f) {
            items.each([&](uint32_t key, uint32_t) { f(key); });
        });
    selection chosen = {cut.low - 1, 0, 0, 0, cut.above};

    if (cut.count == cut.take)
        return chosen;
    chosen.edge = cut.low;
    chosen.tie = cut.low;
    chosen.take = cut.take;
    if (tie_break != TIE_ANY) {
        const bool smaller = tie_break == TIE_SMALLER_ID;
        const cut_point by_id = find_rank<THREADS, CLUSTER>(
            s, cluster, smaller ? ~(items.length - 1) : 1, smaller ? ~0u : items.length, cut.take,
            0, [&](const auto &f) {
                items.each([&](uint32_t key, uint32_t id) {
                    if (key == cut.low)
                        f(id_rank(items.resolve(id), tie_break));
                });
            });
        chosen.id_from = by_id.low;
    }
    return chosen;
}

} // namespace topk

#endif
