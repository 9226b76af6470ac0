/*
 * id_list.cuh - the slots of one query: which are active, which row of kv they name.
 */
#ifndef DSA_BWD_ID_LIST_CUH
#define DSA_BWD_ID_LIST_CUH

#include <stdint.h>

namespace dsa_bwd
{

struct id_list {
    const int32_t *ids;
    int32_t length, keys;

    /* Of tensors [T,slots] and [T] or NULL; slots + THREADS of find_last() fits in 31 bits. */
    __device__ __forceinline__ id_list(const int32_t *topk_idxs, const int32_t *topk_length,
                                       int32_t slots, int32_t keys_, int32_t query)
        : ids(topk_idxs + static_cast<int64_t>(query) * slots), length(slots), keys(keys_)
    {
        if (topk_length)
            length = max(0, min(length, __ldg(topk_length + query)));
    }
    /* The row of kv that a slot names, or -1. */
    __device__ __forceinline__ int32_t at(int32_t slot) const
    {
        const int32_t id = slot < length ? __ldg(ids + slot) : -1;

        return static_cast<uint32_t>(id) < static_cast<uint32_t>(keys) ? id : -1;
    }
    /* All threads of a block: a first step to the number of tiles up to the last active slot. */
    template <int THREADS> __device__ __forceinline__ void find_last(int32_t *last_of_warp) const
    {
        int32_t last = -1;

        for (int32_t slot = static_cast<int32_t>(threadIdx.x); slot < length; slot += THREADS)
            last = at(slot) >= 0 ? slot : last;
        last = __reduce_max_sync(0xffffffffu, last);
        if ((threadIdx.x & 31) == 0)
            last_of_warp[threadIdx.x / 32] = last;
    }
};

/* The second step, behind a barrier of all threads; tiles have `keys` slots. */
__device__ __forceinline__ int32_t count_tiles(const int32_t *last_of_warp, int warps, int32_t keys)
{
    int32_t last = -1;

    for (int w = 0; w < warps; w++)
        last = max(last, last_of_warp[w]);
    return (last + keys) / keys;
}

} // namespace dsa_bwd

#endif
