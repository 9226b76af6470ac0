/*
 * mma_load.cuh - dsa_bwd/mma: the shared memory of a block, and what fills it.
 */
#ifndef DSA_BWD_MMA_LOAD_CUH
#define DSA_BWD_MMA_LOAD_CUH

#include "dsa_bwd_call.h"
#include "gather.cuh"
#include "half_types.cuh"
#include "id_list.cuh"
#include "mma_args.h"
#include "stage.cuh"
#include "statistics.cuh"

namespace dsa_bwd
{

/* Tiles have 64 columns, swizzled by rows of 128 bytes. */
template <int D> struct mma_layout {
    static constexpr uint32_t CHUNKS = D / 64;
    static constexpr uint32_t Q_CHUNK = 128 * DSA_BWD_MMA_HEADS, K_CHUNK = 128 * DSA_BWD_MMA_KEYS;
    static constexpr uint32_t WEIGHTS_PITCH = 2 * DSA_BWD_MMA_KEYS + 16; /* 8 rows, all banks */
    static constexpr uint32_t Q = 0;
    static constexpr uint32_t DOUT = Q + CHUNKS * Q_CHUNK;
    static constexpr uint32_t K = DOUT + DSA_BWD_V / 64 * Q_CHUNK;
    static constexpr uint32_t P = K + CHUNKS * K_CHUNK; /* rows are heads, columns keys */
    static constexpr uint32_t DS = P + DSA_BWD_MMA_HEADS * WEIGHTS_PITCH;
    static constexpr uint32_t STATISTICS = DS + DSA_BWD_MMA_HEADS * WEIGHTS_PITCH;
    static constexpr uint32_t IDS =
        STATISTICS + DSA_BWD_MMA_HEADS * static_cast<uint32_t>(sizeof(head_statistics));
    static constexpr uint32_t LAST = IDS + 2 * 4 * DSA_BWD_MMA_KEYS; /* two tiles' ids */
    static constexpr uint32_t BYTES = LAST + 4 * DSA_BWD_MMA_THREADS / 32;
    static_assert(BYTES <= 99 * 1024);
};

/* The (query, heads) of a block. */
struct mma_place {
    int32_t query, first_head;

    __device__ __forceinline__ explicit mma_place(const dsa_bwd_mma_args &args)
        : query(static_cast<int32_t>(blockIdx.x / static_cast<uint32_t>(args.head_blocks))),
          first_head(static_cast<int32_t>(blockIdx.x % static_cast<uint32_t>(args.head_blocks)) *
                     DSA_BWD_MMA_HEADS)
    {
    }
};

/* All threads: q and dout of the heads of the block, zeros behind H. */
template <int D>
__device__ __forceinline__ void load_heads(uint32_t base, const dsa_bwd_mma_args &args,
                                           const mma_place &at)
{
    using where = mma_layout<D>;
    const uint32_t piece = threadIdx.x % 8;

    for (uint32_t h = threadIdx.x / 8; h < DSA_BWD_MMA_HEADS; h += DSA_BWD_MMA_THREADS / 8) {
        const int32_t head = at.first_head + static_cast<int32_t>(h);
        const bool present = head < args.heads;
        const int64_t row = static_cast<int64_t>(at.query) * args.heads + (present ? head : 0);
        const uint32_t to = base + sab::swizzled_piece(h, piece);
        const uint8_t *q = args.q + row * (2 * D) + 16 * piece;
        const uint8_t *dout = args.dout + row * (2 * DSA_BWD_V) + 16 * piece;
#pragma unroll
        for (uint32_t c = 0; c < where::CHUNKS; c++) {
            sab::copy_piece(to + where::Q + where::Q_CHUNK * c, q + 128 * c, present);
            if (c < DSA_BWD_V / 64)
                sab::copy_piece(to + where::DOUT + where::Q_CHUNK * c, dout + 128 * c, present);
        }
    }
    sab::copies_commit();
}

/* All threads: the rows of kv of tile i, zeros where no active slot names one, and their ids. */
template <int D>
__device__ __forceinline__ void gather_tile(uint32_t base, const uint8_t *kv, const id_list &list,
                                            int32_t i, int32_t *ids)
{
    using where = mma_layout<D>;
    const uint32_t row = threadIdx.x / 8, piece = threadIdx.x % 8;
    const int32_t id = list.at(DSA_BWD_MMA_KEYS * i + static_cast<int32_t>(row));
    const uint8_t *from = kv + static_cast<int64_t>(max(id, 0)) * (2 * D) + 16 * piece;

    static_assert(DSA_BWD_MMA_THREADS == 8 * DSA_BWD_MMA_KEYS);
#pragma unroll
    for (uint32_t c = 0; c < where::CHUNKS; c++)
        sab::copy_piece(base + where::K + where::K_CHUNK * c + sab::swizzled_piece(row, piece),
                        from + 128 * c, id >= 0);
    sab::copies_commit();
    if (piece == 0)
        ids[row] = id;
}

/* Half of a lane's part of <out, dout>: 8 columns of one head. */
template <class T> __device__ __forceinline__ float dot_piece(const uint8_t *x, const uint8_t *y)
{
    const uint4 a = __ldg(reinterpret_cast<const uint4 *>(x));
    const uint4 b = __ldg(reinterpret_cast<const uint4 *>(y));
    const uint32_t s[4] = {a.x, a.y, a.z, a.w}, t[4] = {b.x, b.y, b.z, b.w};
    float sum = 0.0f;

#pragma unroll
    for (int i = 0; i < 4; i++) {
        const float2 u = T::unpack(s[i]), v = T::unpack(t[i]);
        sum = fmaf(u.x, v.x, fmaf(u.y, v.y, sum));
    }
    return sum;
}

/* All warps: statistics of the heads of the block, and their terms of d_sink. */
template <class T, int D>
__device__ __forceinline__ void take_statistics(const dsa_bwd_mma_args &args, uint8_t *shared,
                                                const mma_place &at, uint32_t warp, uint32_t lane)
{
    constexpr uint32_t WARPS = DSA_BWD_MMA_THREADS / 32;
    head_statistics *to = reinterpret_cast<head_statistics *>(shared + mma_layout<D>::STATISTICS);

    for (uint32_t h = warp; h < DSA_BWD_MMA_HEADS; h += WARPS) {
        const int32_t head = at.first_head + static_cast<int32_t>(h);
        if (head >= args.heads) {
            if (lane == 0)
                to[h] = {-INFINITY, 0.0f};
            continue;
        }
        const int64_t row = static_cast<int64_t>(at.query) * args.heads + head;
        const int64_t byte = row * (2 * DSA_BWD_V) + 16 * lane;
        float sum = dot_piece<T>(args.out + byte, args.dout + byte) +
                    dot_piece<T>(args.out + byte + DSA_BWD_V, args.dout + byte + DSA_BWD_V);
#pragma unroll
        for (int step = 16; step > 0; step /= 2)
            sum += __shfl_xor_sync(0xffffffffu, sum, step);
        if (lane == 0)
            to[h] = weigh_head(__ldg(args.lse + row), __ldg(args.sink + head), sum, args.gain_log2,
                               args.scale, args.sink_terms + row);
    }
}

} // namespace dsa_bwd

#endif
