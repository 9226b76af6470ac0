/*
 * mma_kernel.cuh - indexer_bwd_sparse/mma and indexer_bwd_dense/mma: the products of
 * rows_kernel.cuh by single warps. A warp multiplies its own 16 keys for x and dK, and columns
 * 64 b + 16 warp.. of dQ: the rows that it has of a warpgroup's products.
 */
#ifndef INDEXER_BWD_MMA_KERNEL_CUH
#define INDEXER_BWD_MMA_KERNEL_CUH

#include "mma_half.cuh"
#include "rows_kernel.cuh"

namespace indexer_bwd
{

/* Accumulators 4 j.. of those of a warp. */
template <int NR> __device__ __forceinline__ float (&block_of(float (&d)[NR], uint32_t j))[4]
{
    return *reinterpret_cast<float(*)[4]>(d + 4 * j);
}

/* A lane's row of a 16 x 16 operand: rows 0-7 and 8-15 of piece `piece`, then the same of the next
 * one. */
__device__ __forceinline__ uint32_t square(uint32_t tile, uint32_t row, uint32_t piece,
                                           uint32_t lane)
{
    return tile + sab::swizzled_piece(row + lane % 16, piece + lane / 16);
}

template <int N> struct mma_products {
    using where = layout<N>;

    static __device__ __forceinline__ void scores(float (&x)[N / 2], uint32_t q, uint32_t k,
                                                  uint32_t warp, uint32_t lane)
    {
#pragma unroll
        for (int i = 0; i < N / 2; i++)
            x[i] = 0.0f;
#pragma unroll
        for (uint32_t half = 0; half < 4; half++) { /* 32 channels */
            const uint32_t of_k = k + CHUNK_BYTES * (half / 2), piece = half % 2 * 4;
            const uint32_t of_q = q + where::HEAD_CHUNK * (half / 2);
            uint32_t left[2][4], right[4];

            sab::ldmatrix_x4(left[0], square(of_k, 16 * warp, piece, lane));
            sab::ldmatrix_x4(left[1], square(of_k, 16 * warp, piece + 2, lane));
#pragma unroll
            for (uint32_t j = 0; j < N / 8; j++) {
                sab::ldmatrix_x4(right,
                                 of_q + sab::swizzled_piece(8 * j + lane % 8, piece + lane / 8));
                sab::mma_half<sab::bf16>(block_of(x, j), left[0], right[0], right[1]);
                sab::mma_half<sab::bf16>(block_of(x, j), left[1], right[2], right[3]);
            }
        }
    }

    static __device__ __forceinline__ void keys(float (&dk)[32], const uint32_t (&a)[N / 16][4],
                                                uint32_t q, uint32_t lane)
    {
#pragma unroll
        for (int i = 0; i < 32; i++)
            dk[i] = 0.0f;
#pragma unroll
        for (uint32_t b = 0; b < N / 16; b++) {
#pragma unroll
            for (uint32_t j = 0; j < 8; j += 2) {
                uint32_t right[4];
                sab::ldmatrix_x4_across(right, square(q, 16 * b, j, lane));
                sab::mma_half<sab::bf16>(block_of(dk, j), a[b], right[0], right[1]);
                sab::mma_half<sab::bf16>(block_of(dk, j + 1), a[b], right[2], right[3]);
            }
        }
    }

    static __device__ __forceinline__ void queries(float (&dq)[2][N / 2], uint32_t a, uint32_t k,
                                                   uint32_t warp, uint32_t lane)
    {
#pragma unroll
        for (uint32_t step = 0; step < 4; step++) {
            uint32_t left[2][4];
#pragma unroll
            for (uint32_t b = 0; b < 2; b++) /* the matrix of keys 8-15, columns 0-7 is the third */
                sab::ldmatrix_x4_across(
                    left[b], k + CHUNK_BYTES * b +
                                 sab::swizzled_piece(16 * step + lane % 8 + lane / 16 * 8,
                                                     2 * warp + lane / 8 % 2));
#pragma unroll
            for (uint32_t j = 0; j < N / 8; j += 2) {
                uint32_t right[4];
                sab::ldmatrix_x4_across(right, square(a, 16 * step, j, lane));
#pragma unroll
                for (uint32_t b = 0; b < 2; b++) {
                    sab::mma_half<sab::bf16>(block_of(dq[b], j), left[b], right[0], right[1]);
                    sab::mma_half<sab::bf16>(block_of(dq[b], j + 1), left[b], right[2], right[3]);
                }
            }
        }
    }

    /* Nothing is under way. */
    template <int, int NR> static __device__ __forceinline__ void wait(float (&)[NR])
    {
    }
    template <class T> static __device__ __forceinline__ void hold(T &)
    {
    }
};

template <int N, bool SPARSE>
__global__ void __launch_bounds__(INDEXER_BWD_ROWS_THREADS, N == 16 ? 3 : 2)
    mma_rows(const __grid_constant__ indexer_bwd_rows_args args)
{
    extern __shared__ __align__(1024) uint8_t shared[];

    run_row<mma_products<N>, N, SPARSE>(args, shared);
}

template <int N, bool SPARSE> constexpr indexer_bwd_rows_form mma_form()
{
    return {mma_rows<N, SPARSE>, layout<N>::BYTES, INDEXER_BWD_ROWS_THREADS, 1};
}

} // namespace indexer_bwd

#endif
