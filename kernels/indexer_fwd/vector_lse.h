/* vector_lse.h - the optional lse of indexer_fwd, from scores that are in memory. */
#ifndef INDEXER_FWD_VECTOR_LSE_H
#define INDEXER_FWD_VECTOR_LSE_H

#include <cuda_runtime_api.h>

#include "indexer_fwd_call.h"

/* Makes the driver load the kernel, so that a first launch can be captured. */
cudaError_t indexer_lse_prepare(void);
/* Enqueues lse[row] = ln sum e^score over the columns that each row sees; -inf where it sees none.
 * Nothing where the call has no lse. */
cudaError_t indexer_lse_launch(const struct indexer_fwd_call *call, cudaStream_t stream);

#endif
