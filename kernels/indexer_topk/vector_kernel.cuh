/*
 * vector_kernel.cuh - the best k of each row, one read of the row.
 *
 * On an H200 every byte that a multiprocessor reads from the L2 crosses, half of the time, the link
 * between the two halves of the L2, so that a second look costs as much as the first one wherever
 * it finds its data. So a row is read once, and what may be selected stays on the chip:
 *
 *   many rows    a block of 256 threads each, four blocks a multiprocessor, in different phases
 *   few rows     a cluster of up to 16 blocks each
 *   threshold    of a small sample, in a cluster the same one in each block (estimate)
 *   pass         what reaches the threshold stays, as pairs of key and id (pass_row); where most of
 *                a short row would pass, all its keys stay instead (load_share)
 *   gather       in a cluster, what passed goes to the first block, which goes on alone: one
 *                exchange of counts and one of pairs. Where there is no room for it, histograms and
 *                counts are added up through distributed shared memory
 *   then         radix search for the k-th key, for the last id among equals where the tie rule
 *                asks for it, and what is selected goes out in runs
 *
 * An element that is kept costs most: times on an H200 (at an assumed 1.755 GHz) were 10700 clocks
 * of a multiprocessor for a row of which all 8192 keys were kept, and about 5000 beyond reading for
 * one of which 4096 were in the sample and 1400 passed: about 1 clock each. Whether counting in a
 * few bins or the walk over all of them at the end takes it has not been measured apart; a small
 * sample makes both shorter. Memory gives 0.225 clocks an element of fp32 (4.65 TB/s); one that is
 * passed over takes about 7 lanes' instructions, 0.055 clocks. Predicted: 3000 to 5000 clocks for a
 * row of 8192 with k 1024, 53 to 88 us for 4096 of them, measured 104; 6 us for a single row of
 * 131072 on 16 blocks, of which the first block's own part is 2, measured 12.8.
 */
#ifndef INDEXER_TOPK_VECTOR_KERNEL_CUH
#define INDEXER_TOPK_VECTOR_KERNEL_CUH

#include "vector_stream.cuh"
#include "vector_write.cuh"

namespace topk
{

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
    const uint32_t lane = anew(threadIdx.x);
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
template <class T, int THREADS, bool CLUSTER>
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
        next = pass_groups<T, THREADS, CLUSTER>(s, buffer, share, at, tie_break, groups, next);
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
            pass_share<T, THREADS, CLUSTER>(s, buffer, share, threshold_at(key), k, tie_break);

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
