/*
 * cpu_tile.h - dsa_bwd/cpu: the plan, the scratch of a thread, and the variants by instructions.
 *
 * Blocks of query rows go through two phases. In the first every row, by itself, writes P and dS of
 * its active slots, dq and its terms of d_sink. In the second every strip of 64 columns of dkv is
 * added up by one thread (or by several that share the rows of kv among them), query rows and slots
 * in order. So every sum has one order, whatever the number of threads.
 */
#ifndef DSA_BWD_CPU_TILE_H
#define DSA_BWD_CPU_TILE_H

#include "dsa_cpu.h"

struct dsa_bwd_tile {
    _Alignas(64) float q[DSA_TILE][DSA_WIDTH];
    float dout[DSA_TILE][DSA_V];
    float dq[DSA_TILE][DSA_WIDTH];
    float rows[DSA_TILE][DSA_PITCH];
    float turned[DSA_WIDTH][DSA_TILE];
    float s[DSA_TILE][DSA_TILE];  /* scores, then P */
    float dp[DSA_TILE][DSA_TILE]; /* dP, then dS */
    float delta[DSA_TILE];
};

struct dsa_bwd_plan {
    const struct dsa_bwd_variant *variant;
    const uint16_t *q, *kv, *out, *dout;
    const float *lse, *sink;
    const int32_t *ids, *length; /* length NULL: every slot */
    uint16_t *dq, *dkv;
    float *d_sink;
    int64_t rows, keys, heads, width, slots;
    int64_t pitch; /* slots of a row of P, padded to whole tiles */
    int64_t block; /* query rows that go through both phases at once */
    float scale;
    int fp16, threads;
    int parts;                  /* that share a strip */
    struct dsa_bwd_tile *tiles; /* one a thread */
    /* In the workspace. */
    float *sum;      /* [N][D]: dkv */
    double *d_total; /* [H]: d_sink */
    double *terms;   /* [block][H]: p_sink * delta */
    float *nl;       /* [block][H]: nL, section 3.2 of the contract */
    float *p, *ds;   /* [block][H][pitch], rounded to the tensors' type */
    int64_t *nr;     /* [block]: active slots */
    int32_t *active; /* [block][K]: their ids */
};

static inline int64_t dsa_bwd_length(const struct dsa_bwd_plan *p, int64_t row)
{
    const int64_t length = p->length ? p->length[row] : p->slots;

    return length < 0 ? 0 : length > p->slots ? p->slots : length;
}

struct dsa_bwd_variant {
    /* Phase 1: heads from 64 * group on of row `i` of the block that begins at row `first`. */
    void (*group)(const struct dsa_bwd_plan *p, struct dsa_bwd_tile *t, int64_t first, int64_t i,
                  int64_t group);
    /* Phase 2: 64 columns from `column` on, of the rows of kv that are `part` modulo parts. */
    void (*strip)(const struct dsa_bwd_plan *p, struct dsa_bwd_tile *t, int64_t first,
                  int64_t column, int64_t part);
    /* A finished row of dkv. */
    void (*key)(const struct dsa_bwd_plan *p, int64_t row);
};

extern const struct dsa_bwd_variant dsa_bwd_variant_plain;
#if defined(__x86_64__)
extern const struct dsa_bwd_variant dsa_bwd_variant_avx2; /* with FMA */
extern const struct dsa_bwd_variant dsa_bwd_variant_avx512;
#endif

#endif
