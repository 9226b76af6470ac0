/*
 * rows.cuh - one row of key blocks on the device: how many slots it has, which block a slot names,
 * how many tokens of a block exist (contracts/sage.md section 4).
 */
#ifndef BSA_ROWS_CUH
#define BSA_ROWS_CUH

#include "rows_call.h"

namespace bsa
{

/* One query tile of one head. */
struct row {
    const int32_t *slots;
    const int32_t *sizes; /* by block; NULL without declared sizes */
    int32_t nr;           /* slots in use */
    int32_t start;        /* contiguous lists: the block of slot 0, modulo the key blocks */
    int32_t kv_head;      /* of all batches */

    /* Where the declared sizes of a tile's head stand. Tiles are counted through all heads of all
     * batches. */
    static __device__ __forceinline__ const int32_t *sizes_of(const bsa_rows &args, int32_t tile)
    {
        const int32_t head = tile / args.query_tiles;

        if (args.reading.sizes_mode == 2)
            return args.block_sizes + static_cast<int64_t>(head / args.heads) * args.key_blocks;
        if (args.reading.sizes_mode == 3)
            return args.block_sizes + static_cast<int64_t>(head) * args.key_blocks;
        return args.block_sizes;
    }

    __device__ __forceinline__ void open(const bsa_rows &args, int32_t tile)
    {
        slots = args.block_index + static_cast<int64_t>(tile) * args.cap;
        sizes = sizes_of(args, tile);
        nr = args.reading.counted ? __ldg(args.block_nums + tile) : args.block_sparse_num;
        start = args.reading.contiguous && nr > 0 ? __ldg(slots + nr - 1) - (nr - 1) : 0;
        kv_head = tile / args.query_tiles / args.group;
    }

    /* The block that slot i < nr names. */
    __device__ __forceinline__ int32_t block(const bsa_rows &args, int32_t i) const
    {
        if (!args.reading.contiguous)
            return __ldg(slots + i);
        const int32_t block = (start + i) % args.key_blocks;
        return block < 0 ? block + args.key_blocks : block;
    }

    /* Tokens of a block that exist: 0 or less if none does. */
    __device__ __forceinline__ int32_t valid(const bsa_rows &args, int32_t block) const
    {
        int32_t valid = min(args.seqlen_k - BSA_BLOCK * block, static_cast<int32_t>(BSA_BLOCK));

        if (args.reading.sizes_mode != 0)
            valid = min(valid, __ldg(sizes + block));
        return valid;
    }
};

} // namespace bsa

#endif
