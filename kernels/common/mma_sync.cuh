/*
 * mma_sync.cuh - warp-wide matrix products of 8-bit operands, and the loads that feed them.
 *
 * Fragments of m16n8k32 (PTX ISA, "Matrix Fragments for mma.m16n8k32"); g = lane / 4, t = lane % 4,
 * four consecutive k in a register, lowest k in the lowest byte:
 *   a[0] row g, k 4t..       a[1] row g+8, k 4t..       a[2] row g, k 16+4t..   a[3] row g+8, k
 * 16+4t.. b0   column g, k 4t..    b1   column g, k 16+4t.. d[0], d[1] row g, columns 2t, 2t+1
 * d[2], d[3] row g+8, columns 2t, 2t+1
 */
#ifndef SAB_MMA_SYNC_CUH
#define SAB_MMA_SYNC_CUH

#include <stdint.h>

namespace sab
{

/* d = a * b + c, exact in 32 bits. */
__device__ __forceinline__ void mma_s8(int32_t (&d)[4], const uint32_t (&a)[4], uint32_t b0,
                                       uint32_t b1, const int32_t (&c)[4])
{
    asm("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 "
        "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%10, %11, %12, %13};"
        : "=r"(d[0]), "=r"(d[1]), "=r"(d[2]), "=r"(d[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1), "r"(c[0]), "r"(c[1]),
          "r"(c[2]), "r"(c[3]));
}

/*
 * Products of e4m3, fp32 accumulators. sm_120a has the instruction. sm_90a and sm_100a have not:
 * there the compiler would convert to half precision, multiply into fresh accumulators and add
 * those up. The same conversions are written out here (every e4m3 is a half), but the products
 * accumulate in place, and a left operand is converted once for all the products that use it.
 */
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 1200

struct e4m3_left {
    uint32_t halves[2][4]; /* the left operands of two m16n8k16 products */
};

/* Bytes 0, 1 and 2, 3 of a register as two pairs of halves. */
__device__ __forceinline__ void e4m3x4_to_halves(uint32_t &low, uint32_t &high, uint32_t packed)
{
    asm("{\n\t"
        ".reg .b16 l, h;\n\t"
        "mov.b32 {l, h}, %2;\n\t"
        "cvt.rn.f16x2.e4m3x2 %0, l;\n\t"
        "cvt.rn.f16x2.e4m3x2 %1, h;\n\t"
        "}"
        : "=r"(low), "=r"(high)
        : "r"(packed));
}

/* Of four consecutive k, the halves put two at k 2t.. and two at k 8+2t.., on both sides alike. */
__device__ __forceinline__ void e4m3_prepare(e4m3_left &left, const uint32_t (&a)[4])
{
#    pragma unroll
    for (int i = 0; i < 4; i++)
        e4m3x4_to_halves(left.halves[i / 2][i % 2], left.halves[i / 2][i % 2 + 2], a[i]);
}

__device__ __forceinline__ void mma_f16(float (&d)[4], const uint32_t (&a)[4], uint32_t b0,
                                        uint32_t b1)
{
    asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
        "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

/* d += left * b */
__device__ __forceinline__ void mma_e4m3(float (&d)[4], const e4m3_left &left, uint32_t b0,
                                         uint32_t b1)
{
    uint32_t low, high;

    e4m3x4_to_halves(low, high, b0);
    mma_f16(d, left.halves[0], low, high);
    e4m3x4_to_halves(low, high, b1);
    mma_f16(d, left.halves[1], low, high);
}

#else

struct e4m3_left {
    uint32_t bytes[4];
};

__device__ __forceinline__ void e4m3_prepare(e4m3_left &left, const uint32_t (&a)[4])
{
#    pragma unroll
    for (int i = 0; i < 4; i++)
        left.bytes[i] = a[i];
}

/* d += left * b */
__device__ __forceinline__ void mma_e4m3(float (&d)[4], const e4m3_left &left, uint32_t b0,
                                         uint32_t b1)
{
    asm("mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32 "
        "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(left.bytes[0]), "r"(left.bytes[1]), "r"(left.bytes[2]), "r"(left.bytes[3]), "r"(b0),
          "r"(b1));
}

#endif

/* Four 8x8 matrices of 16-bit elements, here 8 rows of 16 bytes each: lane l names row l % 8 of
 * matrix l / 8 by its shared-memory address and receives bytes 4t.. of row g of each. Volatile, and
 * a memory clobber, so that it stays between the barriers that guard the stage. */
__device__ __forceinline__ void ldmatrix_x4(uint32_t (&r)[4], uint32_t address)
{
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                 : "r"(address)
                 : "memory");
}

} // namespace sab

#endif
