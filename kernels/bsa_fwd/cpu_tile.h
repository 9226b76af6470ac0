/*
 * cpu_tile.h - bsa_fwd/cpu: the plan, the scratch of a thread, and the variants by instructions.
 */
#ifndef BSA_FWD_CPU_TILE_H
#define BSA_FWD_CPU_TILE_H

#include "dsa_cpu.h"

#define BSA_ROWS 64  /* query rows of a tile */
#define BSA_KEYS 64  /* keys of a block */
#define BSA_D    128 /* channels */

/* Up to 64 query rows of one head. */
struct bsa_tile {
    _Alignas(64) float q[BSA_ROWS][BSA_D];
    float o[BSA_ROWS][BSA_D];       /* not yet divided by l */
    float v[BSA_KEYS][BSA_D];       /* values of a block */
    float turned[BSA_D][BSA_KEYS];  /* its keys, a key a column */
    float s[BSA_ROWS][BSA_KEYS];    /* scores, then weights */
    float m[BSA_ROWS], l[BSA_ROWS]; /* largest score in log2 units, sum of 2^(s - m) */
    int64_t rows;
};

struct bsa_plan {
    const struct bsa_variant *variant;
    const uint16_t *q, *k, *v;
    const int32_t *index;
    const int32_t *nums;  /* NULL: every row uses `num` slots */
    const int32_t *sizes; /* NULL: mode 0 */
    uint16_t *out;
    float *lse; /* NULL where it is not asked for */
    int64_t heads, kv_heads, q_len, k_len, q_blocks, k_blocks, cap, num;
    int64_t sizes_batch; /* stride of block_sizes over batches, elements; 0 in mode 1 */
    int64_t sizes_head;  /* and over heads; 0 in modes 1 and 2 */
    int64_t tiles;       /* batch * heads * q_blocks */
    float scale_log2;    /* softmax_scale * log2(e) */
    int fp16, contiguous, threads;
    struct bsa_tile *scratch; /* one a thread */
};

/* One tile: `q` its rows, and where its results go; lse may be NULL. */
struct bsa_variant {
    void (*begin)(const struct bsa_plan *p, struct bsa_tile *t, const uint16_t *q);
    /* Keys 0 to valid - 1 of a block; valid is above 0. */
    void (*fold)(const struct bsa_plan *p, struct bsa_tile *t, const uint16_t *k, const uint16_t *v,
                 int64_t valid);
    void (*finish)(const struct bsa_plan *p, const struct bsa_tile *t, uint16_t *out, float *lse);
};

extern const struct bsa_variant bsa_variant_plain;
#if defined(__x86_64__)
extern const struct bsa_variant bsa_variant_avx2; /* with FMA */
extern const struct bsa_variant bsa_variant_avx512;
#endif

#endif
