/*
 * malformed.h - problems that a kernel must refuse, made from one that it serves: one thing is
 * changed at a time, and what the contract (ops.h, through sab_validate()) does not call invalid
 * then is left out.
 */
#ifndef BENCH_CORE_MALFORMED_H
#define BENCH_CORE_MALFORMED_H

#include <stdbool.h>

#include "err.h"
#include "sab.h"
#include "schema.h"

struct malformed {
    char name[160]; /* "'q_int8' transposed", "'softmax_scale' = nan" */
    char rule[512]; /* what the validator says of it */
    struct sab_problem problem;
    struct sab_tensor tensor[SAB_MAX_TENSORS];
    union sab_value param[SAB_MAX_PARAMS];
    struct sab_buffer workspace;
    bool in_metadata; /* supports() sees it too; else only plan() */
};

/* Returns 0 to go on; anything else ends the walk and is returned by it. */
typedef int (*malformed_fn)(void *ctx, const struct malformed *m);

/* `base` is legal, with pointers; `workspace` serves it. */
int malformed_each(const struct sab_op_spec *op, const struct sab_problem *base,
                   const struct sab_buffer *workspace, enum sab_device device, malformed_fn fn,
                   void *ctx);

#endif
