/*
 * cpu_avx512.h - the parts that the AVX-512 and the AMX variant of sage_fwd/cpu share: packing,
 * softmax and the final scaling, 16 lanes wide.
 */
#ifndef SAGE_FWD_CPU_AVX512_H
#define SAGE_FWD_CPU_AVX512_H

#include <immintrin.h>

#include "cpu_tile.h"

#define AVX512_FEATURES "avx512f,avx512bw,avx512vl,avx512dq,avx512vnni,fma"
#define AVX512          __attribute__((target(AVX512_FEATURES)))
#define ALWAYS_INLINE   __attribute__((always_inline)) inline
/* Loops over registers must vanish at every optimisation level. */
#if defined(__clang__)
#    define UNROLL _Pragma("unroll")
#else
#    define UNROLL _Pragma("GCC unroll 16")
#endif

/* 16 x 16 words. */
AVX512 static ALWAYS_INLINE void transpose(__m512i r[16])
{
    __m512i t[16];
    int i, j;

    UNROLL for (i = 0; i < 16; i += 2)
    {
        t[i] = _mm512_unpacklo_epi32(r[i], r[i + 1]);
        t[i + 1] = _mm512_unpackhi_epi32(r[i], r[i + 1]);
    }
    UNROLL for (i = 0; i < 16; i += 4)
    {
        UNROLL for (j = 0; j < 2; j++)
        {
            r[i + 2 * j] = _mm512_unpacklo_epi64(t[i + j], t[i + j + 2]);
            r[i + 2 * j + 1] = _mm512_unpackhi_epi64(t[i + j], t[i + j + 2]);
        }
    }
    /* r[4g + c] now holds column c + 4q of rows 4g..4g+3 in its quarter q. */
    UNROLL for (i = 0; i < 4; i++)
    {
        t[i] = _mm512_shuffle_i32x4(r[i], r[i + 4], 0x88);
        t[i + 4] = _mm512_shuffle_i32x4(r[i], r[i + 4], 0xdd);
        t[i + 8] = _mm512_shuffle_i32x4(r[i + 8], r[i + 12], 0x88);
        t[i + 12] = _mm512_shuffle_i32x4(r[i + 8], r[i + 12], 0xdd);
    }
    UNROLL for (i = 0; i < 4; i++)
    {
        r[i] = _mm512_shuffle_i32x4(t[i], t[i + 8], 0x88);
        r[i + 8] = _mm512_shuffle_i32x4(t[i], t[i + 8], 0xdd);
        r[i + 4] = _mm512_shuffle_i32x4(t[i + 4], t[i + 12], 0x88);
        r[i + 12] = _mm512_shuffle_i32x4(t[i + 4], t[i + 12], 0xdd);
    }
}

/* K as [channel / 4][key], four channels a word, each byte xor `flip`; keys that do not exist up to
 * a multiple of 16 hold 0 xor `flip`. */
AVX512 static ALWAYS_INLINE void pack_k(struct sage_tile *t, const struct sage_block *b,
                                        __m512i flip)
{
    __m512i r[16];
    int key, c, i;

    for (key = 0; key < b->valid; key += 16) {
        for (c = 0; c < SAGE_D / 4; c += 16) {
            UNROLL for (i = 0; i < 16; i++)
            {
                r[i] = flip;
                if (key + i < b->valid)
                    r[i] = _mm512_xor_si512(flip,
                                            _mm512_loadu_si512(b->k + (key + i) * SAGE_D + 4 * c));
            }
            transpose(r);
            UNROLL for (i = 0; i < 16; i++) _mm512_store_si512(&t->k.quads[c + i][key], r[i]);
        }
    }
}

/* 32 e4m3 numbers as bf16, exactly. */
AVX512 static ALWAYS_INLINE __m512i decode_bf16(const uint8_t *v)
{
    /* Subnormals 0..7 x 2^-9. */
    const __m512i small = _mm512_castsi128_si512(
        _mm_setr_epi16(0, 0x3b00, 0x3b80, 0x3bc0, 0x3c00, 0x3c20, 0x3c40, 0x3c60));
    const __m512i mask = _mm512_set1_epi16(0x7f);
    __m512i byte = _mm512_cvtepu8_epi16(_mm256_loadu_si256((const __m256i *)v));
    __m512i magnitude = _mm512_and_si512(byte, mask);
    __m512i sign = _mm512_slli_epi16(_mm512_andnot_si512(mask, byte), 8);
    __m512i x = _mm512_add_epi16(_mm512_slli_epi16(magnitude, 4), _mm512_set1_epi16(120 << 7));

    x = _mm512_mask_permutexvar_epi16(x, _mm512_cmplt_epu16_mask(magnitude, _mm512_set1_epi16(8)),
                                      magnitude, small);
    x = _mm512_mask_mov_epi16(x, _mm512_cmpeq_epi16_mask(magnitude, mask),
                              _mm512_set1_epi16(0x7fc0));
    return _mm512_or_si512(x, sign);
}

/* 256 * 2^x in the lanes of `live` whose x is not below the smallest exponent, else 0. */
AVX512 static ALWAYS_INLINE __m512 exp2_256(__m512 x, __mmask16 live)
{
    const __m512 magic = _mm512_set1_ps(SAGE_ROUND_MAGIC);
    __m512 z = _mm512_add_ps(x, magic);
    __m512 r = _mm512_sub_ps(x, _mm512_sub_ps(z, magic));
    __m512 y = _mm512_mul_ps(_mm512_set1_ps(SAGE_EXP2_C5), r);
    __m512i n = _mm512_slli_epi32(_mm512_castps_si512(z), 23);

    y = _mm512_mul_ps(_mm512_add_ps(y, _mm512_set1_ps(SAGE_EXP2_C4)), r);
    y = _mm512_mul_ps(_mm512_add_ps(y, _mm512_set1_ps(SAGE_EXP2_C3)), r);
    y = _mm512_mul_ps(_mm512_add_ps(y, _mm512_set1_ps(SAGE_EXP2_C2)), r);
    y = _mm512_mul_ps(_mm512_add_ps(y, _mm512_set1_ps(SAGE_EXP2_C1)), r);
    y = _mm512_add_ps(y, _mm512_set1_ps(1.0f));
    n = _mm512_add_epi32(n, _mm512_set1_epi32(8 << 23));
    live = _mm512_mask_cmp_ps_mask(live, x, _mm512_set1_ps(SAGE_EXP2_MIN), _CMP_GE_OQ);
    return _mm512_castsi512_ps(_mm512_maskz_add_epi32(live, _mm512_castps_si512(y), n));
}

/* As round_e4m3() of cpu_scalar.c. */
AVX512 static ALWAYS_INLINE __m512 round_e4m3(__m512 p)
{
    __m512i binade = _mm512_and_si512(_mm512_castps_si512(p), _mm512_set1_epi32(0x7f800000));
    __m512 c;

    binade = _mm512_max_epi32(binade, _mm512_set1_epi32((127 - 6) << 23));
    c = _mm512_castsi512_ps(_mm512_add_epi32(binade, _mm512_set1_epi32(20 << 23)));
    p = _mm512_sub_ps(_mm512_add_ps(p, c), c);
    return _mm512_min_ps(p, _mm512_set1_ps(SAGE_E4M3_MAX));
}

/* The lanes of each 16 keys that exist. */
AVX512 static ALWAYS_INLINE void live_lanes(int valid, __mmask16 live[4])
{
    int i;

    UNROLL for (i = 0; i < 4; i++) live[i] = (__mmask16)(UINT64_MAX >> (64 - valid) >> (16 * i));
}

/* The softmax step of one row: `s` holds its scores, 16 keys a vector. Sets m, factor and l of the
 * row and leaves the weights in p, as FP32 or, with `bf16`, as half-words. */
AVX512 static ALWAYS_INLINE void weigh_row(struct sage_tile *t, float k_scale, int row,
                                           const __m512i *s, int vectors, const __mmask16 live[4],
                                           int bf16)
{
    float a = t->qs[row] * k_scale, m;
    __m512i top = _mm512_set1_epi32(INT32_MIN);
    __m512 l, p;
    int i;

    UNROLL for (i = 0; i < vectors; i++) top = _mm512_mask_max_epi32(top, live[i], top, s[i]);
    m = sage_raise(t, row, a * (float)_mm512_reduce_max_epi32(top));
    l = _mm512_mul_ps(_mm512_load_ps(t->l[row]), _mm512_set1_ps(t->factor[row]));
    UNROLL for (i = 0; i < vectors; i++)
    {
        p = _mm512_mul_ps(_mm512_cvtepi32_ps(s[i]), _mm512_set1_ps(a));
        p = exp2_256(_mm512_sub_ps(p, _mm512_set1_ps(m)), live[i]);
        l = _mm512_add_ps(l, p);
        p = round_e4m3(p);
        if (bf16)
            _mm256_store_si256(
                (__m256i *)&t->p.bf16[row][8 * i],
                _mm512_cvtepi32_epi16(_mm512_srli_epi32(_mm512_castps_si512(p), 16)));
        else
            _mm512_store_ps(&t->p.f32[row][16 * i], p);
    }
    _mm512_store_ps(t->l[row], l);
}

/* To nearest even. */
AVX512 static ALWAYS_INLINE __m256i bf16_round(__m512 x)
{
    __m512i u = _mm512_castps_si512(x);
    __m512i odd = _mm512_and_si512(_mm512_srli_epi32(u, 16), _mm512_set1_epi32(1));
    __mmask16 nan = _mm512_cmp_ps_mask(x, x, _CMP_UNORD_Q);

    odd = _mm512_add_epi32(odd, _mm512_set1_epi32(0x7fff));
    odd = _mm512_mask_mov_epi32(_mm512_add_epi32(u, odd), nan,
                                _mm512_or_si512(u, _mm512_set1_epi32(0x400000)));
    return _mm512_cvtepi32_epi16(_mm512_srli_epi32(odd, 16));
}

AVX512 static ALWAYS_INLINE void finish(const struct sage_tile *t, const float *v_scale,
                                        uint16_t *out)
{
    int row, c;

    for (row = 0; row < t->rows; row++) {
        __m512 inverse = _mm512_set1_ps(sage_inverse(t->l[row]));

        for (c = 0; c < SAGE_D; c += 16) {
            __m512 x = _mm512_mul_ps(_mm512_load_ps(&t->o[row][c]), inverse);

            x = _mm512_mul_ps(x, _mm512_loadu_ps(v_scale + c));
            _mm256_storeu_si256((__m256i *)(out + row * SAGE_D + c), bf16_round(x));
        }
    }
}

#endif
