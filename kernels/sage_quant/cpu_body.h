/*
 * cpu_body.h - the arithmetic of the CPU quantisers, one group, block, head or block at a time,
 * written so that a compiler turns the loops over channels into vector instructions: maxima and
 * roundings are taken on the bits, as integers. Every variant gives the same bits.
 */
#ifndef SAGE_QUANT_CPU_BODY_H
#define SAGE_QUANT_CPU_BODY_H

#include <string.h>

#include "quant_call.h"

#define BODY static inline __attribute__((always_inline))

BODY uint32_t bits_of(float x)
{
    uint32_t bits;

    memcpy(&bits, &x, sizeof(bits));
    return bits;
}

BODY float of_bits(uint32_t bits)
{
    float x;

    memcpy(&x, &bits, sizeof(x));
    return x;
}

/* bf16 is the upper half of a float. */
BODY float of_bf16(uint16_t x)
{
    return of_bits((uint32_t)x << 16);
}

/* To bf16 and back, to nearest even; finite values. */
BODY float round_bf16(float x)
{
    const uint32_t bits = bits_of(x);

    return of_bits((bits + 0x7fff + (bits >> 16 & 1)) & 0xffff0000u);
}

/* clamp(rint(x), -127, 127): 1.5 * 2^23 has a last place of 1, so adding it rounds to nearest
 * even and leaves the integer in the low bits. */
BODY int8_t round_int8(float x)
{
    int32_t n = (int32_t)(bits_of(x + 0x1.8p23f) - bits_of(0x1.8p23f));

    n = n > 127 ? 127 : n;
    n = n < -127 ? -127 : n;
    return (int8_t)n;
}

/* e4m3 to nearest even for |x| < 448. Below 2^-6 places are 2^-9 apart, as are those of a float at
 * 2^14; above, three bits of the mantissa stay and the exponent's bias falls from 127 to 7. */
BODY uint8_t round_e4m3(float x)
{
    const uint32_t bits = bits_of(x), size = bits & 0x7fffffffu;
    const uint32_t fixed = bits_of(of_bits(size) + 0x1p14f) - bits_of(0x1p14f);
    const uint32_t floating = ((size + 0x7ffff + (size >> 20 & 1)) >> 20) - (120u << 3);

    /* A mask, since a choice that may be skipped keeps the addition out of vector code. */
    const uint32_t small = 0u - (uint32_t)(size < bits_of(0x1p-6f));

    return (uint8_t)((fixed & small) | (floating & ~small) | (bits >> 24 & 0x80));
}

/* The scale of a largest absolute value, given by its bits. */
BODY float scale_of(uint32_t largest, float divisor)
{
    const float amax = of_bits(largest);

    return (amax > QUANT_FLOOR ? amax : QUANT_FLOOR) / divisor;
}

BODY const uint16_t *row_at(const struct quant_rows *rows, int64_t b, int64_t h, int64_t row)
{
    return rows->data + b * rows->batch + h * rows->head + row * rows->row;
}

BODY void body_q_group(const struct quant_q_call *c, int64_t bh, int64_t group)
{
    const int64_t first = group * QUANT_GROUP, b = bh / c->heads, h = bh % c->heads;
    const int64_t end = first + QUANT_GROUP < c->seqlen ? first + QUANT_GROUP : c->seqlen;
    uint32_t largest = 0;
    float scale;

    for (int64_t r = first; r < end; r++) {
        const uint16_t *x = row_at(&c->q, b, h, r);

        for (int d = 0; d < QUANT_DIM; d++) {
            const uint32_t size = x[d] & 0x7fffu;

            largest = size > largest ? size : largest;
        }
    }
    scale = scale_of(largest << 16, QUANT_INT8);
    c->q_scale[bh * c->groups + group] = scale;
    for (int64_t r = first; r < end; r++) {
        const uint16_t *x = row_at(&c->q, b, h, r);
        int8_t *out = c->q_int8 + (bh * c->seqlen + r) * QUANT_DIM;

        for (int d = 0; d < QUANT_DIM; d++)
            out[d] = round_int8(of_bf16(x[d]) / scale);
    }
}

BODY void body_kv_sums(const struct quant_kv_call *c, int64_t bh, int64_t block)
{
    const int64_t first = block * QUANT_BLOCK, b = bh / c->heads, h = bh % c->heads;
    const int64_t left = c->seqlen - first, rows = left < QUANT_BLOCK ? left : QUANT_BLOCK;
    float strand[QUANT_STRANDS][QUANT_DIM] = {{0}};
    uint16_t largest[QUANT_DIM] = {0};

    for (int64_t r = 0; r < rows; r++) {
        const uint16_t *k = row_at(&c->k, b, h, first + r), *v = row_at(&c->v, b, h, first + r);
        float *sum = strand[r % QUANT_STRANDS];

        for (int d = 0; d < QUANT_DIM; d++)
            sum[d] += of_bf16(k[d]);
        for (int d = 0; d < QUANT_DIM; d++) {
            const uint16_t size = v[d] & 0x7fffu;

            largest[d] = size > largest[d] ? size : largest[d];
        }
    }
    for (int s = 0; s < QUANT_STRANDS; s += 2)
        for (int d = 0; d < QUANT_DIM; d++) {
            const float pair = strand[s][d] + strand[s + 1][d];

            strand[0][d] = s == 0 ? pair : strand[0][d] + pair;
        }
    memcpy(c->sum + (bh * c->blocks + block) * QUANT_DIM, strand[0], sizeof(strand[0]));
    for (int d = 0; d < QUANT_DIM; d++)
        c->largest[(bh * c->blocks + block) * QUANT_DIM + d] = of_bf16(largest[d]);
}

BODY void body_kv_head(const struct quant_kv_call *c, int64_t bh)
{
    const float *sum = c->sum + bh * c->blocks * QUANT_DIM;
    const float *largest = c->largest + bh * c->blocks * QUANT_DIM;
    uint32_t bits[QUANT_DIM] = {0};
    float total[QUANT_DIM] = {0};

    for (int64_t first = 0; first < c->blocks; first += QUANT_SPAN) {
        const int64_t end = first + QUANT_SPAN < c->blocks ? first + QUANT_SPAN : c->blocks;
        float span[QUANT_DIM] = {0};

        for (int64_t i = first; i < end; i++)
            for (int d = 0; d < QUANT_DIM; d++) {
                const uint32_t size = bits_of(largest[i * QUANT_DIM + d]);

                span[d] += sum[i * QUANT_DIM + d];
                bits[d] = size > bits[d] ? size : bits[d];
            }
        for (int d = 0; d < QUANT_DIM; d++)
            total[d] += span[d];
    }
    for (int d = 0; d < QUANT_DIM; d++) {
        c->mean[bh * QUANT_DIM + d] = round_bf16(total[d] / (float)c->seqlen);
        c->v_scale[bh * QUANT_DIM + d] = scale_of(bits[d], QUANT_E4M3);
    }
}

/* Keys of a block. */
BODY void body_k_block(const struct quant_kv_call *c, int64_t bh, int64_t block, int rows)
{
    const int64_t first = block * QUANT_BLOCK, b = bh / c->heads, h = bh % c->heads;
    const float *mean = c->mean + bh * QUANT_DIM;
    float centred[QUANT_BLOCK][QUANT_DIM], scale;
    uint32_t largest = 0;

    for (int r = 0; r < rows; r++) {
        const uint16_t *k = row_at(&c->k, b, h, first + r);

        for (int d = 0; d < QUANT_DIM; d++) {
            uint32_t size;

            centred[r][d] = of_bf16(k[d]) - mean[d];
            size = bits_of(centred[r][d]) & 0x7fffffffu;
            largest = size > largest ? size : largest;
        }
    }
    scale = scale_of(largest, QUANT_INT8);
    c->k_scale[bh * c->blocks + block] = scale;
    for (int r = 0; r < rows; r++) {
        int8_t *out = c->k_int8 + (bh * c->seqlen + first + r) * QUANT_DIM;

        for (int d = 0; d < QUANT_DIM; d++)
            out[d] = round_int8(centred[r][d] / scale);
    }
}

/* Values of a block, transposed at the permuted places (section 3); beyond the rows zero bytes. */
BODY void body_v_block(const struct quant_kv_call *c, int64_t bh, int64_t block, int rows)
{
    static const uint8_t logical[16] = {0, 1, 8, 9, 2, 3, 10, 11, 4, 5, 12, 13, 6, 7, 14, 15};
    const int64_t first = block * QUANT_BLOCK, b = bh / c->heads, h = bh % c->heads;
    const float *scale = c->v_scale + bh * QUANT_DIM;
    uint8_t code[QUANT_BLOCK][QUANT_DIM];

    for (int r = 0; r < rows; r++) {
        const uint16_t *v = row_at(&c->v, b, h, first + r);

        for (int d = 0; d < QUANT_DIM; d++)
            code[r][d] = round_e4m3(of_bf16(v[d]) / scale[d]);
    }
    for (int r = rows; r < QUANT_BLOCK; r++)
        memset(code[r], 0, sizeof(code[r]));
    for (int d = 0; d < QUANT_DIM; d++) {
        uint8_t *out = c->v_fp8 + ((bh * QUANT_DIM + d) * c->blocks + block) * QUANT_BLOCK;

        for (int i = 0; i < QUANT_BLOCK; i++)
            out[i] = code[(i & ~15) + logical[i & 15]][d];
    }
}

BODY void body_kv_block(const struct quant_kv_call *c, int64_t bh, int64_t block)
{
    const int64_t left = c->seqlen - block * QUANT_BLOCK;
    const int rows = left < QUANT_BLOCK ? (int)left : QUANT_BLOCK;

    body_k_block(c, bh, block, rows);
    body_v_block(c, bh, block, rows);
}

#endif
