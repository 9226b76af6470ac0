/*
 * mma_load.cuh - dsa_fwd/mma: the shared memory of a block, the slots of its row, and what fills
 * the tiles.
 */
#ifndef DSA_FWD_MMA_LOAD_CUH
#define DSA_FWD_MMA_LOAD_CUH

#include "gather.cuh"
#include "mma_args.h"
#include "quad.cuh"
#include "stage.cuh"

namespace dsa
{

/* Rows of kv lie in tiles of 64 columns, swizzled by rows of 128 bytes. Pitches are such that eight
 * rows lie in different banks. */
template <int D, int HEADS> struct mma_layout {
    static constexpr uint32_t CHUNKS = D / 64, CHUNK = 128 * DSA_MMA_KEYS;
    static constexpr uint32_t STAGE = CHUNKS * CHUNK;
    static constexpr uint32_t SCORE_PITCH = 4 * (DSA_MMA_KEYS + 8);
    static constexpr uint32_t WEIGHT_PITCH = 2 * (DSA_MMA_KEYS + 8);
    static constexpr uint32_t K = 0;                  /* two stages */
    static constexpr uint32_t SCORES = K + 2 * STAGE; /* [warp][head][key], sums of its columns */
    static constexpr uint32_t WEIGHTS = SCORES + 4 * HEADS * SCORE_PITCH; /* [head][key] */
    static constexpr uint32_t FACTORS = WEIGHTS + HEADS * WEIGHT_PITCH;   /* [head] */
    static constexpr uint32_t IDS = FACTORS + 4 * HEADS;                  /* of two tiles */
    static constexpr uint32_t STATES = IDS + 2 * 4 * DSA_MMA_KEYS;        /* [number][thread] */
    static constexpr uint32_t LAST = STATES + 5 * 4 * DSA_MMA_THREADS;    /* [warp] */
    static constexpr uint32_t SLOTS = LAST + 4 * 4; /* mma_slots, for the walk */
    static constexpr uint32_t BYTES = SLOTS + 24;
    static_assert(BYTES <= 99 * 1024);
};

/* The row and the first head of a block, from the number of the block read anew: they are not kept
 * in registers from the beginning to the end. */
struct mma_place {
    int64_t row, first_head;

    __device__ __forceinline__ mma_place(const dsa_fwd_mma_args &args, int32_t heads)
    {
        uint32_t block;

        asm volatile("mov.u32 %0, %%ctaid.x;" : "=r"(block));
        row = block / static_cast<uint32_t>(args.head_blocks);
        first_head = static_cast<int64_t>(block % static_cast<uint32_t>(args.head_blocks)) * heads;
    }
};

/* The slots of one query row. */
struct mma_slots {
    const int32_t *ids;
    int32_t length;
    int64_t keys;

    __device__ __forceinline__ mma_slots(const dsa_fwd_call &c, int64_t row)
        : ids(c.ids + row * c.slots), length(static_cast<int32_t>(c.slots)), keys(c.keys)
    {
        if (c.lengths)
            length = max(0, min(__ldg(c.lengths + row), length));
    }
    /* The row of kv that a slot names, or -1 where it is not active. */
    __device__ __forceinline__ int32_t at(int32_t slot) const
    {
        const int32_t id = slot < length ? __ldg(ids + slot) : -1;

        return id >= 0 && id < keys ? id : -1;
    }
    /* All threads; tiles up to the last active slot are known behind a barrier. */
    __device__ __forceinline__ void find_last(int32_t *last_of_warp) const
    {
        int32_t last = -1;

        for (int32_t slot = static_cast<int32_t>(threadIdx.x); slot < length;
             slot += DSA_MMA_THREADS)
            last = at(slot) >= 0 ? slot : last;
        last = __reduce_max_sync(0xffffffffu, last);
        if (threadIdx.x % 32 == 0)
            last_of_warp[threadIdx.x / 32] = last;
    }
};

__device__ __forceinline__ int32_t mma_tiles(const int32_t *last_of_warp)
{
    const int32_t last =
        max(max(last_of_warp[0], last_of_warp[1]), max(last_of_warp[2], last_of_warp[3]));

    return (last + DSA_MMA_KEYS) / DSA_MMA_KEYS;
}

/* All threads: the rows of kv of tile i, zeros where no active slot names one, and their ids. A
 * thread copies one piece of each chunk of two rows. */
template <int D, int HEADS>
__device__ __forceinline__ void gather_tile(uint32_t base, uint8_t *shared, const dsa_fwd_call &c,
                                            const mma_slots &slots, int32_t i)
{
    using where = mma_layout<D, HEADS>;
    const uint32_t thread = fresh_thread(), piece = thread % 8;
    const uint32_t stage = base + where::K + where::STAGE * (static_cast<uint32_t>(i) % 2);
    int32_t *ids = reinterpret_cast<int32_t *>(shared + where::IDS) + i % 2 * DSA_MMA_KEYS;

#pragma unroll
    for (uint32_t row = thread / 8; row < DSA_MMA_KEYS; row += DSA_MMA_THREADS / 8) {
        const int32_t id = slots.at(DSA_MMA_KEYS * i + static_cast<int32_t>(row));
        const uint8_t *from = reinterpret_cast<const uint8_t *>(c.kv) +
                              static_cast<int64_t>(max(id, 0)) * (2 * D) + 16 * piece;
        const uint32_t to = stage + sab::swizzled_piece(row, piece);
#pragma unroll
        for (uint32_t chunk = 0; chunk < where::CHUNKS; chunk++)
            sab::copy_piece(to + where::CHUNK * chunk, from + 128 * chunk, id >= 0);
        if (piece == 0)
            ids[row] = id;
    }
    sab::copies_commit();
}

} // namespace dsa

#endif
