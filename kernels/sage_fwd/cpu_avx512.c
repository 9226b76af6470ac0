/*
 * cpu_avx512.c - sage_fwd/cpu with AVX-512: int8 scores by VNNI, weights times V by FP32 FMA.
 *
 * Scores: lanes are keys. K is packed [channel / 4][key] with four channels a word; VNNI multiplies
 * unsigned by signed, so K is stored as k + 128 and each row of Q starts from -128 * sum(q). Four
 * rows x 64 keys stay in 16 registers, from which the softmax runs without passing through memory.
 * Output: lanes are channels, four rows x 64 channels stay in 16 registers. The bf16 dot product
 * is not used: on Emerald Rapids it was measured slower than the two FMA that it replaces.
 */
#include "cpu_tile.h"

#if defined(__x86_64__)
#    include "cpu_avx512.h"

AVX512 static void avx512_begin(struct sage_tile *t, const int8_t *q)
{
    const __m512i ones = _mm512_set1_epi8(1);
    int row, padded = (t->rows + 3) & ~3;

    for (row = 0; row < padded; row++) {
        __m512i low = _mm512_setzero_si512(), high = low, sum = low;

        if (row < t->rows) {
            low = _mm512_loadu_si512(q + row * SAGE_D);
            high = _mm512_loadu_si512(q + row * SAGE_D + 64);
        }
        _mm512_store_si512(t->q.i8[row], low);
        _mm512_store_si512(t->q.i8[row] + 64, high);
        sum = _mm512_dpbusd_epi32(_mm512_dpbusd_epi32(sum, ones, low), ones, high);
        t->correction[row] = -128 * _mm512_reduce_add_epi32(sum);
    }
    memset(t->o, 0, (size_t)padded * sizeof(t->o[0]));
}

AVX512 static void pack_v(struct sage_tile *t, const struct sage_block *b)
{
    const __m512i high = _mm512_set1_epi32((int)0xffff0000);
    __m512i r[16];
    int token, c, i;

    for (c = 0; c < SAGE_D; c += 16) {
        for (token = 0; token < b->valid; token += 32) {
            UNROLL for (i = 0; i < 16; i++) r[i] =
                decode_bf16(b->v + (c + i) * b->v_stride + token);
            transpose(r);
            UNROLL for (i = 0; i < 16; i++)
            {
                float *v = &t->v.f32[token + 2 * ((i & 8) + sage_logical_pair(i & 7))][c];

                _mm512_store_si512(v, _mm512_slli_epi32(r[i], 16));
                _mm512_store_si512(v + SAGE_D, _mm512_and_si512(r[i], high));
            }
        }
    }
}

/* Scores and weights of all rows against 16 * vectors keys. */
AVX512 static ALWAYS_INLINE void weigh(struct sage_tile *t, const struct sage_block *b, int vectors)
{
    __mmask16 live[4];
    int row, c, i, r;

    live_lanes(b->valid, live);
    for (row = 0; row < t->rows; row += 4) {
        __m512i acc[4][4];

        UNROLL for (r = 0; r < 4; r++)
        {
            UNROLL for (i = 0; i < vectors; i++) acc[r][i] =
                _mm512_set1_epi32(t->correction[row + r]);
        }
        for (c = 0; c < SAGE_D / 4; c++) {
            __m512i k[4];

            UNROLL for (i = 0; i < vectors; i++) k[i] = _mm512_load_si512(&t->k.quads[c][16 * i]);
            UNROLL for (r = 0; r < 4; r++)
            {
                int32_t quad;
                __m512i q;

                memcpy(&quad, &t->q.i8[row + r][4 * c], sizeof(quad));
                q = _mm512_set1_epi32(quad);
                UNROLL for (i = 0; i < vectors; i++) acc[r][i] =
                    _mm512_dpbusd_epi32(acc[r][i], k[i], q);
            }
        }
        UNROLL for (r = 0; r < 4; r++) weigh_row(t, b->k_scale, row + r, acc[r], vectors, live, 0);
    }
}

AVX512 static void weigh_any(struct sage_tile *t, const struct sage_block *b)
{
    if (b->valid > 48)
        weigh(t, b, 4);
    else if (b->valid > 32)
        weigh(t, b, 3);
    else if (b->valid > 16)
        weigh(t, b, 2);
    else
        weigh(t, b, 1);
}

/* Sums p v over every second token from `begin` to `end`, rows row..row+3, channels c..c+63. */
AVX512 static ALWAYS_INLINE void sum_tokens(const struct sage_tile *t, int row, int c, int begin,
                                            int end, __m512 sum[4][4])
{
    int token, i, r;

    UNROLL for (r = 0; r < 4; r++)
    {
        UNROLL for (i = 0; i < 4; i++) sum[r][i] = _mm512_setzero_ps();
    }
    for (token = begin; token < end; token += 2) {
        __m512 v[4];

        UNROLL for (i = 0; i < 4; i++) v[i] = _mm512_load_ps(&t->v.f32[token][c + 16 * i]);
        UNROLL for (r = 0; r < 4; r++)
        {
            __m512 p = _mm512_set1_ps(t->p.f32[row + r][token]);

            UNROLL for (i = 0; i < 4; i++) sum[r][i] = _mm512_fmadd_ps(p, v[i], sum[r][i]);
        }
    }
}

/* o = o * factor + p v. */
AVX512 static void accumulate(struct sage_tile *t, int row, int c, int valid)
{
    __m512 even[4][4], odd[4][4];
    int g, i, r;

    for (g = 0; g < valid; g += SAGE_GROUP) {
        int end = valid - g < SAGE_GROUP ? valid : g + SAGE_GROUP;

        sum_tokens(t, row, c, g, end, even);
        sum_tokens(t, row, c, g + 1, end, odd);
        UNROLL for (r = 0; r < 4; r++)
        {
            __m512 factor = _mm512_set1_ps(g ? 1.0f : t->factor[row + r]);

            UNROLL for (i = 0; i < 4; i++)
            {
                float *o = &t->o[row + r][c + 16 * i];
                __m512 sum = _mm512_add_ps(even[r][i], odd[r][i]);

                _mm512_store_ps(o, _mm512_add_ps(_mm512_mul_ps(_mm512_load_ps(o), factor), sum));
            }
        }
    }
}

AVX512 static void avx512_fold(struct sage_tile *t, const struct sage_block *b)
{
    int row, c;

    pack_k(t, b, _mm512_set1_epi8((char)0x80));
    pack_v(t, b);
    weigh_any(t, b);
    for (c = 0; c < SAGE_D; c += 64) {
        for (row = 0; row < t->rows; row += 4)
            accumulate(t, row, c, b->valid);
    }
}

AVX512 static void avx512_finish(const struct sage_tile *t, const float *v_scale, uint16_t *out)
{
    finish(t, v_scale, out);
}

const struct sage_variant sage_variant_avx512 = {
    .name = "avx512", .begin = avx512_begin, .fold = avx512_fold, .finish = avx512_finish};
#endif
