/*
 * sparse_scores.h - selected columns of the indexer's operators (contracts/indexer.md, section 1,
 * rules 2 and 3), and what both sparse score operators have in common (section 4), for the CPU and
 * the reference kernels.
 *
 *     indexer     out = softmax over active slots of scale * sum_h relu(<q,k>) * w
 *     attention   out = t / max(sum t, 1e-12), t = sum_h e^(scale * <q,k> - lse)
 */
#ifndef SAB_SPARSE_SCORES_H
#define SAB_SPARSE_SCORES_H

#include "dense_scores.h"

#ifdef __cplusplus
extern "C" {
#endif

struct indexer_slots {
    const int32_t *ids;     /* [rows,slots] */
    const int32_t *lengths; /* [rows], or NULL: every slot */
    int64_t slots;
    int32_t global; /* ids count from the first column of all batches */
};

/* Slots that may be active: clamp(length, 0, slots). */
SAB_HOST_DEVICE int64_t indexer_slots_length(const struct indexer_slots *s, int64_t row)
{
    const int64_t length = s->lengths ? s->lengths[row] : s->slots;

    return length < 0 ? 0 : length < s->slots ? length : s->slots;
}

/* The key of a slot below that length, counted over all batches, or -1 where it is not active. */
SAB_HOST_DEVICE int64_t indexer_slots_key(const struct indexer_slots *s,
                                          const struct indexer_place *place, int64_t row,
                                          int64_t slot)
{
    const int64_t id = s->ids[row * s->slots + slot], local = s->global ? id - place->first_k : id;

    return local >= 0 && local < place->keys ? place->first_k + local : -1;
}

struct indexer_sparse {
    struct indexer_matrix q; /* row (row * heads + h) */
    struct indexer_matrix k; /* row key */
    int64_t heads;
    const void *w;    /* [rows,heads] bf16; not for attention */
    const float *lse; /* [rows,heads], for attention */
    float scale;
    int32_t attention;
    struct indexer_slots slots;
    int64_t rows, seqlen_q, seqlen_k;
    float *out; /* [rows,slots] */
};

#ifdef __cplusplus
}
#endif
#endif
