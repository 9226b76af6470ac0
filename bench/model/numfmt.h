/*
 * numfmt.h - number formats of tensors, converted by integer arithmetic.
 *
 * Plain C17 that nvcc also compiles. Encoding rounds once, to nearest even, from double, so that a
 * float or a double argument gives the same bits on host and device. e4m3 has no infinity and
 * saturates to +-448 (OCP OFP8, "E4M3"); the others overflow to infinity.
 */
#ifndef BENCH_MODEL_NUMFMT_H
#define BENCH_MODEL_NUMFMT_H

#include <stdint.h>
#include <string.h>

#include "sab.h"

#ifdef __CUDACC__
#    define NUMFMT_FN static __host__ __device__ __forceinline__
#else
#    define NUMFMT_FN static inline
#endif

NUMFMT_FN float numfmt_f32_of_bits(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof(value));
    return value;
}

NUMFMT_FN uint32_t numfmt_bits_of_f32(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof(bits));
    return bits;
}

NUMFMT_FN uint64_t numfmt_bits_of_f64(double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof(bits));
    return bits;
}

/*
 * Magnitude code of a finite, non-zero double in a format with `mantissa` explicit bits and the
 * given exponent bias, without regard to the largest finite value: codes are monotonic, so the
 * caller compares. The carry of rounding walks into the exponent by itself.
 */
NUMFMT_FN int64_t numfmt_round(uint64_t bits, int mantissa, int bias)
{
    const int field = (int)((bits >> 52) & 0x7ff);
    const int exponent = field - 1023;
    const int lowest = 1 - bias;
    const uint64_t significand =
        (bits & 0xfffffffffffffull) | (field != 0 ? 0x10000000000000ull : 0ull);
    int shift = 52 - mantissa;
    uint64_t kept, rest, half;

    if (exponent < lowest)
        shift += lowest - exponent;
    if (shift > 54) /* below half of the smallest subnormal whatever the significand */
        shift = 54;
    kept = significand >> shift;
    rest = significand & ((1ull << shift) - 1);
    half = 1ull << (shift - 1);
    if (rest > half || (rest == half && (kept & 1)))
        kept++;
    if (exponent < lowest)
        return (int64_t)kept;
    return ((int64_t)(exponent + bias) << mantissa) + (int64_t)kept - ((int64_t)1 << mantissa);
}

NUMFMT_FN uint32_t numfmt_encode_bf16(double value)
{
    const uint64_t bits = numfmt_bits_of_f64(value);
    const uint32_t sign = (uint32_t)(bits >> 63) << 15;
    const uint64_t magnitude = bits & 0x7fffffffffffffffull;
    int64_t code;

    if (magnitude > 0x7ff0000000000000ull)
        return sign | 0x7fc0;
    if (magnitude == 0x7ff0000000000000ull)
        return sign | 0x7f80;
    code = numfmt_round(bits, 7, 127);
    return sign | (code > 0x7f7f ? 0x7f80 : (uint32_t)code);
}

NUMFMT_FN uint32_t numfmt_encode_fp16(double value)
{
    const uint64_t bits = numfmt_bits_of_f64(value);
    const uint32_t sign = (uint32_t)(bits >> 63) << 15;
    const uint64_t magnitude = bits & 0x7fffffffffffffffull;
    int64_t code;

    if (magnitude > 0x7ff0000000000000ull)
        return sign | 0x7e00;
    if (magnitude == 0x7ff0000000000000ull)
        return sign | 0x7c00;
    code = numfmt_round(bits, 10, 15);
    return sign | (code > 0x7bff ? 0x7c00 : (uint32_t)code);
}

/* Saturating: infinities and everything above 448 become +-448, NaN stays NaN. */
NUMFMT_FN uint32_t numfmt_encode_e4m3(double value)
{
    const uint64_t bits = numfmt_bits_of_f64(value);
    const uint32_t sign = (uint32_t)(bits >> 63) << 7;
    const uint64_t magnitude = bits & 0x7fffffffffffffffull;
    int64_t code;

    if (magnitude > 0x7ff0000000000000ull)
        return sign | 0x7f;
    code = numfmt_round(bits, 3, 7);
    return sign | (code > 0x7e ? 0x7e : (uint32_t)code);
}

/* The scale byte of a power of two in [2^-127, 2^127]; anything else rounds its exponent down. */
NUMFMT_FN uint32_t numfmt_encode_e8m0(double value)
{
    const int field = (int)((numfmt_bits_of_f64(value) >> 52) & 0x7ff);
    const int code = field - 1023 + 127;

    if (value != value)
        return 0xff;
    return code < 0 ? 0 : code > 0xfe ? 0xfe : (uint32_t)code;
}

NUMFMT_FN float numfmt_decode_bf16(uint32_t code)
{
    return numfmt_f32_of_bits(code << 16);
}

NUMFMT_FN float numfmt_decode_fp16(uint32_t code)
{
    const uint32_t sign = (code & 0x8000u) << 16;
    const uint32_t exponent = (code >> 10) & 0x1f;
    const uint32_t mantissa = code & 0x3ff;
    float magnitude;

    if (exponent == 0x1f)
        return numfmt_f32_of_bits(sign | 0x7f800000u | (mantissa << 13));
    if (exponent != 0)
        return numfmt_f32_of_bits(sign | ((exponent + 112) << 23) | (mantissa << 13));
    magnitude = (float)mantissa * 0x1p-24f;
    return numfmt_f32_of_bits(sign | numfmt_bits_of_f32(magnitude));
}

NUMFMT_FN float numfmt_decode_e4m3(uint32_t code)
{
    const uint32_t sign = (code & 0x80u) << 24;
    const uint32_t exponent = (code >> 3) & 0xf;
    const uint32_t mantissa = code & 7;
    float magnitude;

    if ((code & 0x7f) == 0x7f)
        return numfmt_f32_of_bits(sign | 0x7fc00000u);
    if (exponent != 0)
        return numfmt_f32_of_bits(sign | ((exponent + 120) << 23) | (mantissa << 20));
    magnitude = (float)mantissa * 0x1p-9f;
    return numfmt_f32_of_bits(sign | numfmt_bits_of_f32(magnitude));
}

NUMFMT_FN float numfmt_decode_e8m0(uint32_t code)
{
    if (code == 0xff)
        return numfmt_f32_of_bits(0x7fc00000u);
    return numfmt_f32_of_bits(code == 0 ? 0x00400000u : code << 23);
}

/* Raw bits (in the low bytes) of a value in `dtype`; integers are truncated, the caller keeps them
 * in range. */
NUMFMT_FN uint32_t numfmt_encode(int32_t dtype, double value)
{
    switch (dtype) {
    case SAB_I8:
        return (uint8_t)(int8_t)value;
    case SAB_U8:
        return (uint8_t)value;
    case SAB_I32:
        return (uint32_t)(int32_t)value;
    case SAB_F32:
        return numfmt_bits_of_f32((float)value);
    case SAB_BF16:
        return numfmt_encode_bf16(value);
    case SAB_FP16:
        return numfmt_encode_fp16(value);
    case SAB_E4M3:
        return numfmt_encode_e4m3(value);
    case SAB_E8M0:
        return numfmt_encode_e8m0(value);
    default:
        return 0;
    }
}

NUMFMT_FN double numfmt_decode(int32_t dtype, uint32_t bits)
{
    switch (dtype) {
    case SAB_I8:
        return (double)(int8_t)bits;
    case SAB_U8:
        return (double)(uint8_t)bits;
    case SAB_I32:
        return (double)(int32_t)bits;
    case SAB_F32:
        return (double)numfmt_f32_of_bits(bits);
    case SAB_BF16:
        return (double)numfmt_decode_bf16(bits & 0xffff);
    case SAB_FP16:
        return (double)numfmt_decode_fp16(bits & 0xffff);
    case SAB_E4M3:
        return (double)numfmt_decode_e4m3(bits & 0xff);
    case SAB_E8M0:
        return (double)numfmt_decode_e8m0(bits & 0xff);
    default:
        return 0.0;
    }
}

/* Bytes of one element; 0 for SAB_NONE. */
NUMFMT_FN uint32_t numfmt_size(int32_t dtype)
{
    switch (dtype) {
    case SAB_I8:
    case SAB_U8:
    case SAB_E4M3:
    case SAB_E8M0:
        return 1;
    case SAB_BF16:
    case SAB_FP16:
        return 2;
    case SAB_I32:
    case SAB_F32:
        return 4;
    default:
        return 0;
    }
}

/* Raw bits of element `i` of a packed array. */
NUMFMT_FN uint32_t numfmt_load(int32_t dtype, const void *data, int64_t i)
{
    const unsigned char *at = (const unsigned char *)data + (uint64_t)i * numfmt_size(dtype);
    uint32_t bits = 0;

    switch (numfmt_size(dtype)) {
    case 1:
        return *at;
    case 2: {
        uint16_t half;
        memcpy(&half, at, sizeof(half));
        return half;
    }
    case 4:
        memcpy(&bits, at, sizeof(bits));
        return bits;
    default:
        return 0;
    }
}

NUMFMT_FN void numfmt_store(int32_t dtype, void *data, int64_t i, uint32_t bits)
{
    unsigned char *at = (unsigned char *)data + (uint64_t)i * numfmt_size(dtype);

    switch (numfmt_size(dtype)) {
    case 1:
        *at = (unsigned char)bits;
        break;
    case 2: {
        const uint16_t half = (uint16_t)bits;
        memcpy(at, &half, sizeof(half));
        break;
    }
    case 4:
        memcpy(at, &bits, sizeof(bits));
        break;
    default:
        break;
    }
}

#endif
