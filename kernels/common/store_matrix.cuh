/*
 * store_matrix.cuh - registers laid out like fragments of mma_half.cuh into shared memory, 8x8
 * matrices of 16-bit elements (sm_90 and later): lane l names row l % 8 of matrix l / 8 by its
 * address, 16 bytes each.
 */
#ifndef SAB_STORE_MATRIX_CUH
#define SAB_STORE_MATRIX_CUH

#include <stdint.h>

namespace sab
{

/* Four matrices as they are: what a lane has goes to row g. */
__device__ __forceinline__ void stmatrix_x4(uint32_t address, const uint32_t (&r)[4])
{
    asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};"
                 :
                 : "r"(address), "r"(r[0]), "r"(r[1]), "r"(r[2]), "r"(r[3])
                 : "memory");
}

/* Four matrices, transposed: what a lane has of row g goes to rows 2t and 2t+1. */
__device__ __forceinline__ void stmatrix_x4_across(uint32_t address, const uint32_t (&r)[4])
{
    asm volatile("stmatrix.sync.aligned.m8n8.x4.trans.shared.b16 [%0], {%1, %2, %3, %4};"
                 :
                 : "r"(address), "r"(r[0]), "r"(r[1]), "r"(r[2]), "r"(r[3])
                 : "memory");
}

/* Two matrices; the addresses of lanes 0-15 count. */
__device__ __forceinline__ void stmatrix_x2_across(uint32_t address, const uint32_t (&r)[2])
{
    asm volatile("stmatrix.sync.aligned.m8n8.x2.trans.shared.b16 [%0], {%1, %2};"
                 :
                 : "r"(address), "r"(r[0]), "r"(r[1])
                 : "memory");
}

} // namespace sab

#endif
