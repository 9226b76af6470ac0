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

#ifdef __CUDACC__
#    define QUOTIENT_FN           static __device__ __forceinline__
#    define QUOTIENT_MUL(a, b)    __fmul_rn(a, b)
#    define QUOTIENT_FMA(a, b, c) __fmaf_rn(a, b, c)
#else
#    define QUOTIENT_FN           static inline
#    define QUOTIENT_MUL(a, b)    ((a) * (b))
#    define QUOTIENT_FMA(a, b, c) fmaf(a, b, c)
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

#endif
