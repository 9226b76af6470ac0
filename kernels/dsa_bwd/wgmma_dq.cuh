/*
 * wgmma_dq.cuh - dsa_bwd/wgmma: dQ of a block, in registers for the whole walk, in two forms.
 *
 * A warpgroup has columns 256 group.. and its part of the tail of D = 576. dS and K of tile i lie
 * in shared memory, their rows are keys.
 */
#ifndef DSA_BWD_WGMMA_DQ_CUH
#define DSA_BWD_WGMMA_DQ_CUH

#include "wgmma_load.cuh"

namespace dsa_bwd
{

template <class T> __device__ __forceinline__ uint32_t pack_scaled(const float *pair, float factor)
{
    return T::pack(pair[0] * factor, pair[1] * factor);
}

/* 32 heads or fewer, transposed: columns are m, heads n, keys k. Of the tail, a warpgroup has all
 * columns and half of the keys. */
template <class T, int D, int N> struct dq_sums {
    using where = layout<D, N>;
    static constexpr bool TAIL = D > DSA_BWD_V;
    static constexpr uint32_t PARTIAL = where::K + where::K_BYTES; /* the other stage of K */
    float sum[4][N / 2], tail[N / 2];

    __device__ __forceinline__ void clear()
    {
#pragma unroll
        for (int i = 0; i < N / 2; i++)
            sum[0][i] = sum[1][i] = sum[2][i] = sum[3][i] = tail[i] = 0.0f;
    }
    __device__ __forceinline__ void multiply(uint32_t base, uint32_t group, int32_t i)
    {
        const uint32_t ds = where::ds_of(i), k = where::k_of(i);

#pragma unroll
        for (uint32_t step = 0; step < 4; step++) {
#pragma unroll
            for (uint32_t c = 0; c < 4; c++)
                product(sum[c], base, k + CHUNK_BYTES * (4 * group + c), ds, step);
        }
#pragma unroll
        for (uint32_t step = 0; step < 2 && TAIL; step++)
            product(tail, base, k + CHUNK_BYTES * V_CHUNKS, ds, 2 * group + step);
    }
    __device__ __forceinline__ void product(float (&d)[N / 2], uint32_t base, uint32_t k,
                                            uint32_t ds, uint32_t step)
    {
        sab::wgmma_ss<T, sab::MN_MAJOR, sab::MN_MAJOR>(
            d, sab::wgmma_across_k(base, CHUNK_BYTES) + (k + 2048 * step),
            sab::wgmma_across_k(base, CHUNK_BYTES) + (ds + 2048 * step), true);
    }
    __device__ __forceinline__ void hold()
    {
#pragma unroll
        for (int c = 0; c < 4; c++)
            sab::wgmma_hold(sum[c]);
        if constexpr (TAIL)
            sab::wgmma_hold(tail);
    }

    /* All threads, when nobody needs K any more: as tiles at K whose rows are heads. */
    __device__ __forceinline__ void put_down(uint8_t *shared, uint32_t group, uint32_t warp,
                                             uint32_t lane, float factor)
    {
#pragma unroll
        for (uint32_t c = 0; c < 4; c++)
            put_chunk_down(sum[c], shared, 4 * group + c, warp, lane, factor);
        if constexpr (TAIL) {
            float *partial = reinterpret_cast<float *>(shared + PARTIAL) + 32 * warp + lane;
            uint64_t *there = &reinterpret_cast<wgmma_barriers *>(shared + where::BARRIERS)->tail;
            if (group == 0) {
#pragma unroll
                for (int i = 0; i < N / 2; i++)
                    partial[128 * i] = tail[i];
                sab::warp_arrive(there);
            } else {
                sab::barrier_wait(there, 0);
#pragma unroll
                for (int i = 0; i < N / 2; i++)
                    tail[i] += partial[128 * i];
                put_chunk_down(tail, shared, V_CHUNKS, warp, lane, factor);
            }
        }
    }
    __device__ __forceinline__ void put_chunk_down(const float (&d)[N / 2], uint8_t *shared,
                                                   uint32_t chunk, uint32_t warp, uint32_t lane,
                                                   float factor) const
    {
        const uint32_t tile = sab::shared_address(shared) + where::K + where::HEAD_CHUNK * chunk;

#pragma unroll
        for (uint32_t j = 0; j < N / 8; j += 2) {
            uint32_t packed[4]; /* 8 columns of 8 heads, further columns, then the next heads */
#pragma unroll
            for (uint32_t i = 0; i < 4; i++)
                packed[i] = pack_scaled<T>(d + 4 * (j + i / 2) + 2 * (i % 2), factor);
            store_matrices_across(
                tile + sab::swizzled_piece(8 * (j + lane / 16) + lane % 8, 2 * warp + lane / 8 % 2),
                packed);
        }
    }
};

/* 64 heads, dQ += dS K: heads are m, columns n. */
template <class T, int D> struct dq_sums<T, D, 64> {
    using where = layout<D, 64>;
    static constexpr bool TAIL = D > DSA_BWD_V;
    float sum[128], tail[16]; /* tail: columns 512 + 32 group.. */

    __device__ __forceinline__ void clear()
    {
#pragma unroll
        for (int i = 0; i < 128; i++)
            sum[i] = 0.0f;
#pragma unroll
        for (int i = 0; i < 16; i++)
            tail[i] = 0.0f;
    }
    __device__ __forceinline__ void multiply(uint32_t base, uint32_t group, int32_t)
    {
#pragma unroll
        for (uint32_t step = 0; step < 4; step++) {
            const sab::wgmma_matrix ds =
                sab::wgmma_across_k(base, CHUNK_BYTES) + (where::DS + 2048 * step);
            const uint32_t k = where::K + 2048 * step;
            sab::wgmma_ss<T, sab::MN_MAJOR, sab::MN_MAJOR>(
                sum, ds, sab::wgmma_across_k(base, CHUNK_BYTES) + 4 * CHUNK_BYTES * group + k,
                true);
            if constexpr (TAIL)
                sab::wgmma_ss<T, sab::MN_MAJOR, sab::MN_MAJOR>(
                    tail, ds,
                    sab::wgmma_across_k(base, CHUNK_BYTES) + 64 * group +
                        (k + V_CHUNKS * CHUNK_BYTES),
                    true);
        }
    }
    __device__ __forceinline__ void hold()
    {
        sab::wgmma_hold(sum);
        if constexpr (TAIL)
            sab::wgmma_hold(tail);
    }

    __device__ __forceinline__ void put_down(uint8_t *shared, uint32_t group, uint32_t warp,
                                             uint32_t lane, float factor)
    {
        const uint32_t base = sab::shared_address(shared);
        const uint32_t tile = base + where::K + 4 * CHUNK_BYTES * group;

#pragma unroll
        for (uint32_t j = 0; j < 16; j++)
            put_pieces_down(tile + j / 4 * CHUNK_BYTES, 2 * (j % 4), &sum[8 * j], warp, lane,
                            factor);
        if constexpr (TAIL) {
#pragma unroll
            for (uint32_t j = 0; j < 2; j++)
                put_pieces_down(base + where::K + V_CHUNKS * CHUNK_BYTES, 4 * group + 2 * j,
                                &tail[8 * j], warp, lane, factor);
        }
    }
    __device__ __forceinline__ void put_pieces_down(uint32_t tile, uint32_t piece, const float *d,
                                                    uint32_t warp, uint32_t lane,
                                                    float factor) const
    {
        uint32_t packed[4];

#pragma unroll
        for (int i = 0; i < 4; i++)
            packed[i] = pack_scaled<T>(d + 2 * i, factor);
        store_matrices(matrix_row(tile, piece, warp, lane), packed);
    }
};

} // namespace dsa_bwd

#endif
