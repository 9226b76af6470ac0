/*
 * vector_write.cuh - what is selected of a row, as its results: each in a place of its own, in no
 * order. A warp takes the places of several elements of each lane at once.
 */
#ifndef INDEXER_TOPK_VECTOR_WRITE_CUH
#define INDEXER_TOPK_VECTOR_WRITE_CUH

#include "vector_row.cuh"

namespace topk
{

/* The places of a row's results. */
template <class T> struct row_results {
    int32_t *ids;
    typename T::element *values; /* or NULL */
    const typename T::element *row;

    __device__ __forceinline__ row_results(const indexer_topk_call &c, int64_t number)
    {
        using element = typename T::element;

        ids = c.indices + number * c.slots;
        values = c.values ? static_cast<element *>(c.values) + number * c.slots : nullptr;
        row = static_cast<const element *>(c.values_in) + number * c.stride;
    }
    /* Keys know neither the sign of a zero nor the bits of a NaN. */
    __device__ __forceinline__ void put(uint32_t slot, uint32_t key, uint32_t id) const
    {
        ids[slot] = static_cast<int32_t>(id);
        if (!values)
            return;
        const float x = value_of(key);
        values[slot] = x < 0.0f || x > 0.0f ? T::bits(x) : row[id];
    }
};

/* A row of at most k elements: all of them, in order, and padding. */
template <class T>
__device__ __forceinline__ void write_short(const indexer_topk_call &c, const row_results<T> &to,
                                            uint32_t length, uint32_t rank, uint32_t cluster)
{
    const uint32_t slots = static_cast<uint32_t>(c.slots);

    for (uint32_t i = rank * blockDim.x + threadIdx.x; i < slots; i += cluster * blockDim.x) {
        to.ids[i] = i < length ? static_cast<int32_t>(i) : -1;
        if (to.values)
            to.values[i] = i < length ? to.row[i] : T::bits(-INFINITY);
    }
}

__device__ __forceinline__ bool wins(const selection &chosen, uint32_t key, uint32_t id,
                                     int32_t tie_break)
{
    return key > chosen.edge ||
           (chosen.id_from != 0 && key == chosen.tie && id_rank(id, tie_break) >= chosen.id_from);
}

__device__ __forceinline__ bool draws(const selection &chosen, uint32_t key)
{
    return chosen.id_from == 0 && chosen.tie != 0 && key == chosen.tie;
}

/* A warp's next places: those of lanes with `mine`, in the order of lanes. */
__device__ __forceinline__ uint32_t next_places(uint32_t *given, bool mine)
{
    const uint32_t lane = threadIdx.x % 32, all = __ballot_sync(0xffffffffu, mine);
    uint32_t from = 0;

    if (all == 0)
        return 0;
    if (lane == 0)
        from = atomicAdd(given, __popc(all));
    return __shfl_sync(0xffffffffu, from, 0) + __popc(all & ((1u << lane) - 1));
}

constexpr int BATCH = 4; /* elements of a thread that get their places at once */

/* put(place, i) for those of a warp's elements that is(i) is true of; `given` counts places. */
template <class Is, class Put>
__device__ __forceinline__ void place_batch(uint32_t *given, const Is &is, const Put &put)
{
    const uint32_t lane = threadIdx.x % 32;
    uint32_t votes[BATCH], all = 0, from = 0;

#pragma unroll
    for (int i = 0; i < BATCH; i++) {
        votes[i] = __ballot_sync(0xffffffffu, is(i));
        all += __popc(votes[i]);
    }
    if (all == 0)
        return;
    if (lane == 0)
        from = atomicAdd(given, all);
    from = __shfl_sync(0xffffffffu, from, 0);
#pragma unroll
    for (int i = 0; i < BATCH; i++) {
        if (votes[i] >> lane & 1)
            put(from + __popc(votes[i] & ((1u << lane) - 1)), i);
        from += __popc(votes[i]);
    }
}

/* f(place, key, id) for what is selected of this block's items; each in one place below `take` of
 * ties, and of the rest. Zero `wins` and `ties`, or what other blocks have, come before. */
template <int THREADS, class F>
__device__ __forceinline__ void for_selected(topk_shared &s, const share_items &items,
                                             const selection &chosen, int32_t tie_break, const F &f)
{
#pragma unroll 1
    for (uint32_t from = threadIdx.x; from / 32 * 32 < items.nr; from += BATCH * THREADS) {
        uint2 item[BATCH];

#pragma unroll
        for (int i = 0; i < BATCH; i++) /* none has key 0 */
            item[i] =
                from + i * THREADS < items.nr ? items.at(from + i * THREADS) : make_uint2(0, 0);
        place_batch(
            &s.wins, [&](int i) { return wins(chosen, item[i].x, item[i].y, tie_break); },
            [&](uint32_t place, int i) { f(place, item[i].x, item[i].y); });
        if (chosen.tie == 0 || chosen.id_from != 0)
            continue;
        place_batch(
            &s.ties, [&](int i) { return draws(chosen, item[i].x); },
            [&](uint32_t place, int i) {
                if (place < chosen.take)
                    f(chosen.above + place, item[i].x, item[i].y);
            });
    }
}

/* In a cluster, places begin behind those of the blocks before. */
template <int THREADS>
__device__ __forceinline__ void share_places(topk_shared &s, const share_items &items,
                                             const selection &chosen, int32_t tie_break,
                                             uint32_t cluster)
{
    const uint32_t lane = threadIdx.x % 32, rank = row_rank<true>();
    uint32_t won = 0, drawn = 0;

    items.each([&](uint32_t key, uint32_t id) {
        won += wins(chosen, key, items.resolve(id), tie_break);
        drawn += draws(chosen, key);
    });
    won = __reduce_add_sync(0xffffffffu, won);
    drawn = __reduce_add_sync(0xffffffffu, drawn);
    if (threadIdx.x == 0)
        s.post[2] = s.post[3] = 0;
    __syncthreads();
    if (lane == 0) {
        atomicAdd(&s.post[2], won);
        atomicAdd(&s.post[3], drawn);
    }
    row_barrier<true>();
    const bool before = lane < rank && lane < cluster;
    won = __reduce_add_sync(0xffffffffu, before ? peer_word(&s.post[2], lane) : 0);
    drawn = __reduce_add_sync(0xffffffffu, before ? peer_word(&s.post[3], lane) : 0);
    if (threadIdx.x == 0) {
        s.wins = won;
        s.ties = drawn;
    }
    __syncthreads();
}

template <class T, int THREADS, bool CLUSTER>
__device__ __forceinline__ void write_selected(topk_shared &s, const indexer_topk_call &c,
                                               const row_results<T> &to, const share_items &items,
                                               const selection &chosen, uint32_t cluster)
{
    if constexpr (CLUSTER) {
        share_places<THREADS>(s, items, chosen, c.tie_break, cluster);
    } else {
        if (threadIdx.x == 0)
            s.wins = s.ties = 0;
        __syncthreads();
    }
    for_selected<THREADS>(
        s, items, chosen, c.tie_break,
        [&](uint32_t place, uint32_t key, uint32_t id) { to.put(place, key, id); });
}

} // namespace topk

#endif
