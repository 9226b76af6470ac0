/*
 * indexer_dense.h - what the models of indexer_fwd and of the two dense score operators share: a
 * matrix of scores over visible columns, and one sum for each row (indexer contract, sections 2 and
 * 4).
 */
#ifndef BENCH_MODEL_OPS_INDEXER_DENSE_H
#define BENCH_MODEL_OPS_INDEXER_DENSE_H

#include "indexer_model.h"

/* Where an operator has what the oracle reads and writes. */
struct ix_dense_places {
    uint32_t q, k, q_scale, k_scale;
    uint32_t heads; /* [rows,H]: weights of the indexer, lse of attention */
    uint32_t out, sums;
    uint32_t scale; /* parameter */
    bool attention;
};

enum ix_precision { IX_BF16 = 0, IX_FP8, IX_MXFP8 };

#define IX_PRECISION(words)                                                                        \
    {                                                                                              \
        "precision", AXIS_WORD, words, "bf16", 0, 0,                                               \
            "of q and k: bf16, e4m3 with scales, e4m3 with powers of two"                          \
    }
#define IX_DENSE_DATA                                                                              \
    {                                                                                              \
        "data", AXIS_WORD, "normal zero poison", "normal", 0, 0,                                   \
            "N(0,1); queries of 0; N(0,1) with keys of NaN beyond what any row sees"               \
    }

/* In the order of the words of IX_DENSE_DATA. */
enum ix_dense_data { IX_DATA_NORMAL = 0, IX_DATA_ZERO, IX_DATA_POISON };

/* q, k, their scales, the layout. */
int ix_dense_describe(const struct op_case *c, const struct ix_sizes *s, struct op_problem *p,
                      struct err *err);
/* 2*H*D FLOPs a visible column; each tensor's bytes once, the whole matrix among them. */
int ix_dense_cost(const struct op_case *c, struct op_cost *out, struct err *err);
double ix_dense_flops(const struct op_case *c);
/* Rows, whole: `out` and, where it is asked for, `sums`. */
int ix_dense_slices(const struct op_case *c, const struct ix_dense_places *at, bool sums,
                    double flops, struct op_slices *out, struct err *err);
int ix_dense_oracle(const struct op_problem *p, const struct op_source *src,
                    const struct ix_dense_places *at, int threads, struct op_slices *slices,
                    struct err *err);

#endif
