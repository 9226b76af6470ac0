/*
 * ceiling_model.h - what the models of the ceiling operators share.
 */
#ifndef BENCH_MODEL_OPS_CEILING_MODEL_H
#define BENCH_MODEL_OPS_CEILING_MODEL_H

#include "opmodel.h"

/* Gives a tensor its type, shape and a recipe of `kind` without parameters. */
struct recipe *ceiling_tensor(const struct op_case *c, struct op_problem *p, uint32_t place,
                              int32_t dtype, const int64_t *shape, int32_t rank, uint32_t kind);
/* Rows of `width` elements of a tensor with `rows` of them: all, or up to 64 spread evenly. */
int ceiling_slices(struct op_slices *out, uint32_t tensor, int64_t rows, int64_t width,
                   struct err *err);
/* Room for the values of a slice. */
int ceiling_room(struct op_slice *s, struct err *err);

#endif
