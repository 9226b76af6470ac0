/*
 * cpu_body.h - dsa_fwd/cpu: one group of heads of one query row. The including file names the
 * instructions: DSA_CPU_VECTOR, DSA_CPU_TARGET and the name of its variant.
 *
 * Active slots are gathered in tiles of 64. A tile ends with the prefix of lse_indexer, so that the
 * running sums are those of the prefix there.
 */
#ifndef DSA_FWD_CPU_BODY_H
#define DSA_FWD_CPU_BODY_H

#include "cpu_tile.h"

/* Weights of a tile, in place of its scores; m, l and o are brought up to them. */
DSA_INLINE void fold_head(const struct dsa_fwd_plan *p, struct dsa_fwd_tile *t, int64_t h,
                          int64_t n)
{
    float *s = t->s[h], top = t->m[h], factor, sum = 0;

    for (int64_t j = 0; j < n; j++) {
        s[j] *= p->scale;
        top = s[j] > top ? s[j] : top;
    }
    for (int64_t j = n; j < DSA_TILE; j++)
        s[j] = -INFINITY;
    for (int64_t j = 0; j < DSA_TILE; j++)
        s[j] = dsa_exp2((s[j] - top) * (float)DSA_LOG2E);
    for (int64_t j = 0; j < n; j++)
        sum += s[j];
    dsa_round(s, DSA_TILE, p->fp16);
    factor = dsa_exp2((t->m[h] - top) * (float)DSA_LOG2E);
    t->l[h] = t->l[h] * factor + sum;
    t->m[h] = top;
    if (factor != 1)
        for (int64_t d = 0; d < DSA_V; d++)
            t->o[h][d] *= factor;
}

DSA_INLINE void fold_tile(const struct dsa_fwd_plan *p, struct dsa_fwd_tile *t, int64_t heads,
                          const int32_t *ids, int64_t n)
{
    dsa_gather(p->kv, p->width, ids, n, t->rows[0], t->turned[0], p->fp16);
    dsa_product(heads, DSA_TILE, p->width, (struct dsa_operand){t->q[0], DSA_WIDTH, 1},
                (struct dsa_operand){t->turned[0], 0, DSA_TILE}, t->s[0], DSA_TILE, 0);
    for (int64_t h = 0; h < heads; h++)
        fold_head(p, t, h, n);
    dsa_product(heads, DSA_V, n, (struct dsa_operand){t->s[0], DSA_TILE, 1},
                (struct dsa_operand){t->rows[0], 0, DSA_PITCH}, t->o[0], DSA_V, 1);
}

/* What the heads have after all slots, or after those of the prefix. */
DSA_INLINE void take_lse(const struct dsa_fwd_tile *t, int64_t heads, int64_t n, float *lse)
{
    for (int64_t h = 0; h < heads; h++)
        lse[h] = n > 0 ? t->m[h] + logf(t->l[h]) : INFINITY;
}

/* sigmoid(lse - sink) as a share; the exponential of what is too large is infinite, the share 0. */
DSA_INLINE void finish(const struct dsa_fwd_plan *p, const struct dsa_fwd_tile *t, int64_t first,
                       int64_t heads, int64_t at, int64_t n)
{
    for (int64_t h = 0; h < heads; h++) {
        const float sink = p->sink ? p->sink[first + h] : -INFINITY;
        const float share = n > 0 ? 1 / (1 + expf(sink - p->lse[at + h])) : 0;
        uint16_t *out = p->out + (at + h) * DSA_V;

        p->max_logits[at + h] = t->m[h];
        if (share > 0)
            dsa_store(out, t->o[h], share / t->l[h], DSA_V, p->fp16);
        else
            memset(out, 0, DSA_V * sizeof(*out));
    }
}

DSA_INLINE void body_group(const struct dsa_fwd_plan *p, struct dsa_fwd_tile *t, int32_t *ids,
                           int64_t row, int64_t group)
{
    const int64_t first = group * DSA_TILE, at = row * p->heads + first;
    const int64_t heads = p->heads - first < DSA_TILE ? p->heads - first : DSA_TILE;
    int64_t prefix, n = dsa_active_ids(p->ids + row * p->slots, dsa_fwd_length(p, row), p->keys,
                                       p->prefix, ids, &prefix);

    for (int64_t h = 0; h < heads; h++) {
        if (n > 0)
            dsa_load(t->q[h], p->q + (at + h) * p->width, p->width, p->fp16);
        t->m[h] = -INFINITY;
        t->l[h] = 0;
    }
    memset(t->o, 0, (size_t)heads * sizeof(t->o[0]));
    for (int64_t j = 0, end; j < n; j = end) {
        end = j + DSA_TILE < n ? j + DSA_TILE : n;
        if (j < prefix && end > prefix)
            end = prefix;
        fold_tile(p, t, heads, ids + j, end - j);
        if (p->lse_indexer && end == prefix)
            take_lse(t, heads, prefix, p->lse_indexer + at);
    }
    if (p->lse_indexer && prefix == 0)
        take_lse(t, heads, 0, p->lse_indexer + at);
    take_lse(t, heads, n, p->lse + at);
    finish(p, t, first, heads, at, n);
}

#endif
