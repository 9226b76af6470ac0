/*
 * convert.cuh - conversions and special functions that the language does not name exactly.
 */
#ifndef SAB_CONVERT_CUH
#define SAB_CONVERT_CUH

#include <stdint.h>

namespace sab
{

/* Four floats to four e4m3 bytes, x0 lowest: to nearest even, saturating to +-448. */
__device__ __forceinline__ uint32_t e4m3x4(float x0, float x1, float x2, float x3)
{
    uint32_t packed;

    asm("{\n\t"
        ".reg .b16 low, high;\n\t"
        "cvt.rn.satfinite.e4m3x2.f32 low, %2, %1;\n\t"
        "cvt.rn.satfinite.e4m3x2.f32 high, %4, %3;\n\t"
        "mov.b32 %0, {low, high};\n\t"
        "}"
        : "=r"(packed)
        : "f"(x0), "f"(x1), "f"(x2), "f"(x3));
    return packed;
}

/* Two floats to two bf16, x0 lower: to nearest even. */
__device__ __forceinline__ uint32_t bf16x2(float x0, float x1)
{
    uint32_t packed;

    asm("cvt.rn.bf16x2.f32 %0, %2, %1;" : "=r"(packed) : "f"(x0), "f"(x1));
    return packed;
}

/* The two e4m3 bytes of `packed` as floats, exact (by way of half precision). */
__device__ __forceinline__ float2 e4m3x2_to_float2(uint32_t packed)
{
    float2 result;

    asm("{\n\t"
        ".reg .b16 pair, low, high;\n\t"
        ".reg .b32 halves;\n\t"
        "cvt.u16.u32 pair, %2;\n\t"
        "cvt.rn.f16x2.e4m3x2 halves, pair;\n\t"
        "mov.b32 {low, high}, halves;\n\t"
        "cvt.f32.f16 %0, low;\n\t"
        "cvt.f32.f16 %1, high;\n\t"
        "}"
        : "=f"(result.x), "=f"(result.y)
        : "r"(packed & 0xffffu));
    return result;
}

/* 2^x, the hardware approximation: exact for integers, 0 for -inf, subnormal results flushed. */
__device__ __forceinline__ float exp2_approximate(float x)
{
    float y;

    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}

/* 1/x, the hardware approximation, subnormals flushed. */
__device__ __forceinline__ float reciprocal_approximate(float x)
{
    float y;

    asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}

} // namespace sab

#endif
