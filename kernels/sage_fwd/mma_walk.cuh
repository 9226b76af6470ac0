/*
 * mma_walk.cuh - which key blocks a row folds, and in which order (contracts/sage.md section 4).
 */
#ifndef SAGE_MMA_WALK_CUH
#define SAGE_MMA_WALK_CUH

#include "mma_args.h"

namespace sage
{

template <int N, int M, int F, int U, int C> struct key {
    static constexpr int sizes_mode = M;
    static constexpr bool block_nums = N, full_tiles = F, nonempty = U, contiguous = C;
    /* contiguous without `nonempty`: the host derives it for a count of 0 only */
    static constexpr bool always_empty = C && !U;
};

/* A key block to fold: the number of its last valid token, which holds block and valid count in one
 * register. -1: there is none. */
struct fold {
    int last;

    __device__ __forceinline__ bool exists() const
    {
        return last >= 0;
    }
    __device__ __forceinline__ int block() const
    {
        return last >> 6;
    }
    __device__ __forceinline__ int first_token() const
    {
        return last & -SAGE_BLOCK;
    }
    __device__ __forceinline__ int valid() const
    {
        return (last & 63) + 1;
    }
};

/* Walks a row's slots from the last to the first, over the blocks that hold a valid token. */
template <class Key> struct walk {
    const int32_t *slots, *sizes;
    int left, next; /* slots not yet taken; contiguous: the block of the next one */

    __device__ __forceinline__ int valid_tokens(const sage_mma_args &args, int block) const
    {
        if constexpr (Key::full_tiles)
            return SAGE_BLOCK;
        int valid = min(args.seqlen_k - SAGE_BLOCK * block, static_cast<int>(SAGE_BLOCK));
        if constexpr (Key::sizes_mode != 0)
            valid = min(valid, __ldg(sizes + block));
        return valid;
    }

    __device__ __forceinline__ walk(const sage_mma_args &args, uint32_t batch, uint32_t bh,
                                    uint32_t tile)
    {
        const int64_t row = static_cast<int64_t>(bh) * args.query_tiles + tile;

        slots = args.block_index + row * args.cap;
        if constexpr (Key::sizes_mode == 1)
            sizes = args.block_sizes;
        else if constexpr (Key::sizes_mode == 2)
            sizes = args.block_sizes + static_cast<int64_t>(batch) * args.key_blocks;
        else if constexpr (Key::sizes_mode == 3)
            sizes = args.block_sizes + static_cast<int64_t>(bh) * args.key_blocks;
        left = args.block_sparse_num;
        if constexpr (Key::block_nums)
            left = __ldg(args.block_nums + row);
        if constexpr (Key::contiguous)
            next = __ldg(slots + left - 1);
    }

    template <bool FIRST = false> __device__ __forceinline__ fold take(const sage_mma_args &args)
    {
        while ((FIRST && Key::nonempty && Key::sizes_mode == 0) || left > 0) {
            int block;
            left--;
            if constexpr (Key::contiguous) {
                block = next;
                next = (block == 0 ? args.key_blocks : block) - 1;
            } else {
                block = __ldg(slots + left);
            }
            const int valid = valid_tokens(args, block);
            if (Key::sizes_mode == 0 || valid > 0)
                return {SAGE_BLOCK * block + valid - 1};
        }
        return {-1};
    }
};

} // namespace sage

#endif
