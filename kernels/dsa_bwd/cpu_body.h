/*
 * cpu_body.h - dsa_bwd/cpu: the two phases (cpu_tile.h). The including file names the instructions.
 * Section numbers are those of the dsa contract.
 */
#ifndef DSA_BWD_CPU_BODY_H
#define DSA_BWD_CPU_BODY_H

#include "cpu_tile.h"

/* nL and p_sink, section 3.2: infinities are looked for in the float products. */
static inline void head_norm(float lse, float sink, float *nl, double *p_sink)
{
    const float l2 = lse * (float)DSA_LOG2E, k2 = sink * (float)DSA_LOG2E;
    const double dl = (double)lse * DSA_LOG2E, dk = (double)sink * DSA_LOG2E;
    const double mx = dl > dk ? dl : dk;
    double n = -INFINITY;

    if (l2 != INFINITY && k2 != INFINITY && !(l2 == -INFINITY && k2 == -INFINITY))
        n = -(mx + log2(exp2(dl - mx) + exp2(dk - mx)));
    *nl = (float)n;
    if (lse == INFINITY || sink == -INFINITY)
        *p_sink = 0;
    else
        *p_sink = k2 == INFINITY ? 1 : exp2(dk + n);
}

/* The products are exact in double; eight sums are as good as one. */
DSA_INLINE double head_delta(const float *out, const float *dout)
{
    double sum[8] = {0};

    for (int d = 0; d < DSA_V; d += 8)
        for (int k = 0; k < 8; k++)
            sum[k] += (double)out[d + k] * (double)dout[d + k];
    return ((sum[0] + sum[1]) + (sum[2] + sum[3])) + ((sum[4] + sum[5]) + (sum[6] + sum[7]));
}

/* Loads the heads of a group. A head whose P is 0 throughout contributes nothing, whatever its dout
 * holds. */
DSA_INLINE void load_heads(const struct dsa_bwd_plan *p, struct dsa_bwd_tile *t, int64_t i,
                           int64_t first_head, int64_t heads, int64_t at)
{
    float *nl = p->nl + i * p->heads + first_head;
    double *terms = p->terms + i * p->heads + first_head;

    for (int64_t h = 0; h < heads; h++) {
        double p_sink, delta = 0;

        head_norm(p->lse[at + h], p->sink[first_head + h], &nl[h], &p_sink);
        dsa_load(t->dout[h], p->dout + (at + h) * DSA_V, DSA_V, p->fp16);
        if (nl[h] != -INFINITY || p_sink != 0) {
            dsa_load(t->q[h], p->out + (at + h) * DSA_V, DSA_V, p->fp16);
            delta = head_delta(t->q[h], t->dout[h]);
        }
        terms[h] = p_sink != 0 ? p_sink * delta : 0;
        t->delta[h] = (float)delta;
        dsa_load(t->q[h], p->q + (at + h) * p->width, p->width, p->fp16);
        memset(t->dq[h], 0, sizeof(t->dq[h]));
    }
}

/* P and dS of a tile of one head, rounded, also to the block's memory. */
DSA_INLINE void head_tile(const struct dsa_bwd_plan *p, struct dsa_bwd_tile *t, int64_t h, float nl,
                          int64_t n, float *p_to, float *ds_to)
{
    const float factor = p->scale * (float)DSA_LOG2E;
    float *s = t->s[h], *dp = t->dp[h];

    if (nl == -INFINITY) {
        memset(s, 0, sizeof(t->s[h]));
        memset(dp, 0, sizeof(t->dp[h]));
    } else {
        for (int64_t j = 0; j < DSA_TILE; j++)
            s[j] = dsa_exp2(s[j] * factor + nl);
        for (int64_t j = n; j < DSA_TILE; j++)
            s[j] = 0;
        for (int64_t j = 0; j < DSA_TILE; j++)
            dp[j] = s[j] * (dp[j] - t->delta[h]);
        dsa_round(s, DSA_TILE, p->fp16);
        dsa_round(dp, DSA_TILE, p->fp16);
    }
    memcpy(p_to, s, sizeof(t->s[h]));
    memcpy(ds_to, dp, sizeof(t->dp[h]));
}

DSA_INLINE void body_group(const struct dsa_bwd_plan *p, struct dsa_bwd_tile *t, int64_t first,
                           int64_t i, int64_t group)
{
    const int64_t head = group * DSA_TILE, at = (first + i) * p->heads + head;
    const int64_t heads = p->heads - head < DSA_TILE ? p->heads - head : DSA_TILE;
    const int64_t place = (i * p->heads + head) * p->pitch, nr = p->nr[i];
    const int32_t *ids = p->active + i * p->slots;

    load_heads(p, t, i, head, heads, at);
    for (int64_t j = 0; j < nr; j += DSA_TILE) {
        const int64_t n = nr - j < DSA_TILE ? nr - j : DSA_TILE;

        dsa_gather(p->kv, p->width, ids + j, n, t->rows[0], t->turned[0], p->fp16);
        dsa_product(heads, DSA_TILE, p->width, (struct dsa_operand){t->q[0], DSA_WIDTH, 1},
                    (struct dsa_operand){t->turned[0], 0, DSA_TILE}, t->s[0], DSA_TILE, 0);
        dsa_product(heads, DSA_TILE, DSA_V, (struct dsa_operand){t->dout[0], DSA_V, 1},
                    (struct dsa_operand){t->turned[0], 0, DSA_TILE}, t->dp[0], DSA_TILE, 0);
        for (int64_t h = 0; h < heads; h++)
            head_tile(p, t, h, p->nl[i * p->heads + head + h], n, p->p + place + h * p->pitch + j,
                      p->ds + place + h * p->pitch + j);
        dsa_product(heads, p->width, n, (struct dsa_operand){t->dp[0], DSA_TILE, 1},
                    (struct dsa_operand){t->rows[0], 0, DSA_PITCH}, t->dq[0], DSA_WIDTH, 1);
    }
    for (int64_t h = 0; h < heads; h++)
        dsa_store(p->dq + (at + h) * p->width, t->dq[h], p->scale, p->width, p->fp16);
}

/* 64 columns of q and dout of all heads of a group; dead heads are 0, so that 0 * NaN is never
 * met. */
DSA_INLINE void load_strip(const struct dsa_bwd_plan *p, struct dsa_bwd_tile *t, int64_t i,
                           int64_t head, int64_t heads, int64_t at, int64_t column)
{
    for (int64_t h = 0; h < heads; h++) {
        float *q = t->q[0] + h * DSA_TILE, *dout = t->dout[0] + h * DSA_TILE;

        if (p->nl[i * p->heads + head + h] == -INFINITY) {
            memset(q, 0, DSA_TILE * sizeof(*q));
            memset(dout, 0, DSA_TILE * sizeof(*dout));
            continue;
        }
        dsa_load(q, p->q + (at + h) * p->width + column, DSA_TILE, p->fp16);
        for (int64_t d = 0; d < DSA_TILE; d++)
            q[d] *= p->scale;
        if (column < DSA_V)
            dsa_load(dout, p->dout + (at + h) * DSA_V + column, DSA_TILE, p->fp16);
    }
}

/* The slots of a tile that belong to the part: P and dS of all heads, slot by slot side by side.
 * Their number; which ones they are, in `which`. */
DSA_INLINE int64_t pack(const struct dsa_bwd_plan *p, struct dsa_bwd_tile *t, int64_t i,
                        int64_t head, int64_t heads, int64_t j, int64_t part, int32_t *which)
{
    const int32_t *ids = p->active + i * p->slots + j;
    const int64_t left = p->nr[i] - j, place = (i * p->heads + head) * p->pitch + j;
    int64_t n = 0;

    for (int64_t k = 0; k < left && k < DSA_TILE; k++)
        if (ids[k] % p->parts == part)
            which[n++] = (int32_t)k;
    for (int64_t h = 0; h < heads; h++) {
        const float *from = p->p + place + h * p->pitch, *ds = p->ds + place + h * p->pitch;

        for (int64_t k = 0; k < n; k++) {
            t->s[h][k] = from[which[k]];
            t->dp[h][k] = ds[which[k]];
        }
    }
    return n;
}

/* What the slots of a tile give to 64 columns of the part's rows of dkv, slot by slot. */
DSA_INLINE void add_tile(const struct dsa_bwd_plan *p, struct dsa_bwd_tile *t, int64_t i,
                         int64_t head, int64_t heads, int64_t j, int64_t column, int64_t part)
{
    const int32_t *ids = p->active + i * p->slots + j;
    float *given = t->rows[0];
    int32_t which[DSA_TILE];
    const int64_t n = pack(p, t, i, head, heads, j, part, which);

    dsa_product(n, DSA_TILE, heads, (struct dsa_operand){t->dp[0], 1, DSA_TILE},
                (struct dsa_operand){t->q[0], 0, DSA_TILE}, given, DSA_TILE, 0);
    if (column < DSA_V)
        dsa_product(n, DSA_TILE, heads, (struct dsa_operand){t->s[0], 1, DSA_TILE},
                    (struct dsa_operand){t->dout[0], 0, DSA_TILE}, given, DSA_TILE, 1);
    for (int64_t k = 0; k < n; k++) {
        float *sum = p->sum + ids[which[k]] * p->width + column;

        for (int64_t d = 0; d < DSA_TILE; d++)
            sum[d] += given[k * DSA_TILE + d];
    }
}

DSA_INLINE void body_strip(const struct dsa_bwd_plan *p, struct dsa_bwd_tile *t, int64_t first,
                           int64_t column, int64_t part)
{
    const int64_t rows = p->rows - first < p->block ? p->rows - first : p->block;

    for (int64_t i = 0; i < rows; i++)
        for (int64_t head = 0; head < p->heads; head += DSA_TILE) {
            const int64_t left = p->heads - head, heads = left < DSA_TILE ? left : DSA_TILE;

            if (p->nr[i] > 0)
                load_strip(p, t, i, head, heads, (first + i) * p->heads + head, column);
            for (int64_t j = 0; j < p->nr[i]; j += DSA_TILE)
                add_tile(p, t, i, head, heads, j, column, part);
        }
}

DSA_INLINE void body_key(const struct dsa_bwd_plan *p, int64_t row)
{
    dsa_store(p->dkv + row * p->width, p->sum + row * p->width, 1, p->width, p->fp16);
}

#endif
