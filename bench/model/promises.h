/*
 * promises.h - what a call promises of the contents of its inputs, and no validator sees: verified
 * on the data itself.
 *
 * Sage and bsa contracts, section 4 and preconditions P1, P2, P3, P5: indices in use lie in
 * [0, Kb), counts in [0, cap], contiguous rows ascend by one modulo Kb, scales are finite and above
 * 0. Packed layouts: cu_seqlens begin at 0, never descend, and end at the number of tokens. Ids and
 * lengths of the DSA and indexer operators are legal whatever they hold.
 */
#ifndef BENCH_MODEL_PROMISES_H
#define BENCH_MODEL_PROMISES_H

#include <stdbool.h>

#include "opmodel.h"

/* The first promise that is broken. */
struct promise_break {
    bool looked_at;  /* the problem has tensors that promise something */
    char text[256];  /* names tensor, batch, head, row, slot and value; "" where all is kept */
    uint32_t tensor; /* the element at fault */
    int64_t at;
    double value;
};

/* Negative with err set only where the source cannot be read. */
int promises_check(const struct op_problem *p, const struct op_source *src,
                   struct promise_break *out, struct err *err);

#endif
