/*
 * wgmma_list.cuh - the key blocks that a row folds, looked up by all threads a batch at a time.
 *
 * A thread takes one slot, so that the reads of index, size and scale of up to 128 slots overlap.
 * Behind it the row is a list of known length: the end of the row, and whether a pair is whole,
 * are known before the loads of K and V are asked for.
 */
#ifndef SAGE_WGMMA_LIST_CUH
#define SAGE_WGMMA_LIST_CUH

#include "mma_place.cuh"
#include "mma_walk.cuh"
#include "wgmma_args.h"

namespace sage
{

/* A ring: fold i of the row stands at i % SAGE_WGMMA_LIST_NR, folds from the last slot to the
 * first, without blocks that hold no valid token. */
struct fold_list {
    int32_t last[SAGE_WGMMA_LIST_NR]; /* as in struct fold */
    float k_scale[SAGE_WGMMA_LIST_NR];

    __device__ __forceinline__ fold at(uint32_t i) const
    {
        return {last[i % SAGE_WGMMA_LIST_NR]};
    }
    __device__ __forceinline__ float scale(uint32_t i) const
    {
        return k_scale[i % SAGE_WGMMA_LIST_NR];
    }
};
static_assert(sizeof(fold_list) == SAGE_WGMMA_BARRIERS_AT - SAGE_WGMMA_LIST_AT);

/* The fold of this thread's slot among the next ones, or none; `taken` slots came before. */
template <class Key>
__device__ __forceinline__ fold look_up(const sage_mma_args &args, const walk<Key> &slots,
                                        int taken)
{
    const int mine = taken + static_cast<int>(threadIdx.x);
    int block;

    if (mine >= slots.left)
        return {-1};
    if constexpr (Key::contiguous) {
        block = (slots.next - mine) % args.key_blocks;
        block += block < 0 ? args.key_blocks : 0;
    } else {
        block = __ldg(slots.slots + (slots.left - 1 - mine));
    }
    const int valid = slots.valid_tokens(args, block);
    if (Key::sizes_mode != 0 && valid <= 0)
        return {-1};
    return {SAGE_BLOCK * block + valid - 1};
}

/* Place of this thread's fold among those of the batch, and their number. */
template <class Key>
__device__ __forceinline__ uint32_t rank_folds(int left, fold mine, uint32_t *counts, uint32_t &nr)
{
    if constexpr (Key::sizes_mode == 0) {
        (void)counts;
        nr = min(left, static_cast<int>(SAGE_WGMMA_THREADS));
        return threadIdx.x;
    } else {
        const uint32_t lane = threadIdx.x % 32, warp = threadIdx.x / 32;
        const uint32_t has = __ballot_sync(0xffffffffu, mine.exists());
        uint32_t before = __popc(has & ((1u << lane) - 1));

        if (lane == 0)
            counts[warp] = __popc(has);
        __syncthreads();
        nr = 0;
        for (uint32_t w = 0; w < SAGE_WGMMA_THREADS / 32; w++) {
            before += w < warp ? counts[w] : 0;
            nr += counts[w];
        }
        nr = __shfl_sync(0xffffffffu, nr, 0); /* uniform, which the compiler cannot see otherwise */
        return before;
    }
}

/* Where the list of a row ends so far. */
struct list_state {
    uint32_t made; /* folds known */
    int left;      /* slots not yet looked at */
};

/*
 * All threads: appends the folds of the next 128 slots; at most 128 known ones may still be needed.
 * `placed` is called when it is known where they lie and their scales are still on the way. Nothing
 * but list_state is kept from one call to the next: the caller has no registers to spare, and a
 * long row comes here once in 128 blocks.
 */
template <class Key, class F>
__device__ __forceinline__ void extend_list(const sage_mma_args &args, fold_list *list,
                                            uint32_t *counts, list_state &state, F placed)
{
    const place at(args);
    const walk<Key> slots(args, at.batch, at.bh, at.tile);
    const float *k_scales = args.k_scale + static_cast<int64_t>(at.bh) * args.key_blocks;
    uint32_t nr;
    float scale = 0.0f;
    const fold mine = look_up(args, slots, slots.left - state.left);

    if (mine.exists())
        scale = __ldg(k_scales + mine.block());
    const uint32_t to =
        (state.made + rank_folds<Key>(state.left, mine, counts, nr)) % SAGE_WGMMA_LIST_NR;
    if (mine.exists())
        list->last[to] = mine.last;
    state.made += nr;
    state.left -= min(state.left, static_cast<int>(SAGE_WGMMA_THREADS));
    __syncthreads();
    placed();
    if (mine.exists())
        list->k_scale[to] = scale;
    __syncthreads();
}

} // namespace sage

#endif
