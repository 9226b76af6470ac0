/*
 * finish.h - the last kernel of a call, as a plan keeps it.
 */
#ifndef DSA_BWD_FINISH_H
#define DSA_BWD_FINISH_H

#include "accumulator.cuh"
#include "dsa_bwd_call.h"

/* by integers, fp16 */
extern void (*const dsa_bwd_finish[2][2])(const dsa_bwd::finish_args);

/* Fills all of `args` but `fixed`, and returns the blocks to launch. `sink_terms` is at the start
 * of the statistics. */
static inline unsigned dsa_bwd_finish_fill(dsa_bwd::finish_args *args,
                                           const struct dsa_bwd_call *call, const void *accumulator,
                                           const float *sink_terms)
{
    const int64_t per_block = dsa_bwd::FINISH_THREADS, most = 1 << 24;

    args->accumulator = accumulator;
    args->dkv = call->dkv;
    args->groups = call->keys * call->width / 16;
    args->gain_inverse = 1.0f / dsa_bwd_gain(call);
    args->sink_terms = sink_terms;
    args->d_sink = call->d_sink;
    args->queries = call->queries;
    args->heads = call->heads;
    args->sink_blocks = (unsigned)((call->heads - 1) / dsa_bwd::SINK_HEADS + 1);
    const int64_t blocks = (args->groups + per_block - 1) / per_block;
    return args->sink_blocks + (unsigned)(blocks < most ? blocks : most);
}

#endif
