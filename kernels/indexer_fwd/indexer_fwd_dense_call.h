/* indexer_fwd_dense_call.h - a call of indexer_fwd as the CPU and the reference kernel read it. */
#ifndef INDEXER_FWD_DENSE_CALL_H
#define INDEXER_FWD_DENSE_CALL_H

#include "dense_scores.h"
#include "indexer_fwd_call.h"

#ifdef __cplusplus
extern "C" {
#endif

void indexer_fwd_dense(const struct indexer_fwd_call *call, struct indexer_dense *dense);

#ifdef __cplusplus
}
#endif
#endif
