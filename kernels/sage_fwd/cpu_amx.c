/*
 * cpu_amx.c - sage_fwd/cpu with AMX: int8 scores and bf16 weights times V on tiles of 16 x 64
 * bytes, everything between them with AVX-512.
 *
 * Work goes by strips of 16 query rows. K packed [channel / 4][key] and V packed [token /
 * 2][channel] are the right operands as they stand. e4m3 fits bf16 exactly, and a tile product sums
 * its 32 tokens in the order that cpu_tile.h makes the rule.
 */
#include "cpu_tile.h"

#if defined(__x86_64__)
#    include "cpu_avx512.h"

#    define AMX   __attribute__((target(AVX512_FEATURES ",amx-tile,amx-int8,amx-bf16")))
#    define STRIP 16

/* Layout of the LDTILECFG operand. */
struct tile_config {
    uint8_t palette, start_row, reserved[14];
    uint16_t row_bytes[16];
    uint8_t rows[16];
};

AMX static void amx_begin(struct sage_tile *t, const int8_t *q)
{
    _Alignas(64) struct tile_config config = {.palette = 1};
    int row, i, padded = (t->rows + STRIP - 1) & ~(STRIP - 1);

    for (i = 0; i < 8; i++) {
        config.row_bytes[i] = 64;
        config.rows[i] = 16;
    }
    _tile_loadconfig(&config);
    memcpy(t->q.i8, q, (size_t)t->rows * SAGE_D);
    memset(t->o, 0, (size_t)padded * sizeof(t->o[0]));
    for (row = t->rows; row < padded; row++) {
        memset(t->q.i8[row], 0, sizeof(t->q.i8[row]));
        memset(t->p.bf16[row], 0, sizeof(t->p.bf16[row]));
    }
}

/* V as bf16 [token / 2][channel]; tokens that do not exist up to a multiple of 32 are 0. */
AMX static void pack_v(struct sage_tile *t, const struct sage_block *b)
{
    int token, c, i, end = (b->valid + SAGE_GROUP - 1) & ~(SAGE_GROUP - 1);
    __m512i r[16];

    for (c = 0; c < SAGE_D; c += 16) {
        for (token = 0; token < end; token += SAGE_GROUP) {
            UNROLL for (i = 0; i < 16; i++) r[i] =
                decode_bf16(b->v + (c + i) * b->v_stride + token);
            transpose(r);
            UNROLL for (i = 0; i < 16; i++) _mm512_store_si512(
                &t->v.bf16[token / 2 + (i & 8) + sage_logical_pair(i & 7)][c], r[i]);
        }
    }
    for (i = b->valid / 2; i < end / 2; i++) {
        for (c = 0; c < SAGE_D; c++)
            t->v.bf16[i][c] &= 2 * i + 1 == b->valid ? 0xffffu : 0;
    }
}

/* Two accumulator tiles in turn, here and below, hide half of the latency of a product.
 * Scores and weights of one strip against `vectors` x 16 keys, an even number of vectors. */
AMX static ALWAYS_INLINE void weigh_strip(struct sage_tile *t, const struct sage_block *b, int row,
                                          int vectors)
{
    _Alignas(64) int32_t s[STRIP][SAGE_KEYS];
    int i, r, rows = t->rows - row < STRIP ? t->rows - row : STRIP;
    __mmask16 live[4];

    _tile_loadd(0, &t->q.i8[row][0], SAGE_D);
    _tile_loadd(1, &t->q.i8[row][64], SAGE_D);
    UNROLL for (i = 0; i < vectors; i += 2)
    {
        _tile_zero(4);
        _tile_zero(5);
        _tile_loadd(2, &t->k.quads[0][16 * i], sizeof(t->k.quads[0]));
        _tile_dpbssd(4, 0, 2);
        _tile_loadd(3, &t->k.quads[0][16 * i + 16], sizeof(t->k.quads[0]));
        _tile_dpbssd(5, 0, 3);
        _tile_loadd(6, &t->k.quads[16][16 * i], sizeof(t->k.quads[0]));
        _tile_dpbssd(4, 1, 6);
        _tile_loadd(7, &t->k.quads[16][16 * i + 16], sizeof(t->k.quads[0]));
        _tile_dpbssd(5, 1, 7);
        _tile_stored(4, &s[0][16 * i], sizeof(s[0]));
        _tile_stored(5, &s[0][16 * i + 16], sizeof(s[0]));
    }
    live_lanes(b->valid, live);
    for (r = 0; r < rows; r++) {
        __m512i scores[4];

        UNROLL for (i = 0; i < vectors; i++) scores[i] = _mm512_load_si512(&s[r][16 * i]);
        weigh_row(t, b->k_scale, row + r, scores, vectors, live, 1);
    }
}

/* o = o * factor where a row of the strip was rescaled; most strips were not. */
AMX static void rescale_strip(struct sage_tile *t, int row)
{
    __m512 factors = _mm512_load_ps(&t->factor[row]);
    int r, c, rows = t->rows - row < STRIP ? t->rows - row : STRIP;
    __mmask16 touched = _mm512_cmp_ps_mask(factors, _mm512_set1_ps(1.0f), _CMP_NEQ_UQ);

    if (!(touched & ((1u << rows) - 1)))
        return;
    for (r = row; r < row + rows; r++) {
        for (c = 0; c < SAGE_D; c += 16)
            _mm512_store_ps(&t->o[r][c], _mm512_mul_ps(_mm512_load_ps(&t->o[r][c]),
                                                       _mm512_set1_ps(t->factor[r])));
    }
}

AMX static void accumulate_strip(struct sage_tile *t, int row, int valid)
{
    int c, second = valid > SAGE_GROUP;

    _tile_loadd(0, &t->p.bf16[row][0], sizeof(t->p.bf16[0]));
    if (second)
        _tile_loadd(1, &t->p.bf16[row][16], sizeof(t->p.bf16[0]));
    for (c = 0; c < SAGE_D; c += 32) {
        _tile_loadd(4, &t->o[row][c], sizeof(t->o[0]));
        _tile_loadd(5, &t->o[row][c + 16], sizeof(t->o[0]));
        _tile_loadd(2, &t->v.bf16[0][c], sizeof(t->v.bf16[0]));
        _tile_dpbf16ps(4, 0, 2);
        _tile_loadd(3, &t->v.bf16[0][c + 16], sizeof(t->v.bf16[0]));
        _tile_dpbf16ps(5, 0, 3);
        if (second) {
            _tile_loadd(6, &t->v.bf16[16][c], sizeof(t->v.bf16[0]));
            _tile_dpbf16ps(4, 1, 6);
            _tile_loadd(7, &t->v.bf16[16][c + 16], sizeof(t->v.bf16[0]));
            _tile_dpbf16ps(5, 1, 7);
        }
        _tile_stored(4, &t->o[row][c], sizeof(t->o[0]));
        _tile_stored(5, &t->o[row][c + 16], sizeof(t->o[0]));
    }
}

AMX static void amx_fold(struct sage_tile *t, const struct sage_block *b)
{
    int row;

    pack_k(t, b, _mm512_setzero_si512());
    pack_v(t, b);
    for (row = 0; row < t->rows; row += STRIP) {
        if (b->valid > SAGE_GROUP)
            weigh_strip(t, b, row, 4);
        else
            weigh_strip(t, b, row, 2);
        rescale_strip(t, row);
        accumulate_strip(t, row, b->valid);
    }
}

AMX static void amx_finish(const struct sage_tile *t, const float *v_scale, uint16_t *out)
{
    finish(t, v_scale, out);
    _tile_release();
}

const struct sage_variant sage_variant_amx = {
    .name = "amx", .begin = amx_begin, .fold = amx_fold, .finish = amx_finish};
#endif
