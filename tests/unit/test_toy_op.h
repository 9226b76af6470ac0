/* An operator of its own for the tests of axes and sweeps: tables are data. */
#ifndef TEST_TOY_OP_H
#define TEST_TOY_OP_H

#include <math.h>

#include "opmodel.h"

enum {
    TOY_BATCH,
    TOY_HEADS,
    TOY_KV_HEADS,
    TOY_SEQLEN_Q,
    TOY_SEQLEN_K,
    TOY_DENSITY,
    TOY_TOPK,
    TOY_HEAD_DIM,
    TOY_DTYPE,
    TOY_PATTERN,
    TOY_AXES_NR
};

static const struct axis_spec toy_axes[TOY_AXES_NR] = {
    [TOY_BATCH] = {"batch", AXIS_INT, NULL, "1", 1, 1048576, ""},
    [TOY_HEADS] = {"heads", AXIS_INT, NULL, "8", 1, 1024, ""},
    [TOY_KV_HEADS] = {"kv_heads", AXIS_INT, NULL, "heads", 1, 1024, ""},
    [TOY_SEQLEN_Q] = {"seqlen_q", AXIS_INT, NULL, "1024", 1, 1048576, ""},
    [TOY_SEQLEN_K] = {"seqlen_k", AXIS_INT, NULL, "seqlen_q", 1, 1048576, ""},
    [TOY_DENSITY] = {"density", AXIS_REAL, NULL, "0.5", 0, 1, ""},
    [TOY_TOPK] = {"topk", AXIS_INT, NULL, "0", 0, 1048576, ""},
    [TOY_HEAD_DIM] = {"head_dim", AXIS_INT, NULL, "128", 1, 1024, ""},
    [TOY_DTYPE] = {"dtype", AXIS_WORD, "bf16 fp16", "bf16", 0, 0, ""},
    [TOY_PATTERN] = {"pattern", AXIS_WORD, "contiguous topk", "contiguous", 0, 0, ""},
};

/* Refuses kv_heads that do not divide heads; a topk in blocks of 64 implies the density. */
static int toy_settle(struct op_case *c, struct err *err)
{
    if (c->axis[TOY_HEADS].i % c->axis[TOY_KV_HEADS].i)
        return err_set(err, ERR_CONFIG, "kv_heads = %lld does not divide heads",
                       (long long)c->axis[TOY_KV_HEADS].i);
    if (c->axis[TOY_TOPK].i > 0)
        c->axis[TOY_DENSITY].f =
            fmin(1, (double)c->axis[TOY_TOPK].i / ceil((double)c->axis[TOY_SEQLEN_K].i / 64));
    return 0;
}

static const struct op_model toy = {
    .name = "toy", .axes = toy_axes, .axes_nr = TOY_AXES_NR, .settle = toy_settle};

#endif
