/*
 * vector_stream.cuh - the ways of a row onto the chip. Those elements pass that may belong to the
 * best: a sample of the row gives a threshold that somewhat more than k elements reach. Where more
 * pass than fit, the best k of the buffer are kept and raise the threshold. Whether at least k
 * passed is known at the end, so that the result is exact whatever the sample was like. A row of
 * which most would pass stays whole.
 */
#ifndef INDEXER_TOPK_VECTOR_STREAM_CUH
#define INDEXER_TOPK_VECTOR_STREAM_CUH

#include "vector_row.cuh"

namespace topk
{

/* ---- a row that stays ---- */

/* The keys of one vector, whose range grows. */
template <class T>
__device__ __forceinline__ void load_keys(uint32_t *keys, uint32_t at, const uint4 *from,
                                          uint32_t &low, uint32_t &high)
{
    float x[T::VECTOR];
    uint32_t key[T::VECTOR];

    T::unpack(x, load_vector(from));
#pragma unroll
    for (int i = 0; i < T::VECTOR; i++) {
        key[i] = key_of(x[i]);
        low = min(low, key[i]);
        high = max(high, key[i]);
    }
#pragma unroll
    for (int i = 0; i < T::VECTOR; i += 4)
        *reinterpret_cast<uint4 *>(keys + at * T::VECTOR + i) =
            make_uint4(key[i], key[i + 1], key[i + 2], key[i + 3]);
}

/* Keys of a row, and their range. */
template <class T, int THREADS>
__device__ __forceinline__ share_items load_share(topk_shared &s, uint32_t *keys,
                                                  const row_share<T> &share, uint32_t &low,
                                                  uint32_t &high)
{
    const uint32_t nr = share.nr * T::VECTOR, all = nr + share.edges;

    low = 0xffffffffu;
    high = 0;
#pragma unroll(16 / T::VECTOR)
    for (uint32_t v = threadIdx.x; v < share.nr; v += THREADS)
        load_keys<T>(keys, v, share.vectors + v, low, high);
    if (threadIdx.x < share.edges) {
        const uint32_t key = key_of(T::value(share.row[share.edge_id(threadIdx.x)]));

        keys[nr + threadIdx.x] = key;
        low = min(low, key);
        high = max(high, key);
    }
    if (threadIdx.x < 3)
        keys[all + threadIdx.x] = 0;
    find_range<THREADS, false>(s, 1, low, high);
    return {keys,        nullptr, all, nr, share.first_id, share.head, share.length - share.edges,
            share.length};
}

/* ---- a threshold ---- */

/* The sample that a row's threshold comes from: 2^shift vectors of each thread, `rank` elements of
 * which reach it. */
struct sample_plan {
    uint32_t shift, rank;
    bool worth; /* the row is long enough for one */
    bool fits;  /* what passes is expected to have room, which is better than to keep all */
};

/* The smallest sample for which what passes has room: of the sample, as many as their share plus
 * four standard deviations reach the threshold, and of the row up to four more of theirs. All
 * blocks of a row come to the same. */
template <class T, int THREADS>
__device__ __forceinline__ sample_plan plan_sample(uint32_t length, uint32_t k, uint32_t bytes)
{
    constexpr uint32_t one = THREADS * T::VECTOR;
    const float capacity = static_cast<float>(bytes / sizeof(uint2));
    sample_plan plan = {0, 0, length >= 4 * one, false};

#pragma unroll 1
    for (;; plan.shift++) {
        const float of_row = static_cast<float>(one << plan.shift) / static_cast<float>(length);
        const float expected = static_cast<float>(k) * of_row;
        const float rank = expected + 4.0f * sqrtf(expected) + 4.0f;

        plan.rank = static_cast<uint32_t>(rank);
        plan.fits = rank + rank / 16.0f + 4.0f * sqrtf(rank) <= capacity * of_row;
        if (plan.fits || (one << plan.shift) >= TOPK_SAMPLE)
            break;
    }
    plan.worth = plan.worth && (one << plan.shift) * sizeof(uint32_t) <= bytes;
    plan.fits = plan.fits && plan.worth;
    return plan;
}

/* The keys of a sample of the row, and their range: pieces of 64 bytes, one at a scrambled place of
 * each of many equal stretches. `row` is all of it: each block of a cluster looks at the same
 * sample, which takes less time than to tell the others what it saw. */
template <class T, int THREADS>
__device__ __forceinline__ share_items load_sample(topk_shared &s, uint32_t *keys,
                                                   const row_share<T> &row, uint32_t shift,
                                                   uint32_t &low, uint32_t &high)
{
    constexpr int first_shift = THREADS == TOPK_NARROW ? 6 : 7;
    const uint32_t blocks = row.nr / 4, stretch = blocks >> (first_shift + shift);

    static_assert(THREADS / 4 == 1 << first_shift);
    low = 0xffffffffu;
    high = 0;
#pragma unroll 2
    for (uint32_t i = 0; i < 1u << shift; i++) {
        const uint32_t piece = threadIdx.x / 4 + i * (THREADS / 4);
        const uint32_t from =
            static_cast<uint32_t>(static_cast<uint64_t>(piece) * blocks >> (first_shift + shift));
        const uint32_t place = from + __umulhi(piece * 2654435761u, stretch);

        load_keys<T>(keys, threadIdx.x + i * THREADS, row.vectors + 4 * place + threadIdx.x % 4,
                     low, high);
    }
    find_range<THREADS, false>(s, 1, low, high);
    return {keys, nullptr, static_cast<uint32_t>(THREADS * T::VECTOR) << shift, 0, 0, 0, 0, 0};
}

/* A key that somewhat more than the best of the row are expected to reach; 0: no such key. */
template <class T, int THREADS>
__device__ __forceinline__ uint32_t estimate(topk_shared &s, uint32_t *keys,
                                             const row_share<T> &row, const sample_plan &plan)
{
    uint32_t low, high;
    const share_items sample = load_sample<T, THREADS>(s, keys, row, plan.shift, low, high);

    if (plan.rank > sample.nr)
        return 0;
    return find_rank<THREADS, false>(
               s, 1, low, high, plan.rank, plan.rank / 16,
               [&](const auto &f) { sample.each([&](uint32_t key, uint32_t) { f(key); }); })
        .low;
}

/* ---- a share that passes ---- */

/* What passes: a value that is not below `loose`, or not below `strict` where no id of a group is
 * preferred to id_from (id_rank()). NaN passes. */
struct threshold {
    uint32_t key;
    float loose, strict;
    uint32_t id_from;
};

__device__ __forceinline__ threshold threshold_at(uint32_t key)
{
    return {key, value_of(key), value_of(key), 0};
}

/* A buffer of pairs: those below `settled` hold keys, the others bits of values. */
struct pair_buffer {
    uint2 *pairs;
    uint32_t capacity, settled;
};

/* Four vectors of fp32, or two of 16-bit elements, of each lane of a warp. */
constexpr int GROUP = 16;     /* elements of a lane */
constexpr uint32_t AHEAD = 2; /* groups of a warp that are on their way to the L2 meanwhile */

template <class T> struct group_place {
    static constexpr int LOADS = GROUP / T::VECTOR;
    uint32_t first; /* vector of this lane; the next ones are 32 further on each */

    __device__ __forceinline__ void load(uint4 (&raw)[LOADS], const row_share<T> &share) const
    {
#pragma unroll
        for (int i = 0; i < LOADS; i++)
            if (first + 32 * i < share.nr)
                raw[i] = load_vector(share.vectors + first + 32 * i);
    }
    /* The lines of another group, which begins `by` vectors further on, if there is one. */
    __device__ __forceinline__ void prefetch(const row_share<T> &share, uint32_t by) const
    {
        const uint32_t lane = threadIdx.x % 32, line = first - lane + by + 8 * lane;

        if (lane < 32 * LOADS / 8 && line < share.nr)
            prefetch_line(share.vectors + line);
    }
    __device__ __forceinline__ uint32_t present(const row_share<T> &share) const
    {
        uint32_t mask = 0;
#pragma unroll
        for (int i = 0; i < LOADS; i++)
            if (first + 32 * i < share.nr)
                mask |= ((1u << T::VECTOR) - 1) << (i * T::VECTOR);
        return mask;
    }
};

/* Places for a warp's `mine` elements each; false, and nothing taken, where they do not all fit. */
__device__ __forceinline__ bool reserve(topk_shared &s, uint32_t capacity, uint32_t mine,
                                        uint32_t &place)
{
    const uint32_t lane = threadIdx.x % 32;
    uint32_t until = mine, from = 0;

#pragma unroll
    for (int step = 1; step < 32; step *= 2) {
        const uint32_t before = __shfl_up_sync(0xffffffffu, until, step);
        until += lane >= static_cast<uint32_t>(step) ? before : 0;
    }
    if (lane == 31) {
        from = atomicAdd(&s.used, until);
        /* exactly one that fails comes behind nothing but ones that fitted */
        if (from <= capacity && from + until > capacity)
            s.kept = from;
        place = from + until;
    }
    const uint32_t end = __shfl_sync(0xffffffffu, place, 31);
    from = __shfl_sync(0xffffffffu, from, 31);
    place = from + until - mine;
    return end <= capacity;
}

/* Groups of a warp from `next` on, until none is left or the buffer is full. Returns the group to
 * go on with. Groups with preferred ids come first. */
template <class T, int THREADS, bool CLUSTER>
__device__ __forceinline__ uint32_t pass_groups(topk_shared &s, const pair_buffer &buffer,
                                                const row_share<T> &share, const threshold &at,
                                                int32_t tie_break, uint32_t groups, uint32_t next)
{
    constexpr int loads = group_place<T>::LOADS;
    constexpr uint32_t warps = THREADS / 32, vectors = 32 * loads;
    const uint32_t lane = threadIdx.x % 32;
    const bool descending = tie_break == TIE_LARGER_ID;

    for (; next < groups; next += warps) {
        const uint32_t group = descending ? groups - 1 - next : next;
        const group_place<T> now = {group * vectors + lane};
        uint4 raw[loads] = {};
        float x[GROUP];
        uint32_t mask = 0, place = 0;

        now.load(raw, share);
        if constexpr (!CLUSTER) /* there, all of the share is on its way */
            now.prefetch(share, descending ? 0 - AHEAD * warps * vectors : AHEAD * warps * vectors);
        const uint32_t lowest = share.first_id + group * vectors * T::VECTOR;
        const uint32_t best =
            id_rank(descending ? lowest + vectors * T::VECTOR - 1 : lowest, tie_break);
        const float least = best < at.id_from ? at.strict : at.loose;
#pragma unroll
        for (int i = 0; i < loads; i++)
            T::unpack(x + i * T::VECTOR, raw[i]);
#pragma unroll
        for (int i = 0; i < GROUP; i++)
            mask |= !(x[i] < least) ? 1u << i : 0u;
        mask &= now.present(share);
        if (!reserve(s, buffer.capacity, __popc(mask), place))
            break;
        const uint32_t id = lowest + lane * T::VECTOR;
#pragma unroll
        for (int i = 0; i < GROUP; i++)
            if (mask >> i & 1)
                buffer.pairs[place++] = make_uint2(
                    __float_as_uint(x[i]), id + (i / T::VECTOR) * 32 * T::VECTOR + i % T::VECTOR);
    }
    return next;
}

/* Bits turn into keys; their range, with that of the keys before, of this thread. */
template <int THREADS>
__device__ __forceinline__ void settle(pair_buffer &buffer, uint32_t nr, uint32_t &low,
                                       uint32_t &high)
{
    low = 0xffffffffu;
    high = 0;
    for (uint32_t i = threadIdx.x; i < nr; i += THREADS) {
        uint32_t key = buffer.pairs[i].x;

        if (i >= buffer.settled)
            buffer.pairs[i].x = key = key_of(__uint_as_float(key));
        low = min(low, key);
        high = max(high, key);
    }
    buffer.settled = nr;
}

} // namespace topk

#endif
