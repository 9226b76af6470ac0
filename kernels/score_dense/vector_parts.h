/* vector_parts.h - what the fast kernels of the dense scores do before and after their products:
 * mxfp8 becomes bf16, exactly, in the workspace; sums of rows are made from the finished matrix. */
#ifndef SCORE_DENSE_VECTOR_PARTS_H
#define SCORE_DENSE_VECTOR_PARTS_H

#include <cuda_runtime_api.h>

#include "score_dense_items_call.h"

struct score_dense_widening {
    struct indexer_matrix from;
    uint16_t *to;
    int64_t rows; /* of `from`; 0: nothing to do */
};

struct score_dense_parts {
    struct score_dense_widening q, k;
    struct indexer_dense d;
};

/* Takes the call, makes `dense` that of bf16, and makes the driver load the kernels. The workspace
 * has score_dense_items_bytes(). */
int score_dense_parts_init(struct score_dense_parts *parts, struct indexer_dense *dense,
                           int64_t keys, void *workspace, struct sab_message *msg);
cudaError_t score_dense_parts_before(const struct score_dense_parts *parts, cudaStream_t stream);
cudaError_t score_dense_parts_after(const struct score_dense_parts *parts, cudaStream_t stream);

#endif
