/*
 * wgmma_gather.cuh - the warpgroup of the sparse scores' wgmma kernels that feeds the others: it
 * reads the ids of a query row, copies their rows of k into the ring, 64 slots a tile, and tells
 * what each tile holds. Slots keep their places; rows of slots that are not active are zeros, which
 * costs no traffic, and tiles without an active slot are left out.
 */
#ifndef SCORE_SPARSE_WGMMA_GATHER_CUH
#define SCORE_SPARSE_WGMMA_GATHER_CUH

#include "score_wgmma.cuh"
#include "slots.cuh"
#include "wgmma_args.h"

namespace score_sparse
{

enum : int32_t { ROW_ENDS = -1, ALL_ENDS = -2 };

/* What the computing groups need to know; written ahead. */
struct tile_note {
    int32_t item, tile; /* or what ends */
    uint64_t active;    /* bit i: slot 64 * tile + i */
};

template <class S> struct wgmma_shared {
    static constexpr int NOTES = 8;

    sab::score_tiles<S> tiles;
    tile_note notes[NOTES];
    uint64_t note_full[NOTES], note_free[NOTES];
    float2 results[2][8]; /* [parity of the item][warp]: top and sum */
};

template <class S> __device__ __forceinline__ void open_barriers(wgmma_shared<S> &s)
{
    sab::score_open(s.tiles, 128);
    for (int i = 0; i < s.NOTES; i++) {
        sab::barrier_init(&s.note_full[i], 1);
        sab::barrier_init(&s.note_free[i], 8 * sab::WARP_LANES);
    }
    sab::barriers_publish();
}

template <class S> struct gatherer {
    const score_sparse_wgmma_args &args;
    wgmma_shared<S> &s;
    uint32_t warp, lane; /* of the group */
    uint64_t policy;
    sab::score_walk<S::RING> ring;
    sab::score_walk<wgmma_shared<S>::NOTES> note;
    int32_t next[2] = {0, 0}; /* ids of this lane's two slots of the next tile */

    __device__ __forceinline__ void read_next(const int32_t *ids, int32_t first)
    {
#pragma unroll
        for (int half = 0; half < 2; half++) {
            const int32_t slot = first + 32 * half + static_cast<int32_t>(lane);
            next[half] = slot < args.d.slots.slots ? __ldg(ids + slot) : -1;
        }
    }

    __device__ __forceinline__ void tell(const tile_note &what)
    {
        if (warp == 0 && lane == 0) {
            sab::barrier_wait(&s.note_free[note.at], note.parity ^ 1);
            s.notes[note.at] = what;
            (void)cuda::ptx::mbarrier_arrive(&s.note_full[note.at]);
        }
        __syncwarp();
        note.advance();
    }

    /* A lane copies piece lane % 8 of rows 16r + 4 * warp + lane / 8. `column` holds those of slots
     * lane and 32 + lane. */
    __device__ __forceinline__ void copy_tile(const int32_t (&column)[2], int64_t first_key)
    {
        const uint32_t first = 4 * warp + lane / 8;
        const uint32_t to =
            sab::shared_address(s.tiles.ring) + sab::swizzled_piece(first, lane % 8);
        const uint8_t *keys = static_cast<const uint8_t *>(args.d.k.data) + 16 * (lane % 8);
        const uint8_t *from[4];
        bool active[4];

#pragma unroll
        for (int r = 0; r < 4; r++) {
            const int32_t at = __shfl_sync(ALL_LANES, column[r / 2], 16 * (r % 2) + first);
            active[r] = at >= 0;
            from[r] = keys + (active[r] ? first_key + at : 0) * (128 * S::SEGMENTS);
        }
#pragma unroll
        for (int i = 0; i < S::SEGMENTS; i++) {
            sab::barrier_wait(&s.tiles.empty[ring.at], ring.parity ^ 1);
#pragma unroll
            for (int r = 0; r < 4; r++)
                sab::copy_piece(to + ring.at * SCORE_SEGMENT_BYTES + 2048 * r, from[r] + 128 * i,
                                active[r], policy);
            sab::arrive_when_copied(&s.tiles.full[ring.at]);
            ring.advance();
        }
    }

    /* All tiles of a row; ids of the row `after`, if there is one, are asked for ahead. */
    __device__ __forceinline__ void serve_row(int32_t item, const row_slots &row, int32_t after)
    {
        const int32_t tiles = max(1, (row.length + SCORE_KEYS - 1) / SCORE_KEYS);

        for (int32_t tile = 0; tile < tiles; tile++) {
            int32_t column[2];

#pragma unroll
            for (int half = 0; half < 2; half++)
                column[half] = row.column(
                    args.d, next[half], SCORE_KEYS * tile + 32 * half + static_cast<int32_t>(lane));
            if (tile + 1 < tiles)
                read_next(row.ids, SCORE_KEYS * (tile + 1));
            else if (after < args.d.rows)
                read_next(args.d.slots.ids + after * args.d.slots.slots, 0);
            const uint64_t low = __ballot_sync(ALL_LANES, column[0] >= 0);
            const uint64_t high = __ballot_sync(ALL_LANES, column[1] >= 0);
            if ((low | high) == 0)
                continue;
            tell({item, tile, low | high << 32});
            copy_tile(column, row.first_key);
        }
        tell({item, ROW_ENDS, 0});
    }

    __device__ __forceinline__ void serve()
    {
        const int32_t rows = static_cast<int32_t>(args.d.rows);
        int32_t item = static_cast<int32_t>(blockIdx.x);
        row_slots row(args.d, item);

        read_next(row.ids, 0);
        while (item < rows) {
            const int32_t after = item + static_cast<int32_t>(gridDim.x);
            const row_slots then(args.d, after < rows ? after : item);

            serve_row(item, row, after);
            item = after;
            row = then;
        }
        tell({item, ALL_ENDS, 0});
    }
};

} // namespace score_sparse

#endif
