/*
 * dsa_cpu.h - what dsa_fwd/cpu and dsa_bwd/cpu share: number formats, 2^x, and one matrix product.
 *
 * Included by files that define DSA_CPU_VECTOR, the bytes of a vector; everything is inlined into
 * functions compiled for the instructions that go with it. Vectors are those of GCC and Clang, so
 * that the same text serves every machine. Sums of a product run over its inner dimension in
 * order, one accumulator an element: bits depend on no blocking.
 */
#ifndef SAB_COMMON_DSA_CPU_H
#define SAB_COMMON_DSA_CPU_H

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "sab.h"

#define DSA_V     512 /* columns of a value */
#define DSA_WIDTH 576 /* the larger width */
#define DSA_TILE  64  /* slots of a tile, heads of a group, columns of a strip */
#define DSA_PITCH 592 /* of gathered rows: an odd number of cache lines */
#define DSA_LOG2E 1.44269504088896340736

#define DSA_INLINE static inline __attribute__((always_inline))

DSA_INLINE uint32_t dsa_bits(float x)
{
    uint32_t bits;

    memcpy(&bits, &x, sizeof(bits));
    return bits;
}

DSA_INLINE float dsa_float(uint32_t bits)
{
    float x;

    memcpy(&x, &bits, sizeof(x));
    return x;
}

DSA_INLINE float dsa_of_bf16(uint16_t x)
{
    return dsa_float((uint32_t)x << 16);
}

/* The exponent is moved by a multiplication, which takes subnormals along; infinities and NaN get
 * theirs by hand. */
DSA_INLINE float dsa_of_fp16(uint16_t x)
{
    const uint32_t size = x & 0x7fffu;
    const uint32_t finite = dsa_bits(dsa_float(size << 13) * 0x1p112f);
    const uint32_t special = 0u - (uint32_t)(size >= 0x7c00u);

    return dsa_float(finite | (special & 0x7f800000u) | (uint32_t)(x & 0x8000u) << 16);
}

/* To nearest even; NaN stays NaN. */
DSA_INLINE uint16_t dsa_to_bf16(float x)
{
    const uint32_t bits = dsa_bits(x);
    const uint32_t nan = 0u - (uint32_t)((bits & 0x7fffffffu) > 0x7f800000u);
    const uint32_t rounded = (bits + 0x7fffu + (bits >> 16 & 1u)) >> 16;

    return (uint16_t)((rounded & ~nan) | (nan & 0x7fc0u));
}

/* Below 2^-14 places are 2^-24 apart, as are those of a float at 1/2; above, ten bits of the
 * mantissa stay and the exponent's bias falls from 127 to 15. */
DSA_INLINE uint16_t dsa_to_fp16(float x)
{
    const uint32_t bits = dsa_bits(x), size = bits & 0x7fffffffu, sign = bits >> 16 & 0x8000u;
    const uint32_t fixed = dsa_bits(dsa_float(size) + 0.5f) - dsa_bits(0.5f);
    const uint32_t floating = (size + 0xfffu + (size >> 13 & 1u) - (112u << 23)) >> 13;
    const uint32_t small = 0u - (uint32_t)(size < dsa_bits(0x1p-14f));
    const uint32_t large = 0u - (uint32_t)(size >= dsa_bits(65520.0f));
    const uint32_t nan = 0u - (uint32_t)(size > 0x7f800000u);
    const uint32_t finite = (fixed & small) | (floating & ~small);

    return (uint16_t)(sign | (finite & ~large) | (large & (0x7c00u | (nan & 0x200u))));
}

DSA_INLINE void dsa_load(float *to, const uint16_t *from, int64_t n, int fp16)
{
    if (fp16)
        for (int64_t i = 0; i < n; i++)
            to[i] = dsa_of_fp16(from[i]);
    else
        for (int64_t i = 0; i < n; i++)
            to[i] = dsa_of_bf16(from[i]);
}

DSA_INLINE void dsa_store(uint16_t *to, const float *from, float factor, int64_t n, int fp16)
{
    if (fp16)
        for (int64_t i = 0; i < n; i++)
            to[i] = dsa_to_fp16(from[i] * factor);
    else
        for (int64_t i = 0; i < n; i++)
            to[i] = dsa_to_bf16(from[i] * factor);
}

/* To the tensors' type and back. */
DSA_INLINE void dsa_round(float *x, int64_t n, int fp16)
{
    if (fp16)
        for (int64_t i = 0; i < n; i++)
            x[i] = dsa_of_fp16(dsa_to_fp16(x[i]));
    else
        for (int64_t i = 0; i < n; i++)
            x[i] = dsa_of_bf16(dsa_to_bf16(x[i]));
}

/* 2^x for x <= 127, 0 below -126: 1.5 * 2^23 rounds to the integer part, a polynomial at Chebyshev
 * nodes makes 2^r for |r| <= 1/2 within 2e-7. */
DSA_INLINE float dsa_exp2(float x)
{
    const float clamped = x < -126.0f ? -126.0f : x;
    const float z = clamped + 0x1.8p23f, r = clamped - (z - 0x1.8p23f);
    const uint32_t some = 0u - (uint32_t)(x >= -126.0f);
    float y = 0x1.5ec866p-10f * r + 0x1.3cbf6p-7f;

    y = y * r + 0x1.c6afeep-5f;
    y = y * r + 0x1.ebfa4cp-3f;
    y = y * r + 0x1.62e43p-1f;
    y = y * r + 1.0f;
    return dsa_float((dsa_bits(y) + (dsa_bits(z) << 23)) & some);
}

/* Rows of kv with these ids, as they are and turned: rows [n][DSA_PITCH], turned [D][DSA_TILE], the
 * lanes beyond n zero. */
DSA_INLINE void dsa_gather(const uint16_t *kv, int64_t width, const int32_t *ids, int64_t n,
                           float *rows, float *turned, int fp16)
{
    for (int64_t j = 0; j < n; j++)
        dsa_load(rows + j * DSA_PITCH, kv + ids[j] * width, width, fp16);
    for (int64_t d = 0; d < width; d++) {
        for (int64_t j = 0; j < n; j++)
            turned[d * DSA_TILE + j] = rows[j * DSA_PITCH + d];
        for (int64_t j = n; j < DSA_TILE; j++)
            turned[d * DSA_TILE + j] = 0;
    }
}

/* The active ids of a row's first `slots` slots, in order; their number. *prefix gets the number of
 * those among the first `prefix_slots`. */
static inline int64_t dsa_active_ids(const int32_t *from, int64_t slots, int64_t keys,
                                     int64_t prefix_slots, int32_t *to, int64_t *prefix)
{
    int64_t n = 0;

    *prefix = 0;
    for (int64_t j = 0; j < slots; j++) {
        if (from[j] < 0 || from[j] >= keys)
            continue;
        to[n++] = from[j];
        *prefix += j < prefix_slots;
    }
    return n;
}

#ifdef DSA_CPU_VECTOR

typedef float dsa_vector __attribute__((vector_size(DSA_CPU_VECTOR), aligned(4), may_alias));

#    define DSA_LANES ((int)(DSA_CPU_VECTOR / sizeof(float)))
#    define DSA_ROWS  4                              /* rows of a block of the product */
#    define DSA_WIDE  (DSA_CPU_VECTOR == 64 ? 4 : 2) /* vectors of its width */

#    if defined(__clang__)
#        define DSA_UNROLL _Pragma("unroll")
#    else
#        define DSA_UNROLL _Pragma("GCC unroll 8")
#    endif

/* c[rows][DSA_WIDE vectors] (+)= sum over k of a(row, k) * b[k]. */
DSA_INLINE void dsa_block(int rows, int64_t depth, const float *a, int64_t a_row, int64_t a_depth,
                          const float *b, int64_t b_depth, float *c, int64_t c_row, int add)
{
    dsa_vector sum[DSA_ROWS][DSA_WIDE];

    DSA_UNROLL for (int r = 0; r < rows; r++)
    {
        DSA_UNROLL for (int w = 0; w < DSA_WIDE; w++)
        {
            if (add)
                sum[r][w] = *(const dsa_vector *)(c + r * c_row + w * DSA_LANES);
            else
                sum[r][w] = (dsa_vector){0};
        }
    }
    for (int64_t k = 0; k < depth; k++) {
        dsa_vector line[DSA_WIDE];

        DSA_UNROLL for (int w = 0; w < DSA_WIDE; w++) line[w] =
            *(const dsa_vector *)(b + k * b_depth + w * DSA_LANES);
        DSA_UNROLL for (int r = 0; r < rows; r++)
        {
            const float x = a[r * a_row + k * a_depth];

            DSA_UNROLL for (int w = 0; w < DSA_WIDE; w++) sum[r][w] += x * line[w];
        }
    }
    DSA_UNROLL for (int r = 0; r < rows; r++)
    {
        DSA_UNROLL for (int w = 0; w < DSA_WIDE; w++) *
            (dsa_vector *)(c + r * c_row + w * DSA_LANES) = sum[r][w];
    }
}

/* A matrix as a product reads it. */
struct dsa_operand {
    const float *data;
    int64_t row, depth; /* strides */
};

/* c [rows][columns] (+)= a * b, columns a multiple of 64; b has its columns side by side, and
 * b.row is not used. */
DSA_INLINE void dsa_product(int64_t rows, int64_t columns, int64_t depth, struct dsa_operand a,
                            struct dsa_operand b, float *c, int64_t c_row, int add)
{
    for (int64_t n = 0; n < columns; n += DSA_WIDE * DSA_LANES) {
        int64_t r = 0;

        for (; r + DSA_ROWS <= rows; r += DSA_ROWS)
            dsa_block(DSA_ROWS, depth, a.data + r * a.row, a.row, a.depth, b.data + n, b.depth,
                      c + r * c_row + n, c_row, add);
        for (; r < rows; r++)
            dsa_block(1, depth, a.data + r * a.row, a.row, a.depth, b.data + n, b.depth,
                      c + r * c_row + n, c_row, add);
    }
}

#endif
#endif
