/*
 * indexer_bwd_rows_call.h - the calls that the kernels with a block of threads a query row, wgmma
 * and mma, serve of both backward operators, and their workspace.
 */
#ifndef INDEXER_BWD_ROWS_CALL_H
#define INDEXER_BWD_ROWS_CALL_H

#include "indexer_bwd_call.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
    INDEXER_BWD_ROWS_KEYS = 64, /* of a tile */
    INDEXER_BWD_ROWS_THREADS = 128,
    INDEXER_BWD_ROWS_ALIGNMENT = 256, /* bytes, of the workspace */
};

/* As indexer_bwd_call_init(), for a device of `targets`, followed by indexer_bwd_rows_check(). */
int indexer_bwd_rows_init(struct indexer_bwd_call *call, const struct sab_problem *problem,
                          int sparse, const char *targets, unsigned flags, struct sab_message *msg);

/* SAB_UNSUPPORTED with the reason for deterministic = 1, and where sizes are beyond 32-bit
 * arithmetic. */
int indexer_bwd_rows_check(const struct indexer_bwd_call *call, struct sab_message *msg);

/* Bytes of the sums of d_index_k, [keys,128] f32, a multiple of 256; 0 where d_index_k itself is
 * f32 and takes them. G is made and used up on chip. */
uint64_t indexer_bwd_rows_workspace_bytes(const struct indexer_bwd_call *call);

#ifdef __cplusplus
}
#endif
#endif
