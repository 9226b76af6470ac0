/*
 * cpu_scalar.c - sage_fwd/cpu without vector instructions: the choice `simd = off`, and what serves
 * processors that have none of the others.
 */
#include "cpu_tile.h"

/* `off` means off: the compiler may not put back what the choice leaves out. */
#if defined(__GNUC__) && !defined(__clang__)
#    pragma GCC optimize("no-tree-vectorize", "no-tree-slp-vectorize")
#    define SCALAR_LOOP
#elif defined(__clang__)
#    define SCALAR_LOOP _Pragma("clang loop vectorize(disable) interleave(disable)")
#else
#    define SCALAR_LOOP
#endif

static float e4m3_float(unsigned byte)
{
    unsigned magnitude = byte & 0x7f;
    uint32_t sign = (uint32_t)(byte & 0x80) << 24;

    if (magnitude == 0x7f)
        return NAN;
    if (magnitude < 8) /* subnormal: steps of 2^-9 */
        return sage_float(sage_bits((float)magnitude * 0x1p-9f) | sign);
    return sage_float((((uint32_t)magnitude << 20) + (120u << 23)) | sign);
}

/* To nearest even, saturating; p >= 0. Adding and subtracting 2^23 steps of p's binade rounds it.
 */
static float round_e4m3(float p)
{
    uint32_t binade = sage_bits(p) & 0x7f800000u;
    float c;

    if (binade < sage_bits(0x1p-6f))
        binade = sage_bits(0x1p-6f);
    c = sage_float(binade + (20u << 23));
    p = (p + c) - c;
    return p < SAGE_E4M3_MAX ? p : SAGE_E4M3_MAX;
}

static void scalar_begin(struct sage_tile *t, const int8_t *q)
{
    memcpy(t->q.i8, q, (size_t)t->rows * SAGE_D);
    memset(t->o, 0, (size_t)t->rows * sizeof(t->o[0]));
}

/* V of the tokens that exist, as FP32 [token][channel]. */
static void unpack_v(struct sage_tile *t, const struct sage_block *b)
{
    int c, g, i;

    for (c = 0; c < SAGE_D; c++) {
        const uint8_t *row = b->v + c * b->v_stride;

        for (g = 0; g < b->valid; g += 16) {
            SCALAR_LOOP
            for (i = 0; i < 16; i++) {
                int token = g + 2 * sage_logical_pair(i / 2) + i % 2;

                if (token < b->valid)
                    t->v.f32[token][c] = e4m3_float(row[g + i]);
            }
        }
    }
}

static int32_t dot(const int8_t *a, const int8_t *b)
{
    int32_t s0 = 0, s1 = 0, s2 = 0, s3 = 0;
    int c;

    SCALAR_LOOP
    for (c = 0; c < SAGE_D; c += 4) {
        s0 += a[c] * b[c];
        s1 += a[c + 1] * b[c + 1];
        s2 += a[c + 2] * b[c + 2];
        s3 += a[c + 3] * b[c + 3];
    }
    return s0 + s1 + s2 + s3;
}

static void weigh_row(struct sage_tile *t, const struct sage_block *b, int row)
{
    float a = t->qs[row] * b->k_scale;
    float *s = t->p.f32[row]; /* scores first, weights in their place afterwards */
    float top = -INFINITY, m, p;
    int i;

    SCALAR_LOOP
    for (i = 0; i < b->valid; i++) {
        s[i] = (float)dot(t->q.i8[row], b->k + (int64_t)i * SAGE_D);
        top = s[i] > top ? s[i] : top;
    }
    m = sage_raise(t, row, a * top);
    SCALAR_LOOP
    for (i = 0; i < SAGE_LANES; i++)
        t->l[row][i] *= t->factor[row];
    SCALAR_LOOP
    for (i = 0; i < b->valid; i++) {
        p = 256.0f * sage_exp2(s[i] * a - m);
        t->l[row][i % SAGE_LANES] += p;
        s[i] = round_e4m3(p);
    }
}

/* Sums p v over every second token from `begin` to `end`, channels c..c+3: four independent sums
 * hide the latency of an addition. */
static void sum_tokens(const struct sage_tile *t, int row, int c, int begin, int end, float sum[4])
{
    float s0 = 0.0f, s1 = 0.0f, s2 = 0.0f, s3 = 0.0f;
    int i;

    SCALAR_LOOP
    for (i = begin; i < end; i += 2) {
        const float *v = &t->v.f32[i][c];
        float p = t->p.f32[row][i];

        s0 += p * v[0];
        s1 += p * v[1];
        s2 += p * v[2];
        s3 += p * v[3];
    }
    sum[0] = s0;
    sum[1] = s1;
    sum[2] = s2;
    sum[3] = s3;
}

/* o = o * factor + p v. */
static void accumulate_row(struct sage_tile *t, int valid, int row)
{
    float even[4], odd[4];
    int g, c, k;

    for (c = 0; c < SAGE_D; c += 4) {
        float *o = &t->o[row][c];

        for (k = 0; k < 4; k++)
            o[k] *= t->factor[row];
        for (g = 0; g < valid; g += SAGE_GROUP) {
            int end = valid - g < SAGE_GROUP ? valid : g + SAGE_GROUP;

            sum_tokens(t, row, c, g, end, even);
            sum_tokens(t, row, c, g + 1, end, odd);
            for (k = 0; k < 4; k++)
                o[k] += even[k] + odd[k];
        }
    }
}

static void scalar_fold(struct sage_tile *t, const struct sage_block *b)
{
    int row;

    unpack_v(t, b);
    for (row = 0; row < t->rows; row++) {
        weigh_row(t, b, row);
        accumulate_row(t, b->valid, row);
    }
}

static uint16_t bf16_round(float x)
{
    uint32_t u = sage_bits(x);

    if (x != x)
        return (uint16_t)(u >> 16 | 0x40);
    return (uint16_t)((u + 0x7fff + (u >> 16 & 1)) >> 16);
}

static void scalar_finish(const struct sage_tile *t, const float *v_scale, uint16_t *out)
{
    int row, c;

    for (row = 0; row < t->rows; row++) {
        float inverse = sage_inverse(t->l[row]);

        SCALAR_LOOP
        for (c = 0; c < SAGE_D; c++)
            out[row * SAGE_D + c] = bf16_round((t->o[row][c] * inverse) * v_scale[c]);
    }
}

const struct sage_variant sage_variant_scalar = {
    .name = "scalar", .begin = scalar_begin, .fold = scalar_fold, .finish = scalar_finish};
