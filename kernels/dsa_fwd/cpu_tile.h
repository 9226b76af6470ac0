/*
 * cpu_tile.h - dsa_fwd/cpu: the plan, the scratch of a thread, and the variants by instructions.
 */
#ifndef DSA_FWD_CPU_TILE_H
#define DSA_FWD_CPU_TILE_H

#include "dsa_cpu.h"

struct dsa_fwd_tile {
    _Alignas(64) float q[DSA_TILE][DSA_WIDTH];
    float o[DSA_TILE][DSA_V];          /* not yet divided by l */
    float rows[DSA_TILE][DSA_PITCH];   /* gathered rows of kv */
    float turned[DSA_WIDTH][DSA_TILE]; /* the same, turned */
    float s[DSA_TILE][DSA_TILE];       /* scores, then weights */
    float m[DSA_TILE], l[DSA_TILE];    /* largest logit, sum of e^(s - m) */
};

struct dsa_fwd_plan {
    const struct dsa_fwd_variant *variant;
    const uint16_t *q, *kv;
    const int32_t *ids, *length; /* length NULL: every slot */
    const float *sink;           /* NULL: none */
    uint16_t *out;
    float *max_logits, *lse, *lse_indexer; /* the last NULL where it is not asked for */
    int64_t rows, keys, heads, width, slots, prefix;
    float scale;
    int fp16, threads;
    struct dsa_fwd_tile *tiles; /* one a thread, as ids of a row are */
    int32_t *active;            /* [threads][slots + 1] */
};

static inline int64_t dsa_fwd_length(const struct dsa_fwd_plan *p, int64_t row)
{
    const int64_t length = p->length ? p->length[row] : p->slots;

    return length < 0 ? 0 : length > p->slots ? p->slots : length;
}

struct dsa_fwd_variant {
    /* Heads 64 * group up to 64 * group + 63 of a query row; ids has room for its slots. */
    void (*group)(const struct dsa_fwd_plan *p, struct dsa_fwd_tile *t, int32_t *ids, int64_t row,
                  int64_t group);
};

extern const struct dsa_fwd_variant dsa_fwd_variant_plain;
#if defined(__x86_64__)
extern const struct dsa_fwd_variant dsa_fwd_variant_avx2; /* with FMA */
extern const struct dsa_fwd_variant dsa_fwd_variant_avx512;
#endif

#endif
