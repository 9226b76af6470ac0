/*
 * mma_layout.h - where the bytes of a tile of sage_fwd/mma lie, in shared memory and in fragments.
 *
 * Pure index arithmetic, compiled for the device and for the host, where a test runs it against the
 * definitions of the instructions.
 */
#ifndef SAGE_MMA_LAYOUT_H
#define SAGE_MMA_LAYOUT_H

#include <stdint.h>

#ifdef __CUDACC__
#    define SAGE_MMA_INLINE __host__ __device__ __forceinline__
#else
#    define SAGE_MMA_INLINE static inline
#endif

/* Q and K tiles: 64 rows of 128 bytes. The 128-byte swizzle of TMA exchanges 16-byte chunks inside
 * a row: chunk c of row r lies at chunk c ^ (r % 8). A tile begins at a multiple of 1024. */
SAGE_MMA_INLINE uint32_t sage_mma_qk_offset(uint32_t row, uint32_t chunk)
{
    return row * 128 + ((chunk ^ (row & 7)) << 4);
}

/* V tile: 128 channels of 64 bytes. The 64-byte swizzle: chunk c of row r lies at c ^ (r / 2 % 4).
 */
SAGE_MMA_INLINE uint32_t sage_mma_v_offset(uint32_t channel, uint32_t chunk)
{
    return channel * 64 + ((chunk ^ ((channel >> 1) & 3)) << 4);
}

/* The result tile of a warp on its way out: 16 rows of 256 bytes, chunks exchanged so that both the
 * fragment-wise writes and the row-wise reads are free of bank conflicts. */
SAGE_MMA_INLINE uint32_t sage_mma_out_offset(uint32_t row, uint32_t chunk)
{
    return row * 256 + ((chunk ^ (row & 7)) << 4);
}

/* The chunk that a lane names to ldmatrix_x4, relative to its tile.
 *
 * Left operand (Q), rows 16w..16w+15, k step s (32 channels): matrices 0, 1 are rows 0-7 and 8-15
 * of chunk 2s, matrices 2, 3 the same rows of chunk 2s + 1: exactly a[0..3]. */
SAGE_MMA_INLINE uint32_t sage_mma_q_address(uint32_t lane, uint32_t warp, uint32_t step)
{
    return sage_mma_qk_offset(16 * warp + (lane & 15), 2 * step + (lane >> 4));
}

/* Right operands. Key tiles (channel tiles) 0 and 1 of 8 rows each, k step 0: matrices 0, 1 are b0,
 * b1 of tile 0, matrices 2, 3 those of tile 1. */
SAGE_MMA_INLINE uint32_t sage_mma_k_address(uint32_t lane)
{
    return sage_mma_qk_offset(((lane >> 4) << 3) + (lane & 7), (lane >> 3) & 1);
}
SAGE_MMA_INLINE uint32_t sage_mma_v_address(uint32_t lane)
{
    return sage_mma_v_offset(((lane >> 4) << 3) + (lane & 7), (lane >> 3) & 1);
}

/* The same for tiles 2 * pair and 2 * pair + 1 at k step `step`. A step moves chunk c to c ^ 2 *
 * step, so the address changes by XOR, wherever the tile is a multiple of 1024. */
SAGE_MMA_INLINE uint32_t sage_mma_k_at(uint32_t address, uint32_t pair, uint32_t step)
{
    return (address ^ (step << 5)) + 2048 * pair;
}
SAGE_MMA_INLINE uint32_t sage_mma_v_at(uint32_t address, uint32_t pair, uint32_t step)
{
    return (address ^ (step << 5)) + 1024 * pair;
}

#endif
