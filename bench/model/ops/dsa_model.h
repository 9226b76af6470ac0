/*
 * dsa_model.h - what the models of dsa_fwd and dsa_bwd share. Section numbers are those of the dsa
 * contract; T, N, H, D, K as there.
 */
#ifndef BENCH_MODEL_OPS_DSA_MODEL_H
#define BENCH_MODEL_OPS_DSA_MODEL_H

#include <stdbool.h>
#include <stdint.h>

#include "opmodel.h"

enum dsa_axis {
    DSA_BATCH = 0,
    DSA_HEADS,
    DSA_KV_HEADS,
    DSA_SEQLEN_Q,
    DSA_SEQLEN_K,
    DSA_TOPK,
    DSA_HEAD_DIM,
    DSA_DTYPE,
    DSA_PATTERN,
    DSA_OVERLAP,
    DSA_LENGTHS,
    DSA_SINK,
    DSA_SOFTMAX_SCALE,
    DSA_DATA,
    DSA_OWN, /* lse_prefix forward, deterministic backward */
    DSA_AXES_NR
};
#define DSA_LSE_PREFIX    DSA_OWN
#define DSA_DETERMINISTIC DSA_OWN

/* In the order of the words of the axes. Patterns and lengths are those of recipe_ids.h. */
enum dsa_sink {
    SINK_NONE = 0, /* forward: absent; backward, which requires it: -inf */
    SINK_LINSPACE,
    SINK_NEG_INF,
    SINK_POS_INF,
    SINK_LN_K,
    SINK_LARGE,
    SINK_OVERFLOW,
    SINK_MIXED
};
enum dsa_data {
    DATA_BENCH = 0,
    DATA_CUDNN,
    DATA_FLASHMLA,
    DATA_UNIT,
    DATA_DEEP,
    DATA_POISON,
    DATA_PREFIX_BELOW /* forward only */
};

#define DSA_V     512 /* columns of a value */
#define DSA_WIDTH 576 /* the larger width */
#define DSA_AXES_OF_BOTH                                                                           \
    [DSA_BATCH] = {"batch", AXIS_INT, NULL, "1", 1, 1, "batches are packed: always 1"},            \
    [DSA_HEADS] = {"heads", AXIS_INT, NULL, "8", 1, 65536, "query heads"},                         \
    [DSA_KV_HEADS] = {"kv_heads", AXIS_INT, NULL, "1", 1, 1, "one head of keys and values"},       \
    [DSA_SEQLEN_Q] = {"seqlen_q", AXIS_INT, NULL, "48", 0, 16777216, "query rows"},                \
    [DSA_SEQLEN_K] =                                                                               \
        {"seqlen_k", AXIS_INT, NULL, "seqlen_q", 0, 2147483647.0, "rows of keys and values"},      \
    [DSA_TOPK] = {"topk",                                                                          \
                  AXIS_INT,                                                                        \
                  NULL,                                                                            \
                  "32",                                                                            \
                  0,                                                                               \
                  16777216,                                                                        \
                  "slots a row; where there are fewer rows of keys, the rest holds -1"},           \
    [DSA_HEAD_DIM] = {"head_dim",                                                                  \
                      AXIS_INT,                                                                    \
                      NULL,                                                                        \
                      "512",                                                                       \
                      512,                                                                         \
                      576,                                                                         \
                      "512 or 576 columns; a value is the first 512"},                             \
    [DSA_DTYPE] = {"dtype", AXIS_WORD, "bf16 fp16", "bf16", 0, 0, "of q, kv and the gradients"},   \
    [DSA_PATTERN] = {"pattern",                                                                    \
                     AXIS_WORD,                                                                    \
                     "unique sorted duplicates overlap single scattered padded invalid",           \
                     "unique",                                                                     \
                     0,                                                                            \
                     0,                                                                            \
                     "ids of a row: random without repetition; ascending; repeated; shared with "  \
                     "the neighbours; one id everywhere; every eighth invalid; the last quarter "  \
                     "-1; all invalid"},                                                           \
    [DSA_OVERLAP] = {"overlap",                                                                    \
                     AXIS_REAL,                                                                    \
                     NULL,                                                                         \
                     "0.5",                                                                        \
                     0,                                                                            \
                     1,                                                                            \
                     "pattern = overlap: share of the ids that neighbouring rows have in common"}, \
    [DSA_LENGTHS] = {"lengths",                                                                    \
                     AXIS_WORD,                                                                    \
                     "none full ragged random short empty",                                        \
                     "full",                                                                       \
                     0,                                                                            \
                     0,                                                                            \
                     "topk_length: absent; all slots; next to 0, 64, 128 and topk, out of range "  \
                     "too; 0 to topk; 1 to a quarter; 0"},                                         \
    [DSA_SINK] = {"sink",                                                                          \
                  AXIS_WORD,                                                                       \
                  "none linspace neg_inf pos_inf ln_k large overflow mixed",                       \
                  "linspace",                                                                      \
                  0,                                                                               \
                  0,                                                                               \
                  "-2 to 2 over the heads; infinite; ln(topk); 1e30; 3e38, whose product with "    \
                  "log2(e) overflows; all kinds in turn"},                                         \
    [DSA_SOFTMAX_SCALE] = {"softmax_scale",                                                        \
                           AXIS_REAL,                                                              \
                           NULL,                                                                   \
                           "0",                                                                    \
                           0,                                                                      \
                           1e6,                                                                    \
                           "0: 1/sqrt(head_dim), or 0.5 for data = flashmla"}
/* `words` and `help`: what one of them has more. */
#define DSA_AXIS_OF_DATA(words, help)                                                              \
    [DSA_DATA] = {"data",                                                                          \
                  AXIS_WORD,                                                                       \
                  "bench cudnn flashmla unit deep poison" words,                                   \
                  "bench",                                                                         \
                  0,                                                                               \
                  0,                                                                               \
                  "0.1*N(0,1); N(0,1)/sqrt(head_dim); N(0,1)/10 + U(-.05,.05); N(0,1); logits "    \
                  "near -100; bench with a row of NaN that no active slot names" help}

/* The sizes that follow from a case. */
struct dsa_sizes {
    int64_t rows, keys, heads, width, slots;
    int32_t dtype;
};

void dsa_sizes(const struct op_case *c, struct dsa_sizes *s);
/* What both operators ask of a case. */
int dsa_settle(struct op_case *c, struct err *err);
/* The recipe of topk_idxs, which also knows the lengths. */
void dsa_ids_recipe(const struct op_case *c, const struct dsa_sizes *s, struct recipe *r);
/* Active slots of all rows. */
double dsa_active(const struct op_case *c);
/* What both use of a machine, from the FLOPs and bytes in `cost`: rows of kv are gathered once for
 * each 64 heads. */
void dsa_use(const struct op_case *c, struct op_cost *cost, double written_bytes);
/* Root mean square of the values, for the bars that go by it. */
double dsa_rms_of_values(const struct op_case *c);
/* Places of the tensors that both have, in the list of one of them. */
struct dsa_places {
    uint32_t q, kv, topk_idxs, attn_sink, topk_length;
};
/* Shapes and recipes of those tensors; the contents are the same in both operators. */
int dsa_describe_inputs(const struct op_case *c, const struct dsa_places *at, bool sink_required,
                        struct op_problem *p, struct err *err);
/* Shape of any tensor (dimensions up to `rank`), without a recipe. */
int dsa_tensor(struct op_problem *p, uint32_t place, int32_t dtype, const int64_t *shape,
               int32_t rank, struct err *err);
/* A recipe of independent values of the data asked for; data = deep and prefix_below are shifted by
 * `offset` times their height. */
void dsa_values_recipe(const struct op_case *c, struct op_problem *p, uint32_t place, uint64_t seed,
                       double offset);
double dsa_softmax_scale(const struct op_case *c);
/* Seeded row `pick` of `nr`: the first, the last, then random ones. */
int64_t dsa_pick(const struct op_case *c, uint64_t stream, uint64_t pick, int64_t nr);

#endif
