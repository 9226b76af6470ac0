/*
 * mma_items.cuh - the items of a block of threads: which query rows and keys, in the order that all
 * of its warps keep.
 */
#ifndef INDEXER_FWD_MMA_ITEMS_CUH
#define INDEXER_FWD_MMA_ITEMS_CUH

#include "mma_items.h"

namespace indexer
{

/* Rows of one batch or segment. */
struct row_run {
    uint32_t begin, end; /* rows */
    uint32_t first_key;
    uint32_t tiles; /* of keys that its last row sees */
};

/* The run that begins at `row`, which exists, as far as it lies before `end`. */
__device__ __forceinline__ row_run run_at(const indexer_fwd_call &c, uint32_t row, uint32_t end)
{
    indexer_place place = indexer_fwd_place(&c, row);
    const int64_t rows =
        c.packed ? static_cast<int64_t>(c.cu_q[place.batch + 1]) - c.cu_q[place.batch] : c.seqlen_q;
    row_run run;

    run.begin = row;
    run.first_key = static_cast<uint32_t>(place.first_k);
    /* rows behind the last segment belong to none: each by itself, with nothing to see */
    const int64_t left = rows - place.q;
    run.end =
        left > 0 ? static_cast<uint32_t>(min(static_cast<int64_t>(end), row + left)) : row + 1;
    place.q += run.end - 1 - row;
    const int64_t limit = left > 0 ? indexer_fwd_limit(&c, &place) : 0;
    run.tiles = static_cast<uint32_t>((limit + INDEXER_KEYS - 1) / INDEXER_KEYS);
    return run;
}

/* Columns that row `row` of a run sees. */
__device__ __forceinline__ int32_t limit_at(const indexer_fwd_call &c, const row_run &run,
                                            uint32_t row)
{
    if (row < run.begin || row >= run.end)
        return -1;
    if (run.tiles == 0)
        return 0;
    const indexer_place place = indexer_fwd_place(&c, row);
    return static_cast<int32_t>(indexer_fwd_limit(&c, &place));
}

/* The block of rows and the part of the keys of item `i`. Later rows of a batch see more, so they
 * come first, in all batches. */
struct item_place {
    uint32_t block, split;

    __device__ __forceinline__ item_place(const indexer_items &args, uint32_t i)
    {
        const uint32_t n = i / args.splits, strips = args.blocks / args.strip;

        split = i % args.splits;
        block = n % strips * args.strip + (args.strip - 1 - n / strips);
    }
};

/* The share [from, to) / (args.splits * gridDim.x) of the tiles of each run of a block of rows. */
struct key_share {
    uint32_t from, to;
};

/* f(run, share) for all runs of this block's items. These go there and back again over the blocks
 * of threads, so that long and short ones meet. What is left for less than a whole turn is dealt
 * out by keys, the same share of an item to each: in units of 1 / gridDim.x of an item, of `left`
 * items each block of threads has `left` units in a row, which lie in two items at most. */
template <class F> __device__ __forceinline__ void for_runs(const indexer_items &args, const F &f)
{
    const uint32_t rows = static_cast<uint32_t>(args.c.rows), items = args.blocks * args.splits;
    const uint32_t whole = gridDim.x, turns = items / whole, left = items % whole;
    const uint32_t first = left * blockIdx.x, last = first + left;

    for (uint32_t turn = 0; turn < turns + 2; turn++) {
        uint32_t item = turn * whole + (turn % 2 ? whole - 1 - blockIdx.x : blockIdx.x);
        key_share share = {0, whole};

        if (turn >= turns) {
            const uint32_t of = first / whole + (turn - turns), begin = of * whole;

            if (begin >= last)
                break;
            share = {max(first, begin) - begin, min(last, begin + whole) - begin};
            item = turns * whole + of;
        }
        const item_place place(args, item);
        share.from += place.split * whole;
        share.to += place.split * whole;
        const uint32_t end = min(rows, (place.block + 1) * args.tokens);
        for (uint32_t row = place.block * args.tokens; row < end;) {
            const row_run run = run_at(args.c, row, end);

            f(run, share);
            row = run.end;
        }
    }
}

/* Tiles of a run in a share. */
struct tile_range {
    uint32_t from, to;

    __device__ __forceinline__ tile_range(const indexer_items &args, const row_run &run,
                                          const key_share &share)
    {
        const uint64_t tiles = run.tiles, of = args.splits * gridDim.x;

        from = static_cast<uint32_t>(tiles * share.from / of);
        to = static_cast<uint32_t>(tiles * share.to / of);
    }
};

/* -inf into the columns of a run that no tile reaches, by `threads` threads. A row begins at
 * a multiple of 16 bytes. */
__device__ __forceinline__ void fill_run(const indexer_items &args, const row_run &run,
                                         const key_share &share, uint32_t thread, uint32_t threads)
{
    const uint32_t columns = static_cast<uint32_t>(args.c.columns);
    const uint32_t from = run.tiles * INDEXER_KEYS;
    const float4 none = make_float4(-INFINITY, -INFINITY, -INFINITY, -INFINITY);

    if (share.from != 0 || from >= columns)
        return;
    for (uint32_t row = run.begin; row < run.end; row++) {
        float *to = args.c.scores + row * args.c.stride;

        for (uint32_t i = from + 4 * thread; i + 4 <= columns; i += 4 * threads)
            *reinterpret_cast<float4 *>(to + i) = none;
        if (thread < columns % 4)
            to[columns / 4 * 4 + thread] = -INFINITY;
    }
}

/* w, with q's scale where it is one of a whole row, of a (row, head) pair; 0 beyond the rows. */
template <int HEADS>
__device__ __forceinline__ float weight_at(const indexer_fwd_call &c, uint32_t row, uint32_t head)
{
    const int64_t at = static_cast<int64_t>(row) * HEADS + head;
    float w;

    if (row >= c.rows)
        return 0.0f;
    if (c.w_f32)
        w = static_cast<const float *>(c.w)[at];
    else
        w = __uint_as_float(static_cast<uint32_t>(static_cast<const uint16_t *>(c.w)[at]) << 16);
    const bool scaled = c.precision == INDEXER_FP8 && c.q_scale;
    return scaled ? w * static_cast<const float *>(c.q_scale)[at] : w;
}

} // namespace indexer

#endif
