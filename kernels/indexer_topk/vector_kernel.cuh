/*
 * vector_kernel.cuh - the best k of each row, one read of the row.
 *
 * On an H200 every byte that a multiprocessor reads from the L2 crosses, half of the time, the link
 * between the two halves of the L2, so that a second look costs as much as the first one wherever
 * it finds its data. So a row is read once, and what may be selected stays on the chip:
 *
 *   many rows    a block of 256 threads each, four blocks a multiprocessor, in different phases
 *   few rows     a cluster of up to 16 blocks each: histograms and counts are added up through
 *                distributed shared memory
 *   short share  all its keys stay in shared memory (vector_stream.cuh: load_share)
 *   long share   a sampled threshold, and only what reaches it stays (estimate, pass_groups)
 *   then         radix search for the k-th key, for the last id among equals where the tie rule
 *                asks for it, and what is selected goes out in runs
 *
 * Limits on an H200, in clocks of a multiprocessor and elements of fp32: memory 0.225 an element
 * (4.65 TB/s), and of issue slots (of 4 a clock) about 40 lanes' instructions an element that
 * stays, 0.31 clocks; about 7 an element that is passed over, 0.055, and 60 one that passes. So a
 * long share should be bound by memory, a short one by issue: predicted 2.0 to 2.8 TB/s for rows of
 * 8192, 2.5 to 3.5 from 32768 on (k 2048). A single row of 131072 on 16 blocks: about 1.5 us for
 * length and elements, 0.8 us for each of three passes of the search, 1 us for the range and the
 * results: 5 to 6 us.
 */
#ifndef INDEXER_TOPK_VECTOR_KERNEL_CUH
#define INDEXER_TOPK_VECTOR_KERNEL_CUH

#include "vector_stream.cuh"

namespace topk
{

/* ---- results ---- */

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

/* ---- a share that passes ---- */

__device__ __forceinline__ share_items items_of(const pair_buffer &buffer, uint32_t nr,
                                                uint32_t length)
{
    return {nullptr, buffer.pairs, nr, 0, 0, 0, 0, length};
}

/* Keeps the best k of a full buffer, and raises the threshold to them. */
template <int THREADS>
__device__ __forceinline__ threshold compact(topk_shared &s, pair_buffer &buffer, uint32_t k,
                                             int32_t tie_break, uint32_t length)
{
    const uint32_t nr = min(s.used, s.kept);
    uint32_t low, high;

    settle<THREADS>(buffer, nr, low, high);
    find_range<THREADS, false>(s, 1, low, high);
    const share_items items = items_of(buffer, nr, length);
    const selection chosen = select_items<THREADS, false>(s, 1, items, low, high, k, tie_break);
    if (threadIdx.x == 0)
        s.wins = s.ties = 0;
    for (uint32_t from = 0; from < nr; from += THREADS) {
        const uint32_t i = from + threadIdx.x;
        const uint2 item = i < nr ? buffer.pairs[i] : make_uint2(0, 0);

        __syncthreads(); /* places are behind none that has not been read */
        const bool keep = i < nr && (wins(chosen, item.x, item.y, tie_break));
        bool draw = i < nr && draws(chosen, item.x);
        const uint32_t drawn = next_places(&s.ties, draw);
        draw = draw && drawn < chosen.take;
        const uint32_t place = next_places(&s.wins, keep || draw);
        if (keep || draw)
            buffer.pairs[place] = item;
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        s.used = k;
        s.kept = NOT_FULL;
    }
    buffer.settled = k;
    __syncthreads();
    const uint32_t key = chosen.edge + (chosen.tie == 0);
    return {key, value_of(key), value_of(key + 1),
            tie_break == TIE_ANY ? 0xffffffffu : chosen.id_from};
}

/* The first warp, which has more lanes than there are edges: they open the buffer. */
template <class T>
__device__ __forceinline__ void pass_edges(topk_shared &s, const pair_buffer &buffer,
                                           const row_share<T> &share, const threshold &at)
{
    const uint32_t lane = threadIdx.x;
    float x = 0.0f;

    if (lane < share.edges)
        x = T::value(share.row[share.edge_id(lane)]);
    const bool mine = lane < share.edges && !(x < at.loose);
    const uint32_t all = __ballot_sync(0xffffffffu, mine);
    if (mine)
        buffer.pairs[__popc(all & ((1u << lane) - 1))] =
            make_uint2(__float_as_uint(x), share.edge_id(lane));
    if (lane == 0) {
        s.used = __popc(all);
        s.kept = NOT_FULL;
    }
}

/* All of a share against a threshold. Returns the number of items of this block. */
template <class T, int THREADS>
__device__ __forceinline__ uint32_t pass_share(topk_shared &s, pair_buffer &buffer,
                                               const row_share<T> &share, threshold at, uint32_t k,
                                               int32_t tie_break)
{
    constexpr uint32_t vectors = 32 * group_place<T>::LOADS;
    const uint32_t groups = (share.nr + vectors - 1) / vectors;
    uint32_t next = threadIdx.x / 32;

    buffer.settled = 0;
    __syncthreads();      /* before `used` of an earlier pass is lost */
    if (threadIdx.x < 32) /* before the others may fill the buffer */
        pass_edges<T>(s, buffer, share, at);
    __syncthreads();
    for (;;) {
        next = pass_groups<T, THREADS>(s, buffer, share, at, tie_break, groups, next);
        if (!__syncthreads_or(next < groups))
            return s.used;
        at = compact<THREADS>(s, buffer, k, tie_break, share.length);
    }
}

/* Items that passed in the row: in all of it, and in the blocks before this one. */
struct row_count {
    uint32_t all, before;
};

/* Behind a barrier of the row that follows what each block says in post[2]. */
template <bool CLUSTER>
__device__ __forceinline__ row_count count_row(topk_shared &s, uint32_t mine, uint32_t cluster)
{
    if constexpr (!CLUSTER)
        return {mine, 0};
    const uint32_t lane = threadIdx.x % 32;
    const uint32_t nr = lane < cluster ? peer_word(&s.post[2], lane) : 0;

    return {__reduce_add_sync(0xffffffffu, nr),
            __reduce_add_sync(0xffffffffu, lane < row_rank<true>() ? nr : 0)};
}

/* What passes of this block's share, and the range of keys and the number of items of the row. */
template <class T, int THREADS, bool CLUSTER>
__device__ __forceinline__ row_count pass_row(topk_shared &s, pair_buffer &buffer,
                                              const row_share<T> &share, const sample_plan &plan,
                                              uint32_t k, int32_t tie_break, uint32_t cluster,
                                              uint32_t &low, uint32_t &high)
{
    uint32_t key = !plan.worth
                       ? 0
                       : estimate<T, THREADS>(s, reinterpret_cast<uint32_t *>(buffer.pairs),
                                              row_share<T>(share.row, share.length, 0, 1), plan);

#pragma unroll 1
    for (;;) {
        const uint32_t nr =
            pass_share<T, THREADS>(s, buffer, share, threshold_at(key), k, tie_break);

        settle<THREADS>(buffer, nr, low, high);
        if (threadIdx.x == 0)
            s.post[2] = nr;
        find_range<THREADS, CLUSTER>(s, cluster, low, high);
        const row_count count = count_row<CLUSTER>(s, nr, cluster);
        if (key == 0 || count.all >= k)
            return count;
        key = 0;                /* too high: once more, without */
        row_barrier<CLUSTER>(); /* before `post` is written again */
    }
}

/* The items of the row in the first block, which has room for them. */
template <int THREADS>
__device__ __forceinline__ void gather(const pair_buffer &buffer, const row_count &count)
{
    if (row_rank<true>() != 0)
        for (uint32_t i = threadIdx.x; i < buffer.settled; i += THREADS)
            peer_store(&buffer.pairs[count.before + i], 0, buffer.pairs[i]);
    row_barrier<true>();
}

/* ---- rows ---- */

/* Vectors on their way to the L2 while the sample is looked at. */
template <int THREADS> __device__ __forceinline__ void prefetch(const uint4 *vectors, uint32_t nr)
{
    for (uint32_t i = 8 * threadIdx.x; i < nr; i += 8 * THREADS)
        prefetch_line(vectors + i);
}

/* The best k of the items go out. Where several blocks have them, their shared memory has to stay
 * until all of them are behind it. */
template <class T, int THREADS, bool CLUSTER>
__device__ __forceinline__ void finish_row(const topk_args &args, topk_shared &s,
                                           const share_items &items, uint32_t low, uint32_t high)
{
    const indexer_topk_call &c = args.c;
    const uint32_t cluster = CLUSTER ? args.cluster : 1;
    const selection chosen = select_items<THREADS, CLUSTER>(
        s, cluster, items, low, high, static_cast<uint32_t>(c.slots), c.tie_break);

    write_selected<T, THREADS, CLUSTER>(s, c, row_results<T>(c, block_number() / args.cluster),
                                        items, chosen, cluster);
    row_barrier<CLUSTER>();
}

template <class T, int THREADS, bool CLUSTER>
__device__ __forceinline__ void serve_long_row(const topk_args &args, topk_shared &s,
                                               uint8_t *buffer_at, const row_share<T> &share)
{
    const uint32_t cluster = CLUSTER ? args.cluster : 1;
    const uint32_t k = static_cast<uint32_t>(args.c.slots);
    const sample_plan plan = plan_sample<T, THREADS>(share.length, k, args.buffer_bytes);
    share_items items;
    uint32_t low, high;

    if (!CLUSTER && !plan.fits && share.most(1) * sizeof(uint32_t) <= args.buffer_bytes) {
        items =
            load_share<T, THREADS>(s, reinterpret_cast<uint32_t *>(buffer_at), share, low, high);
    } else {
        pair_buffer buffer = {reinterpret_cast<uint2 *>(buffer_at),
                              args.buffer_bytes / static_cast<uint32_t>(sizeof(uint2)), 0};
        const row_count count = pass_row<T, THREADS, CLUSTER>(s, buffer, share, plan, k,
                                                              args.c.tie_break, cluster, low, high);

        if (CLUSTER && count.all > buffer.capacity) {
            finish_row<T, THREADS, true>(args, s, items_of(buffer, buffer.settled, share.length),
                                         low, high);
            return;
        }
        if constexpr (CLUSTER)
            gather<THREADS>(buffer, count);
        items = items_of(buffer, count.all, share.length);
    }
    if (row_rank<CLUSTER>() == 0)
        finish_row<T, THREADS, false>(args, s, items, low, high);
}

template <class T, int THREADS, bool CLUSTER>
__device__ __forceinline__ void serve_row(const topk_args &args, topk_shared &s, uint8_t *buffer)
{
    const indexer_topk_call &c = args.c;
    const uint32_t cluster = CLUSTER ? args.cluster : 1, rank = row_rank<CLUSTER>();
    const uint32_t number = block_number() / cluster;
    const uint32_t length = static_cast<uint32_t>(indexer_topk_length(&c, number));

    if (length <= static_cast<uint32_t>(c.slots)) {
        write_short<T>(c, row_results<T>(c, number), length, rank, cluster);
        return;
    }
    const row_share<T> share(row_results<T>(c, number).row, length, rank, cluster);
    prefetch<THREADS>(share.vectors, CLUSTER ? share.nr : min(share.nr, 8u * THREADS));
    serve_long_row<T, THREADS, CLUSTER>(args, s, buffer, share);
}

/* All that a block does, in its shared memory. */
template <class T, int THREADS, bool CLUSTER>
__device__ __forceinline__ void serve_block(const topk_args &args, uint8_t *shared)
{
    topk_shared &s = *reinterpret_cast<topk_shared *>(shared);

    for (uint32_t i = threadIdx.x; i < TOPK_BINS; i += THREADS)
        s.bins[i] = 0;
    __syncthreads();
    serve_row<T, THREADS, CLUSTER>(args, s, shared + TOPK_ROOM);
}

/* Of a multiprocessor, that the compiler has to leave room for. */
template <class T, int THREADS>
constexpr int blocks = THREADS == TOPK_NARROW             ? TOPK_BLOCKS
                       : sizeof(typename T::element) == 4 ? 2
                                                          : 1;

template <class T, int THREADS, bool CLUSTER>
__global__ void __launch_bounds__(THREADS, blocks<T, THREADS>)
    indexer_topk_vector(const __grid_constant__ topk_args args)
{
    extern __shared__ __align__(16) uint8_t shared[];

    serve_block<T, THREADS, CLUSTER>(args, shared);
}

} // namespace topk

/* Defines the kernels of one source file. */
#define TOPK_KERNELS(type)                                                                         \
    const struct topk_kernels topk_kernels_##type = {                                              \
        topk::indexer_topk_vector<topk::type, TOPK_NARROW, false>,                                 \
        topk::indexer_topk_vector<topk::type, TOPK_NARROW, true>,                                  \
        topk::indexer_topk_vector<topk::type, TOPK_WIDE, true>,                                    \
    };

#endif
