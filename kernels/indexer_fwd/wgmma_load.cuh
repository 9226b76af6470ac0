/*
 * wgmma_load.cuh - the third group of a block: one warp brings queries, keys and weights to shared
 * memory, three warps write -inf beyond the last tile of each row.
 */
#ifndef INDEXER_FWD_WGMMA_LOAD_CUH
#define INDEXER_FWD_WGMMA_LOAD_CUH

#include "stage.cuh"
#include "mma_items.cuh"
#include "wgmma_args.h"

namespace indexer
{

/* The two precisions that warpgroup products serve. */
struct fp8 {
    static constexpr int SEGMENTS = 1; /* of 128 bytes, of a row */
    static constexpr int STAGES = 8;
    static constexpr bool SCALED = true; /* a factor for each key */
};
struct bf16 {
    static constexpr int SEGMENTS = 2;
    static constexpr int STAGES = 3;
    static constexpr bool SCALED = false;
};

/* What the computing groups need to know of an item; written ahead. */
struct item_note {
    uint32_t first_row;            /* of the 256 / heads query rows */
    uint32_t first_key;            /* of all */
    uint32_t from, to;             /* tiles of keys; equal: there are no more items */
    int32_t limit[INDEXER_TOKENS]; /* columns that a row sees; below 0: not a row of this item */
};

template <class P> struct wgmma_shared {
    static constexpr int Q_SEGMENT = INDEXER_COLUMNS * INDEXER_SEGMENT_BYTES;
    static constexpr int K_SEGMENT = INDEXER_KEYS * INDEXER_SEGMENT_BYTES;

    uint8_t q[2][P::SEGMENTS][Q_SEGMENT];
    uint8_t k[P::STAGES][P::SEGMENTS][K_SEGMENT];
    float weight[2][INDEXER_COLUMNS];
    item_note note[2];
    uint64_t noted[2], q_full[2], q_empty[2]; /* the item, its queries; both free again */
    uint64_t k_full[P::STAGES], k_empty[P::STAGES];
};
static_assert(sizeof(wgmma_shared<fp8>) <= 232448 && sizeof(wgmma_shared<bf16>) <= 232448);

/* A way round the places of a ring. */
template <int NR> struct ring_turn {
    uint32_t at = 0, parity = 0;

    __device__ __forceinline__ void advance()
    {
        if (++at == NR) {
            at = 0;
            parity ^= 1;
        }
    }
};

template <class P, int HEADS> struct loader {
    static constexpr int TOKENS = INDEXER_COLUMNS / HEADS;

    const indexer_wgmma_args &args;
    wgmma_shared<P> &s;
    ring_turn<2> q;
    ring_turn<P::STAGES> k;
    uint32_t lane;

    /* Queries, weights and limits of a run; or the end, where from == to. */
    __device__ __forceinline__ void note(const row_run &run, uint32_t first_row, uint32_t from,
                                         uint32_t to)
    {
        item_note &note = s.note[q.at];
        float *weight = s.weight[q.at];

        sab::barrier_wait(&s.q_empty[q.at], q.parity ^ 1);
        if (from < to) {
            if (lane < TOKENS)
                note.limit[lane] = limit_at(args.items.c, run, first_row + lane);
#pragma unroll
            for (uint32_t i = lane; i < INDEXER_COLUMNS; i += 32)
                weight[i] = weight_at<HEADS>(args.items.c, first_row + i / HEADS, i % HEADS);
        }
        if (lane == 0) {
            note.first_row = first_row;
            note.first_key = run.first_key;
            note.from = from;
            note.to = to;
        }
        sab::warp_arrive(&s.noted[q.at]);
        if (sab::elect_one()) {
            const int row = static_cast<int>(first_row) * HEADS;

            sab::expect_boxes(&s.q_full[q.at], from < to ? sizeof(s.q[0]) : 0);
            if (from < to) {
#pragma unroll
                for (int i = 0; i < P::SEGMENTS; i++)
                    sab::ask_box(s.q[q.at][i], &s.q_full[q.at], &args.q, 64 * i, row, 0, 0);
            }
        }
        __syncwarp();
        q.advance();
    }

    /* Tiles of keys. */
    __device__ __forceinline__ void keys(const row_run &run, uint32_t from, uint32_t to)
    {
        for (uint32_t tile = from; tile < to; tile++, k.advance()) {
            const uint32_t key = run.first_key + tile * INDEXER_KEYS;

            if (sab::elect_one()) {
                uint64_t *full = &s.k_full[k.at];

                sab::barrier_wait(&s.k_empty[k.at], k.parity ^ 1);
                sab::expect_boxes(full, sizeof(s.k[0]));
#pragma unroll
                for (int i = 0; i < P::SEGMENTS; i++)
                    sab::ask_box(s.k[k.at][i], full, &args.k, 64 * i, key, 0, 0);
            }
            __syncwarp();
        }
    }

    __device__ __forceinline__ void run_all()
    {
        for_runs(args.items, [&](const row_run &run, const key_share &share) {
            const tile_range tiles(args.items, run, share);

            if (tiles.from == tiles.to)
                return;
            note(run, run.begin / TOKENS * TOKENS, tiles.from, tiles.to);
            keys(run, tiles.from, tiles.to);
        });
        note({}, 0, 0, 0);
    }
};

} // namespace indexer

#endif
