/*
 * cpu_rows.h - rows of q and k as floats: bf16, e4m3, or e4m3 with a power of two for 32 channels.
 */
#ifndef SAB_CPU_ROWS_H
#define SAB_CPU_ROWS_H

#include <math.h>

#include "cpu_product.h"
#include "dsa_cpu.h"
#include "dense_scores.h"

/* The exponent's bias is 7 where that of a float is 127; 0x7f is NaN. */
DSA_INLINE float cpu_of_e4m3(uint8_t x)
{
    const uint32_t size = x & 0x7fu, nan = 0u - (uint32_t)(size == 0x7fu);

    return dsa_float(dsa_bits(dsa_float(size << 20) * 0x1p120f) | (nan & 0x7fc00000u) |
                     (uint32_t)(x & 0x80u) << 24);
}

/* 2^(x - 127); 255 is NaN, and 0 is a subnormal number. */
DSA_INLINE float cpu_of_e8m0(uint8_t x)
{
    return x == 255 ? NAN : x == 0 ? 0x1p-127f : dsa_float((uint32_t)x << 23);
}

DSA_INLINE void cpu_rows_load(const struct indexer_matrix *r, int64_t row, float *to)
{
    const int64_t groups = (r->width + 31) / 32;

    if (!r->e4m3) {
        dsa_load(to, (const uint16_t *)r->data + row * r->width, r->width, 0);
        return;
    }
    for (int64_t i = 0; i < r->width; i++)
        to[i] = cpu_of_e4m3(((const uint8_t *)r->data)[row * r->width + i]);
    for (int64_t i = 0; r->exponents && i < r->width; i++)
        to[i] *= cpu_of_e8m0(r->exponents[row * groups + i / 32]);
}

/* A row of keys to lane `j` of a tile [width][CPU_TILE]; `line` is scratch [width]. */
DSA_INLINE void cpu_rows_turn(const struct indexer_matrix *r, int64_t row, int64_t j, float *line,
                              float *turned)
{
    cpu_rows_load(r, row, line);
    for (int64_t i = 0; i < r->width; i++)
        turned[i * CPU_TILE + j] = line[i];
}

/* Adds one head to a tile's sums: relu of its products times a weight. */
DSA_INLINE void cpu_add_relu(const float *s, float weight, float *sums)
{
    for (int64_t j = 0; j < CPU_TILE; j++)
        sums[j] += (s[j] > 0 ? s[j] : 0) * weight;
}

/* e^(scale * product - lse); +inf: the head contributes nothing. */
DSA_INLINE void cpu_add_exp(const float *s, float scale, float lse, float *sums)
{
    const float scale2 = scale * (float)DSA_LOG2E, lse2 = lse * (float)DSA_LOG2E;

    for (int64_t j = 0; j < CPU_TILE; j++) {
        const float x = s[j] * scale2 - lse2;

        sums[j] += dsa_exp2(x < 127 ? x : 127);
    }
}

#endif
