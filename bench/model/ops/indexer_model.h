/*
 * indexer_model.h - what the models of the indexer's operators share. Section numbers are those of
 * the indexer contract; B, Sq, Sk, H, Hk, D, K as there.
 *
 * Axes have the same names in every operator, so that a case of one is found in another: an
 * operator that lacks an axis has it at the value that ix_sizes() assumes.
 */
#ifndef BENCH_MODEL_OPS_INDEXER_MODEL_H
#define BENCH_MODEL_OPS_INDEXER_MODEL_H

#include <stdbool.h>
#include <stdint.h>

#include "opmodel.h"

/* clang-format off */
#define IX_BATCH         {"batch", AXIS_INT, NULL, "1", 1, 1048576, "batches, or packed segments"}
#define IX_HEADS(n)      {"heads", AXIS_INT, NULL, n, 1, 128, "query heads"}
#define IX_KV_HEADS(max) {"kv_heads", AXIS_INT, NULL, "1", 1, max, "key heads"}
#define IX_SEQLEN_Q      {"seqlen_q", AXIS_INT, NULL, "64", 1, 16777216, "query rows of a batch; packed: on average"}
#define IX_SEQLEN_K      {"seqlen_k", AXIS_INT, NULL, "seqlen_q", 1, 1073741824, "key columns of a batch; packed: on average"}
#define IX_HEAD_DIM      {"head_dim", AXIS_INT, NULL, "128", 1, 576, "width of a row of q and k"}
#define IX_TOPK(n)       {"topk", AXIS_INT, NULL, n, 1, 16777216, "slots a row"}
#define IX_RATIO         {"compress_ratio", AXIS_INT, NULL, "1", 1, 1048576, "uncompressed tokens per key column"}
#define IX_OFFSET        {"offset", AXIS_WORD, "none zero end whole negative int_min int_max mixed", "none", 0, 0, \
                          "q_causal_offset: absent; 0; so that the last row just sees all columns; that all rows do; -3; the ends of its type; all of these in turn"}
#define IX_LAYOUT        {"layout", AXIS_WORD, "bshd thd", "bshd", 0, 0, "padded batches; packed segments of uneven lengths"}
#define IX_PATTERN       {"pattern", AXIS_WORD, "unique sorted duplicates overlap single scattered padded invalid", "unique", 0, 0, \
                          "ids of a row: random without repetition; ascending; repeated; shared with the neighbours; one id everywhere; every eighth invalid; the last quarter -1; all invalid"}
#define IX_LENGTHS       {"lengths", AXIS_WORD, "none full ragged random short empty", "full", 0, 0, \
                          "topk_length: absent; all slots; next to 0, 64, 128 and topk, out of range too; 0 to topk; 1 to a quarter; 0"}
#define IX_ID_SPACE      {"id_space", AXIS_WORD, "local global", "local", 0, 0, "ids count from the first column of the batch; of all"}
#define IX_LSE           {"lse", AXIS_WORD, "random mixed", "random", 0, 0, "ln(seqlen_k) + 1/2 and a bit; the same with every fifth +inf, which switches a head off"}
#define IX_SCALE(name)   {name, AXIS_REAL, NULL, "0", 0, 1e6, "0: 1/sqrt(head_dim)"}
/* clang-format on */

/* The sizes that follow from a case. */
struct ix_sizes {
    int64_t batch, heads, kv_heads, seqlen_q, seqlen_k, width, slots, ratio;
    int64_t rows, keys; /* of all batches */
    int64_t columns;    /* of a dense matrix: Sk, or the most of a segment, rounded up to 4 */
    int64_t most_q;     /* max_seqlen_q, max_seqlen_k of packed segments */
    bool packed;
};

void ix_sizes(const struct op_case *c, struct ix_sizes *s);
/* An axis's value, or `otherwise` where the operator has none of that name. */
int64_t ix_axis(const struct op_case *c, const char *name, int64_t otherwise);
/* The scale of an axis of IX_SCALE, as the operator gets it. */
double ix_scale(const struct op_case *c, const char *axis);

/* q_causal_offset of a batch; 0 where there is no such tensor. */
int64_t ix_offset(const struct op_case *c, const struct ix_sizes *s, int64_t batch);

/* Shapes of ops/indexer.h, in the layout of the case. */
enum ix_shape {
    IX_SHAPE_Q = 0, /* B Sq H D | Tq H D */
    IX_SHAPE_K,     /* B Sk Hk D | Tk Hk D */
    IX_SHAPE_K1,    /* B Sk D | Tk D */
    IX_SHAPE_KEYS,  /* B Sk | Tk */
    IX_SHAPE_ROWS,  /* B Sq | Tq */
    IX_SHAPE_HEADS, /* B Sq H | Tq H */
    IX_SHAPE_SLOTS, /* B Sq K | Tq K */
    IX_SHAPE_DENSE, /* B Sq Sk | Tq max_seqlen_k */
    IX_SHAPE_MX_Q,  /* B Sq H ceil(D/32) | Tq H ceil(D/32) */
    IX_SHAPE_MX_K,  /* B Sk ceil(D/32) | Tk ceil(D/32) */
    IX_SHAPE_MX_KH, /* B Sk Hk ceil(D/32) | Tk Hk ceil(D/32) */
    IX_SHAPE_BATCH, /* B */
    IX_SHAPE_ENDS,  /* B+1 */
    IX_SHAPE_ONE
};

/* Streams of random values: the same tensor has the same contents in every operator. */
enum ix_stream {
    IX_STREAM_Q = 1,
    IX_STREAM_K,
    IX_STREAM_W,
    IX_STREAM_Q_SCALE,
    IX_STREAM_K_SCALE,
    IX_STREAM_CU_Q,
    IX_STREAM_CU_K,
    IX_STREAM_IDS,
    IX_STREAM_LENGTH,
    IX_STREAM_ATTN_Q,
    IX_STREAM_ATTN_K,
    IX_STREAM_LSE,
    IX_STREAM_TARGET,
    IX_STREAM_PREDICT,
    IX_STREAM_SCORES
};
uint64_t ix_seed(const struct op_case *c, enum ix_stream stream);

/* Adds a tensor by its name in ops.h, without a recipe. NULL with err set where it is too large. */
struct op_tensor *ix_add(struct op_problem *p, const char *name, int32_t dtype, enum ix_shape shape,
                         const struct ix_sizes *s, struct err *err);
/* The same filled with f0*N(0,1) + f1. */
int ix_add_normal(struct op_problem *p, const char *name, int32_t dtype, enum ix_shape shape,
                  const struct ix_sizes *s, uint64_t seed, double f0, double f1, struct err *err);
/* Offsets, segments and the parameters layout, max_seqlen_*, ratio, where the operator has them. */
int ix_add_layout(const struct op_case *c, const struct ix_sizes *s, struct op_problem *p,
                  struct err *err);
/* lse of attention, at the height that the products give it. */
int ix_add_lse(const struct op_case *c, const struct ix_sizes *s, struct op_problem *p,
               struct err *err);
/* ids and length, and the parameter id_space. */
int ix_add_ids(const struct op_case *c, const struct ix_sizes *s, struct op_problem *p,
               struct err *err);
/* The recipe of the ids, which also knows the lengths. */
void ix_ids_recipe(const struct op_case *c, const struct ix_sizes *s, struct recipe *r);
/* Adds what memory has to move: every output; of the keys' inputs the share `keys`, of the others
 * the share `rows`. */
void ix_use_memory(const struct op_problem *p, double rows, double keys, struct op_cost *cost);
/* Active slots of all rows; segments that are shorter than the average are not looked at. */
double ix_active(const struct op_case *c);

/* What the operators ask of every case. */
int ix_settle(struct op_case *c, struct err *err);
/* A dense matrix has rows of whole groups of four columns, or only one. */
int ix_settle_dense(const struct op_case *c, struct err *err);
/* Widths and heads that the score operators serve (section 4). */
int ix_settle_served(const struct op_case *c, struct err *err);
/* A case of another operator that has this one's axes wherever the names are equal. */
int ix_case_like(const struct op_case *c, const struct op_model *op, struct op_case *out,
                 struct err *err);

/* ---- rows of a problem ---- */

/* Which columns each row sees, by the contents of the tensors. */
struct ix_rows {
    int64_t batch, rows, keys; /* of all batches */
    int64_t seqlen_q, seqlen_k, columns, ratio;
    int32_t *offsets, *cu_q, *cu_k; /* NULL: 0, padded */
};

struct ix_place {
    int64_t batch, q;      /* row of its batch */
    int64_t first_k, keys; /* of the batch */
    int64_t limit;         /* columns seen */
};

/* Reads offsets and segments. ERR_BUG where they cannot be read. */
int ix_rows_init(struct ix_rows *r, const struct op_problem *p, const struct op_source *src,
                 struct err *err);
void ix_rows_release(struct ix_rows *r);
void ix_rows_place(const struct ix_rows *r, int64_t row, struct ix_place *place);
/* Columns that the rows of a case see, all together; rows that see some, keys that some row sees.
 */
struct ix_seen {
    double columns, rows, keys;
};

int ix_visible(const struct op_case *c, struct ix_seen *seen, struct err *err);

/* The slots of an operator with ids. */
struct ix_slots {
    const struct op_problem *p;
    const struct op_source *src;
    uint32_t ids, length;
    int64_t slots;
    bool global;
};

void ix_slots_init(struct ix_slots *s, const struct op_problem *p, const struct op_source *src);
/* The key of each slot of a row, counted over all batches, -1 where it is not active (section 1,
 * rules 2 and 3). Negative where it cannot be read. */
int ix_slots_read(const struct ix_slots *s, const struct ix_rows *rows, int64_t row, int64_t *keys);

/* Reads `n` elements from `at` on as doubles. Negative where they cannot be read. */
int ix_read(const struct op_problem *p, const struct op_source *src, uint32_t tensor, int64_t at,
            int64_t n, double *dst);

#endif
