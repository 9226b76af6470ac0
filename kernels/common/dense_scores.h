/*
 * dense_scores.h - a matrix of scores over all columns that the ratio-causal mask shows: what
 * indexer_fwd, score_dense_indexer and score_dense_attention have in common, for the CPU and the
 * reference kernels (contracts/indexer.md, sections 1, 2 and 4).
 *
 *     indexer     S = scale * k_scale * sum_h relu(<q,k>) * q_scale * w;    sum: ln sum e^S
 *     attention   S = sum_h e^(scale * <q,k> - lse);                        sum: sum S
 */
#ifndef SAB_DENSE_SCORES_H
#define SAB_DENSE_SCORES_H

#include "indexer_mask.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Rows of q or k: bf16, or e4m3 and then perhaps with a power of two for 32 channels. */
struct indexer_matrix {
    const void *data;
    const uint8_t *exponents; /* e8m0, ceil(width / 32) a row; NULL: none */
    int32_t e4m3;
    int64_t width;
};

struct indexer_dense {
    struct indexer_matrix q; /* row (row * heads + h) */
    struct indexer_matrix k; /* row (key * kv_heads + g) */
    int64_t heads, kv_heads;
    const void *w;        /* [rows,heads] f32 where `w_f32`, else bf16; not for attention */
    const float *q_scale; /* [rows,heads], or NULL */
    const float *k_scale; /* [keys], or NULL */
    const float *lse;     /* [rows,heads], for attention */
    float scale;
    int32_t w_f32, attention;
    const int32_t *offsets, *cu_q, *cu_k; /* NULL: 0, padded */
    int64_t batch, rows, seqlen_q, seqlen_k, ratio;
    int64_t columns, stride; /* of out */
    float *out;
    float *sums; /* [rows], or NULL */
};

SAB_HOST_DEVICE struct indexer_place indexer_dense_place(const struct indexer_dense *d, int64_t row)
{
    return d->cu_q ? indexer_packed_place(d->cu_q, d->cu_k, d->batch, row)
                   : indexer_padded_place(d->seqlen_q, d->seqlen_k, row);
}

SAB_HOST_DEVICE int64_t indexer_dense_limit(const struct indexer_dense *d,
                                            const struct indexer_place *place)
{
    const int64_t keys = place->keys < d->columns ? place->keys : d->columns;

    return indexer_limit(d->offsets ? d->offsets[place->batch] : 0, place->q, d->ratio, keys);
}

#ifdef __cplusplus
}
#endif
#endif
