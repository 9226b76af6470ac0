/*
 * cpu_body.h - bsa_fwd/cpu: one query tile (bsa contract, section 3). The including file names the
 * instructions: DSA_CPU_VECTOR, and then BSA_CPU_VARIANT.
 */
#ifndef BSA_FWD_CPU_BODY_H
#define BSA_FWD_CPU_BODY_H

#include "cpu_tile.h"

DSA_INLINE void body_begin(const struct bsa_plan *p, struct bsa_tile *t, const uint16_t *q)
{
    for (int64_t r = 0; r < t->rows; r++) {
        dsa_load(t->q[r], q + r * BSA_D, BSA_D, p->fp16);
        t->m[r] = -INFINITY;
        t->l[r] = 0;
    }
    memset(t->o, 0, (size_t)t->rows * sizeof(t->o[0]));
}

/* Places behind the valid keys are 0: what K and V hold there is not looked at. */
DSA_INLINE void load_block(const struct bsa_plan *p, struct bsa_tile *t, const uint16_t *k,
                           const uint16_t *v, int64_t valid)
{
    for (int64_t j = 0; j < valid; j++)
        dsa_load(t->v[j], k + j * BSA_D, BSA_D, p->fp16);
    for (int64_t d = 0; d < BSA_D; d++) {
        for (int64_t j = 0; j < valid; j++)
            t->turned[d][j] = t->v[j][d];
        for (int64_t j = valid; j < BSA_KEYS; j++)
            t->turned[d][j] = 0;
    }
    for (int64_t j = 0; j < valid; j++)
        dsa_load(t->v[j], v + j * BSA_D, BSA_D, p->fp16);
}

/* Weights of a row, in place of its scores; l is summed before they are rounded. */
DSA_INLINE void weigh_row(const struct bsa_plan *p, struct bsa_tile *t, int64_t r, int64_t valid)
{
    float *s = t->s[r], top = t->m[r], factor, sum = 0;

    for (int64_t j = 0; j < valid; j++) {
        s[j] *= p->scale_log2;
        top = s[j] > top ? s[j] : top;
    }
    for (int64_t j = valid; j < BSA_KEYS; j++)
        s[j] = -INFINITY;
    for (int64_t j = 0; j < BSA_KEYS; j++)
        s[j] = dsa_exp2(s[j] - top);
    for (int64_t j = 0; j < valid; j++)
        sum += s[j];
    dsa_round(s, BSA_KEYS, p->fp16);
    factor = dsa_exp2(t->m[r] - top);
    t->l[r] = t->l[r] * factor + sum;
    t->m[r] = top;
    if (factor != 1)
        for (int64_t d = 0; d < BSA_D; d++)
            t->o[r][d] *= factor;
}

DSA_INLINE void body_fold(const struct bsa_plan *p, struct bsa_tile *t, const uint16_t *k,
                          const uint16_t *v, int64_t valid)
{
    load_block(p, t, k, v, valid);
    dsa_product(t->rows, BSA_KEYS, BSA_D, (struct dsa_operand){t->q[0], BSA_D, 1},
                (struct dsa_operand){t->turned[0], 0, BSA_KEYS}, t->s[0], BSA_KEYS, 0);
    for (int64_t r = 0; r < t->rows; r++)
        weigh_row(p, t, r, valid);
    dsa_product(t->rows, BSA_D, valid, (struct dsa_operand){t->s[0], BSA_KEYS, 1},
                (struct dsa_operand){t->v[0], 0, BSA_D}, t->o[0], BSA_D, 1);
}

DSA_INLINE void body_finish(const struct bsa_plan *p, const struct bsa_tile *t, uint16_t *out,
                            float *lse)
{
    for (int64_t r = 0; r < t->rows; r++) {
        dsa_store(out + r * BSA_D, t->o[r], 1 / t->l[r], BSA_D, p->fp16);
        if (lse)
            lse[r] = (t->m[r] + log2f(t->l[r])) * (float)(1 / DSA_LOG2E);
    }
}

/* The three entries of a variant, compiled for its instructions. */
#define BSA_CPU_VARIANT(name, target)                                                              \
    target static void begin(const struct bsa_plan *p, struct bsa_tile *t, const uint16_t *q)      \
    {                                                                                              \
        body_begin(p, t, q);                                                                       \
    }                                                                                              \
    target static void fold(const struct bsa_plan *p, struct bsa_tile *t, const uint16_t *k,       \
                            const uint16_t *v, int64_t valid)                                      \
    {                                                                                              \
        body_fold(p, t, k, v, valid);                                                              \
    }                                                                                              \
    target static void finish(const struct bsa_plan *p, const struct bsa_tile *t, uint16_t *out,   \
                              float *lse)                                                          \
    {                                                                                              \
        body_finish(p, t, out, lse);                                                               \
    }                                                                                              \
    const struct bsa_variant name = {begin, fold, finish}

#endif
