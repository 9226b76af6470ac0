/*
 * quotient.h - IEEE quotients from a reciprocal that many divisions share. Plain C that nvcc also
 * compiles, so that a test can hold it against divisions on the host.
 *
 * Markstein's theorem: where y is 1/b rounded to nearest and q lies within a last place of a/b,
 * q + (a - b*q)*y, rounded once, is a/b rounded to nearest. a*y may be one and a half places off,
 * so in general the step is taken twice: five operations, half of what a division costs on the
 * device. The remainder is taken as b*q - a, so that the quotient of -0 is -0.
 */
#ifndef SAGE_QUANT_QUOTIENT_H
#define SAGE_QUANT_QUOTIENT_H

#include <math.h>
#include <stdint.h>
#include <string.h>

#ifdef __CUDACC__
#    define QUOTIENT_FN           static __device__ __forceinline__
#    define QUOTIENT_MUL(a, b)    __fmul_rn(a, b)
#    define QUOTIENT_ADD(a, b)    __fadd_rn(a, b)
#    define QUOTIENT_FMA(a, b, c) __fmaf_rn(a, b, c)
#    define QUOTIENT_BITS(a)      __float_as_uint(a)
#else
#    define QUOTIENT_FN           static inline
#    define QUOTIENT_MUL(a, b)    ((a) * (b))
#    define QUOTIENT_ADD(a, b)    ((a) + (b))
#    define QUOTIENT_FMA(a, b, c) fmaf(a, b, c)
#    define QUOTIENT_BITS(a)      quotient_bits(a)

static inline uint32_t quotient_bits(float a)
{
    uint32_t bits;

    memcpy(&bits, &a, sizeof(bits));
    return bits;
}
#endif

/* Beyond this the reciprocal is subnormal and has fewer bits. Smaller b than 2^-64 do not occur:
 * scales have a floor. A quotient below 2^-64 may be off by its remainder. */
#define QUOTIENT_LARGEST 0x1p125f

/* One step: exact for a of type bf16 where b is a bf16 over 127 or over 2.25, or the floor of a
 * scale; a test goes through all of them. */
QUOTIENT_FN float quotient_bf16(float a, float b, float y)
{
    const float q = QUOTIENT_MUL(a, y);

    return QUOTIENT_FMA(-QUOTIENT_FMA(b, q, -a), y, q);
}

/* Two steps: exact for any a and b. */
QUOTIENT_FN float quotient(float a, float b, float y)
{
    const float q = quotient_bf16(a, b, y);

    return QUOTIENT_FMA(-QUOTIENT_FMA(b, q, -a), y, q);
}

/*
 * a/b rounded to the nearest integer in one operation, for |a/b| at most 127.5: the low byte of the
 * result is that of n, and `remainder` a - n*b. Where |remainder| is below NEAREST_SURE of b, n is
 * also a/b rounded to a float and then to an integer: half a last place of such a float is at most
 * 2^-18, so the first rounding has not reached the half-way point, and n, with a remainder below
 * half of b, is the nearest whatever the error of the reciprocal.
 */
#define NEAREST_SURE 0x1.fffep-2f /* 1/2 - 2^-17 */

QUOTIENT_FN uint32_t nearest(float a, float b, float y, float *remainder)
{
    /* 1.5 * 2^23: a sum with it is an integer, in its low bits */
    const float shift = 12582912.0f, shifted = QUOTIENT_FMA(a, y, shift);

    *remainder = QUOTIENT_FMA(-QUOTIENT_ADD(shifted, -shift), b, a);
    return QUOTIENT_BITS(shifted);
}

#endif
