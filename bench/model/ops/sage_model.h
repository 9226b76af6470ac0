/*
 * sage_model.h - what the files of sage_fwd's model share. Section numbers are those of the sage
 * contract.
 */
#ifndef BENCH_MODEL_OPS_SAGE_MODEL_H
#define BENCH_MODEL_OPS_SAGE_MODEL_H

#include <stdbool.h>
#include <stdint.h>

#include "opmodel.h"

enum sage_axis {
    SAGE_BATCH = 0,
    SAGE_HEADS,
    SAGE_KV_HEADS,
    SAGE_SEQLEN_Q,
    SAGE_SEQLEN_K,
    SAGE_DENSITY,
    SAGE_TOPK,
    SAGE_HEAD_DIM,
    SAGE_DTYPE,
    SAGE_PATTERN,
    SAGE_COUNTS,
    SAGE_PROMISE,
    SAGE_CAP,
    SAGE_SIZES_MODE,
    SAGE_SOFTMAX_SCALE,
    SAGE_DATA,
    SAGE_AXES_NR
};

enum sage_promise {
    PROMISE_AUTO = 0,
    PROMISE_UNIFORM_CONTIGUOUS,
    PROMISE_UNIFORM,
    PROMISE_PER_ROW,
    PROMISE_SCALAR
};

#define SAGE_TILE 64 /* query rows of a tile, tokens of a key block */
#define SAGE_DIM  128

/* The sizes that follow from a case (section 1). */
struct sage_sizes {
    int64_t batch, heads, kv_heads, seqlen_q, seqlen_k, dim;
    int64_t q_blocks, k_blocks, k_padded, q_scales;
    int64_t selected; /* slots asked for, at most k_blocks */
    int64_t cap;
    int sizes_mode;
    enum sage_promise promise; /* never PROMISE_AUTO */
};

void sage_sizes(const struct op_case *c, struct sage_sizes *s);
/* The recipe of q2k_block_index, which also knows every row's count. */
void sage_rows_recipe(const struct op_case *c, const struct sage_sizes *s, struct recipe *r);

int sage_cost(const struct op_case *c, struct op_cost *cost, struct err *err);
double sage_oracle_flops(const struct op_case *c);
int sage_slices(const struct op_case *c, double flops, struct op_slices *out, struct err *err);
size_t sage_bars(const struct op_case *c, bool sampled, struct bar bars[OP_MAX_BARS]);
size_t sage_bars_fed(const struct op_case *c, bool sampled, struct bar bars[OP_MAX_BARS]);
int sage_oracle(const struct op_problem *p, const struct op_source *src,
                const struct sab_attribute *attributes, uint32_t attributes_nr, int threads,
                struct op_slices *slices, struct err *err);
/* Attention of the unquantised q, k and v over the same blocks: see op_model.accuracy. */
int sage_accuracy(const struct op_problem *p, const struct op_source *src,
                  const struct op_source *raw, int threads, struct op_slices *slices,
                  struct err *err);

#endif
