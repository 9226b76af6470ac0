/*
 * wgmma_load.cuh - the third group of a block: one warp brings queries, weights and keys to shared
 * memory, three warps write -inf beyond the last tile of each row.
 */
#ifndef SCORE_DENSE_WGMMA_LOAD_CUH
#define SCORE_DENSE_WGMMA_LOAD_CUH

#include "items.cuh"
#include "score_math.cuh"
#include "score_wgmma.cuh"
#include "wgmma_args.h"

namespace score_dense
{

/* What the computing groups need to know of a block of rows and a group of heads; written ahead. */
struct item_note {
    uint32_t first_row;
    uint32_t from, to; /* tiles of keys; equal: there are no more items */
    uint32_t adds;     /* to what an earlier group wrote */
    int32_t limit[8];  /* columns that a row sees; below 0: not a row of this run */
};

template <class S> struct wgmma_shared {
    sab::score_tiles<S> tiles;
    float weight[S::Q_SLOTS][S::PAIRS];
    item_note note[S::Q_SLOTS];
    uint64_t noted[S::Q_SLOTS], q_empty[S::Q_SLOTS];
};

template <class S> __device__ __forceinline__ void open_barriers(wgmma_shared<S> &s)
{
    sab::score_open(s.tiles, 1);
    for (int i = 0; i < S::Q_SLOTS; i++) {
        sab::barrier_init(&s.noted[i], sab::WARP_LANES);
        sab::barrier_init(&s.q_empty[i], 8 * sab::WARP_LANES);
    }
    sab::barriers_publish();
}

template <class S, int HEADS, bool ATTENTION> struct loader {
    static constexpr int TOKENS = S::PAIRS / HEADS;

    const score_dense_wgmma_args &args;
    wgmma_shared<S> &s;
    uint32_t lane;
    sab::score_walk<S::Q_SLOTS> q;
    sab::score_walk<S::RING> ring;

    __device__ __forceinline__ void weigh(float *weight, const group_place &group,
                                          uint32_t first_row) const
    {
        const indexer_dense &d = args.items.d;

#pragma unroll
        for (uint32_t i = lane; i < S::PAIRS; i += 32) {
            const int64_t row = first_row + i / HEADS;
            const uint32_t head = i % HEADS;

            weight[i] = ATTENTION ? -INFINITY : 0.0f;
            if (row < d.rows && head < group.nr)
                weight[i] = sab::score_weight<ATTENTION>(args.items.heads,
                                                         row * d.heads + group.first + head);
        }
    }

    /* Queries, weights and limits; or the end, where from == to. */
    __device__ __forceinline__ void note(const row_run &run, uint32_t index, uint32_t from,
                                         uint32_t to)
    {
        const uint32_t first_row = run.begin / TOKENS * TOKENS;
        const group_place group(args.items, index);
        item_note &note = s.note[q.at];

        sab::barrier_wait(&s.q_empty[q.at], q.parity ^ 1);
        if (from < to) {
            if (lane < TOKENS)
                note.limit[lane] = limit_at(args.items.d, run, first_row + lane);
            weigh(s.weight[q.at], group, first_row);
        }
        if (lane == 0) {
            note.first_row = first_row;
            note.from = from;
            note.to = to;
            note.adds = index > 0;
        }
        sab::warp_arrive(&s.noted[q.at]);
        if (sab::elect_one()) {
            uint64_t *full = &s.tiles.q_full[q.at];

            sab::expect_boxes(full, from < to ? S::Q_BYTES : 0);
            if (from < to) {
#pragma unroll
                for (int i = 0; i < S::SEGMENTS; i++)
                    sab::ask_box(s.tiles.q[q.at][i], full, &args.q, SCORE_SEGMENT * i,
                                 static_cast<int>(group.first), static_cast<int>(first_row), 0);
            }
        }
        __syncwarp();
        q.advance();
    }

    __device__ __forceinline__ void keys(const row_run &run, uint32_t index, uint32_t from,
                                         uint32_t to)
    {
        const int kv_head = static_cast<int>(group_place(args.items, index).kv_head);

        for (uint32_t tile = from; tile < to; tile++) {
            const int key = static_cast<int>(run.first_key + tile * SCORE_KEYS);

#pragma unroll 1
            for (int i = 0; i < S::SEGMENTS; i++) {
                if (sab::elect_one()) {
                    sab::barrier_wait(&s.tiles.empty[ring.at], ring.parity ^ 1);
                    sab::load_box(s.tiles.ring[ring.at], &s.tiles.full[ring.at],
                                  SCORE_SEGMENT_BYTES, &args.k, SCORE_SEGMENT * i, kv_head, key, 0);
                }
                __syncwarp();
                ring.advance();
            }
        }
    }

    __device__ __forceinline__ void run_all()
    {
        const uint32_t groups = groups_of(args.items);

        for_runs(args.items, [&](const row_run &run, uint32_t split) {
            const tile_range<SCORE_KEYS> tiles(args.items, run, split);

            if (tiles.from == tiles.to)
                return;
            for (uint32_t group = 0; group < groups; group++) {
                note(run, group, tiles.from, tiles.to);
                keys(run, group, tiles.from, tiles.to);
            }
        });
        note({}, 0, 0, 0);
    }
};

} // namespace score_dense

#endif
