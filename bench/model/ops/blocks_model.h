/*
 * blocks_model.h - what the models of the block-sparse operators, sage_fwd and bsa_fwd, share:
 * axes, sizes, the sparsity metadata and the counting of its work. Section numbers are those of the
 * sage contract.
 */
#ifndef BENCH_MODEL_OPS_BLOCKS_MODEL_H
#define BENCH_MODEL_OPS_BLOCKS_MODEL_H

#include <stdbool.h>
#include <stdint.h>

#include "opmodel.h"

enum blocks_axis {
    BLOCKS_BATCH = 0,
    BLOCKS_HEADS,
    BLOCKS_KV_HEADS,
    BLOCKS_SEQLEN_Q,
    BLOCKS_SEQLEN_K,
    BLOCKS_DENSITY,
    BLOCKS_TOPK,
    BLOCKS_HEAD_DIM,
    BLOCKS_DTYPE,
    BLOCKS_PATTERN,
    BLOCKS_COUNTS,
    BLOCKS_PROMISE,
    BLOCKS_CAP,
    BLOCKS_SIZES_MODE,
    BLOCKS_SOFTMAX_SCALE,
    BLOCKS_DATA,
    BLOCKS_OWN, /* the first axis that only one operator has */
};

enum blocks_promise {
    PROMISE_AUTO = 0,
    PROMISE_UNIFORM_CONTIGUOUS,
    PROMISE_UNIFORM,
    PROMISE_PER_ROW,
    PROMISE_SCALAR
};

#define BLOCKS_TILE 64 /* query rows of a tile, tokens of a key block */
#define BLOCKS_DIM  128

#define BLOCKS_MAX_TOKENS 16777216.0
/* All but kv_heads, dtype and data, which each operator words by itself. */
#define BLOCKS_AXES_OF_BOTH                                                                        \
    [BLOCKS_BATCH] = {"batch", AXIS_INT, NULL, "1", 1, 1048576, "sequences"},                      \
    [BLOCKS_HEADS] = {"heads", AXIS_INT, NULL, "2", 1, 1048576, "query heads"},                    \
    [BLOCKS_SEQLEN_Q] = {"seqlen_q", AXIS_INT, NULL, "512", 1, BLOCKS_MAX_TOKENS, "query tokens"}, \
    [BLOCKS_SEQLEN_K] = {"seqlen_k", AXIS_INT,          NULL,        "seqlen_q",                   \
                         1,          BLOCKS_MAX_TOKENS, "key tokens"},                             \
    [BLOCKS_DENSITY] = {"density",                                                                 \
                        AXIS_REAL,                                                                 \
                        NULL,                                                                      \
                        "0.5",                                                                     \
                        0,                                                                         \
                        1,                                                                         \
                        "share of the key blocks that a row selects, rounded up to whole blocks"}, \
    [BLOCKS_TOPK] = {"topk",                                                                       \
                     AXIS_INT,                                                                     \
                     NULL,                                                                         \
                     "0",                                                                          \
                     0,                                                                            \
                     BLOCKS_MAX_TOKENS,                                                            \
                     "key blocks a row instead of a density; 0: the density decides"},             \
    [BLOCKS_HEAD_DIM] = {"head_dim",                                                               \
                         AXIS_INT,                                                                 \
                         NULL,                                                                     \
                         "128",                                                                    \
                         1,                                                                        \
                         1024,                                                                     \
                         "channels; other than 128 is a case that kernels skip"},                  \
    [BLOCKS_PATTERN] = {"pattern",                                                                 \
                        AXIS_WORD,                                                                 \
                        "contiguous topk",                                                         \
                        "contiguous",                                                              \
                        0,                                                                         \
                        0,                                                                         \
                        "blocks in a row modulo Kb, or a sorted random selection with gaps"},      \
    [BLOCKS_COUNTS] = {"counts",                                                                   \
                       AXIS_WORD,                                                                  \
                       "uniform per_row varying",                                                  \
                       "uniform",                                                                  \
                       0,                                                                          \
                       0,                                                                          \
                       "slots a row: all selected, 1 to selected, or with empty rows and counts "  \
                       "next to multiples of 8"},                                                  \
    [BLOCKS_PROMISE] = {"promise",                                                                 \
                        AXIS_WORD,                                                                 \
                        "auto uniform_contiguous uniform per_row scalar",                          \
                        "auto",                                                                    \
                        0,                                                                         \
                        0,                                                                         \
                        "how the call is made; auto: the strongest that pattern and counts "       \
                        "allow"},                                                                  \
    [BLOCKS_CAP] = {"cap",                                                                         \
                    AXIS_INT,                                                                      \
                    NULL,                                                                          \
                    "0",                                                                           \
                    0,                                                                             \
                    BLOCKS_MAX_TOKENS,                                                             \
                    "slots a row in the index tensor; 0: as many as are selected"},                \
    [BLOCKS_SIZES_MODE] = {"sizes_mode",                                                           \
                           AXIS_INT,                                                               \
                           NULL,                                                                   \
                           "0",                                                                    \
                           0,                                                                      \
                           3,                                                                      \
                           "rank of block_sizes: 0 none, 1 global, 2 per batch, 3 per head"},      \
    [BLOCKS_SOFTMAX_SCALE] = {                                                                     \
        "softmax_scale", AXIS_REAL, NULL, "0", 0, 1e6, "0: 1/sqrt(head_dim)"}

/* The sizes that follow from a case (section 1). */
struct blocks_sizes {
    int64_t batch, heads, kv_heads, seqlen_q, seqlen_k, dim;
    int64_t q_blocks, k_blocks;
    int64_t selected; /* slots asked for, at most k_blocks */
    int64_t cap;
    int sizes_mode;
    enum blocks_promise promise; /* never PROMISE_AUTO */
};

/* Places of the tensors and parameters of the metadata in an operator's lists. */
struct blocks_places {
    uint32_t index, nums, sizes;
    uint32_t num, scale, uniform, contiguous;
};
#define BLOCKS_PLACES(op)                                                                          \
    {                                                                                              \
        SAB_T_##op##_q2k_block_index, SAB_T_##op##_q2k_block_nums, SAB_T_##op##_block_sizes,       \
            SAB_P_##op##_block_sparse_num, SAB_P_##op##_softmax_scale,                             \
            SAB_P_##op##_uniform_block_count, SAB_P_##op##_contiguous_block_indices                \
    }

void blocks_sizes(const struct op_case *c, struct blocks_sizes *s);
/* What both operators ask of a case. */
int blocks_settle(struct op_case *c, struct err *err);
/* The recipe of q2k_block_index, which also knows every row's count. One case of either operator
 * has the same rows. */
void blocks_rows_recipe(const struct op_case *c, const struct blocks_sizes *s, struct recipe *r);
/* Gives tensor `place` its type and shape and a recipe without parameters. Sets *overflow where its
 * bytes do not fit 63 bits. */
struct recipe *blocks_tensor(const struct op_case *c, struct op_problem *p, uint32_t place,
                             int32_t dtype, const int64_t dims[4], int32_t rank, bool *overflow);
/* Tensors and parameters of the metadata. */
void blocks_describe(const struct op_case *c, const struct blocks_sizes *s,
                     const struct blocks_places *at, struct op_problem *p, bool *overflow);

/* What the rows of a case add up to (section 10.1). */
struct blocks_work {
    double slots;      /* sum of n */
    double slot_rows;  /* sum of rows(qb) * n */
    double token_rows; /* sum of rows(qb) * valid tokens */
    double heads;      /* batch * heads */
    double metadata_bytes;
};
void blocks_work(const struct op_case *c, struct blocks_work *w);
/* Everything but the bytes that each input and output has by itself: cost->bytes_min gets those of
 * the metadata alone. */
void blocks_cost(const struct op_case *c, double tile_bytes, struct op_cost *cost);
double blocks_flops(const struct op_case *c);

int64_t blocks_tile_rows(const struct blocks_sizes *s, int64_t tile);
/* Chooses query tiles worth at most `flops`: all, or the first, the last and seeded ones. Calls
 * `add` for each, head counted over batches; stops where it returns negative. */
int blocks_slices(const struct op_case *c, double flops, struct op_slices *out,
                  int (*add)(const struct op_case *c, const struct blocks_sizes *s, int64_t head,
                             int64_t tile, struct op_slices *out, struct err *err),
                  struct err *err);
/* For that: a slice of the rows of a tile of `tensor`, [B,H,Sq,width]. */
int blocks_add_slice(const struct blocks_sizes *s, uint32_t tensor, int64_t width, int64_t head,
                     int64_t tile, struct op_slices *out, struct err *err);

#endif
