/*
 * half_types.cuh - the two 16-bit formats as types, so that a kernel is written once for both.
 * Elements travel as raw 16-bit patterns, two of them in a register, the lower one first.
 */
#ifndef SAB_HALF_TYPES_CUH
#define SAB_HALF_TYPES_CUH

#include <cuda_fp16.h>
#include <stdint.h>
#include <string.h>

#include "convert.cuh"

namespace sab
{

struct bf16 {
    /* Two floats, x0 lower: to nearest even, overflow to infinity. */
    static __device__ __forceinline__ uint32_t pack(float x0, float x1)
    {
        return bf16x2(x0, x1);
    }
    static __device__ __forceinline__ float2 unpack(uint32_t pair)
    {
        return make_float2(__uint_as_float(pair << 16), __uint_as_float(pair & 0xffff0000u));
    }
};

struct fp16 {
    static __device__ __forceinline__ uint32_t pack(float x0, float x1)
    {
        uint32_t packed;

        asm("cvt.rn.f16x2.f32 %0, %2, %1;" : "=r"(packed) : "f"(x0), "f"(x1));
        return packed;
    }
    static __device__ __forceinline__ float2 unpack(uint32_t pair)
    {
        __half2 halves;

        memcpy(&halves, &pair, sizeof(halves));
        return __half22float2(halves);
    }
    /* The two e4m3 of the lower 16 bits, exact. */
    static __device__ __forceinline__ uint32_t of_e4m3(uint32_t pair)
    {
        uint32_t halves;

        asm("{\n\t"
            ".reg .b16 low;\n\t"
            "cvt.u16.u32 low, %1;\n\t"
            "cvt.rn.f16x2.e4m3x2 %0, low;\n\t"
            "}"
            : "=r"(halves)
            : "r"(pair));
        return halves;
    }
};

} // namespace sab

#endif
