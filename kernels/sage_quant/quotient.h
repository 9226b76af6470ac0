/*
 * quotient.h - an IEEE quotient from a reciprocal that is shared by many divisions. Plain C that
 * nvcc also compiles, so that a test can hold it against a division on the host.
 *
 * Markstein's theorem: where y is 1/b rounded to nearest and q lies within a last place of a/b,
 * q + (a - b*q)*y, rounded once, is a/b rounded to nearest. a*y may be one and a half places off,
 * so the step is taken twice. Five operations, where a division on the device is about twice that.
 */
#ifndef SAGE_QUANT_QUOTIENT_H
#define SAGE_QUANT_QUOTIENT_H

#include <math.h>

#ifdef __CUDACC__
#    define QUOTIENT_FN           static __device__ __forceinline__
#    define QUOTIENT_MUL(a, b)    __fmul_rn(a, b)
#    define QUOTIENT_FMA(a, b, c) __fmaf_rn(a, b, c)
#else
#    define QUOTIENT_FN           static inline
#    define QUOTIENT_MUL(a, b)    ((a) * (b))
#    define QUOTIENT_FMA(a, b, c) fmaf(a, b, c)
#endif

/* Beyond this the reciprocal is subnormal and has fewer bits. */
#define QUOTIENT_LARGEST 0x1p125f

/* a/b for y = 1/b, b from 2^-64 to QUOTIENT_LARGEST. A quotient below 2^-64 may be off by its
 * remainder, and one that is 0 has lost its sign. */
QUOTIENT_FN float quotient(float a, float b, float y)
{
    float q = QUOTIENT_MUL(a, y);

    q = QUOTIENT_FMA(QUOTIENT_FMA(-b, q, a), y, q);
    return QUOTIENT_FMA(QUOTIENT_FMA(-b, q, a), y, q);
}

#endif
