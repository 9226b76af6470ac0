/*
 * sage_quant_model.h - what the models of the two Sage quantisers share. Section numbers are those
 * of the sage contract; the operators are its section 8.
 */
#ifndef BENCH_MODEL_OPS_SAGE_QUANT_MODEL_H
#define BENCH_MODEL_OPS_SAGE_QUANT_MODEL_H

#include <stdint.h>

#include "opmodel.h"

enum quant_axis {
    QUANT_BATCH = 0,
    QUANT_HEADS,
    QUANT_SEQLEN,
    QUANT_DTYPE,
    QUANT_HEAD_DIM,
    QUANT_DATA,
    QUANT_AXES_NR
};

#define QUANT_DIM   128
#define QUANT_GROUP 32 /* query rows that share a scale */
#define QUANT_BLOCK 64 /* keys that share a scale */

/* More values than this are not held as a whole. */
#define QUANT_WHOLE_MAX (INT64_C(1) << 24)

/* The axes of an operator, its tokens named `seqlen`. */
#define QUANT_AXES(seqlen, tokens)                                                                 \
    {                                                                                              \
        [QUANT_BATCH] = {"batch", AXIS_INT, NULL, "1", 1, 1048576, "sequences"},                   \
        [QUANT_HEADS] = {"heads", AXIS_INT, NULL, "2", 1, 1048576, "heads"},                       \
        [QUANT_SEQLEN] = {seqlen, AXIS_INT, NULL, "512", 1, 16777216, tokens},                     \
        [QUANT_DTYPE] = {"dtype", AXIS_WORD, "bf16", "bf16", 0, 0, "of what is quantised"},        \
        [QUANT_HEAD_DIM] = {"head_dim", AXIS_INT, NULL, "128", 128, 128, "channels"},              \
        [QUANT_DATA] = {"data",                                                                    \
                        AXIS_WORD,                                                                 \
                        "normal outlier zero",                                                     \
                        "normal",                                                                  \
                        0,                                                                         \
                        0,                                                                         \
                        "N(0,1), the same with one channel 1000 times as wide, or all 0"},         \
    }

/* Gives tensor `place` its type and shape (bf16 inputs also the recipe that the case asks for).
 * Returns -1 where its bytes do not fit 63 bits. */
int quant_tensor(const struct op_case *c, struct op_problem *p, uint32_t place, int32_t dtype,
                 const int64_t *shape, int32_t rank, struct err *err);

static inline int64_t quant_heads(const struct op_case *c)
{
    return c->axis[QUANT_BATCH].i * c->axis[QUANT_HEADS].i;
}

static inline int64_t quant_ceil(int64_t a, int64_t b)
{
    return a / b + (a % b != 0);
}

/* Appends one slice of a head; scaled by element `unit_at` of `unit` where that is an output. */
#define QUANT_NO_UNIT UINT32_MAX
int quant_slice(struct op_slices *out, uint32_t tensor, int64_t at, int64_t n, int64_t head,
                int64_t tile, uint32_t unit, int64_t unit_at, struct err *err);

/* The scale of a largest absolute value: max(amax, 1e-7)/divisor. */
double quant_scale(double amax, double divisor);

/* Room for a slice's reference (and its `within`, all 0, where wanted). */
int quant_room(struct op_slice *s, bool within);

int quant_kv_oracle(const struct op_problem *p, const struct op_source *src,
                    const struct sab_attribute *attributes, uint32_t attributes_nr, int threads,
                    struct op_slices *slices, struct err *err);

#endif
