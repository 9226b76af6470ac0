/*
 * cpu_avx2.c - sage_fwd/cpu with AVX2 and FMA.
 *
 * The shape is that of cpu_avx512.c at half the width. Without VNNI the scores go through 16-bit
 * products (the 8-bit multiply-add saturates), so Q and K are widened to int16 pairs of channels; V
 * is widened to FP32.
 */
#include "cpu_tile.h"

#if defined(__x86_64__)
#    include <immintrin.h>

#    define AVX2          __attribute__((target("avx2,fma")))
#    define ALWAYS_INLINE __attribute__((always_inline)) inline
/* Loops over registers must vanish at every optimisation level. */
#    if defined(__clang__)
#        define UNROLL _Pragma("unroll")
#    else
#        define UNROLL _Pragma("GCC unroll 16")
#    endif

AVX2 static void avx2_begin(struct sage_tile *t, const int8_t *q)
{
    int row, c, padded = (t->rows + 3) & ~3;

    for (row = 0; row < padded; row++) {
        for (c = 0; c < SAGE_D; c += 16) {
            __m256i x = _mm256_setzero_si256();

            if (row < t->rows)
                x = _mm256_cvtepi8_epi16(_mm_loadu_si128((const __m128i *)(q + row * SAGE_D + c)));
            _mm256_store_si256((__m256i *)&t->q.i16[row][c], x);
        }
    }
    memset(t->o, 0, (size_t)padded * sizeof(t->o[0]));
}

/* 8 x 8 words. */
AVX2 static ALWAYS_INLINE void transpose32(__m256i r[8])
{
    __m256i t[8];
    int i, j;

    UNROLL for (i = 0; i < 8; i += 2)
    {
        t[i] = _mm256_unpacklo_epi32(r[i], r[i + 1]);
        t[i + 1] = _mm256_unpackhi_epi32(r[i], r[i + 1]);
    }
    UNROLL for (i = 0; i < 8; i += 4)
    {
        UNROLL for (j = 0; j < 2; j++)
        {
            r[i + 2 * j] = _mm256_unpacklo_epi64(t[i + j], t[i + j + 2]);
            r[i + 2 * j + 1] = _mm256_unpackhi_epi64(t[i + j], t[i + j + 2]);
        }
    }
    UNROLL for (i = 0; i < 4; i++)
    {
        t[i] = _mm256_permute2x128_si256(r[i], r[i + 4], 0x20);
        t[i + 4] = _mm256_permute2x128_si256(r[i], r[i + 4], 0x31);
    }
    UNROLL for (i = 0; i < 8; i++) r[i] = t[i];
}

/* 8 x 8 half-words. */
AVX2 static ALWAYS_INLINE void transpose16(__m128i r[8])
{
    __m128i t[8];
    int i;

    UNROLL for (i = 0; i < 4; i++)
    {
        t[2 * i] = _mm_unpacklo_epi16(r[i], r[i + 4]);
        t[2 * i + 1] = _mm_unpackhi_epi16(r[i], r[i + 4]);
    }
    UNROLL for (i = 0; i < 4; i++)
    {
        r[2 * i] = _mm_unpacklo_epi16(t[i], t[i + 4]);
        r[2 * i + 1] = _mm_unpackhi_epi16(t[i], t[i + 4]);
    }
    UNROLL for (i = 0; i < 4; i++)
    {
        t[2 * i] = _mm_unpacklo_epi16(r[i], r[i + 4]);
        t[2 * i + 1] = _mm_unpackhi_epi16(r[i], r[i + 4]);
    }
    UNROLL for (i = 0; i < 8; i++) r[i] = t[i];
}

AVX2 static void pack_k(struct sage_tile *t, const struct sage_block *b)
{
    __m256i r[8];
    int key, c, i, end = (b->valid + 15) & ~15;

    for (key = 0; key < end; key += 8) {
        for (c = 0; c < SAGE_D / 2; c += 8) {
            UNROLL for (i = 0; i < 8; i++)
            {
                r[i] = _mm256_setzero_si256();
                if (key + i < b->valid)
                    r[i] = _mm256_cvtepi8_epi16(
                        _mm_loadu_si128((const __m128i *)(b->k + (key + i) * SAGE_D + 2 * c)));
            }
            transpose32(r);
            UNROLL for (i = 0; i < 8; i++)
                _mm256_store_si256((__m256i *)&t->k.pairs[c + i][key], r[i]);
        }
    }
}

/* The e4m3 number in the low byte of each word, as FP32. */
AVX2 static ALWAYS_INLINE __m256 decode(__m256i byte)
{
    const __m256i mask = _mm256_set1_epi32(0x7f);
    __m256i magnitude = _mm256_and_si256(byte, mask);
    __m256i sign = _mm256_slli_epi32(_mm256_srli_epi32(byte, 7), 31);
    __m256i x = _mm256_slli_epi32(magnitude, 20);
    __m256 small = _mm256_mul_ps(_mm256_cvtepi32_ps(magnitude), _mm256_set1_ps(0x1p-9f));

    x = _mm256_add_epi32(x, _mm256_set1_epi32(120 << 23));
    x = _mm256_blendv_epi8(x, _mm256_castps_si256(small),
                           _mm256_cmpgt_epi32(_mm256_set1_epi32(8), magnitude));
    x = _mm256_or_si256(x, _mm256_cmpeq_epi32(magnitude, mask));
    return _mm256_castsi256_ps(_mm256_or_si256(x, sign));
}

AVX2 static void pack_v(struct sage_tile *t, const struct sage_block *b)
{
    int c, g, i;

    for (c = 0; c < SAGE_D; c += 8) {
        for (g = 0; g < b->valid; g += 16) {
            __m128i r[8];

            UNROLL for (i = 0; i < 8; i++) r[i] =
                _mm_loadu_si128((const __m128i *)(b->v + (c + i) * b->v_stride + g));
            transpose16(r);
            UNROLL for (i = 0; i < 8; i++)
            {
                __m256i x = _mm256_cvtepu16_epi32(r[i]);
                int token = g + 2 * sage_logical_pair(i);

                _mm256_store_ps(&t->v.f32[token][c],
                                decode(_mm256_and_si256(x, _mm256_set1_epi32(0xff))));
                _mm256_store_ps(&t->v.f32[token + 1][c], decode(_mm256_srli_epi32(x, 8)));
            }
        }
    }
}

/* 256 * 2^x where x is not below the smallest exponent, else 0. */
AVX2 static ALWAYS_INLINE __m256 exp2_256(__m256 x)
{
    const __m256 magic = _mm256_set1_ps(SAGE_ROUND_MAGIC);
    __m256 z = _mm256_add_ps(x, magic);
    __m256 r = _mm256_sub_ps(x, _mm256_sub_ps(z, magic));
    __m256 y = _mm256_mul_ps(_mm256_set1_ps(SAGE_EXP2_C5), r);
    __m256i n = _mm256_slli_epi32(_mm256_castps_si256(z), 23);

    y = _mm256_mul_ps(_mm256_add_ps(y, _mm256_set1_ps(SAGE_EXP2_C4)), r);
    y = _mm256_mul_ps(_mm256_add_ps(y, _mm256_set1_ps(SAGE_EXP2_C3)), r);
    y = _mm256_mul_ps(_mm256_add_ps(y, _mm256_set1_ps(SAGE_EXP2_C2)), r);
    y = _mm256_mul_ps(_mm256_add_ps(y, _mm256_set1_ps(SAGE_EXP2_C1)), r);
    y = _mm256_add_ps(y, _mm256_set1_ps(1.0f));
    n = _mm256_add_epi32(n, _mm256_set1_epi32(8 << 23));
    y = _mm256_castsi256_ps(_mm256_add_epi32(_mm256_castps_si256(y), n));
    return _mm256_and_ps(y, _mm256_cmp_ps(x, _mm256_set1_ps(SAGE_EXP2_MIN), _CMP_GE_OQ));
}

/* As round_e4m3() of cpu_scalar.c. */
AVX2 static ALWAYS_INLINE __m256 round_e4m3(__m256 p)
{
    __m256i binade = _mm256_and_si256(_mm256_castps_si256(p), _mm256_set1_epi32(0x7f800000));
    __m256 c;

    binade = _mm256_max_epi32(binade, _mm256_set1_epi32((127 - 6) << 23));
    c = _mm256_castsi256_ps(_mm256_add_epi32(binade, _mm256_set1_epi32(20 << 23)));
    p = _mm256_sub_ps(_mm256_add_ps(p, c), c);
    return _mm256_min_ps(p, _mm256_set1_ps(SAGE_E4M3_MAX));
}

/* All ones in the lanes of keys key..key+7 that exist. */
AVX2 static ALWAYS_INLINE __m256i live_lanes(int key, int valid)
{
    return _mm256_cmpgt_epi32(_mm256_set1_epi32(valid - key),
                              _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}

/* The softmax step of one row over its scores. */
AVX2 static void weigh_row(struct sage_tile *t, const struct sage_block *b, int row,
                           const int32_t s[SAGE_KEYS])
{
    float a = t->qs[row] * b->k_scale, m;
    __m256i top = _mm256_set1_epi32(INT32_MIN), x;
    __m256 l[2], p;
    __m128i t4;
    int key, i;

    for (key = 0; key < b->valid; key += 8) {
        x = _mm256_load_si256((const __m256i *)(s + key));
        x = _mm256_blendv_epi8(_mm256_set1_epi32(INT32_MIN), x, live_lanes(key, b->valid));
        top = _mm256_max_epi32(top, x);
    }
    t4 = _mm_max_epi32(_mm256_castsi256_si128(top), _mm256_extracti128_si256(top, 1));
    t4 = _mm_max_epi32(t4, _mm_shuffle_epi32(t4, 0x4e));
    t4 = _mm_max_epi32(t4, _mm_shuffle_epi32(t4, 0xb1));
    m = sage_raise(t, row, a * (float)_mm_cvtsi128_si32(t4));
    UNROLL for (i = 0; i < 2; i++) l[i] =
        _mm256_mul_ps(_mm256_load_ps(&t->l[row][8 * i]), _mm256_set1_ps(t->factor[row]));
    for (key = 0; key < b->valid; key += 16) {
        UNROLL for (i = 0; i < 2; i++)
        {
            x = live_lanes(key + 8 * i, b->valid);
            p = _mm256_cvtepi32_ps(_mm256_load_si256((const __m256i *)(s + key + 8 * i)));
            p = _mm256_sub_ps(_mm256_mul_ps(p, _mm256_set1_ps(a)), _mm256_set1_ps(m));
            p = _mm256_and_ps(exp2_256(p), _mm256_castsi256_ps(x));
            l[i] = _mm256_add_ps(l[i], p);
            _mm256_store_ps(&t->p.f32[row][key + 8 * i], round_e4m3(p));
        }
    }
    UNROLL for (i = 0; i < 2; i++) _mm256_store_ps(&t->l[row][8 * i], l[i]);
}

/* Scores of rows row..row+3, 16 keys at a time, then their weights. */
AVX2 static void weigh(struct sage_tile *t, const struct sage_block *b, int row)
{
    _Alignas(32) int32_t s[4][SAGE_KEYS];
    int key, c, i, r;

    for (key = 0; key < b->valid; key += 16) {
        __m256i acc[4][2];

        UNROLL for (r = 0; r < 4; r++)
        {
            UNROLL for (i = 0; i < 2; i++) acc[r][i] = _mm256_setzero_si256();
        }
        for (c = 0; c < SAGE_D / 2; c++) {
            __m256i k[2], q;

            UNROLL for (i = 0; i < 2; i++) k[i] =
                _mm256_load_si256((const __m256i *)&t->k.pairs[c][key + 8 * i]);
            UNROLL for (r = 0; r < 4; r++)
            {
                int32_t pair;

                memcpy(&pair, &t->q.i16[row + r][2 * c], sizeof(pair));
                q = _mm256_set1_epi32(pair);
                UNROLL for (i = 0; i < 2; i++) acc[r][i] =
                    _mm256_add_epi32(acc[r][i], _mm256_madd_epi16(k[i], q));
            }
        }
        UNROLL for (r = 0; r < 4; r++)
        {
            UNROLL for (i = 0; i < 2; i++)
                _mm256_store_si256((__m256i *)&s[r][key + 8 * i], acc[r][i]);
        }
    }
    for (r = 0; r < 4; r++)
        weigh_row(t, b, row + r, s[r]);
}

/* Sums p v over every second token from `begin` to `end`, rows row..row+3, channels c..c+15. */
AVX2 static ALWAYS_INLINE void sum_tokens(const struct sage_tile *t, int row, int c, int begin,
                                          int end, __m256 sum[4][2])
{
    int token, i, r;

    UNROLL for (r = 0; r < 4; r++)
    {
        UNROLL for (i = 0; i < 2; i++) sum[r][i] = _mm256_setzero_ps();
    }
    for (token = begin; token < end; token += 2) {
        __m256 v[2];

        UNROLL for (i = 0; i < 2; i++) v[i] = _mm256_load_ps(&t->v.f32[token][c + 8 * i]);
        UNROLL for (r = 0; r < 4; r++)
        {
            __m256 p = _mm256_set1_ps(t->p.f32[row + r][token]);

            UNROLL for (i = 0; i < 2; i++) sum[r][i] = _mm256_fmadd_ps(p, v[i], sum[r][i]);
        }
    }
}

/* o = o * factor + p v. */
AVX2 static void accumulate(struct sage_tile *t, int row, int c, int valid)
{
    __m256 o[4][2], even[4][2], odd[4][2];
    int g, i, r;

    UNROLL for (r = 0; r < 4; r++)
    {
        UNROLL for (i = 0; i < 2; i++) o[r][i] = _mm256_mul_ps(
            _mm256_set1_ps(t->factor[row + r]), _mm256_load_ps(&t->o[row + r][c + 8 * i]));
    }
    for (g = 0; g < valid; g += SAGE_GROUP) {
        int end = valid - g < SAGE_GROUP ? valid : g + SAGE_GROUP;

        sum_tokens(t, row, c, g, end, even);
        sum_tokens(t, row, c, g + 1, end, odd);
        UNROLL for (r = 0; r < 4; r++)
        {
            UNROLL for (i = 0; i < 2; i++) o[r][i] =
                _mm256_add_ps(o[r][i], _mm256_add_ps(even[r][i], odd[r][i]));
        }
    }
    UNROLL for (r = 0; r < 4; r++)
    {
        UNROLL for (i = 0; i < 2; i++) _mm256_store_ps(&t->o[row + r][c + 8 * i], o[r][i]);
    }
}

AVX2 static void avx2_fold(struct sage_tile *t, const struct sage_block *b)
{
    int row, c;

    pack_k(t, b);
    pack_v(t, b);
    for (row = 0; row < t->rows; row += 4)
        weigh(t, b, row);
    for (c = 0; c < SAGE_D; c += 16) {
        for (row = 0; row < t->rows; row += 4)
            accumulate(t, row, c, b->valid);
    }
}

/* To nearest even; the result is in the low half of each word. */
AVX2 static ALWAYS_INLINE __m256i bf16_round(__m256 x)
{
    __m256i u = _mm256_castps_si256(x);
    __m256i odd = _mm256_and_si256(_mm256_srli_epi32(u, 16), _mm256_set1_epi32(1));
    __m256i nan = _mm256_castps_si256(_mm256_cmp_ps(x, x, _CMP_UNORD_Q));

    odd = _mm256_add_epi32(_mm256_add_epi32(u, odd), _mm256_set1_epi32(0x7fff));
    odd = _mm256_blendv_epi8(odd, _mm256_or_si256(u, _mm256_set1_epi32(0x400000)), nan);
    return _mm256_srli_epi32(odd, 16);
}

AVX2 static void avx2_finish(const struct sage_tile *t, const float *v_scale, uint16_t *out)
{
    int row, c, i;

    for (row = 0; row < t->rows; row++) {
        __m256 inverse = _mm256_set1_ps(sage_inverse(t->l[row]));

        for (c = 0; c < SAGE_D; c += 16) {
            __m256i half[2], x;

            UNROLL for (i = 0; i < 2; i++)
            {
                __m256 y = _mm256_mul_ps(_mm256_load_ps(&t->o[row][c + 8 * i]), inverse);

                y = _mm256_mul_ps(y, _mm256_loadu_ps(v_scale + c + 8 * i));
                half[i] = bf16_round(y);
            }
            x = _mm256_permute4x64_epi64(_mm256_packus_epi32(half[0], half[1]), 0xd8);
            _mm256_storeu_si256((__m256i *)(out + row * SAGE_D + c), x);
        }
    }
}

const struct sage_variant sage_variant_avx2 = {
    .name = "avx2", .begin = avx2_begin, .fold = avx2_fold, .finish = avx2_finish};
#endif
