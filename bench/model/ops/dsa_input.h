/*
 * dsa_input.h - how the DSA oracles read their inputs: as doubles, and slots as active ids.
 */
#ifndef BENCH_MODEL_OPS_DSA_INPUT_H
#define BENCH_MODEL_OPS_DSA_INPUT_H

#include "dsa_model.h"

/* A problem, whichever of the two operators it is of. */
struct dsa_input {
    const struct op_problem *p;
    const struct op_source *src;
    struct dsa_places at;
    int64_t rows, keys, heads, width, slots;
    double scale;
};

/* Doubles `at` to `at + n` of a tensor; n is at most a few rows. Negative where it cannot be read.
 */
int dsa_read(const struct dsa_input *in, uint32_t tensor, int64_t at, int64_t n, double *dst);
/* Slots of a row in use, clamped (contract, 1.3 and 1.4); negative where it cannot be read. */
int64_t dsa_read_length(const struct dsa_input *in, int64_t row);
/* The ids of a row's first `n` slots. */
int dsa_read_ids(const struct dsa_input *in, int64_t row, int64_t n, int32_t *ids);
/* Sinks of all heads, -inf where there are none. */
int dsa_read_sinks(const struct dsa_input *in, double *sinks);
void dsa_input_init(struct dsa_input *in, const struct op_problem *p, const struct op_source *src,
                    const struct dsa_places *at, double scale);

#endif
