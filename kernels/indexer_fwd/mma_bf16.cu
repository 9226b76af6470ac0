/* mma_bf16.cu - the kernels of indexer_fwd/mma for bf16. */
#include "mma_kernel.cuh"

INDEXER_MMA_DEFINE(bf16)
