/*
 * sage_model.h - what the files of sage_fwd's model share. Section numbers are those of the sage
 * contract.
 */
#ifndef BENCH_MODEL_OPS_SAGE_MODEL_H
#define BENCH_MODEL_OPS_SAGE_MODEL_H

#include <stdbool.h>
#include <stdint.h>

#include "blocks_model.h"

/* The sizes that only this operator has. */
static inline int64_t sage_k_padded(const struct blocks_sizes *s)
{
    return BLOCKS_TILE * s->k_blocks;
}

static inline int64_t sage_q_scales(const struct blocks_sizes *s)
{
    return 4 * (s->seqlen_q / 128 + (s->seqlen_q % 128 != 0));
}

int sage_cost(const struct op_case *c, struct op_cost *cost, struct err *err);
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
