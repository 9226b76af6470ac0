/*
 * items.cuh - the items of a block of threads: which query rows and columns, in the order that all
 * of its warps keep, and the groups of heads.
 */
#ifndef SCORE_DENSE_ITEMS_CUH
#define SCORE_DENSE_ITEMS_CUH

#include "score_dense_items_call.h"

namespace score_dense
{

/* Rows of one batch or segment. */
struct row_run {
    uint32_t begin, end; /* rows */
    uint32_t first_key;
    uint32_t limit; /* columns that its last row sees */
};

/* The run that begins at `row`, which exists, as far as it lies before `end`. */
__device__ __forceinline__ row_run run_at(const indexer_dense &d, uint32_t row, uint32_t end)
{
    indexer_place place = indexer_dense_place(&d, row);
    const int64_t rows =
        d.cu_q ? static_cast<int64_t>(d.cu_q[place.batch + 1]) - d.cu_q[place.batch] : d.seqlen_q;
    row_run run;

    run.begin = row;
    run.first_key = static_cast<uint32_t>(place.first_k);
    /* rows behind the last segment belong to none: each by itself, with nothing to see */
    const int64_t left = rows - place.q;
    run.end =
        left > 0 ? static_cast<uint32_t>(min(static_cast<int64_t>(end), row + left)) : row + 1;
    place.q += run.end - 1 - row;
    run.limit = left > 0 ? static_cast<uint32_t>(indexer_dense_limit(&d, &place)) : 0;
    return run;
}

/* Columns that row `row` of a run sees; -1: not a row of it. */
__device__ __forceinline__ int32_t limit_at(const indexer_dense &d, const row_run &run,
                                            uint32_t row)
{
    if (row < run.begin || row >= run.end)
        return -1;
    if (run.limit == 0)
        return 0;
    const indexer_place place = indexer_dense_place(&d, row);
    return static_cast<int32_t>(indexer_dense_limit(&d, &place));
}

/* f(run, split) for all runs of this block's items. Later rows of a batch see more, so they come
 * first; items go there and back again over the blocks of threads, so that long and short ones
 * meet. */
template <class F>
__device__ __forceinline__ void for_runs(const score_dense_items &args, const F &f)
{
    const uint32_t rows = static_cast<uint32_t>(args.d.rows), items = args.blocks * args.splits;

    for (uint32_t turn = 0; turn * gridDim.x < items; turn++) {
        const uint32_t at = turn % 2 ? gridDim.x - 1 - blockIdx.x : blockIdx.x;
        const uint32_t item = turn * gridDim.x + at;

        if (item >= items)
            break; /* of the last turn */
        const uint32_t block = args.blocks - 1 - item / args.splits;
        const uint32_t end = min(rows, (block + 1) * args.tokens);
        for (uint32_t row = block * args.tokens; row < end;) {
            const row_run run = run_at(args.d, row, end);

            f(run, item % args.splits);
            row = run.end;
        }
    }
}

/* Tiles of KEYS columns of a run that a split has. */
template <int KEYS> struct tile_range {
    static_assert(SCORE_DENSE_UNIT % KEYS == 0);
    uint32_t from, to;

    __device__ __forceinline__ tile_range(const score_dense_items &args, const row_run &run,
                                          uint32_t split)
    {
        constexpr uint32_t in_unit = SCORE_DENSE_UNIT / KEYS;
        const uint64_t units = (run.limit + SCORE_DENSE_UNIT - 1) / SCORE_DENSE_UNIT;
        const uint32_t tiles = (run.limit + KEYS - 1) / KEYS;

        from = min(tiles, static_cast<uint32_t>(units * split / args.splits) * in_unit);
        to = min(tiles, static_cast<uint32_t>(units * (split + 1) / args.splits) * in_unit);
    }
};

/* Heads first..first + nr - 1 and the kv head of a group. */
struct group_place {
    uint32_t kv_head, first, nr;

    __device__ __forceinline__ group_place(const score_dense_items &args, uint32_t group)
    {
        const uint32_t part = group % args.parts * args.group_heads;

        kv_head = group / args.parts;
        first = kv_head * args.kv_heads + part;
        nr = min(args.group_heads, args.kv_heads - part);
    }
};

__device__ __forceinline__ uint32_t groups_of(const score_dense_items &args)
{
    return static_cast<uint32_t>(args.d.kv_heads) * args.parts;
}

/* -inf into the columns of a run that no tile of KEYS reaches, by `threads` threads. */
template <int KEYS>
__device__ __forceinline__ void fill_run(const score_dense_items &args, const row_run &run,
                                         uint32_t split, uint32_t thread, uint32_t threads)
{
    const uint32_t columns = static_cast<uint32_t>(args.d.columns);
    const uint32_t from = (run.limit + KEYS - 1) / KEYS * KEYS;

    if (split != 0)
        return;
    for (uint32_t row = run.begin; row < run.end; row++) {
        float *to = args.d.out + row * args.d.stride;

        for (uint32_t i = from + thread; i < columns; i += threads)
            to[i] = -INFINITY;
    }
}

} // namespace score_dense

#endif
