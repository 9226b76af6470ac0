/*
 * chain.h - the problems of an arm's steps, and which tensor of a step is one of an earlier step.
 *
 * A pipeline's kernels run one behind the other. An input of a step is, in this order: the output
 * of the latest earlier step that feeds it by the catalogue (ops.h); the input of an earlier step
 * that has the same name, dtype and shape; or a tensor of its own. A plain arm is a chain of one.
 */
#ifndef BENCH_MODEL_CHAIN_H
#define BENCH_MODEL_CHAIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "err.h"
#include "opmodel.h"

#define CHAIN_MAX_STEPS 8

/* How ids that count from the first key of their batch become ids of all keys: those that are not
 * negative get `keys` for every batch before theirs. */
struct id_shift {
    int64_t ids;  /* of a batch, one behind the other; 0: nothing is converted */
    int64_t keys; /* of a batch */
};

/* Where a tensor lies: in the step that owns it, or (step -1) in its own. With a shift it is a
 * tensor of its own, converted from the step's by bench inside the arm, before the step that reads
 * it. */
struct chain_link {
    int step;
    uint32_t tensor;
    struct id_shift shift;
};

struct chain_step {
    struct op_case c;
    struct op_problem p; /* the recipe of a shared input is its owner's */
    struct chain_link from[SAB_MAX_TENSORS];
};

struct chain {
    struct chain_step step[CHAIN_MAX_STEPS];
    size_t nr;
};

/* Whether some output (or input, then both read the same tensor) of operator `from` may become an
 * input of operator `to`. */
bool chain_feeds(const char *from, const char *to);

/*
 * Describes every step's case and links the tensors. ERR_CONFIG where a fed input has another dtype
 * or number of elements than what feeds it, where ids would not fit in 32 bits once they are
 * converted, or where a step but the last feeds nothing.
 */
int chain_link(struct chain *chain, struct err *err);

/* Whether a tensor of a step is the output of an earlier one: its values are a kernel's work. */
bool chain_is_fed(const struct chain *chain, size_t step, uint32_t tensor);

/* FLOPs and bytes of all steps together, what lies between them written and read; the density of
 * the last. */
int chain_cost(const struct chain *chain, struct op_cost *cost, struct err *err);

/* Whether two chains run the same operators on the same cases. */
bool chain_equal(const struct chain *a, const struct chain *b);

#endif
