/*
 * quant_device.cuh - what the quantisers share on the device.
 */
#ifndef SAGE_QUANT_DEVICE_CUH
#define SAGE_QUANT_DEVICE_CUH

#include <cuda_runtime.h>

#include "convert.cuh"
#include "quant_call.h"
#include "quotient.h"

namespace sage_quant
{

__device__ __forceinline__ float bf16_low(uint32_t pair)
{
    return __uint_as_float(pair << 16);
}

__device__ __forceinline__ float bf16_high(uint32_t pair)
{
    return __uint_as_float(pair & 0xffff0000u);
}

__device__ __forceinline__ float bf16_of(uint16_t x)
{
    return __uint_as_float(static_cast<uint32_t>(x) << 16);
}

__device__ __forceinline__ float round_bf16(float x)
{
    return bf16_low(sab::bf16x2(x, 0.0f));
}

__device__ __forceinline__ float scale_of(float amax, float divisor)
{
    return __fdiv_rn(fmaxf(amax, QUANT_FLOOR), divisor);
}

/* Adding 1.5 * 2^23 rounds to nearest even and leaves the integer in the low bits. No clamp: x is
 * at most amax / (amax/127), which rounds to 127. */
__device__ __forceinline__ uint32_t round_int8(float x)
{
    return __float_as_uint(__fadd_rn(x, 12582912.0f));
}

/* The low bytes of four words, a lowest. */
__device__ __forceinline__ uint32_t low_bytes(uint32_t a, uint32_t b, uint32_t c, uint32_t d)
{
    return __byte_perm(__byte_perm(a, b, 0x0040), __byte_perm(c, d, 0x0040), 0x5410);
}

__device__ __forceinline__ const uint16_t *rows_of(const quant_rows &rows, int64_t b, int64_t h,
                                                   int64_t row)
{
    return rows.data + b * rows.batch + h * rows.head + row * rows.row;
}

/* Largest of two pairs of bf16 without sign. */
__device__ __forceinline__ uint32_t largest2(uint32_t largest, uint32_t pair)
{
    return __vmaxu2(largest, pair & 0x7fff7fffu);
}

/* When eight channels will be looked at again: soon, by the next kernel, or never. */
enum reuse { READ_AGAIN, READ_ONCE };

/* Eight channels of a row. Rows that are not aligned are read channel by channel. */
template <bool ALIGNED, reuse REUSE> __device__ __forceinline__ uint4 load8(const uint16_t *x)
{
    if constexpr (ALIGNED) {
        const uint4 *from = reinterpret_cast<const uint4 *>(x);

        return REUSE == READ_AGAIN ? __ldcg(from) : __ldcs(from);
    } else {
        uint32_t word[4];

        for (int i = 0; i < 4; i++)
            word[i] = static_cast<uint32_t>(__ldg(x + 2 * i)) |
                      static_cast<uint32_t>(__ldg(x + 2 * i + 1)) << 16;
        return make_uint4(word[0], word[1], word[2], word[3]);
    }
}

} // namespace sage_quant

#endif
