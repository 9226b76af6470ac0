/*
 * cpu_tile.h - what the instruction-set variants of sage_fwd/cpu share.
 *
 * The unit of work is one tile: up to 64 query rows of one (batch, head) against its selected
 * blocks of 64 keys. cpu.c walks tiles and blocks; a variant packs the operands of one block and
 * folds it into the tile.
 *
 * All variants do the same floating-point operations in the same order and therefore give the same
 * bits. The order of weights times V is that of the AMX bf16 product: per 32 tokens one sum over
 * the even and one over the odd tokens, each from zero and upwards, then o + (even + odd). Products
 * of two e4m3 numbers are exact in FP32, so it makes no difference whether they are fused with the
 * addition; everywhere else multiplication and addition stay apart.
 *
 * Source of the arithmetic: the sage_fwd contract, section 5 (fold last to first, P x 256, lazy
 * rescale), with one change in form: 2^(s*a - (m - 8)) is computed as 2^8 * 2^(s*a - m).
 */
#ifndef SAGE_FWD_CPU_TILE_H
#define SAGE_FWD_CPU_TILE_H

#include <math.h>
#include <stdint.h>
#include <string.h>

/* Whatever the language mode: a product and a sum that are written apart stay apart. */
#if defined(__clang__)
#    pragma STDC FP_CONTRACT OFF
#elif defined(__GNUC__)
#    pragma GCC optimize("fp-contract=off")
#endif

#define SAGE_ROWS  64  /* query rows of a tile */
#define SAGE_KEYS  64  /* keys of a block */
#define SAGE_D     128 /* channels */
#define SAGE_GROUP 32  /* tokens whose weighted sum is added to the output at once */
#define SAGE_LANES 16  /* partial sums of l: token t goes to lane t % 16 */

/* log2(448/256): P may grow from 256 to the largest e4m3 number before a row is rescaled. */
#define SAGE_LAZY_LOG2 0.8073549f
#define SAGE_E4M3_MAX  448.0f
/* Below this exponent 2^x counts as 0, as with hardware that flushes subnormals. */
#define SAGE_EXP2_MIN (-126.0f)
/* 1.5 * 2^23: adding it rounds a small float to an integer, which its low nine bits then hold. */
#define SAGE_ROUND_MAGIC 12582912.0f

/* 2^r - 1 over r, |r| <= 0.5: interpolation at Chebyshev nodes, relative error of 2^r 2.0e-7. */
#define SAGE_EXP2_C1 0x1.62e43p-1f
#define SAGE_EXP2_C2 0x1.ebfa4cp-3f
#define SAGE_EXP2_C3 0x1.c6afeep-5f
#define SAGE_EXP2_C4 0x1.3cbf6p-7f
#define SAGE_EXP2_C5 0x1.5ec866p-10f

/* Scratch of one thread. Packed operands have one shape per variant, hence the unions. */
struct sage_tile {
    _Alignas(64) float o[SAGE_ROWS][SAGE_D]; /* unnormalised output */
    union {
        float f32[SAGE_KEYS][SAGE_D];
        uint32_t bf16[SAGE_KEYS / 2][SAGE_D]; /* a pair of tokens per word, even one low */
    } v;
    union {
        float f32[SAGE_ROWS][SAGE_KEYS];
        uint32_t bf16[SAGE_ROWS][SAGE_KEYS / 2];
    } p; /* weights, rounded to e4m3 */
    union {
        uint32_t quads[SAGE_D / 4][SAGE_KEYS]; /* four channels per word, int8 or k + 128 */
        uint32_t pairs[SAGE_D / 2][SAGE_KEYS]; /* two channels per word, int16 */
    } k;
    union {
        int8_t i8[SAGE_ROWS][SAGE_D];
        int16_t i16[SAGE_ROWS][SAGE_D];
    } q;                              /* rows beyond the tile are zero */
    float l[SAGE_ROWS][SAGE_LANES];   /* sums of the unrounded p */
    _Alignas(64) float qs[SAGE_ROWS]; /* q_scale * softmax_scale * log2(e); 0 beyond the tile */
    float m[SAGE_ROWS];               /* reference maximum, log2 units */
    float factor[SAGE_ROWS];          /* what o and l are multiplied by before this block */
    int32_t correction[SAGE_ROWS];    /* -128 * sum of q, for unsigned k */
    int rows;                         /* query rows that exist, 1..64 */
};

/* One block of keys as it lies in memory; only tokens below `valid` are read as numbers. */
struct sage_block {
    const int8_t *k;  /* [valid][128] */
    const uint8_t *v; /* e4m3 [128][v_stride], 64 tokens from here, permuted in each 16 */
    int64_t v_stride; /* bytes */
    int valid;        /* 1..64 */
    float k_scale;
};

struct sage_variant {
    const char *name;
    /* Packs t->rows rows of q ([rows][128]) and clears o. */
    void (*begin)(struct sage_tile *t, const int8_t *q);
    void (*fold)(struct sage_tile *t, const struct sage_block *b);
    /* out [rows][128], bf16; v_scale [128]. */
    void (*finish)(const struct sage_tile *t, const float *v_scale, uint16_t *out);
};

extern const struct sage_variant sage_variant_scalar;
#if defined(__x86_64__)
extern const struct sage_variant sage_variant_avx2;
extern const struct sage_variant sage_variant_avx512; /* with VNNI */
extern const struct sage_variant sage_variant_amx;    /* int8 and bf16 tiles */
#endif

static inline uint32_t sage_bits(float x)
{
    uint32_t u;

    memcpy(&u, &x, sizeof(u));
    return u;
}

static inline float sage_float(uint32_t u)
{
    float x;

    memcpy(&x, &u, sizeof(x));
    return x;
}

/* 2^x for x <= 1. */
static inline float sage_exp2(float x)
{
    float z, r, y;

    if (!(x >= SAGE_EXP2_MIN))
        return 0.0f;
    z = x + SAGE_ROUND_MAGIC;
    r = x - (z - SAGE_ROUND_MAGIC);
    y = SAGE_EXP2_C5 * r + SAGE_EXP2_C4;
    y = y * r + SAGE_EXP2_C3;
    y = y * r + SAGE_EXP2_C2;
    y = y * r + SAGE_EXP2_C1;
    y = y * r + 1.0f;
    return sage_float(sage_bits(y) + (sage_bits(z) << 23));
}

/* Takes the largest score of a row in this block (times its scale), sets the row's m and factor
 * and returns the m to subtract. The lazy rule: m stays while no p can pass 448. */
static inline float sage_raise(struct sage_tile *t, int row, float top)
{
    float old = t->m[row];
    float next = top > old ? top : old;
    float safe = next == -INFINITY ? 0.0f : next;
    float delta = old - safe;

    if (delta >= -SAGE_LAZY_LOG2) {
        t->factor[row] = 1.0f;
        return old;
    }
    t->m[row] = next;
    t->factor[row] = sage_exp2(delta);
    return safe;
}

/* 1/l, or 1 where l is 0 or NaN. The order of the sum is that of halving vectors. */
static inline float sage_inverse(const float l[SAGE_LANES])
{
    float s[SAGE_LANES];
    int half, i;

    memcpy(s, l, sizeof(s));
    for (half = SAGE_LANES / 2; half; half /= 2) {
        for (i = 0; i < half; i++)
            s[i] += s[i + half];
    }
    return s[0] > 0.0f || s[0] < 0.0f ? 1.0f / s[0] : 1.0f;
}

/* Where the physical pair of tokens j (of 8 in a group of 16) of V belongs (contract, section 3).
 */
static inline int sage_logical_pair(int j)
{
    return j / 2 + j % 2 * 4;
}

#endif
