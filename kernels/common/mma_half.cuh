/*
 * mma_half.cuh - warp-wide products of 16-bit operands, m16n8k16 with fp32 accumulators.
 *
 * Fragments (PTX ISA, "Matrix Fragments for mma.m16n8k16 with floating point type"); g = lane / 4,
 * t = lane % 4, two consecutive k in a register, the lower one lower:
 *   a[0] row g, k 2t..    a[1] row g+8, k 2t..    a[2] row g, k 8+2t..    a[3] row g+8, k 8+2t..
 *   b0   column g, k 2t.. b1   column g, k 8+2t..
 *   d[0], d[1] row g, columns 2t, 2t+1            d[2], d[3] row g+8, columns 2t, 2t+1
 * ldmatrix_x4() of mma_sync.cuh loads a from rows of m, or b of two k-steps from rows of n;
 * ldmatrix_x4_across() loads the same from rows of k.
 */
#ifndef SAB_MMA_HALF_CUH
#define SAB_MMA_HALF_CUH

#include <type_traits>

#include "half_types.cuh"
#include "mma_sync.cuh"

namespace sab
{

#define SAB_MMA_HALF(type)                                                                         \
    asm("mma.sync.aligned.m16n8k16.row.col.f32." type ".f32 "                                      \
        "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"                          \
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])                                           \
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1))

/* d += a * b; T is bf16 or fp16. */
template <class T>
__device__ __forceinline__ void mma_half(float (&d)[4], const uint32_t (&a)[4], uint32_t b0,
                                         uint32_t b1)
{
    if constexpr (std::is_same_v<T, bf16>)
        SAB_MMA_HALF("bf16.bf16");
    else
        SAB_MMA_HALF("f16.f16");
}

#undef SAB_MMA_HALF

/* Four 8x8 matrices, transposed: lane l names row l % 8 of matrix l / 8 by its shared-memory
 * address, and receives rows 2t and 2t+1 of column g of each. */
__device__ __forceinline__ void ldmatrix_x4_across(uint32_t (&r)[4], uint32_t address)
{
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                 : "r"(address)
                 : "memory");
}

} // namespace sab

#endif
